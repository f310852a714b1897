/**
 * What a copy of this node that is lost signed after the backup from which this one goes on. The hub shows the debits, and
 * the authorizations for them, which nobody else can have signed: they are told as that and accuse nobody. A debit of that
 * time for which it shows none may be as honest, or not: nobody can tell, so a person decides.
 */
import type { Logger } from 'pino'
import { cidText } from '../../protocol/crypto/hash.ts'
import { equal, Malformed } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { keyAt } from '../../protocol/identity/kel.ts'
import {
  AUTHORIZATION_LIFE_MAX_MS,
  Authorization,
  networkOf,
  SettlementReceipt,
  settlementKinds,
  transactionOf,
} from '../../protocol/proof/payment.ts'
import { shellWord } from '../../protocol/shell.ts'
import type { AccountEntry } from '../hubs/hub.ts'
import type { Identity } from '../identity/identity.ts'
import type { Events } from '../platform/events.ts'
import { refuse } from '../refusal.ts'
import {
  keepLostOrder,
  type LostOrderRow,
  lostOrderRow,
  lostOrderRows,
  noteLostOrderEnd,
} from '../store/lost-orders.ts'
import type { Store } from '../store/open.ts'
import { paymentOf } from '../store/payments.ts'
import { type Restore, restores } from '../store/restores.ts'
import type { Interaction } from '../store/threads.ts'
import type { LostRefunds } from './lost-refunds.ts'
import type { OwnRecords } from './own-records.ts'
import { quoteOfRow, type Receipts } from './receipts.ts'
import type { Asked } from './refund-calls.ts'
import { isNoted } from './refunds.ts'

/**
 * `signed`: the hub showed what this identity signed for it · `unproven`: it showed nothing, and the debit is of the time
 * that was lost.
 */
export type LostOrder = {
  state: 'signed' | 'unproven'
  /** Of its entry. */
  seq: number
  transaction: string
  amount: number
  atMs: number
  counterparty: string | undefined
  reason: string
  /** What its payee took of the hold, once the hub has signed how that ended. */
  moved?: number
}
/** What happened this long before an archive was made may be missing in it, as clocks differ; and after it went on. */
const CLOCKS_MS = 3_600_000
/** A hub moves nothing by an order that is over, but for the clocks of two. */
const SETTLED_LATE_MS = 10 * 60_000
/** So many holds are asked about at once. */
const ENDS_ASKED_MAX = 64
/** So long is a hub asked about it. */
const SHOWN_MS = 13 * 86_400_000

/** From when on something may be missing here; undefined where this node was not restored in the time that hubs show. */
export function missingSince(store: Store, nowMs: number): number | undefined {
  const recent = restores(store).filter(({ settledMs }) => settledMs > nowMs - SHOWN_MS)
  return recent.length === 0 ? undefined : Math.min(...recent.map(({ madeAtMs }) => madeAtMs)) - CLOCKS_MS
}

const isWithin = (atMs: number, { madeAtMs, settledMs }: Restore, lateMs = 0): boolean =>
  atMs > madeAtMs - CLOCKS_MS && atMs < settledMs + CLOCKS_MS + lateMs

/** How holds that a lost copy ordered have ended. */
export class LostEnds {
  readonly #store: Store
  readonly #receipts: Receipts
  readonly #events: Events
  readonly #log: Logger

  constructor(
    { store, receipts, events }: { store: Store; receipts: Receipts; events: Events },
    log: Logger,
  ) {
    this.#store = store
    this.#receipts = receipts
    this.#events = events
    this.#log = log
  }

  /** Asks how holds that a lost copy ordered have ended: the account of their payer does not say it. */
  async learn(hub: Asked, signal: AbortSignal): Promise<void> {
    const network = networkOf(hub.identity.aid)
    for (const { id: transaction, authorization: encoded } of openHolds(this.#store, network).slice(
      0,
      ENDS_ASKED_MAX,
    )) {
      const said = await hub.credits.endOf(encoded, quoteOfRow({ authorization: encoded }), signal)
      if ('refused' in said || said.end === undefined) continue
      const { captured, returned } = settlementKinds
      const authorization = Authorization.decode(encoded)
      const fault = await this.#receipts.faultOf(hub, said.end, {
        authorization,
        kinds: [captured, returned],
      })
      if (fault !== undefined) {
        this.#log.error({ fault, transaction }, 'the receipt of a payment of a lost copy does not hold')
        continue
      }
      const { kind, amount } = SettlementReceipt.decode(said.end).body
      const moved = kind === captured ? amount : 0
      this.#store.transaction(() => {
        noteLostOrderEnd(this.#store, transaction, moved)
        this.#store.afterCommit(() => this.#events.emit('hub'))
      }, 'node.audit')
    }
  }
}

/** What a hub shows that this identity has signed. */
export class ShownOrders {
  readonly #identity: Identity
  readonly #store: Store
  readonly #events: Events

  constructor({ identity, store, events }: { identity: Identity; store: Store; events: Events }) {
    this.#identity = identity
    this.#store = store
    this.#events = events
  }

  /** Keeps what this identity can be seen to have signed. */
  async learn(
    { credits, identity: { aid } }: Asked,
    open: readonly AccountEntry[],
    { sinceMs, signal }: { sinceMs: number; signal: AbortSignal },
  ): Promise<void> {
    const shown = await credits.authorizationsSince(sinceMs, signal)
    this.#store.transaction(() => {
      for (const entry of open) {
        const { seq, transaction: id = '', atMs: at, reason, counterparty = null } = entry
        const authorization = shown.get(id)
        if (authorization === undefined || !this.#isOwn(networkOf(aid), entry, authorization)) continue
        keepLostOrder(this.#store, { id, seq, at, reason, counterparty, authorization })
      }
      this.#store.afterCommit(() => this.#events.emit('hub'))
    }, 'node.audit')
  }

  /**
   * Whether this identity signed that very debit, in a time of which this store knows nothing. Of a key that was rotated away
   * since nothing is believed that was not shown before: whoever has it dates as he likes.
   */
  #isOwn(network: string, { transaction, delta, atMs }: AccountEntry, encoded: Uint8Array): boolean {
    const identity = this.#identity
    try {
      const authorization = Authorization.decode(encoded)
      const { body } = authorization
      const key = keyAt(identity.log, body.payerKelSeq)
      return (
        body.payer === identity.aid &&
        body.network === network &&
        body.amount === -delta &&
        cidText(transactionOf(authorization)) === transaction &&
        restores(this.#store).some(one => isWithin(body.notBefore, one)) &&
        atMs <= body.notAfter + SETTLED_LATE_MS &&
        body.payerKelSeq === identity.log.seq &&
        key !== undefined &&
        Authorization.verify(key, authorization)
      )
    } catch (error) {
      if (error instanceof Malformed) return false
      throw error
    }
  }
}

type LostOrderParts = {
  store: Store
  records: OwnRecords
  shown: ShownOrders
  ends: LostEnds
  refunds: LostRefunds
}

export class LostOrders {
  readonly #store: Store
  readonly #records: OwnRecords
  readonly #shown: ShownOrders
  readonly #ends: LostEnds
  readonly #refunds: LostRefunds
  readonly #hubNow: () => number

  constructor({ store, records, shown, ends, refunds }: LostOrderParts, hubNow: () => number) {
    this.#store = store
    this.#records = records
    this.#shown = shown
    this.#ends = ends
    this.#refunds = refunds
    this.#hubNow = hubNow
  }

  /** Debits of which this node has no record and that a lost copy may have ordered, the newest first. */
  async at(hub: Asked, entries: readonly AccountEntry[], signal: AbortSignal): Promise<LostOrder[]> {
    const sinceMs = missingSince(this.#store, this.#hubNow())
    if (sinceMs === undefined) return []
    const own = new Set(
      this.#records.authorizedSince(sinceMs - CLOCKS_MS).map(({ transaction }) => transaction),
    )
    const open = entries.filter(
      ({ delta, atMs, transaction = '' }) => delta < 0 && atMs > sinceMs && !own.has(transaction),
    )
    if (open.some(({ transaction = '' }) => lostOrderRow(this.#store, transaction) === undefined))
      await this.#shown.learn(hub, open, { sinceMs, signal })
    await this.#refunds.takeUp(hub, signal)
    await this.#ends.learn(hub, signal)
    const within = restores(this.#store)
    const signed = signedDebits(this.#store, open)
    return open.flatMap(entry => {
      const { seq, delta, atMs, transaction = '', counterparty, reason } = entry
      const isSigned = signed.has(entry)
      const isOfThen = within.some(one => isWithin(atMs, one, AUTHORIZATION_LIFE_MAX_MS))
      if (!isSigned && !isOfThen) return []
      const state = isSigned ? ('signed' as const) : ('unproven' as const)
      return [{ state, seq, transaction, amount: -delta, atMs, counterparty, reason }]
    })
  }

  /**
   * A node that was restored may have given the same back in a copy that is lost: its hub is asked first. Refuses where it
   * shows a refund to this requester and not of what, unless another one is meant.
   */
  async requireRefundsKnown(
    hub: Asked,
    interaction: Interaction,
    { again = false, signal }: { again?: boolean | undefined; signal: AbortSignal },
  ): Promise<void> {
    if (missingSince(this.#store, this.#hubNow()) === undefined) return
    const entries = await hub.credits.entriesAfter(0, signal)
    const orders = await this.at(hub, entries, signal)
    const isOpen = ({ state, transaction }: LostOrder) =>
      state === 'unproven' || isUncounted(this.#store, transaction, interaction)
    const lost = orders.find(
      order => order.reason === 'refund' && order.counterparty === interaction.peer && isOpen(order),
    )
    if (lost === undefined || again) return
    refuse(
      'wrong_state',
      `this node was restored, and its hub gave ${lost.amount} credits back to this agent since by ${lost.transaction}, which a copy that is lost may have ordered for this task; nothing was given back now`,
      `svc refund ${shellWord(interaction.id)} --again`,
    )
  }
}

/** Holds that lost copies ordered in the credits of a hub, and of whose end it has signed nothing. */
export const openHolds = (store: Store, network: string): LostOrderRow[] =>
  lostOrderRows(store).filter(({ authorization, moved }) => {
    const { network: of, holdUntil } = Authorization.decode(authorization).body
    return moved === null && of === network && holdUntil !== undefined
  })

/** Debits that are known to be ordered: each order is for one, the oldest of its amount. */
function signedDebits(store: Store, entries: readonly AccountEntry[]): ReadonlySet<AccountEntry> {
  const found = new Map<string, AccountEntry>()
  for (const entry of entries.toReversed()) {
    const { transaction = '', delta } = entry
    const kept = lostOrderRow(store, transaction)
    if (kept !== undefined && amountOf(kept) === -delta && !found.has(transaction))
      found.set(transaction, entry)
  }
  return new Set(found.values())
}

const amountOf = ({ authorization }: LostOrderRow): number => Authorization.decode(authorization).body.amount

/** What hubs have shown to be signed by a lost copy, the newest first, while they are asked about it. */
export function knownLostOrders(store: Store, nowMs: number): LostOrder[] {
  return lostOrderRows(store)
    .filter(({ at }) => at >= nowMs - SHOWN_MS)
    .map(row => ({
      state: 'signed' as const,
      seq: row.seq,
      transaction: row.id,
      amount: amountOf(row),
      atMs: row.at,
      counterparty: row.counterparty ?? undefined,
      reason: row.reason,
      ...present({ moved: row.moved ?? undefined }),
    }))
    .sort((a, b) => b.atMs - a.atMs)
}

/** What became of a hold that a lost copy ordered, as its hub has shown; undefined for any other transaction. */
export function lostHoldSaid(
  store: Store,
  transaction: string,
): { payment: 'held' | 'taken' | 'returned'; paid?: number } | undefined {
  const kept = lostOrderRow(store, transaction)
  if (kept?.reason !== 'held') return undefined
  const { moved } = kept
  if (moved === null) return { payment: 'held' }
  return moved === 0 ? { payment: 'returned' } : { payment: 'taken', paid: moved }
}

/** It accuses nobody; but credits may be gone that nobody of this identity gave, so a person looks at it first. */
export const unprovenFault = ({ amount, transaction, atMs, counterparty }: LostOrder): string =>
  `it took ${amount} credits by ${transaction || 'an entry without an id'} at ${new Date(atMs).toISOString()}` +
  `${counterparty === undefined ? '' : ` for ${counterparty}`}, after the backup that was restored here, and shows no order for it: ` +
  'a copy of this node that is lost may have signed it'

/** Whether a lost copy ordered to give this task's payment back, and its hub has shown no receipt of it. */
function isUncounted(store: Store, transaction: string, { key }: Interaction): boolean {
  const kept = lostOrderRow(store, transaction)
  const payment = paymentOf(store, key)?.payment
  if (kept === undefined || payment === undefined) return false
  const { refundOf } = Authorization.decode(kept.authorization).body
  return refundOf !== undefined && equal(refundOf, payment) && !isNoted(store, kept.authorization)
}
