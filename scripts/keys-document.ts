/** The table of keys within docs/tui.md; the rest of that page is written by hand. */
import { readFileSync } from 'node:fs'
import { type Focus, keysOf } from '../view/keys.ts'

const MARK = '<!-- keys -->'
const PAGE = new URL('../docs/tui.md', import.meta.url)
const titles: readonly (readonly [string, Focus])[] = [
  ['Tasks to me, tasks from me', 'sent'],
  ['A conversation', 'thread'],
  ['Agents', 'agents'],
  ['Evidence', 'evidence'],
  ['Node', 'node'],
  ['Writing', 'compose'],
  ['A line at the foot', 'prompt'],
  ['A question', 'confirm'],
  ['A setting', 'form'],
]

/** The page with the keys as the table says them; what every screen has stands once. */
export function keysDocument(): string {
  const [before = '', after = ''] = readFileSync(PAGE, 'utf8').split(
    new RegExp(`${MARK}(?:[\\s\\S]*${MARK})?`),
  )
  const everywhere = keysOf('node').filter(row =>
    titles.slice(0, 4).every(([, place]) => row.places.includes(place)),
  )
  const parts = [
    part('Everywhere', everywhere),
    ...titles.map(([title, place]) =>
      part(
        title,
        keysOf(place).filter(row => !everywhere.includes(row)),
      ),
    ),
  ]
  return [before, MARK, '\n\n', parts.join('\n'), '\n', MARK, after].join('')
}

function part(title: string, rows: ReturnType<typeof keysOf>): string {
  const lines = rows.map(row => `| ${row.keys.map(codeOf).join(' ')} | ${row.says} |`)
  return `| ${title} | |\n|---|---|\n${lines.join('\n')}\n`
}

const codeOf = (key: string): string => `\`${key}\``
