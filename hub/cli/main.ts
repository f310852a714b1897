/** The program svc-hub: the parser that reads the table of its commands, help, and exit codes. */
import { constants } from 'node:os'
import { parseArgs } from 'node:util'
import { buildInfo } from '../../protocol/build-info.ts'
import { isShell, type OfferedFlag, shells } from '../../protocol/completion.ts'
import { Failure, Refusal, systemCode, wordsOf } from '../../protocol/encoding/errors.ts'
import { nearest } from '../../protocol/shell.ts'
import { EngineFault } from '../store/port.ts'
import { asCalled, EXIT_USAGE, say } from '../terminal.ts'
import { type Flags, UsageError } from './commands.ts'
import { exitCodeOf } from './exit-codes.ts'
import { flagTable, shown } from './flags.ts'
import { type Command, commands, type Terminal } from './table.ts'

const standard: Terminal = {
  out: say,
  err: text => process.stderr.write(text),
}

const aliases: Record<string, string> = {
  '--version': 'version',
  '-v': 'version',
  '--help': 'help',
  '-h': 'help',
}

/** Runs one command; the returned number is the exit code. */
export async function main(argv: string[], terminal: Terminal = standard): Promise<number> {
  const [given = 'help', ...rest] = argv
  const name = aliases[given] ?? given
  const command = find(name)
  if (command === undefined) return noCommand(given, terminal)
  if (rest.some(argument => argument === '--help' || argument === '-h')) return help(name, terminal)
  try {
    const { positionals, flags } = parse(rest, command)
    // Only these read the table that they stand in.
    if (name === 'help') return help(positionals[0], terminal)
    if (name === 'completion') return complete(positionals[0], terminal)
    return await command.run(positionals, flags)
  } catch (error) {
    return fail(error, command, terminal)
  }
}

/** What is done by them is not undone, so nobody is led to them. */
const DESTROYING: readonly string[] = ['remove', 'restore', 'rotate']

const isName = (name: string): name is keyof typeof commands => Object.hasOwn(commands, name)

function find(name: string): Command | undefined {
  return isName(name) ? commands[name] : undefined
}

function noCommand(given: string, { err }: Terminal): number {
  const near = nearest(
    given,
    Object.keys(commands).filter(name => !DESTROYING.includes(name)),
  )
  const next =
    near === undefined
      ? `commands: ${Object.keys(commands).join(', ')}`
      : asCalled(`perhaps: svc-hub ${near}`)
  err(`svc-hub: unknown command: ${given}; ${next}\n`)
  return EXIT_USAGE
}

function parse(rest: string[], command: Command): { positionals: string[]; flags: Flags } {
  const options = Object.fromEntries(
    command.flags.map(flag => [
      flag,
      { type: flagTable[flag]?.value === undefined ? 'boolean' : 'string' } as const,
    ]),
  )
  const { values, positionals, tokens } = parseArgs({
    args: rest,
    options,
    allowPositionals: true,
    strict: false,
    tokens: true,
  })
  for (const token of tokens) if (token.kind === 'option') checkFlag(token, command)
  const extra = positionals[command.positionals]
  if (extra !== undefined) throw new UsageError(`unexpected argument: ${extra}`)
  return { positionals, flags: values }
}

/** Words that a command takes behind its name, as its usage lists them. */
const choicesIn = (usage: string): string[] =>
  (/\[([^\]]*)\]/.exec(usage)?.[1] ?? '').split('|').flatMap(one => /^\s*([a-z]+)/.exec(one)?.[1] ?? [])

function complete(shell: string | undefined, { out }: Terminal): number {
  if (!isShell(shell)) throw new UsageError('expected bash, zsh or fish')
  const rows = Object.entries(commands)
  const flagOf = (name: string): OfferedFlag => {
    const { value, summary: says } = flagTable[name] ?? { summary: '' }
    return { name: `--${name}`, value, says }
  }
  const behind = new Map<string, readonly string[]>([
    ['', rows.map(([name]) => name)],
    ...rows.map(
      ([name, { usage }]) => [name, name === 'help' ? Object.keys(commands) : choicesIn(usage)] as const,
    ),
  ])
  const offered = rows.map(([name, { summary, flags }]) => ({
    paths: [name],
    summary,
    flags: flags.map(flagOf),
  }))
  out(shells[shell]({ program: 'svc-hub', commands: offered, behind }))
  return 0
}

type GivenFlag = {
  name: string
  rawName: string
  value?: string | undefined
  inlineValue?: boolean | undefined
}

function checkFlag({ name, rawName, value, inlineValue }: GivenFlag, { flags, number }: Command): void {
  if (number !== undefined && /^-\d$/.test(rawName)) throw new UsageError(number)
  if (!flags.includes(name)) throw new UsageError(`unknown option: ${rawName}`)
  const expected = flagTable[name]?.value
  if (expected === undefined && value !== undefined) throw new UsageError(`--${name} takes no value`)
  // A value that begins with a dash is the next option, unless it is joined by a sign of equality.
  if (expected !== undefined && (value === undefined || (inlineValue !== true && value.startsWith('-'))))
    throw new UsageError(`--${name} expects a value: ${expected}`)
}

function fail(error: unknown, command: Command, { err }: Terminal): number {
  const message =
    error instanceof EngineFault
      ? `the store cannot be read or written: ${error.message}; find out more with: svc-hub doctor`
      : wordsOf(error)
  err(`svc-hub: ${asCalled(message)}\n`)
  if (error instanceof UsageError) {
    err(`${asCalled(`usage: svc-hub ${withFlags(command)}`)}\n`)
    return exitCodeOf(error)
  }
  const expected = error instanceof Refusal || error instanceof Failure || isOfSystem(error)
  if (!expected && error instanceof Error) err(`${error.stack ?? ''}\n`)
  return exitCodeOf(error)
}

/** What the operating system refused says enough in its own sentence. */
function isOfSystem(error: unknown): boolean {
  return Object.hasOwn(constants.errno, systemCode(error) ?? '')
}

function withFlags({ usage, flags }: Command): string {
  const optional = flags.filter(flag => !usage.includes(`--${flag} `))
  return [usage, ...optional.map(flag => `[${shown(flag)}]`)].join(' ')
}

/** The list of commands, or one command with its flags. */
function help(name: string | undefined, terminal: Terminal): number {
  if (name === undefined || name === 'help') {
    const rows = Object.values(commands).map(({ usage, summary }) => `  svc-hub ${usage}\n      ${summary}`)
    const title = `svc-hub ${buildInfo.version}: a hub for svc nodes`
    const more = asCalled('Flags of one command: svc-hub help <command>')
    terminal.out(`${title}\n\n${rows.join('\n')}\n\n${more}\n`)
    return 0
  }
  const command = find(name)
  if (command === undefined) return noCommand(name, terminal)
  const rows = command.flags.map(flag => `  ${shown(flag)}\n      ${flagTable[flag]?.summary ?? ''}`)
  terminal.out(`${[`svc-hub ${command.usage}: ${command.summary}`, ...rows].join('\n')}\n`)
  return 0
}
