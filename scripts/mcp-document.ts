/** The table of tools in docs/mcp.md, printed from their rows. */
import { readFileSync } from 'node:fs'
import { tools } from '../mcp/tools/all.ts'

const MARK = '<!-- tools -->'
const path = new URL('../docs/mcp.md', import.meta.url).pathname

/** The document with its table as the rows have it; the rest of it is written by hand. */
export function mcpDocument(): string {
  const [before, , after] = readFileSync(path, 'utf8').split(MARK)
  return [before, `\n${table()}\n`, after].join(MARK)
}

function table(): string {
  const rows = tools.map(({ name, description, input, output, annotations }) => {
    const given = Object.entries(input.shape).map(([argument, shape]) => {
      const isNeeded = !shape.safeParse(undefined).success
      return `\`${argument}\`${isNeeded ? ' (needed)' : ''} ${cell(shape.description ?? '')}`
    })
    const kind = annotations.readOnlyHint ? 'reads' : 'sends'
    const result = output.map(member => `\`${member}\``).join(', ')
    return `| \`${name}\` | ${kind} | ${cell(description)} | ${given.join('<br>') || 'none'} | ${result} |`
  })
  return ['', '| Tool | | Description | Arguments | Result |', '|---|---|---|---|---|', ...rows, ''].join(
    '\n',
  )
}

const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('<', '&lt;')
