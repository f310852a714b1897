/** What the commands of svc-hub do: serving, and orders to a hub that runs or to the store of one that does not. */
import { resolve } from 'node:path'
import { toHex } from '../../protocol/encoding/bytes.ts'
import { Refusal } from '../../protocol/encoding/errors.ts'
import { present } from '../../protocol/encoding/present.ts'
import { isAid } from '../../protocol/identity/aid.ts'
import { amountOfText } from '../../protocol/proof/payment.ts'
import { systemNow, systemTimers } from '../../protocol/timers.ts'
import { type Config, DATA_DIR_DEFAULT } from '../config.ts'
import { addressRangeOf } from '../core/address-ranges.ts'
import { Agents } from '../core/agents.ts'
import { PaidDebts } from '../core/federation/paid-debts.ts'
import { Peers } from '../core/federation/peers.ts'
import { rotateIdentity } from '../core/identity.ts'
import { Issuance } from '../core/ledger/issuance.ts'
import type { AdmissionMode } from '../core/membership/admission.ts'
import { Invites } from '../core/membership/invites.ts'
import type { EndSigner } from '../core/membership/registry.ts'
import { Moderation } from '../core/moderation/moderation.ts'
import { systemRandom } from '../core/random.ts'
import { SupplyChain } from '../core/supply/chain.ts'
import {
  type DataDirectory,
  type DataDirectoryOptions,
  partsOf,
  type Remembered,
  refuseUnusable,
} from '../data-dir.ts'
import { openness } from '../directory-access.ts'
import { whenFree } from '../directory-lock.ts'
import { openHub } from '../hub-data.ts'
import { makeLog, toStderr } from '../log.ts'
import {
  GRANT_REASON_CHARS_MAX,
  type OperatorContext,
  type Order,
  type OrderResult,
  quotaBounds,
} from '../operator/order-shapes.ts'
import { carryOut } from '../operator/orders.ts'
import { RANGE_EXPECTED } from '../operator/range-orders.ts'
import { orderRunningHub } from '../operator/socket.ts'
import { PeerList } from '../peers/list.ts'
import { StoreRefused } from '../store/port.ts'
import { keepPrivate, print } from '../terminal.ts'

export const quotaFlags = [
  'envelopes',
  'bytes',
  'stranger-envelopes',
  'stranger-bytes',
  'stranger-per-minute',
]

const GRANT_ID_BYTES = 16
const GRANT_ID = /^[0-9a-f]{32}$/

export type Flags = Record<string, string | boolean | undefined>

/** The command line was not understood. */
export class UsageError extends Refusal<'usage'> {
  override name = 'UsageError'
  constructor(sentence: string) {
    super('usage', sentence)
  }
}

/** `grant`: a role of the database that is to serve the hub, without changing its schema. */
export async function init(config: Config, grant: string | boolean | undefined): Promise<number> {
  const { database } = config
  if (grant !== undefined && (typeof grant !== 'string' || database === undefined))
    throw new UsageError('--grant names a role of the database that --store names')
  const notes: string[] = []
  const onNoReserve = (bytes: number) =>
    void notes.push(
      `the disk has no room for the reserve of ${bytes} bytes, by which mail can be collected once it is full; free some before you start the hub`,
    )
  const data = await behindCommands(config, () =>
    openOffline(config, { onNoReserve, keepsOlder: database === undefined }),
  )
  const { created } = data
  const { aid } = data.identity
  await data.close()
  if (typeof grant === 'string' && database !== undefined) {
    const { grantServing } = await import('../over-database.ts')
    await grantServing(database, grant)
  }
  const open = openness(config.dataDir)
  if (open !== undefined) notes.push(open)
  const note = notes.length === 0 ? undefined : notes.join('; ')
  const granted = typeof grant === 'string' ? grant : undefined
  return print({ aid, data_dir: config.dataDir, created, ...present({ granted, note }) })
}

/** Takes the data directory once a command that works on it has ended; a hub that holds it is not waited for. */
export async function behindCommands<T>(config: Config, take: () => Promise<T>): Promise<T> {
  return (await isServed(config)) ? await take() : await whenFree(take)
}

/** Whether a hub runs on a data directory. */
export async function isServed({ dataDir }: Pick<Config, 'dataDir'>): Promise<boolean> {
  return (await orderRunningHub(dataDir, { command: 'running' }).catch(() => undefined)) !== undefined
}

/** Gives an order to the running hub, or carries it out on the store of a stopped one, and prints the answer. */
export async function order(given: Order, config: Config): Promise<number> {
  return await withHub(config, async carry => {
    const result = await carry(given)
    const next = result['next']
    return print(typeof next === 'string' ? { ...result, next: placed(next, config) } : result)
  })
}

type Carry = (given: Order) => Promise<OrderResult>

/** Gives several orders to one hub, running or stopped. */
async function withHub(config: Config, work: (carry: Carry) => Promise<number>): Promise<number> {
  return await whenFree(() => withHubNow(config, work))
}

async function withHubNow(config: Config, work: (carry: Carry) => Promise<number>): Promise<number> {
  const first = await orderRunningHub(config.dataDir, { command: 'running' })
  if (first !== undefined) return await work(given => orderAt(config, given))
  if (config.database === undefined) {
    const parts = partsOf(config.dataDir)
    refuseUnusable(parts)
    if (parts.state === 'none') throw noHub(config.dataDir)
  }
  const data = await openOffline(config, { existing: config.database !== undefined })
  try {
    const context = stoppedContext(data, await data.remember(), config)
    return await work(given => carryOut(given, context))
  } finally {
    await data.close()
  }
}

async function orderAt({ dataDir }: Config, given: Order): Promise<OrderResult> {
  const lost = `the hub stopped meanwhile; repeat the command${repeated(given)}`
  const answer = await orderRunningHub(dataDir, given).catch(error => {
    if (error instanceof SyntaxError) throw new StoreRefused(lost)
    throw error
  })
  if (answer?.ok === true) return answer.result
  throw new StoreRefused(answer?.error ?? lost)
}

/** A grant of which nothing is known is safe to repeat under its id alone. */
const repeated = (given: Order): string =>
  given.command === 'grant' ? ` with --id ${given.id}: if it was given already, nothing more is given` : ''

/** What orders work with while no hub runs; their lines go where a hub's log goes. */
function stoppedContext(
  data: DataDirectory,
  { memory, now, database, rotating }: Remembered,
  { limits, dataDir }: Config,
): OperatorContext {
  const { store, identity, blobs } = data
  const log = makeLog(toStderr, systemNow)
  const peers = new Peers()
  const agents = new Agents({
    ...{ store, identity, blobs, now, random: systemRandom },
    memory,
  })
  // where no hub runs here, one may run elsewhere
  const endSigner: EndSigner = async ({ row }) => {
    await memory.sessions.endAll(row.aid)
    memory.wakeUps.tell(row.number, 'ended')
  }
  const supply = () => SupplyChain.open({ store, identity, now, memory })
  return {
    aid: identity.aid,
    store,
    agents,
    moderation: new Moderation({ store, now, aid: identity.aid, agents, endSigner }),
    invites: new Invites({ store, now, random: systemRandom }),
    now,
    limits,
    peers,
    peerList: new PeerList(dataDir, peers),
    rotate: () => rotating(() => rotateIdentity(dataDir, identity, now, systemRandom)),
    issuance: async () => new Issuance({ store, now, limits }, await supply()),
    paidDebts: async () => new PaidDebts({ store, identity, now }, await supply()),
    audit: given => log.info('order', given),
    changed: aid => agents.forgetAccount(aid),
    endSigner,
    database,
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

/** Lists all that an order lists under a name, page by page. */
export async function inPages(
  config: Config,
  name: string,
  orderOf: (before: number | undefined) => Order,
): Promise<number> {
  return await withHub(config, async carry => {
    const listed: unknown[] = []
    for (let before: number | undefined; ; ) {
      const page = (await carry(orderOf(before))) as Record<string, unknown[]> & { next?: number }
      listed.push(...(page[name] ?? []))
      if (page.next === undefined) return print({ [name]: listed })
      before = page.next
    }
  })
}

/** Lists what was redeemed, page by page. */
export async function redemptions(since: string | boolean | undefined, config: Config): Promise<number> {
  const from = since === undefined ? undefined : timeOf(since)
  return await withHub(config, async carry => {
    const listed: unknown[] = []
    let sum = 0
    for (let before: number | undefined; ; ) {
      const order = { command: 'redemptions' as const, ...present({ since: from, before }) }
      const page = (await carry(order)) as { redemptions: { amount: number }[]; next?: number }
      listed.push(...page.redemptions)
      sum = page.redemptions.reduce((total, { amount }) => total + amount, sum)
      if (page.next === undefined) return print({ redemptions: listed, amount: sum })
      before = page.next
    }
  })
}

const DAY = /^\d{4}-\d{2}-\d{2}$/
const MOMENT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?Z$/

function timeOf(text: string | boolean): number {
  const ms = typeof text === 'string' && (DAY.test(text) || MOMENT.test(text)) ? Date.parse(text) : Number.NaN
  // a day that no month has is taken for one of the next
  const isDay = !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(String(text).slice(0, 10))
  if (!isDay || ms < 0)
    throw new UsageError('--since expects a date such as 2026-01-31 or 2026-01-31T12:00:00Z')
  return ms
}

type AgentPage = { agents: unknown[]; next?: string; refused_lately?: unknown[] }

export function noHub(directory: string): StoreRefused {
  return new StoreRefused(
    `there is no hub in ${directory}; name its data directory with --data-dir, or create one with: svc-hub init --data-dir ${directory}`,
  )
}

/** A command as the operator has to give it for this hub: with its data directory where that is not the usual one. */
export function placed(command: string, { dataDir }: Config): string {
  return dataDir === resolve(DATA_DIR_DEFAULT) ? command : `${command} --data-dir ${dataDir}`
}

export function openOffline(
  config: Config,
  given: Pick<DataDirectoryOptions, 'onNoReserve' | 'existing' | 'keepsOlder'> = {},
): Promise<DataDirectory> {
  keepPrivate()
  return openHub(config, {
    now: systemNow,
    timers: systemTimers,
    random: systemRandom,
    onBroken: error => process.stderr.write(`svc-hub: ${error.message}\n`),
    keepsOlder: true,
    ...given,
  })
}

/** A mode as it was typed. */
export function modeOf(text: string | boolean | undefined): AdmissionMode | undefined {
  if (text === undefined || text === 'open' || text === 'closed') return text
  throw new UsageError(`--admission expects open or closed, got ${text}`)
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
  if (range === undefined || addressRangeOf(range) === undefined) throw new UsageError(RANGE_EXPECTED)
  return { command: 'ranges', [what]: range }
}

export function aidOf(text: string | undefined): string {
  if (text === undefined || !isAid(text))
    throw new UsageError('expected an AID: 44 characters starting with A')
  return text
}

function checkBounds(flag: string, value: number): void {
  const { min, max } = quotaBounds(flag.replaceAll('-', '_'))
  if (value < min || value > max)
    throw new UsageError(`--${flag} expects a whole number from ${min} to ${max}`)
}

export const AMOUNT_EXPECTED = 'expected an amount: a whole number above 0, at most 9007199254740991'

/** An order to give credits, with an id of its own. */
export function grantOrder(aid: string, amount: string | undefined, flags: Flags): Order {
  const reason = flags['reason']
  if (amount === undefined || amountOfText(amount) === undefined) throw new UsageError(AMOUNT_EXPECTED)
  if (typeof reason !== 'string' || reason.trim() === '' || reason.length > GRANT_REASON_CHARS_MAX)
    throw new UsageError(
      `--reason expects 1 to ${GRANT_REASON_CHARS_MAX} characters, which stay in the log of the hub`,
    )
  const id = flags['id'] ?? toHex(systemRandom(GRANT_ID_BYTES))
  if (typeof id !== 'string' || !GRANT_ID.test(id))
    throw new UsageError('--id expects the id that a grant printed: 32 characters of 0-9 and a-f')
  const repeat = flags['id'] === undefined ? {} : { repeat: true as const }
  return { command: 'grant', aid, amount: Number(amount), reason, id, ...repeat }
}

export function clockOrder(what: string | undefined): Order {
  if (what === undefined) return { command: 'clock' }
  if (what !== 'accept') throw new UsageError(`expected accept, got ${what}`)
  return { command: 'clock', accept: true }
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
