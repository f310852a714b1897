/** Orders carried out over a store: one function for each, and a line in the log for what changed something. */

import { CREDITS_MAX } from '../../protocol/contract/limits.ts'
import { fromHex } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { HOUR_MS } from '../core/limits.ts'
import { MODE_SETTING } from '../core/membership/admission.ts'
import { heldSentence } from '../core/supply/held.ts'
import { booksAgree } from '../store/books.ts'
import { isFull, type Quota, StoreAway, StoreLocked, StoreRefused } from '../store/port.ts'
import { admit, agentPage, block, remove, showAgent, unadmit, unblock } from './agent-orders.ts'
import { archive, listed, unarchive } from './archive-orders.ts'
import { clockOfHolds, creditTotals, redemptions } from './credit-orders.ts'
import { invites } from './invite-orders.ts'
import {
  type OperatorContext,
  type Order,
  type OrderOf,
  type OrderResult,
  quotaBounds,
  quotaMembers,
} from './order-shapes.ts'
import { peers } from './peer-orders.ts'
import { ranges } from './range-orders.ts'
import { standstill, witnesses } from './witness-orders.ts'

type Carrier<C extends Order['command']> = (
  order: OrderOf<C>,
  context: OperatorContext,
) => Promise<OrderResult>

const carriers: { [C in Order['command']]: Carrier<C> } = {
  admission,
  agents: agentPage,
  agent: showAgent,
  admit,
  unadmit,
  block,
  unblock,
  remove,
  archive,
  unarchive,
  listed,
  ranges,
  quota,
  grant,
  redemptions,
  witness: witnesses,
  peers,
  invites,
  clock: clockOfHolds,
  rotate,
  stats: (_, context) => stats(context),
  running: async (_, { running }) => ({ ...(await running?.()) }),
  keep_files: async (_, { leases }) => ({ lease: await leases?.take() }),
  let_go: async ({ lease }, { leases }) => ({ ended: await leases?.end(lease) }),
}

/** Carries out an order and tells the state after it; one that changed something is written down. */
export async function carryOut(order: Order, context: OperatorContext): Promise<OrderResult> {
  const carrier = carriers[order.command] as Carrier<Order['command']>
  const result = await withRoom(() => carrier(order as never, context), context)
  const gaveNothing = order.command === 'grant' && result['granted'] === 0
  if (isChange(order)) context.audit(gaveNothing ? { ...order, granted: 0 } : order)
  return result
}

/** On a full disk the operator's own orders have the room that is kept for it; each may be repeated. */
async function withRoom(
  carry: () => Promise<OrderResult>,
  { store }: Pick<OperatorContext, 'store'>,
  last = false,
): Promise<OrderResult> {
  try {
    return await carry()
  } catch (error) {
    if (error instanceof StoreLocked)
      throw new StoreRefused(
        'another program has locked the store; end what has hub.db open, then repeat the command',
      )
    if (error instanceof StoreAway)
      throw new StoreRefused(`${error.message}; repeat the command once it is back`)
    if (!isFull(error)) throw error
    if (!last && (await store.local?.giveUpReserve()) === true) return await withRoom(carry, { store }, true)
    throw new StoreRefused(
      'the disk is full, or the store has grown to its limit; free some room, then repeat the command',
    )
  }
}

const CHANGES: ReadonlySet<Order['command']> = new Set([
  'admit',
  'unadmit',
  'block',
  'unblock',
  'remove',
  'unarchive',
  'grant',
  'rotate',
])

function isChange(order: Order): boolean {
  switch (order.command) {
    case 'admission':
      return order.mode !== undefined
    case 'archive':
      return order.aid !== undefined
    case 'listed':
      return order.listed !== undefined
    case 'quota':
      return order.quota !== undefined || order.reset === true
    case 'ranges':
      return (order.refuse ?? order.allow) !== undefined
    case 'clock':
      return order.accept === true
    case 'peers':
      return (order.add ?? order.limit ?? order.remove ?? order.paid ?? order.reopen) !== undefined
    case 'invites':
      return (order.make ?? order.revoke) !== undefined
    case 'witness':
      return (order.add ?? order.remove) !== undefined
    default:
      return CHANGES.has(order.command)
  }
}

async function admission({ mode }: OrderOf<'admission'>, { store }: OperatorContext): Promise<OrderResult> {
  if (mode !== undefined) await store.putSetting(MODE_SETTING, mode)
  return { admission: (await store.setting(MODE_SETTING)) ?? 'closed' }
}

const NOTES = {
  repeated: 'this order was carried out already',
  returned:
    'a grant of this amount to this agent came back after the restore, and stands for this order; for another one leave --id out',
}

async function grant(order: OrderOf<'grant'>, context: OperatorContext): Promise<OrderResult> {
  const { aid, amount, id } = order
  const agent = await context.agents.find(aid)
  if (agent?.log.deactivated === true)
    throw new StoreRefused(`${aid} has ended for good, and nobody could use the credits; nothing was given`)
  if (agent === undefined)
    throw new StoreRefused(`${aid} has never registered here; let it register first: svc-hub admit ${aid}`)
  const halted = await standstill(context)
  if (halted !== undefined) throw new StoreRefused(heldSentence(halted))
  if (!booksAgree(await context.store.snapshot()))
    throw new StoreRefused(
      'the books of this hub do not sum up, so nothing is given on their word; restore a backup: svc-hub doctor',
    )
  const { issued } = await context.store.creditTotals()
  if (amount > CREDITS_MAX - issued)
    throw new StoreRefused(
      `a hub issues ${CREDITS_MAX} credits at most, and ${issued} were issued already; give ${CREDITS_MAX - issued} or fewer`,
    )
  const issuance = await context.issuance()
  const became = await issuance.grant(aid, amount, fromHex(id), order.repeat === true)
  if (became === 'other')
    throw new StoreRefused(`the order ${id} was carried out already, as another grant; nothing was given now`)
  const { balance, held } = await context.store.holdings(aid, context.now())
  const given = { aid, granted: became === 'given' ? amount : 0, balance, held, id }
  return became === 'given' ? given : { ...given, note: `${NOTES[became]}; nothing was given now` }
}

async function rotate(_: OrderOf<'rotate'>, { leases, rotate }: OperatorContext): Promise<OrderResult> {
  if (leases !== undefined && leases.count > 0)
    throw new StoreRefused('a backup is being made, which must not mix two keys; try again when it is done')
  const { aid, seq } = await rotate()
  return { aid, key_events: seq + 1 }
}

async function quota(
  order: OrderOf<'quota'>,
  { store, limits, changed }: OperatorContext,
): Promise<OrderResult> {
  const held = order.reset === true ? {} : (await store.account(order.aid)).quota
  const given = order.quota ?? {}
  checkBounds(given)
  const next: Quota = {
    envelopesMax: given.envelopes ?? held.envelopesMax,
    bytesMax: given.bytes ?? held.bytesMax,
    strangerEnvelopesMax: given.stranger_envelopes ?? held.strangerEnvelopesMax,
    strangerBytesMax: given.stranger_bytes ?? held.strangerBytesMax,
    strangerPerMinute: given.stranger_per_minute ?? held.strangerPerMinute,
  }
  if (order.quota !== undefined || order.reset === true) await store.setQuota(order.aid, next)
  changed(order.aid)
  return { aid: order.aid, ...quotaMembers(next, limits) }
}

function checkBounds(given: NonNullable<OrderOf<'quota'>['quota']>): void {
  for (const [member, value] of Object.entries(given)) {
    const { min, max } = quotaBounds(member)
    if (value !== undefined && (value < min || value > max))
      throw new StoreRefused(
        `${member} is out of bounds: ${value}; give a whole number from ${min} to ${max}`,
      )
  }
}

async function shownDatabase(read: OperatorContext['database']): Promise<OrderResult> {
  if (read === undefined) return {}
  const { processes, standbys } = await read()
  const shown = standbys.map(({ name, isSynchronous, lagBytes, lagMs }) => ({
    ...{ name, synchronous: isSynchronous },
    ...present({ lag_bytes: lagBytes, lag_ms: lagMs }),
  }))
  return { database: { processes, standbys: shown } }
}

/** At a hub that does not run nobody is online, however lately it was stopped or killed. */
async function stats({ store, now, running, database }: OperatorContext): Promise<OrderResult> {
  const credits = await creditTotals({ store })
  const hourMs = Math.floor(now() / HOUR_MS) * HOUR_MS
  const { agents, onlineAgents } = await store.counts(hourMs - HOUR_MS)
  const admission = (await store.setting(MODE_SETTING)) ?? 'closed'
  // those whose mail the hub reads are counted apart
  const open = (await store.openAgents()) || undefined
  const online = running === undefined ? 0 : onlineAgents
  return {
    agents,
    online_nodes: online,
    ...present({ open_agents: open }),
    admission,
    credits,
    ...(await shownDatabase(database)),
  }
}
