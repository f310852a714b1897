/** Rows under headings, fitted to a terminal: what may be cut is, and where that is not enough each row becomes a block. */
import { cut, padded, widthOf, wrapped } from './cells.ts'

/** `cut`: may be shortened; anything else, such as an id, is there to be copied. */
export type Column = { readonly title: string; readonly cells: readonly string[]; readonly cut: boolean }

const GAP = '  '
/** A shortened cell still says something. */
const CUT_CELLS_MIN = 10

export function tableText(columns: readonly Column[], width: number): string[] {
  const shown = columns.filter(({ cells }) => cells.some(cell => cell !== ''))
  const widths = fitted(shown, width)
  return widths === undefined ? blocks(shown, width) : lines(shown, widths)
}

const naturalWidth = ({ title, cells }: Column) => Math.max(widthOf(title), ...cells.map(widthOf))

/** The width of each column; none where the rows do not fit beside each other. */
function fitted(columns: readonly Column[], width: number): number[] | undefined {
  const widths = columns.map(naturalWidth)
  const sum = () => widths.reduce((total, one) => total + one, 0) + GAP.length * (columns.length - 1)
  for (;;) {
    const over = sum() - width
    if (over <= 0) return widths
    const widest = widestOf(columns, widths)
    if (widest === undefined) return undefined
    widths[widest] = Math.max(CUT_CELLS_MIN, (widths[widest] as number) - over)
  }
}

/** The widest column that may still be cut. */
function widestOf(columns: readonly Column[], widths: readonly number[]): number | undefined {
  const open = columns.flatMap((column, n) =>
    column.cut && (widths[n] as number) > CUT_CELLS_MIN ? [n] : [],
  )
  return open.sort((a, b) => (widths[b] as number) - (widths[a] as number))[0]
}

function lines(columns: readonly Column[], widths: readonly number[]): string[] {
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, n) => padded(cut(cell, widths[n] as number), widths[n] as number))
      .join(GAP)
      .trimEnd()
  const count = columns[0]?.cells.length ?? 0
  const rows = Array.from({ length: count }, (_, n) => columns.map(({ cells }) => cells[n] as string))
  return [line(columns.map(({ title }) => title.toUpperCase())), ...rows.map(line)]
}

function blocks(columns: readonly Column[], width: number): string[] {
  const count = columns[0]?.cells.length ?? 0
  return Array.from({ length: count }, (_, n) => [
    ...pairs(
      columns
        .map(({ title, cells }) => [title, cells[n] as string] as const)
        .filter(([, cell]) => cell !== ''),
      width,
    ),
    '',
  ])
    .flat()
    .slice(0, -1)
}

/** Names with their values beside them, the values in one column. */
export function pairs(given: readonly (readonly [string, string])[], width: number): string[] {
  const margin = Math.max(0, ...given.map(([name]) => widthOf(name))) + GAP.length
  return given.flatMap(([name, value]) => {
    // what has no blanks is there to be copied, so it is not broken
    const [first = '', ...rest] = value.includes(' ') ? wrapped(value, width - margin) : [value]
    return [`${padded(name, margin)}${first}`.trimEnd(), ...rest.map(line => ' '.repeat(margin) + line)]
  })
}
