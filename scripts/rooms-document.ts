/** The table of rooms within docs/architecture.md; the rest of that page is written by hand. */
import { readFileSync } from 'node:fs'
import { rooms } from './rooms.ts'

const MARK = '<!-- rooms -->'
const PAGE = new URL('../docs/architecture.md', import.meta.url)

/** The page with the table as the rooms say it. */
export function architectureDocument(): string {
  const [before = '', after = ''] = readFileSync(PAGE, 'utf8').split(
    new RegExp(`${MARK}(?:[\\s\\S]*${MARK})?`),
  )
  const rows = Object.entries(rooms).map(([room, { purpose }]) => `| \`${room}\` | ${purpose} |`)
  return [before, MARK, '\n\n| Room | Purpose |\n|---|---|\n', rows.join('\n'), '\n\n', MARK, after].join('')
}
