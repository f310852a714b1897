/** What every picture has: a title, a sentence that says what can be seen, and the same figures as a table. */
import { type Drawn, h, type Kid } from '../h.ts'

export type Table = { heads: readonly string[]; rows: readonly (readonly [string, ...(string | number)[]])[] }

type Picture = { id: string; title: string; says: string; width: number; height: number; table: Table }

export function picture({ id, title, says, width, height, table }: Picture, ...drawn: Kid[]): Drawn {
  return h(
    'figure',
    { class: 'picture', key: id },
    h('figcaption', {}, title),
    h(
      'svg',
      { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-labelledby': `${id}-title ${id}-says` },
      h('title', { id: `${id}-title` }, title),
      h('desc', { id: `${id}-says` }, says),
      ...drawn,
    ),
    h('p', { class: 'soft says' }, says),
    h('details', {}, h('summary', {}, 'As a table'), tableOf(table, title)),
  )
}

export function tableOf({ heads, rows }: Table, title: string): Drawn {
  return h(
    'div',
    { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': title },
    h(
      'table',
      {},
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          heads.map((head, i) => h('th', { key: `${i}`, scope: 'col' }, head)),
        ),
      ),
      h(
        'tbody',
        {},
        rows.map(([name, ...cells], i) =>
          h(
            'tr',
            { key: `${i}` },
            h('th', { scope: 'row' }, h('bdi', {}, name)),
            cells.map((cell, j) => h('td', { key: `${j}` }, String(cell))),
          ),
        ),
      ),
    ),
  )
}

/** A name that is cut where it has no more room; all of it stands in the table. */
export const cut = (text: string, characters: number): string => {
  const all = [...text]
  return all.length <= characters ? text : `${all.slice(0, characters - 1).join('')}…`
}
