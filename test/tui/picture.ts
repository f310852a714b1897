/** A screen of a terminal as SVG, from the letters and colours that `tmux capture-pane -e` gives. */
import stringWidth from 'string-width'
import type { Size } from './tmux.ts'

const CELL = { width: 8.4, height: 18, font: 14 }
const PAD = 12
export const palettes = {
  dark: {
    ground: '#101418',
    plain: '#d7dde3',
    quiet: '#8b96a1',
    colours: ['#3b4450', '#ff8b84', '#7ed491', '#e3c26b', '#82b8ff', '#d6a4f0', '#6fd3d3', '#d7dde3'],
  },
  light: {
    ground: '#ffffff',
    plain: '#1d2329',
    quiet: '#667380',
    colours: ['#1d2329', '#b3261e', '#1a7f37', '#8a5a00', '#0b57d0', '#8430ce', '#0b7285', '#667380'],
  },
} as const
export type Palette = keyof typeof palettes

type Look = { bold: boolean; dim: boolean; underline: boolean; inverse: boolean; colour: number | undefined }
const plain: Look = { bold: false, dim: false, underline: false, inverse: false, colour: undefined }

/** `title` says what is seen to those who do not see it. */
export function pictureOf(
  { screen, title }: { screen: string; title: string },
  { columns, rows }: Size,
  palette: Palette,
): string {
  const { ground } = palettes[palette]
  const width = Math.ceil(columns * CELL.width) + 2 * PAD
  const height = rows * CELL.height + 2 * PAD
  const lines = screen.replace(/\n+$/, '').split('\n').slice(0, rows)
  let look = plain
  const parts = lines.flatMap((line, y) => {
    const drawn = runs(line, look)
    look = drawn.look
    return drawn.runs.map(run => runText(run, y, palette))
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="${CELL.font}">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="100%" height="100%" rx="8" fill="${ground}"/>`,
    ...parts,
    '</svg>\n',
  ].join('\n')
}

type Run = { text: string; x: number; look: Look }

/** Letters of one look that stand together, and the look that goes on in the next line. */
function runs(line: string, begun: Look): { runs: Run[]; look: Look } {
  const found: Run[] = []
  let [look, x] = [begun, 0]
  const sequence = new RegExp(`${String.fromCharCode(27)}\\[([0-9;]*)m|([^${String.fromCharCode(27)}]+)`, 'g')
  for (const [, codes, text] of line.matchAll(sequence)) {
    if (codes !== undefined) look = codes.split(/[;:]/).reduce(looked, look)
    else if (text !== undefined) {
      found.push({ text, x, look })
      x += stringWidth(text)
    }
  }
  return { runs: found, look }
}

function looked(look: Look, code: string): Look {
  const n = Number(code || 0)
  if (n === 0) return plain
  if (n === 1) return { ...look, bold: true }
  if (n === 2) return { ...look, dim: true }
  if (n === 4) return { ...look, underline: true }
  if (n === 7) return { ...look, inverse: true }
  if (n === 22) return { ...look, bold: false, dim: false }
  if (n === 24) return { ...look, underline: false }
  if (n === 27) return { ...look, inverse: false }
  if (n === 39) return { ...look, colour: undefined }
  return n >= 30 && n <= 37 ? { ...look, colour: n - 30 } : look
}

function runText({ text, x, look }: Run, y: number, palette: Palette): string {
  if (text.trim() === '' && !look.inverse) return ''
  const { ground, plain, quiet, colours } = palettes[palette]
  const ink = look.dim ? quiet : look.colour === undefined ? plain : (colours[look.colour] as string)
  const left = PAD + x * CELL.width
  const top = PAD + y * CELL.height
  const width = (stringWidth(text) * CELL.width).toFixed(1)
  const back = look.inverse
    ? `<rect x="${left.toFixed(1)}" y="${top}" width="${width}" height="${CELL.height}" fill="${ink}"/>`
    : ''
  const style = [
    `fill="${look.inverse ? ground : ink}"`,
    ...(look.bold ? ['font-weight="bold"'] : []),
    ...(look.underline ? ['text-decoration="underline"'] : []),
  ].join(' ')
  return `${back}<text x="${left.toFixed(1)}" y="${top + 13.5}" ${style} textLength="${width}" xml:space="preserve">${escaped(text)}</text>`
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll(' ', '\u00a0')
