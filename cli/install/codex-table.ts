/** The tables of our server in the configuration of codex, which keep what their owner added between our markers. */
import { addedWords } from './server-entry.ts'

const TABLE = 'mcp_servers.svc'
type Started = {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

/** What takes the place of `held`, the text between our markers; `approved`: tools that codex calls without asking. */
export function codexTables(
  { command, args, env }: Started,
  approved: readonly string[],
  held = '',
  ours?: { program: string; id: string | undefined; tools: readonly string[] },
): string {
  const [main = '', ...others] = held.split(/^(?=[ \t]*\[)/m).filter(table => table.trim() !== '')
  const { words, members, rest } = read(main)
  const added = ours === undefined ? undefined : addedWords(words, ours)
  const all = Object.entries({ ...Object.fromEntries(members), ...env })
  const own = (ours?.tools ?? []).map(tool => `[${TABLE}.tools.${tool}]`)
  const kept = others.filter(table => !own.some(head => table.trim().startsWith(head)))
  const lines = [
    `[${TABLE}]`,
    `command = ${toml(command)}`,
    `args = [${[...args, ...(added ?? [])].map(toml).join(', ')}]`,
    ...(all.length === 0
      ? []
      : [`env = { ${all.map(([name, value]) => `${name} = ${toml(value)}`).join(', ')} }`]),
    ...rest,
  ]
  const approvals = approved.map(tool => `[${TABLE}.tools.${tool}]\napproval_mode = "approve"`)
  return [lines.join('\n'), ...kept.map(table => table.trim()), ...approvals].join('\n\n')
}

/** How the server of this table is started. */
export function startOf(held: string): { words: string[]; env: Record<string, string> } {
  const [main = ''] = held.split(/^(?=[ \t]*\[)/m).filter(table => table.trim() !== '')
  const { words, members } = read(main)
  return { words, env: Object.fromEntries(members) }
}

/** What the table says of the start, and its lines about anything else. */
function read(main: string): { words: string[]; members: [string, string][]; rest: string[] } {
  const [, command = ''] = /^[ \t]*command[ \t]*=[ \t]*(.*)$/m.exec(main) ?? []
  const [, args = ''] = ARGS.exec(main) ?? []
  const [, env = ''] = ENV.exec(main) ?? []
  const rest = main
    .replace(ARGS, '')
    .replace(ENV, '')
    .split(/\r?\n/)
    .filter(line => line.trim() !== '' && !/^[ \t]*(?:\[|command[ \t]*=)/.test(line))
  const members = [...env.matchAll(MEMBER)].map(([, name = '', value = '']): [string, string] => [
    name.replaceAll('"', ''),
    stringOf(value),
  ])
  return { words: [...stringsIn(command), ...stringsIn(args)], members, rest }
}

const STRING = `"(?:[^"\\\\]|\\\\.)*"|'[^']*'`
const ARGS = new RegExp(`^[ \\t]*args[ \\t]*=[ \\t]*\\[((?:${STRING}|[^\\]"'])*)\\]`, 'm')
const ENV = new RegExp(`^[ \\t]*env[ \\t]*=[ \\t]*\\{((?:${STRING}|[^}"'])*)\\}`, 'm')
const MEMBER = new RegExp(`([\\w-]+|"[\\w-]+")[ \\t]*=[ \\t]*(${STRING})`, 'g')

const stringsIn = (text: string): string[] =>
  [...text.matchAll(new RegExp(STRING, 'g'))].map(([word]) => stringOf(word))

/** A literal string of TOML has no escapes; those of a basic one that JSON does not know are left as they are. */
function stringOf(word: string): string {
  const inner = word.slice(1, -1)
  if (word.startsWith("'")) return inner
  try {
    return JSON.parse(word) as string
  } catch {
    return inner
  }
}

/** A basic string of TOML, whose escapes are those of JSON. */
const toml = (text: string) => JSON.stringify(text)
