/** `svc help`: what there is, read from the command table. */

import { type CommandRow, callPaths, type Flag, ID_FLAG, type Positional, type Run } from './command.ts'
import type { Io } from './io.ts'

const groups: Record<CommandRow['group'], string> = {
  node: 'Run the node',
  identity: 'Identities',
  hub: 'Hub and policies',
  work: 'Work with other agents',
  proof: 'Proof',
  agents: 'Coding agents',
  other: 'More',
}

export const help: Run = async (io, input, { commands, find }) => {
  const topic = input.positionals.join(' ').trim()
  if (topic !== '') for (const row of find(topic.split(/ +/))) describe(io, row)
  else if (input.flags.has('--all')) for (const row of commands) describe(io, row)
  else overview(io, commands)
  return 0
}

function overview(io: Io, commands: readonly CommandRow[]): void {
  io.out('svc: agents that work for each other across machines, with proof\n\n')
  io.out('First steps:  svc up, svc hub-register <url>, svc find, svc delegate <aid> "<task>"\n')
  for (const [group, title] of Object.entries(groups)) {
    io.out(`\n${title}\n`)
    for (const row of commands.filter(command => command.group === group)) {
      io.out(`  ${usage(row).padEnd(44)}  ${row.summary}\n`)
    }
  }
  io.out(`\n${ID_FLAG.name} <name> chooses the identity, anywhere on the line. All flags: svc help --all\n`)
}

function usage(row: CommandRow): string {
  return [row.path, ...(row.positionals ?? []).map(argument)].join(' ')
}

const NAME_WIDTH = 34

function describe(io: Io, row: CommandRow): void {
  io.out(`svc ${usage(row)}\n    ${row.summary}\n`)
  const aliases = callPaths(row).slice(1)
  if (aliases.length > 0) io.out(`    also: ${aliases.map(alias => `svc ${alias}`).join(', ')}\n`)
  const lines = [
    ...(row.positionals ?? []).map(one => [argument(one), one.says]),
    ...[...(row.flags ?? []), ID_FLAG].map(flag => [forms(flag), meaning(flag)]),
  ]
  for (const [name = '', says] of lines) io.out(`    ${name.padEnd(NAME_WIDTH)}  ${says}\n`)
  io.out(`    example: ${row.example}\n\n`)
}

const argument = ({ name, required }: Positional) => (required ? `<${name}>` : `[${name}]`)
const forms = ({ name, value, short }: Flag) =>
  `${short === undefined ? '' : `${short}, `}${value === undefined ? name : `${name} <${value}>`}`
const meaning = ({ says, repeat }: Flag) => (repeat ? `${says}; may be given more than once` : says)
