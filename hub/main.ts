/** The program svc-hub: serving, and the operator's commands on a running or a stopped hub. */
import { parseArgs } from 'node:util'
import type { Logger } from 'pino'
import { isAid } from '../protocol/aid.ts'
import { buildInfo } from '../protocol/build-info.ts'
import { type Config, ConfigRefused, readConfig } from './config.ts'
import { systemRandom } from './core/random.ts'
import { openDataDirectory } from './data-dir.ts'
import { keepMemorySmall } from './lean-memory.ts'
import { carryOut, type Order } from './operations.ts'
import { orderRunningHub } from './operator-socket.ts'
import { type Log, startHub } from './serve.ts'
import { StoreRefused } from './store/port.ts'

const EXIT_FAILED = 1
const EXIT_USAGE = 2
/** Nothing that the hub writes is for anybody else on the machine. */
const PRIVATE_UMASK = 0o077

type Flags = Record<string, string | boolean | undefined>
type Command = {
  usage: string
  summary: string
  flags: string[]
  run(positionals: string[], flags: Flags): Promise<number>
}

/** The command line was not understood. */
class UsageError extends Error {
  override name = 'UsageError'
}

const placeFlags = ['data-dir', 'config']
const quotaFlags = ['envelopes', 'bytes', 'stranger-envelopes', 'stranger-bytes', 'stranger-per-minute']

const commands: Record<string, Command> = {
  serve: {
    usage: 'serve [--listen host:port] [--data-dir DIR] [--base-url URL] [--config FILE] [--wire 3]',
    summary: 'run the hub; creates what is missing',
    flags: [...placeFlags, 'listen', 'base-url', 'wire'],
    run: (_, flags) => serve(configOf(flags)),
  },
  init: {
    usage: 'init [--data-dir DIR]',
    summary: 'create identity and store without serving',
    flags: placeFlags,
    run: (_, flags) => init(configOf(flags)),
  },
  admission: {
    usage: 'admission [open|closed]',
    summary: 'who may register: everybody who does proof of work, or whom you admit',
    flags: placeFlags,
    run: ([mode], flags) => order(admissionOrder(mode), configOf(flags)),
  },
  admit: {
    usage: 'admit <AID>',
    summary: 'let one agent register',
    flags: placeFlags,
    run: ([aid], flags) => order({ command: 'admit', aid: aidOf(aid) }, configOf(flags)),
  },
  quota: {
    usage: `quota <AID> [${quotaFlags.map(flag => `--${flag} N`).join('] [')}] [--reset]`,
    summary: 'show or change the limits of one mailbox',
    flags: [...placeFlags, ...quotaFlags, 'reset'],
    run: ([aid], flags) => order(quotaOrder(aidOf(aid), flags), configOf(flags)),
  },
  stats: {
    usage: 'stats',
    summary: 'counters of the hub',
    flags: placeFlags,
    run: (_, flags) => order({ command: 'stats' }, configOf(flags)),
  },
  version: {
    usage: 'version',
    summary: 'release, commit and build time',
    flags: [],
    run: async () =>
      print({ version: buildInfo.version, commit: buildInfo.commit, built_at: buildInfo.builtAt }),
  },
  help: { usage: 'help', summary: 'this list', flags: [], run: async () => help() },
}
const aliases: Record<string, string> = {
  '--version': 'version',
  '-v': 'version',
  '--help': 'help',
  '-h': 'help',
}

/** Runs one command; the returned number is the exit code. */
export async function main(argv: string[]): Promise<number> {
  const [given = 'help', ...rest] = argv
  const name = aliases[given] ?? given
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (command === undefined) {
    process.stderr.write(`svc-hub: there is no command ${given}; see: svc-hub help\n`)
    return EXIT_USAGE
  }
  try {
    const { positionals, flags } = parse(rest, command)
    return await command.run(positionals, flags)
  } catch (error) {
    return fail(error, command)
  }
}

function parse(rest: string[], command: Command): { positionals: string[]; flags: Flags } {
  const options = Object.fromEntries(
    command.flags.map(flag => [flag, { type: flag === 'reset' ? 'boolean' : 'string' } as const]),
  )
  try {
    const { values, positionals } = parseArgs({ args: rest, options, allowPositionals: true, strict: true })
    return { positionals, flags: values as Flags }
  } catch (error) {
    const accepted = command.flags.map(flag => `--${flag}`).join(', ')
    const why = error instanceof Error ? error.message.split('\n')[0] : String(error)
    throw new UsageError(`${why}; accepted: ${accepted === '' ? 'no flags' : accepted}`)
  }
}

function fail(error: unknown, command: Command): number {
  const message = error instanceof Error ? error.message : String(error)
  process.stderr.write(`svc-hub: ${message}\n`)
  if (error instanceof UsageError) {
    process.stderr.write(`usage: svc-hub ${command.usage}\n`)
    return EXIT_USAGE
  }
  if (!(error instanceof ConfigRefused) && !(error instanceof StoreRefused) && error instanceof Error)
    process.stderr.write(`${error.stack ?? ''}\n`)
  return EXIT_FAILED
}

function configOf(flags: Flags): Config {
  const text = (name: string): string | undefined => flags[name] as string | undefined
  return readConfig(
    {
      config: text('config'),
      listen: text('listen'),
      dataDir: text('data-dir'),
      baseUrl: text('base-url'),
      wire: text('wire'),
    },
    process.env,
  )
}

async function serve(config: Config): Promise<number> {
  process.umask(PRIVATE_UMASK)
  keepMemorySmall()
  const ended = Promise.withResolvers<number>()
  const running = await startHub({ config, log: makeLog(), onBroken: () => ended.resolve(EXIT_FAILED) })
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => ended.resolve(0))
  announce(config, running)
  const code = await ended.promise
  // Also over a broken store: what is under way gets its refusal, then a supervisor may start anew.
  await running.close()
  return code
}

function announce(
  config: Config,
  running: { url: string; baseUrl: string; aid: string; created: boolean },
): void {
  const { url, baseUrl, aid, created } = running
  const lines = [
    `svc-hub ${buildInfo.version} serves wire 3 at ${url}${baseUrl === url ? '' : ` as ${baseUrl}`}`,
    `hub AID ${aid}`,
    `data in ${config.dataDir}`,
  ]
  if (created) lines.push('admission is closed; let an agent register with: svc-hub admit <AID>')
  if (!/^(127\.|::1$|localhost$)/.test(config.listen.host))
    lines.push('this address is reachable from outside: put TLS in front of it')
  process.stdout.write(`${lines.join('\n')}\n`)
}

async function init(config: Config): Promise<number> {
  const data = await openOffline(config)
  const { created } = data
  const { aid } = data.identity
  await data.close()
  return print({ aid, data_dir: config.dataDir, created })
}

/** Gives an order to the running hub, or carries it out on the store of a stopped one. */
async function order(given: Order, config: Config): Promise<number> {
  const answer = await orderRunningHub(config.dataDir, given)
  if (answer !== undefined) {
    if (answer.ok) return print(answer.result)
    process.stderr.write(`svc-hub: ${answer.error}\n`)
    return EXIT_FAILED
  }
  const data = await openOffline(config)
  try {
    return print(
      await carryOut(given, {
        store: data.store,
        now: Date.now,
        limits: config.limits,
        changed: () => undefined,
      }),
    )
  } finally {
    await data.close()
  }
}

function openOffline(config: Config): ReturnType<typeof openDataDirectory> {
  process.umask(PRIVATE_UMASK)
  return openDataDirectory({
    directory: config.dataDir,
    now: Date.now,
    random: systemRandom,
    onBroken: error => process.stderr.write(`svc-hub: ${error.message}\n`),
  })
}

function admissionOrder(mode: string | undefined): Order {
  if (mode === undefined) return { command: 'admission' }
  if (mode !== 'open' && mode !== 'closed') throw new UsageError(`admission is open or closed, not ${mode}`)
  return { command: 'admission', mode }
}

function aidOf(text: string | undefined): string {
  if (text === undefined || !isAid(text)) throw new UsageError('an AID is missing or is none')
  return text
}

function quotaOrder(aid: string, flags: Flags): Order {
  const given = Object.fromEntries(
    quotaFlags.flatMap(flag => {
      const text = flags[flag]
      if (text === undefined) return []
      if (typeof text !== 'string' || !/^[0-9]{1,15}$/.test(text))
        throw new UsageError(`--${flag} takes a whole number`)
      return [[flag.replaceAll('-', '_'), Number(text)]]
    }),
  )
  const reset = flags['reset'] === true
  return {
    command: 'quota',
    aid,
    ...(Object.keys(given).length === 0 ? {} : { quota: given }),
    ...(reset ? { reset } : {}),
  }
}

/** JSON lines on stderr. The logger is loaded with the first line, because a healthy hub writes none. */
function makeLog(): Log {
  let loaded: Promise<Logger> | undefined
  const write = (level: 'info' | 'warn' | 'error') => (event: string, facts: Record<string, unknown>) => {
    loaded ??= import('pino').then(({ pino }) =>
      pino({ base: null }, pino.destination({ fd: 2, sync: true })),
    )
    loaded.then(
      logger => logger[level](facts, event),
      () => undefined,
    )
  }
  return { info: write('info'), warn: write('warn'), error: write('error') }
}

function print(value: Record<string, unknown>): number {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`)
  return 0
}

function help(): number {
  const rows = Object.values(commands).map(({ usage, summary }) => `  svc-hub ${usage}\n      ${summary}`)
  process.stdout.write(`svc-hub ${buildInfo.version}: a hub for svc nodes\n\n${rows.join('\n')}\n`)
  return 0
}
