/**
 * The ledger of a hub for tests of the node's rules, in memory: it judges authorizations and orders as a hub does, signs
 * receipts, and posts each transfer once. A test says where an answer is lost, refused, forged, or never comes, and may put
 * the whole ledger back to what it was.
 */
import { cidText, contentId, parseCid } from '../../protocol/crypto/hash.ts'
import { equal, utf8 } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { keyAt, type VerifiedKel } from '../../protocol/identity/kel.ts'
import {
  Authorization,
  HoldOrder,
  networkOf,
  redemptionPurpose,
  type SettlementBody,
  SettlementReceipt,
  settlementKinds,
  transactionOf,
} from '../../protocol/proof/payment.ts'
import type { Quote } from '../../protocol/proof/quote.ts'
import { type AccountEntry, type HubCredits, HubUnreachable, type Settled } from '../hubs/hub.ts'

const { paid, held, captured, returned, redeemed } = settlementKinds
const TOLERANCE_MS = 2 * 60_000
const REASON_WORDS: Readonly<Record<string, string>> = {
  invalid_signature: "the signature does not hold under the signer's newest key",
  insufficient_funds: 'the payer has too few credits',
  hold_ended: 'the hold has ended already',
}

export type Operation = 'settle' | 'authorizations' | 'endOf' | 'redeem' | 'endHold' | 'account'
export type Fault =
  /** The request never came, or its answer was lost after the hub had carried it out. */
  | { kind: 'lost_before' | 'lost_after' }
  /** Nothing comes back until whoever asked gives up. */
  | { kind: 'hang' }
  | { kind: 'refuse'; reason: string; says?: string }
  /** It is carried out, and answered with a receipt that is wrong in this. */
  | { kind: 'forge'; in: 'signature' | 'payment' | 'amount' | 'network' }

type Hold = { payer: string; payee: string; amount: number; untilMs: number }
type Transfer = {
  receipt: Uint8Array
  kind: number
  authorization?: Uint8Array
  reference?: string
  refundOf?: string
}
type Books = {
  balances: Map<string, number>
  /** By the transaction, and by `end:` and the transaction. */
  transfers: Map<string, Transfer>
  holds: Map<string, Hold>
  entries: { aid: string; entry: AccountEntry }[]
  seq: number
}
/** Books as they were; what was posted since is forgotten with {@link ScriptedLedger.restore}. */
export type LedgerSnapshot = Readonly<Books>

type Hub = { readonly seed: Uint8Array; readonly log: VerifiedKel; readonly url: string }
type Outside = {
  hub: Hub
  now: () => number
  /** The newest log that the hub holds of an agent. */
  logOf: (aid: string) => VerifiedKel | undefined
}

class NotPaid extends Error {
  readonly reason: string
  constructor(reason: string, says = REASON_WORDS[reason] ?? reason.replaceAll('_', ' ')) {
    super(says)
    this.reason = reason
  }
}

export class ScriptedLedger {
  readonly #outside: Outside
  #books: Books = { balances: new Map(), transfers: new Map(), holds: new Map(), entries: [], seq: 0 }
  readonly #once = new Map<Operation, Fault[]>()
  readonly #always = new Map<Operation, Fault>()
  /** What was made before is refused, as by a hub that knows that it was put back. */
  #restoredAtMs = 0
  /** Whether it is of the release that tells nobody but the payee how a hold has ended. */
  isOlder = false
  /** Whether it can show what was signed for a debit. */
  keepsAuthorizations = true
  /** Whether it takes back what it signed of a hold and lost. */
  takesBack = false
  /** What it says in the place of each reason of its ledger. */
  saysOf: string | undefined
  /** Everything that nodes asked, in its order. */
  readonly asked: { by: string; operation: Operation; transaction?: string }[] = []

  constructor(outside: Outside) {
    this.#outside = outside
  }

  get network(): string {
    return networkOf(this.#outside.hub.log.aid)
  }

  /** Credits from nowhere. */
  grant(aid: string, amount: number): void {
    this.#move(aid, amount, { reason: 'grant' })
  }

  balanceOf(aid: string): { balance: number; held: number } {
    this.#lapse()
    const holds = [...this.#books.holds.values()].filter(({ payer }) => payer === aid)
    return {
      balance: this.#books.balances.get(aid) ?? 0,
      held: holds.reduce((sum, { amount }) => sum + amount, 0),
    }
  }

  /** Credits of all accounts and holds together: what was granted, less what was redeemed. */
  get outstanding(): number {
    const sum = (amounts: Iterable<number>) => [...amounts].reduce((all, amount) => all + amount, 0)
    return sum(this.#books.balances.values()) + sum([...this.#books.holds.values()].map(hold => hold.amount))
  }

  /** The receipt that is stored of a payment, or of the end of its hold. */
  receiptOf(transaction: Uint8Array, end = false): Uint8Array | undefined {
    return this.#books.transfers.get(`${end ? 'end:' : ''}${cidText(transaction)}`)?.receipt
  }

  /** Every receipt that it has signed and stands by. */
  receipts(): Uint8Array[] {
    return [...this.#books.transfers.values()].map(({ receipt }) => receipt)
  }

  /** What the next calls of an operation meet, one fault each. */
  next(operation: Operation, ...faults: Fault[]): void {
    this.#once.set(operation, [...(this.#once.get(operation) ?? []), ...faults])
  }

  /** What every call of an operation meets until {@link heal}. */
  always(operation: Operation, fault: Fault): void {
    this.#always.set(operation, fault)
  }

  heal(): void {
    this.#once.clear()
    this.#always.clear()
  }

  snapshot(): LedgerSnapshot {
    return structuredClone(this.#books)
  }

  /** Old files are put back; `told`: by the command for it, which voids what was authorized before. */
  restore(snapshot: LedgerSnapshot, { told = false }: { told?: boolean } = {}): void {
    this.#books = structuredClone(snapshot)
    if (told) this.#restoredAtMs = this.#outside.now()
  }

  /** The credits of one agent, as its node sees them. */
  creditsOf(aid: string): HubCredits {
    const call = <T>(operation: Operation, signal: AbortSignal, work: () => T, transaction?: Uint8Array) => {
      this.asked.push({
        by: aid,
        operation,
        ...present({ transaction: transaction && cidText(transaction) }),
      })
      return this.#meet(operation, signal, work)
    }
    return {
      networks: async () => [this.network],
      account: (entriesMax, signal) => call('account', signal, () => this.#account(aid, entriesMax)),
      entriesAfter: (seq, signal) =>
        call('account', signal, () =>
          this.#entriesOf(aid)
            .filter(entry => entry.seq > seq)
            .map(entry => ({ ...entry, reason: this.saysOf ?? entry.reason })),
        ),
      authorizationsSince: (_, signal) => call('authorizations', signal, () => this.#authorizationsOf(aid)),
      settle: async (authorization, quote, signal, signed) => {
        const work = () => outcome(() => this.#settle(authorization, quote, signed ?? undefined))
        return this.#told('settle', await call('settle', signal, work, idOf(authorization)))
      },
      endOf: async (authorization, quote, signal) => {
        const work = () => outcome(() => this.#settle(authorization, quote))
        const said = await call('endOf', signal, work, idOf(authorization))
        const receipt = this.isOlder ? undefined : this.receiptOf(idOf(authorization), true)
        if ('refused' in said || receipt === undefined) return { end: undefined, ...said }
        const end = this.#told('endOf', { receipt })
        return { ...said, end: 'receipt' in end ? end.receipt : undefined }
      },
      redeem: async (authorization, reference, signal) => {
        const work = () => outcome(() => this.#redeem(authorization, reference))
        return this.#told('redeem', await call('redeem', signal, work, idOf(authorization)))
      },
      endHold: async (order, end, signal) => {
        const work = () => outcome(() => this.#end(order, end))
        const { transaction } = HoldOrder.decode(order).body
        return this.#told('endHold', await call('endHold', signal, work, transaction))
      },
      supplyRecords: async () => ({ chainDid: '', records: [], headSeq: 0, headId: '', isLast: true }),
      witnessStatements: async () => [],
      checkpoint: async () => undefined,
      consistency: async () => [],
      liability: async () => undefined,
    }
  }

  #forging: Extract<Fault, { kind: 'forge' }>['in'] | undefined

  async #meet<T>(operation: Operation, signal: AbortSignal, work: () => T): Promise<T> {
    const fault = this.#once.get(operation)?.shift() ?? this.#always.get(operation)
    this.#forging = undefined
    signal.throwIfAborted()
    switch (fault?.kind) {
      case 'lost_before':
        throw new HubUnreachable(this.#outside.hub.url)
      case 'lost_after':
        work()
        throw new HubUnreachable(this.#outside.hub.url)
      case 'hang':
        return await new Promise<T>((_, reject) =>
          signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
        )
      case 'refuse':
        return { refused: fault.reason, says: new NotPaid(fault.reason, fault.says).message } as T
      case 'forge':
        this.#forging = fault.in
        return work()
      default:
        return work()
    }
  }

  #told(_: Operation, settled: Settled): Settled {
    const wrong = this.#forging
    this.#forging = undefined
    if (wrong === undefined || 'refused' in settled) return settled
    const { body } = SettlementReceipt.decode(settled.receipt)
    const { seed } = this.#outside.hub
    const changed: SettlementBody = {
      ...body,
      ...(wrong === 'payment' ? { transaction: contentId(utf8('another payment')) } : {}),
      ...(wrong === 'amount' ? { amount: body.amount + 1 } : {}),
      ...(wrong === 'network' ? { network: networkOf(body.payer) } : {}),
    }
    const signer = wrong === 'signature' ? new Uint8Array(32).fill(99) : seed
    return { receipt: SettlementReceipt.encode(SettlementReceipt.sign(signer, changed)) }
  }

  #settle(encoded: Uint8Array, quote: Quote, signed?: Uint8Array): Uint8Array {
    this.#lapse()
    const authorization = Authorization.decode(encoded)
    const { body } = authorization
    const id = cidText(transactionOf(authorization))
    this.#checkTerms(body, quote)
    const stored = this.#books.transfers.get(id)
    if (stored !== undefined) return stored.receipt
    if (signed !== undefined && this.takesBack) return this.#takeBack(id, authorization, signed)
    this.#judge(authorization)
    checkHold(body, quote)
    if (body.refundOf !== undefined) this.#checkRefund(body.refundOf, body)
    this.#pay(body.payer, body.amount)
    const about = { transaction: id, counterparty: body.payTo }
    const kind = body.holdUntil === undefined ? paid : held
    const reason = body.refundOf !== undefined ? 'refund' : kind === held ? 'held' : 'paid'
    this.#move(body.payer, -body.amount, { ...about, reason })
    const { payer, payTo: payee, amount, holdUntil } = body
    if (holdUntil !== undefined) this.#books.holds.set(id, { payer, payee, amount, untilMs: holdUntil })
    else
      this.#move(payee, amount, {
        transaction: id,
        counterparty: payer,
        reason: body.refundOf === undefined ? 'received' : 'refund',
      })
    return this.#post(
      id,
      { transaction: transactionOf(authorization), kind, payer, payee, amount, ...present({ holdUntil }) },
      present({ authorization: encoded, refundOf: body.refundOf && cidText(body.refundOf) }),
    )
  }

  /** A hold that it signed and lost, opened again under the receipt of then. */
  #takeBack(id: string, authorization: Authorization, receipt: Uint8Array): Uint8Array {
    const { payer, payTo: payee, amount, holdUntil: untilMs = 0 } = authorization.body
    const { body } = SettlementReceipt.decode(receipt)
    if (body.hub !== this.#outside.hub.log.aid || cidText(body.transaction) !== id || body.kind !== held)
      throw new NotPaid('invalid_payload', 'no receipt of this hub')
    this.#pay(payer, amount)
    this.#move(payer, -amount, { transaction: id, counterparty: payee, reason: 'held' })
    this.#books.holds.set(id, { payer, payee, amount, untilMs })
    this.#books.transfers.set(id, { receipt, kind: held, authorization: Authorization.encode(authorization) })
    return receipt
  }

  #authorizationsOf(aid: string): Map<string, Uint8Array> {
    const shown = [...this.#books.transfers].flatMap(([id, { receipt, authorization }]) => {
      const isOwn = SettlementReceipt.decode(receipt).body.payer === aid
      return isOwn && authorization !== undefined ? [[id, authorization] as const] : []
    })
    return new Map(this.keepsAuthorizations ? shown : [])
  }

  #checkTerms({ network, amount, payTo }: Authorization['body'], quote: Quote): void {
    if (network !== this.network) throw new NotPaid('network_mismatch')
    if (quote.network !== network || quote.amount !== amount || quote.provider !== payTo)
      throw new NotPaid('invalid_payload', 'terms and authorization differ')
  }

  #redeem(encoded: Uint8Array, reference: string): Uint8Array {
    this.#lapse()
    const authorization = Authorization.decode(encoded)
    const { body } = authorization
    const id = cidText(transactionOf(authorization))
    const stored = this.#books.transfers.get(id)
    if (stored !== undefined) return stored.receipt
    this.#judge(authorization)
    if (body.purpose === undefined || !equal(body.purpose, redemptionPurpose(reference)))
      throw new NotPaid('invalid_payload', 'the purpose is not this reference')
    this.#pay(body.payer, body.amount)
    this.#move(body.payer, -body.amount, { transaction: id, reason: 'redemption' })
    const { payer, payTo: payee, amount } = body
    return this.#post(
      id,
      { transaction: transactionOf(authorization), kind: redeemed, payer, payee, amount },
      { authorization: encoded, reference },
    )
  }

  #end(encoded: Uint8Array, end: 'capture' | 'release'): Uint8Array {
    const order = HoldOrder.decode(encoded)
    const { transaction, amount, payee, payeeKelSeq } = order.body
    if ((amount === 0) !== (end === 'release')) throw new NotPaid('invalid_payload')
    const id = cidText(transaction)
    const made = this.#books.transfers.get(id)
    if (made?.kind !== held) throw new NotPaid('invalid_payload', 'no hold has this transaction')
    const { body } = SettlementReceipt.decode(made.receipt)
    if (body.payee !== payee || amount > body.amount) throw new NotPaid('invalid_payload')
    this.#lapse()
    const stored = this.#books.transfers.get(`end:${id}`)
    if (stored !== undefined) return sameEnd(stored.receipt, amount)
    const log = this.#outside.logOf(payee)
    const key = log?.seq === payeeKelSeq ? keyAt(log, payeeKelSeq) : undefined
    if (key === undefined || !HoldOrder.verify(key, order)) throw new NotPaid('invalid_signature')
    return this.#endHold(id, amount)
  }

  #endHold(id: string, taken: number): Uint8Array {
    const hold = this.#books.holds.get(id)
    if (hold === undefined) throw new NotPaid('hold_ended')
    this.#books.holds.delete(id)
    const { payer, payee, amount } = hold
    const reason = taken > 0 ? 'captured' : 'returned'
    if (taken > 0) this.#move(payee, taken, { transaction: id, counterparty: payer, reason })
    if (taken < amount) this.#move(payer, amount - taken, { transaction: id, counterparty: payee, reason })
    return this.#post(`end:${id}`, {
      transaction: parseCid(id),
      kind: taken > 0 ? captured : returned,
      payer,
      payee,
      amount: taken > 0 ? taken : amount,
    })
  }

  /** Gives back every hold whose time is over. */
  #lapse(): void {
    for (const [id, { untilMs }] of this.#books.holds)
      if (untilMs <= this.#outside.now()) this.#endHold(id, 0)
  }

  #judge(authorization: Authorization): void {
    const { payer, payerKelSeq, notBefore, notAfter } = authorization.body
    const log = this.#outside.logOf(payer)
    if (log === undefined || log.deactivated) throw new NotPaid('unknown_payer')
    const nowMs = this.#outside.now()
    const isTimely = nowMs >= notBefore - TOLERANCE_MS && nowMs <= notAfter + TOLERANCE_MS
    if (notBefore < this.#restoredAtMs)
      throw new NotPaid('expired', 'it was made before this hub was restored')
    if (!isTimely) throw new NotPaid('expired', 'its time is over')
    const key = payerKelSeq === log.seq ? keyAt(log, payerKelSeq) : undefined
    if (key === undefined || !Authorization.verify(key, authorization)) throw new NotPaid('invalid_signature')
  }

  #checkRefund(of: Uint8Array, { payer, payTo, amount }: Authorization['body']): void {
    const id = cidText(of)
    const first = this.#books.transfers.get(id)
    const whole = first && SettlementReceipt.decode(first.receipt).body
    if (
      whole === undefined ||
      first?.refundOf !== undefined ||
      whole.payer !== payTo ||
      whole.payee !== payer
    )
      throw new NotPaid('invalid_payload', 'no payment has this transaction')
    const ended = this.#books.transfers.get(`end:${id}`)
    const end = ended && SettlementReceipt.decode(ended.receipt).body
    const most = whole.kind === paid ? whole.amount : end?.kind === captured ? end.amount : 0
    const before = [...this.#books.transfers.values()]
      .filter(({ refundOf }) => refundOf === id)
      .reduce((sum, { receipt }) => sum + SettlementReceipt.decode(receipt).body.amount, 0)
    if (before + amount > most) throw new NotPaid('invalid_payload', 'more would be given back than was paid')
  }

  #pay(aid: string, amount: number): void {
    if ((this.#books.balances.get(aid) ?? 0) < amount) throw new NotPaid('insufficient_funds')
  }

  #move(
    aid: string,
    delta: number,
    about: { reason: string; transaction?: string; counterparty?: string },
  ): void {
    const { balances, entries } = this.#books
    balances.set(aid, (balances.get(aid) ?? 0) + delta)
    const { reason, transaction, counterparty } = about
    const seq = ++this.#books.seq
    entries.push({
      aid,
      entry: { seq, atMs: this.#outside.now(), delta, reason, transaction, counterparty },
    })
  }

  #post(
    name: string,
    outcome: Pick<SettlementBody, 'transaction' | 'kind' | 'payer' | 'payee' | 'amount' | 'holdUntil'>,
    more: Partial<Transfer> = {},
  ): Uint8Array {
    const { log, seed } = this.#outside.hub
    const signed = SettlementReceipt.sign(seed, {
      v: 1,
      ...outcome,
      network: this.network,
      settledAt: this.#outside.now(),
      hub: log.aid,
      hubKelSeq: log.seq,
      supplyHead: [0, contentId(utf8('the first record of the supply'))],
    })
    const receipt = SettlementReceipt.encode(signed)
    this.#books.transfers.set(name, { receipt, kind: outcome.kind, ...more })
    return receipt
  }

  #entriesOf(aid: string): AccountEntry[] {
    this.#lapse()
    return this.#books.entries.flatMap(one => (one.aid === aid ? [one.entry] : [])).reverse()
  }

  #account(aid: string, entriesMax: number) {
    return {
      network: this.network,
      ...this.balanceOf(aid),
      probationUntilMs: undefined,
      trial: undefined,
      entries: this.#entriesOf(aid).slice(0, entriesMax),
    }
  }
}

const idOf = (authorization: Uint8Array): Uint8Array => transactionOf(Authorization.decode(authorization))

function outcome(work: () => Uint8Array): Settled {
  try {
    return { receipt: work() }
  } catch (error) {
    if (error instanceof NotPaid) return { refused: error.reason, says: error.message }
    throw error
  }
}

function checkHold({ notAfter, holdUntil }: Authorization['body'], { holdSeconds }: Quote): void {
  const wanted = holdSeconds === undefined ? undefined : notAfter + Math.round(holdSeconds * 1000)
  if (wanted !== holdUntil) throw new NotPaid('invalid_payload', 'the hold is for another time')
}

/** The end that is stored, where it is the one that was ordered. */
function sameEnd(receipt: Uint8Array, amount: number): Uint8Array {
  const { body } = SettlementReceipt.decode(receipt)
  if ((body.kind === captured ? body.amount : 0) !== amount) throw new NotPaid('hold_ended')
  return receipt
}
