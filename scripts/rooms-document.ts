/** The table of rooms within docs/architecture.md; the rest of that page is written by hand. */
import { readFileSync } from 'node:fs'
import { betweenMarks } from './between-marks.ts'
import { rooms } from './rooms.ts'

const MARK = '<!-- rooms -->'
const PAGE = new URL('../docs/architecture.md', import.meta.url)

/** The page with the table as the rooms say it. */
export function architectureDocument(): string {
  const rows = Object.entries(rooms).map(([room, { purpose }]) => `| \`${room}\` | ${purpose} |`)
  const table = ['| Room | Purpose |', '|---|---|', ...rows].join('\n')
  return betweenMarks(readFileSync(PAGE, 'utf8'), MARK, table)
}
