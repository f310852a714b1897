/** What the commands of svc-hub do: serving, and orders to a hub that runs or to the store of one that does not. */
import { resolve } from 'node:path'
import { buildInfo } from '../../protocol/build-info.ts'
import { Refusal } from '../../protocol/encoding/errors.ts'
import { present } from '../../protocol/encoding/present.ts'
import { isAid } from '../../protocol/identity/aid.ts'
import { isLocal } from '../bind.ts'
import { type Config, DATA_DIR_DEFAULT } from '../config.ts'
import { systemRandom } from '../core/random.ts'
import { holdsHub, openDataDirectory } from '../data-dir.ts'
import { keepMemorySmall } from '../lean-memory.ts'
import { makeLog, toStderr } from '../log.ts'
import { carryOut, type Order } from '../operator/orders.ts'
import { orderRunningHub } from '../operator/socket.ts'
import { type RunningHub, startHub } from '../serve.ts'
import { EXIT_FAILED, keepPrivate, print } from '../terminal.ts'

export const quotaFlags = [
  'envelopes',
  'bytes',
  'stranger-envelopes',
  'stranger-bytes',
  'stranger-per-minute',
]

type Announced = Pick<RunningHub, 'url' | 'baseUrl' | 'aid' | 'created' | 'operatorUrl'>
export type Flags = Record<string, string | boolean | undefined>

/** The command line was not understood. */
export class UsageError extends Refusal<'usage'> {
  override name = 'UsageError'
  constructor(sentence: string) {
    super('usage', sentence)
  }
}

export async function serve(config: Config): Promise<number> {
  keepPrivate()
  keepMemorySmall()
  const log = makeLog(toStderr, Date.now)
  const ended = Promise.withResolvers<{ code: number; why: string }>()
  const onBroken = () => ended.resolve({ code: EXIT_FAILED, why: 'the store failed' })
  const running = await startHub({ config, log, onBroken })
  // A terminal sends its signal to a launcher and to the hub: the second one changes nothing, the end has a limit.
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.on(signal, () => ended.resolve({ code: 0, why: signal }))
  process.stdout.write(`${announcement(config, running).join('\n')}\n`)
  const { url, aid } = running
  log.info('started', { version: buildInfo.version, wire: config.wire, url, aid, data_dir: config.dataDir })
  const { code, why } = await ended.promise
  log.info('stopping', { why })
  // Also over a broken store: what is under way gets its refusal, then a supervisor may start anew.
  await running.close()
  log.info('stopped', { code })
  return code
}

/** What a start says: where the hub is, whose it is, what is worth knowing, and what comes next. */
export function announcement(config: Config, running: Announced): string[] {
  const { url, baseUrl, aid, created, operatorUrl } = running
  const lines = [
    `svc-hub ${buildInfo.version} serves wire ${config.wire} at ${url}${baseUrl === url ? '' : ` as ${baseUrl}`}`,
    `hub AID ${aid}`,
    `data in ${config.dataDir}`,
  ]
  if (operatorUrl !== undefined) lines.push(`metrics and health at ${operatorUrl}`)
  if (created)
    lines.push(`admission is closed; let an agent register with: ${placed('svc-hub admit <AID>', config)}`)
  if (!isLocal(config.listen.host))
    lines.push('this address can be reached from other machines; put TLS in front of it')
  if (config.operatorListen !== undefined && !isLocal(config.operatorListen.host))
    lines.push('the metrics can be reached from other machines; set operator_listen to 127.0.0.1:8078')
  return lines
}

export async function init(config: Config): Promise<number> {
  const data = await openOffline(config)
  const { created } = data
  const { aid } = data.identity
  await data.close()
  return print({ aid, data_dir: config.dataDir, created })
}

/** Gives an order to the running hub, or carries it out on the store of a stopped one. */
export async function order(given: Order, config: Config): Promise<number> {
  const answer = await orderRunningHub(config.dataDir, given)
  if (answer !== undefined) {
    if (answer.ok) return print(answer.result)
    process.stderr.write(`svc-hub: ${answer.error}\n`)
    return EXIT_FAILED
  }
  if (!holdsHub(config.dataDir)) throw noHub(config.dataDir)
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

function noHub(directory: string): UsageError {
  return new UsageError(
    `there is no hub in ${directory}; name its data directory with --data-dir, or create one with: svc-hub init --data-dir ${directory}`,
  )
}

/** A command as the operator has to give it for this hub: with its data directory where that is not the usual one. */
function placed(command: string, { dataDir }: Config): string {
  return dataDir === resolve(DATA_DIR_DEFAULT) ? command : `${command} --data-dir ${dataDir}`
}

function openOffline(config: Config): ReturnType<typeof openDataDirectory> {
  keepPrivate()
  return openDataDirectory({
    directory: config.dataDir,
    now: Date.now,
    random: systemRandom,
    onBroken: error => process.stderr.write(`svc-hub: ${error.message}\n`),
  })
}

export function admissionOrder(mode: string | undefined): Order {
  if (mode === undefined) return { command: 'admission' }
  if (mode !== 'open' && mode !== 'closed') throw new UsageError(`expected open or closed, got ${mode}`)
  return { command: 'admission', mode }
}

export function aidOf(text: string | undefined): string {
  if (text === undefined || !isAid(text))
    throw new UsageError('expected an AID: 44 characters starting with A')
  return text
}

export function quotaOrder(aid: string, flags: Flags): Order {
  const given = Object.fromEntries(
    quotaFlags.flatMap(flag => {
      const text = flags[flag]
      if (text === undefined) return []
      if (typeof text !== 'string' || !/^[0-9]{1,15}$/.test(text))
        throw new UsageError(`--${flag} expects a whole number`)
      return [[flag.replaceAll('-', '_'), Number(text)]]
    }),
  )
  const reset = flags['reset'] === true
  return {
    command: 'quota',
    aid,
    ...present({
      quota: Object.keys(given).length === 0 ? undefined : given,
      reset: reset || undefined,
    }),
  }
}
