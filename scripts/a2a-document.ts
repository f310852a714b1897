/** The tables of methods and errors within docs/a2a.md; the rest of that page is written by hand. */
import { readFileSync } from 'node:fs'
import { a2aErrors } from '../daemon/a2a/errors.ts'
import { type MethodRow, methods } from '../daemon/a2a/methods.ts'
import { betweenMarks } from './between-marks.ts'

const PAGE = new URL('../docs/a2a.md', import.meta.url)

/** The page with both tables as the code says them. */
export function a2aDocument(): string {
  const text = readFileSync(PAGE, 'utf8')
  const withMethods = betweenMarks(text, '<!-- methods -->', methodTable())
  return betweenMarks(withMethods, '<!-- errors -->', errorTable())
}

function methodTable(): string {
  const rows = Object.entries<MethodRow>(methods).map(
    ([name, { verbs, path, says }]) => `| \`${name}\` | \`${verbs.join(' or ')} ${path}\` | ${says} |`,
  )
  return ['| JSON-RPC | HTTP+JSON | Does |', '|---|---|---|', ...rows].join('\n')
}

function errorTable(): string {
  const rows = Object.entries(a2aErrors).map(
    ([name, { rpc, http }]) => `| \`${name}Error\` | ${rpc} | ${http} |`,
  )
  return ['| Error | JSON-RPC | HTTP |', '|---|---|---|', ...rows].join('\n')
}
