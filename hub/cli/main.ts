/** The program svc-hub: its commands and their flags in one table, the parser that reads it, exit codes. */
import { constants } from 'node:os'
import { parseArgs } from 'node:util'
import { buildInfo } from '../../protocol/build-info.ts'
import { Refusal, systemCode } from '../../protocol/encoding/errors.ts'
import { type Config, readConfig } from '../config.ts'
import { EXIT_FAILED, EXIT_USAGE, print } from '../terminal.ts'
import {
  admissionOrder,
  aidOf,
  type Flags,
  init,
  order,
  quotaFlags,
  quotaOrder,
  serve,
  UsageError,
} from './commands.ts'

/** Where help and refusals go. */
export type Terminal = { out: (text: string) => void; err: (text: string) => void }
const standard: Terminal = {
  out: text => process.stdout.write(text),
  err: text => process.stderr.write(text),
}

type Command = {
  usage: string
  summary: string
  flags: string[]
  /** How many arguments beside flags it takes at most. */
  positionals: number
  run(positionals: string[], flags: Flags, terminal: Terminal): Promise<number>
}

/** Every flag: what its value is called, nothing for a switch, and what it does. */
const flagTable: Record<string, { value?: string; summary: string }> = {
  'data-dir': { value: 'DIR', summary: 'data directory; default ./svc-hub-data' },
  config: {
    value: 'FILE',
    summary: 'configuration file; default config.json in the data directory',
  },
  listen: { value: 'host:port', summary: 'listen address of the hub; default 127.0.0.1:8088' },
  'base-url': { value: 'URL', summary: 'URL by which others reach the hub' },
  'operator-listen': {
    value: 'host:port',
    summary: 'listen address for metrics and health, such as 127.0.0.1:8078',
  },
  wire: { value: '3', summary: 'wire version to serve' },
  check: { summary: 'only verify the backup, write nothing' },
  reset: { summary: "go back to the hub's own limits" },
  json: { summary: 'print one JSON object' },
  envelopes: { value: 'N', summary: 'envelopes that may wait' },
  bytes: { value: 'N', summary: 'bytes that may wait' },
  'stranger-envelopes': { value: 'N', summary: 'envelopes of non-contacts that may wait' },
  'stranger-bytes': { value: 'N', summary: 'bytes of non-contacts that may wait' },
  'stranger-per-minute': { value: 'N', summary: 'first contacts per minute' },
}
const placeFlags = ['data-dir', 'config', 'json']

const commands: Record<string, Command> = {
  serve: {
    usage: 'serve',
    summary: 'run the hub, creating what is missing',
    flags: ['data-dir', 'config', 'listen', 'base-url', 'operator-listen', 'wire'],
    positionals: 0,
    run: (_, flags) => serve(configOf(flags)),
  },
  init: {
    usage: 'init',
    summary: 'create identity and store without serving',
    flags: placeFlags,
    positionals: 0,
    run: (_, flags) => init(configOf(flags)),
  },
  admission: {
    usage: 'admission [open|closed]',
    summary: 'show or set who may register: anyone with proof of work, or only agents you admit',
    flags: placeFlags,
    positionals: 1,
    run: ([mode], flags) => order(admissionOrder(mode), configOf(flags)),
  },
  admit: {
    usage: 'admit <AID>',
    summary: 'let one agent register',
    flags: placeFlags,
    positionals: 1,
    run: ([aid], flags) => order({ command: 'admit', aid: aidOf(aid) }, configOf(flags)),
  },
  quota: {
    usage: 'quota <AID>',
    summary: 'show or change the limits of one mailbox',
    flags: [...placeFlags, ...quotaFlags, 'reset'],
    positionals: 1,
    run: ([aid], flags) => order(quotaOrder(aidOf(aid), flags), configOf(flags)),
  },
  stats: {
    usage: 'stats',
    summary: 'show counters of the hub',
    flags: placeFlags,
    positionals: 0,
    run: (_, flags) => order({ command: 'stats' }, configOf(flags)),
  },
  backup: {
    usage: 'backup <folder>',
    summary: 'save everything to a new folder, even while the hub is serving',
    flags: placeFlags,
    positionals: 1,
    run: async ([folder], flags) =>
      (await import('../operator/commands.ts')).backup(needed(folder, 'a folder'), configOf(flags)),
  },
  restore: {
    usage: 'restore <backup>',
    summary: 'create a data directory from a backup, or verify one with --check',
    flags: [...placeFlags, 'check'],
    positionals: 1,
    run: async ([backup], flags) => {
      const { check, restore } = await import('../operator/commands.ts')
      const folder = needed(backup, 'a backup')
      return flags['check'] === true ? await check(folder) : await restore(folder, configOf(flags))
    },
  },
  doctor: {
    usage: 'doctor',
    summary: 'find problems and name the command that fixes each',
    flags: ['data-dir', 'config', 'listen', 'base-url', 'operator-listen', 'json'],
    positionals: 0,
    run: async (_, flags) =>
      (await import('../operator/doctor.ts')).doctor(() => configOf(flags), { json: flags['json'] === true }),
  },
  version: {
    usage: 'version',
    summary: 'release, commit and build time',
    flags: ['json'],
    positionals: 0,
    run: async () =>
      print({ version: buildInfo.version, commit: buildInfo.commit, built_at: buildInfo.builtAt }),
  },
  help: {
    usage: 'help [command]',
    summary: 'show this list, or one command with its flags',
    flags: [],
    positionals: 1,
    run: async ([name], _, terminal) => help(name, terminal),
  },
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
    return await command.run(positionals, flags, terminal)
  } catch (error) {
    return fail(error, command, terminal)
  }
}

function find(name: string): Command | undefined {
  return Object.hasOwn(commands, name) ? commands[name] : undefined
}

function noCommand(given: string, { err }: Terminal): number {
  err(`svc-hub: unknown command: ${given}; commands: ${Object.keys(commands).join(', ')}\n`)
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

type GivenFlag = {
  name: string
  rawName: string
  value?: string | undefined
  inlineValue?: boolean | undefined
}

function checkFlag({ name, rawName, value, inlineValue }: GivenFlag, { flags }: Command): void {
  if (!flags.includes(name)) throw new UsageError(`unknown option: ${rawName}`)
  const expected = flagTable[name]?.value
  if (expected === undefined && value !== undefined) throw new UsageError(`--${name} takes no value`)
  // A value that begins with a dash is the next option, unless it is joined by a sign of equality.
  if (expected !== undefined && (value === undefined || (inlineValue !== true && value.startsWith('-'))))
    throw new UsageError(`--${name} expects a value: ${expected}`)
}

function fail(error: unknown, command: Command, { err }: Terminal): number {
  const message = error instanceof Error ? error.message : String(error)
  err(`svc-hub: ${message}\n`)
  if (error instanceof UsageError) {
    err(`usage: svc-hub ${withFlags(command)}\n`)
    return EXIT_USAGE
  }
  const expected = error instanceof Refusal || isOfSystem(error)
  if (!expected && error instanceof Error) err(`${error.stack ?? ''}\n`)
  return EXIT_FAILED
}

/** What the operating system refused says enough in its own sentence. */
function isOfSystem(error: unknown): boolean {
  return Object.hasOwn(constants.errno, systemCode(error) ?? '')
}

function needed(text: string | undefined, what: string): string {
  if (text === undefined) throw new UsageError(`expected ${what}`)
  return text
}

function configOf(flags: Flags): Config {
  const text = (name: string): string | undefined => flags[name] as string | undefined
  return readConfig(
    {
      config: text('config'),
      listen: text('listen'),
      dataDir: text('data-dir'),
      baseUrl: text('base-url'),
      operatorListen: text('operator-listen'),
      wire: text('wire'),
    },
    process.env,
  )
}

function shown(flag: string): string {
  const value = flagTable[flag]?.value
  return value === undefined ? `--${flag}` : `--${flag} ${value}`
}

function withFlags({ usage, flags }: Command): string {
  return [usage, ...flags.map(flag => `[${shown(flag)}]`)].join(' ')
}

function help(name: string | undefined, terminal: Terminal): number {
  if (name === undefined || name === 'help') {
    const rows = Object.values(commands).map(({ usage, summary }) => `  svc-hub ${usage}\n      ${summary}`)
    const title = `svc-hub ${buildInfo.version}: a hub for svc nodes`
    const more = 'Flags of one command: svc-hub help <command>'
    terminal.out(`${title}\n\n${rows.join('\n')}\n\n${more}\n`)
    return 0
  }
  const command = find(name)
  if (command === undefined) return noCommand(name, terminal)
  const rows = command.flags.map(flag => `  ${shown(flag)}\n      ${flagTable[flag]?.summary ?? ''}`)
  terminal.out(`${[`svc-hub ${command.usage}: ${command.summary}`, ...rows].join('\n')}\n`)
  return 0
}
