/** The tables of methods and errors within docs/a2a.md; the rest of that page is written by hand. */
import { readFileSync } from 'node:fs'
import { a2aErrors } from '../daemon/a2a/errors.ts'
import { type MethodRow, methods } from '../daemon/a2a/methods.ts'

const PAGE = new URL('../docs/a2a.md', import.meta.url)

/** The page with both tables as the code says them. */
export function a2aDocument(): string {
  const text = readFileSync(PAGE, 'utf8')
  return within(within(text, '<!-- methods -->', methodTable()), '<!-- errors -->', errorTable())
}

function within(text: string, mark: string, table: string): string {
  const [before = '', after = ''] = text.split(new RegExp(`${mark}(?:[\\s\\S]*${mark})?`))
  return [before, mark, '\n\n', table, '\n', mark, after].join('')
}

function methodTable(): string {
  const rows = Object.entries<MethodRow>(methods).map(
    ([name, { verbs, path, says }]) => `| \`${name}\` | \`${verbs.join(' or ')} ${path}\` | ${says} |`,
  )
  return ['| JSON-RPC | HTTP+JSON | Does |', '|---|---|---|', ...rows, ''].join('\n')
}

function errorTable(): string {
  const rows = Object.entries(a2aErrors).map(
    ([name, { rpc, http }]) => `| \`${name}Error\` | ${rpc} | ${http} |`,
  )
  return ['| Error | JSON-RPC | HTTP |', '|---|---|---|', ...rows, ''].join('\n')
}
