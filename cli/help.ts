/** `svc help`: what there is, read from the command table. */

import {
  type CommandRow,
  callPaths,
  type Flag,
  GLOBAL_FLAGS,
  HUMAN_FLAG,
  ID_FLAG,
  type Positional,
  type Run,
} from './command.ts'
import type { Io } from './io.ts'

export const groups: Record<CommandRow['group'], string> = {
  node: 'Run the node',
  identity: 'Identities',
  hub: 'Hub and policies',
  work: 'Work with other agents',
  credits: 'Credits',
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

const FIRST_STEPS = [
  'svc up',
  'svc hub-register <url> --name <name>',
  'svc find "<words>"',
  'svc delegate <aid> "<task>"',
]

function overview(io: Io, commands: readonly CommandRow[]): void {
  paragraph(io, 'svc: agents that work for each other across machines, with proof')
  io.out('\n')
  io.out('First steps\n')
  for (const step of FIRST_STEPS) io.out(`  ${io.asCalled(step)}\n`)
  for (const [group, title] of Object.entries(groups)) {
    io.out(`\n${title}\n`)
    for (const row of commands.filter(command => command.group === group))
      entry(io, '  ', usage(row), row.summary)
  }
  io.out('\n')
  paragraph(
    io,
    `${ID_FLAG.name} <name> chooses the identity, ${HUMAN_FLAG.name} prints tables, anywhere on the line.`,
  )
  paragraph(io, `All flags: ${io.asCalled('svc help --all')}`)
  if (io.program !== NAME) io.out(`Here it is called: ${io.program}\n`)
}

function usage(row: CommandRow): string {
  return [row.path, ...(row.positionals ?? []).map(argument)].join(' ')
}

const NAME = 'svc'
const INDENT = '    '
/** Where the meaning of a name begins; that of a longer name stands below it. */
const MEANING_COLUMN = 32

function describe(io: Io, row: CommandRow): void {
  io.out(`svc ${usage(row)}\n`)
  paragraph(io, row.summary, INDENT)
  const aliases = callPaths(row).slice(1)
  if (aliases.length > 0) paragraph(io, `also: ${aliases.map(alias => `svc ${alias}`).join(', ')}`, INDENT)
  const lines = [
    ...(row.positionals ?? []).map(one => [argument(one), one.says]),
    ...[...(row.flags ?? []), ...GLOBAL_FLAGS].map(flag => [forms(flag), meaning(flag)]),
  ]
  for (const [name = '', says = ''] of lines) entry(io, INDENT, name, says)
  // one line, however long, so that it can be copied
  io.out(`${INDENT}example: ${io.asCalled(row.example)}\n\n`)
}

/** A name, and its meaning in a column beside it. */
function entry(io: Io, indent: string, name: string, meaning: string): void {
  const head = `${indent}${name}  `
  const margin = ' '.repeat(MEANING_COLUMN)
  const lines = wrapped(meaning, io.columns - MEANING_COLUMN).map(line => margin + line)
  if (head.length > MEANING_COLUMN) lines.unshift(head.trimEnd())
  else lines[0] = head.padEnd(MEANING_COLUMN) + (lines[0] as string).slice(MEANING_COLUMN)
  io.out(`${lines.join('\n')}\n`)
}

function paragraph(io: Io, text: string, indent = ''): void {
  for (const line of wrapped(text, io.columns - indent.length)) io.out(`${indent}${line}\n`)
}

/** The words of a text in lines of this width; a longer word has a line of its own. */
function wrapped(text: string, width: number): string[] {
  const lines = ['']
  for (const word of text.split(' ')) {
    const last = lines.at(-1) as string
    if (last === '') lines[lines.length - 1] = word
    else if (last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}

const argument = ({ name, required }: Positional) => (required ? `<${name}>` : `[${name}]`)
const forms = ({ name, value, short }: Flag) =>
  `${short === undefined ? '' : `${short}, `}${value === undefined ? name : `${name} <${value}>`}`
const meaning = ({ says, repeat }: Flag) => (repeat ? `${says}; may be given more than once` : says)
