/**
 * Credits that a provider gives back after it took them: an authorization that names the payment. Whoever has it may have the
 * hub settle it, so it travels to the requester where the task still takes words, and both sides ask the hub.
 */
import type { Logger } from 'pino'
import { cidText } from '../../protocol/crypto/hash.ts'
import { equal, Malformed } from '../../protocol/encoding/bytes.ts'
import { Authorization, networkOf, transactionOf } from '../../protocol/proof/payment.ts'
import { describe, isOwnFailure } from '../hubs/failures.ts'
import { type HubClient, waitsForOtherHub } from '../hubs/hub.ts'
import type { Identity } from '../identity/identity.ts'
import type { Waker } from '../platform/waker.ts'
import { refuse } from '../refusal.ts'
import type { Store } from '../store/open.ts'
import { toldRefunds, waitingRefunds } from '../store/open-payments.ts'
import { addGivenBack, keepRefund, keepRefundTold, type PaymentRow, paymentOf } from '../store/payments.ts'
import { isRefundNoted, noteRefund } from '../store/refunds.ts'
import type { Interaction, Threads } from '../store/threads.ts'
import type { Accounts } from './accounts.ts'
import type { OwnRecords } from './own-records.ts'
import type { Moved, RefundCalls } from './refund-calls.ts'
import type { PaymentSigner } from './signing.ts'

/** Clocks may differ, so one that has ended may be moved a little longer. */
const TOLERANCE_MS = 4 * 60_000

/** What a hub answers while the requester's own hub has not asked it: nobody is registered there to be given it. */
const NOT_HERE = 'invalid_payload'

export type PreparedRefund = { row: PaymentRow; encoded: Uint8Array; amount: number; isNew: boolean }

type OwnParts = {
  store: Store
  threads: Threads
  signer: PaymentSigner
  records: OwnRecords
  calls: RefundCalls
  /** What asks hubs for those that wait. */
  spending: Waker
}

/** What this node gives back. */
export class OwnRefunds {
  readonly #store: Store
  readonly #threads: Threads
  readonly #signer: PaymentSigner
  readonly #records: OwnRecords
  readonly #calls: RefundCalls
  readonly #spending: Waker
  readonly #hubNow: () => number

  constructor({ store, threads, signer, records, calls, spending }: OwnParts, hubNow: () => number) {
    this.#store = store
    this.#threads = threads
    this.#signer = signer
    this.#records = records
    this.#calls = calls
    this.#spending = spending
    this.#hubNow = hubNow
  }

  /** The authorization that gives a payment back, signed once; runs inside a transaction. */
  prepare(interaction: Interaction, asked: number | undefined, isRenewed = false): PreparedRefund {
    const store = this.#store
    const row = paymentOf(store, interaction.key)
    const taken = row?.side === 'payee' && row.state === 'ended' ? (row.moved ?? 0) : 0
    if (row === undefined || taken === 0)
      return refuse('wrong_state', 'no credits were taken for this task', `svc thread ${interaction.id}`)
    if (row.refunded !== null)
      return refuse('wrong_state', 'credits of this task were given back already', 'svc balance')
    const amount = asked ?? taken
    if (amount > taken)
      return refuse('bad_request', `only ${taken} credits were taken for this task; give back at most that`)
    const held = row.refund ?? undefined
    const before = held && Authorization.decode(held)
    if (before !== undefined && !isRenewed && before.body.amount !== amount && !this.#isOver(before))
      return refuse(
        'wrong_state',
        `giving back ${before.body.amount} credits is under way; repeat that amount`,
      )
    // one whose time is over may have been carried out: the hub says
    if (held !== undefined && !isRenewed) return { row, encoded: held, amount, isNew: false }
    const { network, payment: refundOf } = row
    const authorization = this.#signer.sign({ payTo: interaction.peer, amount, network, refundOf })
    const encoded = Authorization.encode(authorization)
    keepRefund(store, interaction.key, encoded)
    this.#records.authorized(interaction.id, authorization)
    return { row, encoded, amount, isNew: true }
  }

  /** Has the hub move what was signed; a repeat gets the same receipt. `renew` signs it anew, under the newest key. */
  async settle(
    home: HubClient,
    interaction: Interaction,
    {
      prepared,
      renew,
      signal,
    }: { prepared: PreparedRefund; renew: () => PreparedRefund; signal: AbortSignal },
  ) {
    const { row, amount } = prepared
    if (row.otherHub !== null) await requireCredits(home, amount, signal)
    const first = await this.#calls.ask(home, interaction, prepared.encoded, signal)
    const mayRenew =
      !this.#signer.isOfThisKey(prepared.encoded) || this.#isOver(Authorization.decode(prepared.encoded))
    const settled =
      'says' in first && mayRenew ? await this.#calls.ask(home, interaction, renew().encoded, signal) : first
    if ('says' in settled) {
      if (row.otherHub === null || settled.refused !== NOT_HERE)
        return refuse('hub_refused', `the hub gave nothing back: ${settled.says}`, 'svc balance')
      this.#spending.wake()
      const transaction = cidText(transactionIn(prepared.encoded))
      return {
        interaction_id: interaction.id,
        amount,
        transaction,
        verified: false,
        waits_for: 'requester' as const,
      }
    }
    this.#note(row, interaction, settled)
    const { verified, transaction } = settled
    if (settled.amount !== amount)
      return refuse(
        'wrong_state',
        `${settled.amount} credits of this task were given back already`,
        'svc balance',
      )
    return { interaction_id: interaction.id, amount, transaction, verified }
  }

  /** Payments across two hubs of which it signed to give something back, and no hub has moved it. */
  get across(): PaymentRow[] {
    return waitingRefunds(this.#store).filter(({ otherHub }) => otherHub !== null)
  }

  /** Asks a hub for what the hubs of requesters have moved back meanwhile, of what this node signed. */
  async askAcross(home: HubClient, signal: AbortSignal): Promise<void> {
    const own = networkOf(home.identity.aid)
    for (const row of this.across) {
      if (row.network !== own || row.refund === null) continue
      const interaction = this.#threads.byKey(row.interaction)
      const settled = await this.#calls.ask(home, interaction, row.refund, signal)
      if (!('says' in settled)) this.#note(row, interaction, settled)
    }
  }

  #note({ payment }: PaymentRow, interaction: Interaction, moved: Moved): void {
    this.#store.transaction(() => {
      if ((paymentOf(this.#store, interaction.key)?.refunded ?? null) !== null) return
      addGivenBack(this.#store, payment, moved.amount)
      this.#calls.record(interaction, moved)
    }, 'node.payment')
  }

  #isOver({ body }: Authorization): boolean {
    return body.notAfter + TOLERANCE_MS <= this.#hubNow()
  }
}

/** The requester's hub moves it later, and then it has to be there. */
async function requireCredits(home: HubClient, amount: number, signal: AbortSignal): Promise<void> {
  const { balance } = await home.credits.account(1, signal)
  if (balance < amount)
    refuse('no_credits', `there are ${balance} credits to give back from, and not ${amount}`, 'svc balance')
}

/** An authorization that came from the provider of a task that was paid for; anything else is passed over. */
export function takeRefund(
  { store, identity, spending }: { store: Store; identity: Identity; spending: Waker },
  interaction: Interaction,
  encoded: Uint8Array,
): void {
  const row = paymentOf(store, interaction.key)
  const body = bodyOf(encoded)
  const isOfThis =
    row?.side === 'payer' &&
    body?.payer === interaction.peer &&
    body.payTo === identity.aid &&
    (body.network === row.network || row.otherHub !== null) &&
    body.amount <= row.amount &&
    body.holdUntil === undefined &&
    body.refundOf !== undefined &&
    equal(body.refundOf, row.payment)
  if (!isOfThis || isNoted(store, encoded)) return
  keepRefundTold(store, interaction.key, encoded)
  store.afterCommit(() => spending.wake())
}

function bodyOf(encoded: Uint8Array): Authorization['body'] | undefined {
  try {
    return Authorization.decode(encoded).body
  } catch (error) {
    if (error instanceof Malformed) return undefined
    throw error
  }
}

export const transactionIn = (encoded: Uint8Array): Uint8Array => transactionOf(Authorization.decode(encoded))

/** In whose credits providers gave something back and no hub has moved it yet. */
export const takenNetworks = (store: Store): string[] => toldRefunds(store).map(({ network }) => network)

/** Tasks of which this node signed to give something back, and the hub has not moved it. */
export const pendingRefunds = (store: Store): PaymentRow[] => waitingRefunds(store)

type TakenParts = { store: Store; threads: Threads; calls: RefundCalls }

/** What providers gave back to this node. */
export class TakenRefunds {
  readonly #store: Store
  readonly #threads: Threads
  readonly #calls: RefundCalls
  readonly #hubNow: () => number
  readonly #log: Logger

  constructor({ store, threads, calls }: TakenParts, hubNow: () => number, log: Logger) {
    this.#store = store
    this.#threads = threads
    this.#calls = calls
    this.#hubNow = hubNow
    this.#log = log
  }

  /**
   * Asks a hub for what providers gave back; what it does not move is asked for until its time is over. `accounts`: where
   * else this node has one, as at the hub of the provider, which may have moved it by itself.
   */
  async settle(home: HubClient, signal: AbortSignal, accounts = nowhere): Promise<void> {
    const own = networkOf(home.identity.aid)
    for (const { interaction: key, refundTold: encoded, network } of toldRefunds(this.#store)) {
      if (network !== own) continue
      if (signal.aborted) return
      const { notAfter } = Authorization.decode(encoded).body
      const interaction = this.#threads.byKey(key)
      const asked = await this.#calls.ask(home, interaction, encoded, signal)
      const settled = isMovedElsewhere(asked)
        ? await this.#askThere(interaction, encoded, { accounts, signal })
        : asked
      if (settled === undefined || waitsForOtherHub(settled)) continue
      this.#store.transaction(() => {
        if (!('says' in settled) || this.#hubNow() > notAfter + TOLERANCE_MS)
          keepRefundTold(this.#store, key, null)
        if ('says' in settled) return
        noteRefund(this.#store, { id: transactionIn(encoded), amount: settled.amount })
        if (settled.verified) countBack(this.#store, encoded, settled.amount)
        this.#calls.record(interaction, settled)
      }, 'node.payment')
      if ('says' in settled) this.#log.warn({ says: settled.says }, 'the hub refused a refund')
    }
  }

  /** The hub in whose credits it is moved it to the account there; undefined while that one does not say. */
  async #askThere(
    interaction: Interaction,
    encoded: Uint8Array,
    { accounts, signal }: { accounts: Accounts; signal: AbortSignal },
  ): Promise<Moved | { refused: string; says: string } | undefined> {
    try {
      const hub = await accounts.accountOf(Authorization.decode(encoded).body.network)
      if (hub !== undefined) return await this.#calls.ask(hub, interaction, encoded, signal)
      return {
        refused: 'duplicate_settlement',
        says: 'another hub has moved it, and this node has no account there',
      }
    } catch (error) {
      if (isOwnFailure(error)) throw error
      this.#log.info({ reason: describe(error) }, 'the hub that moved a refund was not reached')
      return undefined
    }
  }
}

const nowhere: Accounts = { accountOf: async () => undefined }

/** One that a hub moved to the account here is booked by no other hub. */
const isMovedElsewhere = (asked: Moved | { refused: string }): boolean =>
  'refused' in asked && asked.refused === 'duplicate_settlement'

/** Whether what became of a refund stands here. */
export const isNoted = (store: Store, encoded: Uint8Array): boolean =>
  isRefundNoted(store, transactionIn(encoded))

/** Counts what came back for the payment that an authorization names. */
export function countBack(store: Store, encoded: Uint8Array, amount: number): void {
  const { refundOf } = Authorization.decode(encoded).body
  if (refundOf === undefined) throw new Error('this authorization gives nothing back')
  addGivenBack(store, refundOf, amount)
}
