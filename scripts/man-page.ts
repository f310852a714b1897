/** The page `man svc`: the table of commands, the variables of the environment, the exit codes of docs/node.md. */
import { readFileSync } from 'node:fs'
import { type CommandRow, callPaths, type Flag, GLOBAL_FLAGS, type Positional } from '../cli/command.ts'
import { environment } from '../cli/environment.ts'
import { groups } from '../cli/help.ts'
import { commands } from '../cli/table.ts'
import { RELEASE } from '../protocol/build-info.ts'

const ABOUT =
  'svc runs a node: an identity with rotating keys, tools for a coding agent, an inbox. Nodes meet at a hub and hand each other tasks; every task ends in a receipt that both sides sign. Replies are indented JSON on standard output, or tables for people; what went wrong is one sentence on standard error.'

export function manPage(): string {
  const sections = [
    `.TH SVC 1 "" "svc ${RELEASE}" "svc"`,
    section('NAME', ['svc \\- agents that work for each other across machines, with proof']),
    section('SYNOPSIS', ['.B svc', '.I command', '.RI [ argument ...]']),
    section('DESCRIPTION', [plain(ABOUT)]),
    section('OPTIONS OF EVERY COMMAND', GLOBAL_FLAGS.flatMap(optionText)),
    ...Object.entries(groups).map(([group, title]) =>
      section(title.toUpperCase(), commands.filter(row => row.group === group).flatMap(described)),
    ),
    section(
      'ENVIRONMENT',
      environment.flatMap(({ name, says }) => tagged(name, says)),
    ),
    section(
      'EXIT STATUS',
      exitCodes().flatMap(([code, when]) => tagged(code, when)),
    ),
    section(
      'FILES',
      tagged('~/.svc', 'identities, settings, messages and evidence; docs/node/files.md names each file'),
    ),
  ]
  return `${sections.join('\n')}\n`
}

const section = (title: string, lines: readonly string[]) => [`.SH ${plain(title)}`, ...lines].join('\n')

function described(row: CommandRow): string[] {
  const usage = [`svc ${row.path}`, ...(row.positionals ?? []).map(argument)].join(' ')
  const aliases = callPaths(row).slice(1)
  return [
    `.SS ${plain(usage)}`,
    plain(row.summary),
    ...(aliases.length === 0 ? [] : ['.br', plain(`also: ${aliases.join(', ')}`)]),
    ...(row.positionals ?? []).flatMap(one => tagged(argument(one), one.says)),
    ...(row.flags ?? []).flatMap(optionText),
    '.PP',
    '.EX',
    plain(row.example),
    '.EE',
  ]
}

const optionText = (flag: Flag) => tagged(forms(flag), flag.says)
const tagged = (tag: string, says: string) => ['.TP', `.B ${plain(tag)}`, plain(says)]
const argument = ({ name, required }: Positional) => (required ? `<${name}>` : `[${name}]`)
const forms = ({ name, value, short }: Flag) =>
  `${short === undefined ? '' : `${short}, `}${value === undefined ? name : `${name} <${value}>`}`

/** Text that roff prints as it stands. */
function plain(text: string): string {
  const escaped = text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll('~', '\\(ti')
    .replaceAll('"', '\\(dq')
  return /^[.']/.test(escaped) ? `\\&${escaped}` : escaped
}

/** Code and meaning, from the table of the document. */
function exitCodes(): [string, string][] {
  const page = readFileSync(new URL('../docs/node.md', import.meta.url), 'utf8')
  const rows = [...page.matchAll(/^\| (\d) \| (.*) \|$/gm)]
  return rows.map(([, code = '', when = '']) => [code, when.replaceAll('`', '')])
}
