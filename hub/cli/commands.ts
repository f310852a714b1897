/** What the commands of svc-hub do: serving, and orders to a hub that runs or to the store of one that does not. */
import { resolve } from 'node:path'
import { buildInfo } from '../../protocol/build-info.ts'
import { Refusal } from '../../protocol/encoding/errors.ts'
import { present } from '../../protocol/encoding/present.ts'
import { isAid } from '../../protocol/identity/aid.ts'
import { isLocal } from '../bind.ts'
import { type Config, DATA_DIR_DEFAULT } from '../config.ts'
import { Agents } from '../core/agents.ts'
import { rotateIdentity } from '../core/identity.ts'
import { systemRandom } from '../core/random.ts'
import { type DataDirectory, openDataDirectory, partsOf, refusePart } from '../data-dir.ts'
import { keepMemorySmall } from '../lean-memory.ts'
import { limitSettings } from '../limits-config.ts'
import { makeLog, toStderr } from '../log.ts'
import type { OperatorContext, Order, OrderResult } from '../operator/order-shapes.ts'
import { carryOut } from '../operator/orders.ts'
import { serviceManager } from '../operator/service-manager.ts'
import { orderRunningHub } from '../operator/socket.ts'
import { type RunningHub, startHub } from '../serve.ts'
import { StoreRefused } from '../store/port.ts'
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
  const manager = serviceManager({
    env: process.env,
    work: () =>
      running.hub.context.store.putSetting('sign of life', String(Date.now())).catch(() => undefined),
    onFault: why => log.warn('the service manager was not told', { why }),
  })
  await manager.ready(`serves at ${running.url}`)
  log.info('started', { version: buildInfo.version, wire: config.wire, url, aid, data_dir: config.dataDir })
  const { code, why } = await ended.promise
  log.info('stopping', { why })
  await manager.stopping()
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
    lines.push(
      `this is a new hub: ${config.dataDir} held none, so a new identity was made`,
      `admission is closed; let an agent register with: ${placed('svc-hub admit <AID>', config)}`,
    )
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

/** Gives an order to the running hub, or carries it out on the store of a stopped one, and prints the answer. */
export async function order(given: Order, config: Config): Promise<number> {
  return await withHub(config, async carry => print(await carry(given)))
}

type Carry = (given: Order) => Promise<OrderResult>

/** Gives several orders to one hub, running or stopped. */
async function withHub(config: Config, work: (carry: Carry) => Promise<number>): Promise<number> {
  const first = await orderRunningHub(config.dataDir, { command: 'running' })
  if (first !== undefined) return await work(given => orderAt(config, given))
  const parts = partsOf(config.dataDir)
  refusePart(parts)
  if (parts.state === 'none') throw noHub(config.dataDir)
  const data = await openOffline(config)
  try {
    const context = stoppedContext(data, config)
    return await work(given => carryOut(given, context))
  } finally {
    await data.close()
  }
}

async function orderAt({ dataDir }: Config, given: Order): Promise<OrderResult> {
  const answer = await orderRunningHub(dataDir, given)
  if (answer?.ok === true) return answer.result
  throw new StoreRefused(answer?.error ?? 'the hub stopped meanwhile; repeat the command')
}

/** What orders work with while no hub runs; their lines go where a hub's log goes. */
function stoppedContext(data: DataDirectory, { limits, dataDir }: Config): OperatorContext {
  const { store, identity, blobs } = data
  const log = makeLog(toStderr, Date.now)
  return {
    store,
    agents: new Agents({ store, identity, blobs, now: Date.now, random: systemRandom }),
    now: Date.now,
    limits,
    rotate: () => rotateIdentity(dataDir, identity, Date.now, systemRandom),
    audit: given => log.info('order', given),
    changed: () => undefined,
    endSigner: () => undefined,
  }
}

/** Lists all agents, page by page, or shows one. */
export async function agents(
  what: string | undefined,
  aid: string | undefined,
  config: Config,
): Promise<number> {
  if (what === 'show') return await order({ command: 'agent', aid: aidOf(aid) }, config)
  if (what !== undefined && what !== 'ls') throw new UsageError(`expected ls or show, got ${what}`)
  if (aid !== undefined) throw new UsageError(`unexpected argument: ${aid}`)
  return await withHub(config, async carry => {
    const first = (await carry({ command: 'agents' })) as AgentPage
    const listed = [...first.agents]
    for (let { next } = first; next !== undefined; ) {
      const page = (await carry({ command: 'agents', after: next })) as AgentPage
      listed.push(...page.agents)
      next = page.next
    }
    return print({ agents: listed, ...present({ refused_lately: first.refused_lately }) })
  })
}

type AgentPage = { agents: unknown[]; next?: string; refused_lately?: unknown[] }

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

export function rangesOrder(what: string | undefined, range: string | undefined): Order {
  if (what === undefined || what === 'ls') {
    if (range !== undefined) throw new UsageError(`unexpected argument: ${range}`)
    return { command: 'ranges' }
  }
  if (what !== 'refuse' && what !== 'allow') throw new UsageError(`expected ls, refuse or allow, got ${what}`)
  if (range === undefined) throw new UsageError('expected an address range such as 192.0.2.0/24')
  return { command: 'ranges', [what]: range }
}

export function aidOf(text: string | undefined): string {
  if (text === undefined || !isAid(text))
    throw new UsageError('expected an AID: 44 characters starting with A')
  return text
}

/** One mailbox may have what all may have. */
function checkBounds(flag: string, value: number): void {
  const name = flag.replaceAll('-', '_')
  const bounds = limitSettings[name] ?? limitSettings[`mailbox_${name}`]
  if (bounds !== undefined && (value < bounds.min || value > bounds.max))
    throw new UsageError(`--${flag} expects a whole number from ${bounds.min} to ${bounds.max}`)
}

export function quotaOrder(aid: string, flags: Flags): Order {
  const given = Object.fromEntries(
    quotaFlags.flatMap(flag => {
      const text = flags[flag]
      if (text === undefined) return []
      if (typeof text !== 'string' || !/^[0-9]{1,15}$/.test(text))
        throw new UsageError(`--${flag} expects a whole number`)
      checkBounds(flag, Number(text))
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
