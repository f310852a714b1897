/**
 * The ledger of a hub for tests of the node's rules, in memory: it judges authorizations and orders as a hub does, signs
 * receipts, and posts each transfer once. A test says where an answer is lost, refused, forged, or never comes, and may put
 * the whole ledger back to what it was.
 */
import { cidText, contentId, parseCid } from '../../protocol/crypto/hash.ts'
import { equal, toBase64url, utf8 } from '../../protocol/encoding/bytes.ts'
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
import { NotPaid } from './not-paid.ts'
import { type AcrossRow, type HereLedger, ScriptedAcross } from './scripted-across.ts'

const { paid, held, captured, returned, redeemed } = settlementKinds
const TOLERANCE_MS = 2 * 60_000
export type Operation = 'settle' | 'authorizations' | 'endOf' | 'redeem' | 'endHold' | 'account' | 'peer'
export type Fault =
  /** The request never came, or its answer was lost after the hub had carried it out. */
  | { kind: 'lost_before' | 'lost_after' }
  /** Nothing comes back until whoever asked gives up. */
  | { kind: 'hang' }
  | { kind: 'refuse'; reason: string; says?: string }
  /** It is carried out, and answered with a receipt that is wrong in this. */
  | { kind: 'forge'; in: 'signature' | 'payment' | 'amount' | 'network' }

/** `peer`: the hub that gets what is taken, where the payee lives there. */
type Hold = { payer: string; payee: string; amount: number; untilMs: number; peer?: string }
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
  /** Payments in the credits of peers, by their transactions. */
  across: Map<string, AcrossRow>
  /** What was issued for payments that it had lost. */
  issued: Map<string, number>
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

export class ScriptedLedger implements HereLedger {
  readonly #outside: Outside
  #books: Books = {
    balances: new Map(),
    transfers: new Map(),
    holds: new Map(),
    entries: [],
    across: new Map(),
    issued: new Map(),
    seq: 0,
  }
  /** Payments that other hubs make, and hubs that this one lists. */
  readonly across: ScriptedAcross = new ScriptedAcross(this)
  /** Whether no hub has an answer of this one. */
  isAway = false
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
      can: { holds: true, names: true, proves: true },
      textOf: toBase64url,
      networks: async () => [this.network, ...this.across.lending.map(networkOf)],
      account: (entriesMax, signal) => call('account', signal, () => this.#account(aid, entriesMax)),
      entriesAfter: (seq, signal) =>
        call('account', signal, () =>
          this.#entriesOf(aid)
            .filter(entry => entry.seq > seq)
            .map(entry => ({ ...entry, reason: this.saysOf ?? entry.reason })),
        ),
      authorizationsSince: (_, signal) => call('authorizations', signal, () => this.#authorizationsOf(aid)),
      settle: async (authorization, quote, signal, signed) => {
        const work = () => outcome(() => this.#settleAnywhere(authorization, quote, signed ?? undefined))
        return this.#told('settle', await call('settle', signal, work, idOf(authorization)))
      },
      endOf: async (authorization, quote, signal) => {
        const work = () => outcome(() => this.#settleAnywhere(authorization, quote))
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
    return { ...settled, receipt: SettlementReceipt.encode(SettlementReceipt.sign(signer, changed)) }
  }

  /** Here, or at the hub in whose credits it is. */
  #settleAnywhere(encoded: Uint8Array, quote: Quote, signed?: Uint8Array): Settled {
    const { network } = Authorization.decode(encoded).body
    return network !== this.network
      ? this.across.settle(encoded, quote)
      : { receipt: this.#settle(encoded, quote, signed === undefined ? {} : { signed }) }
  }

  /** `peer`: for an agent of that hub, which is owed the amount. */
  #settle(
    encoded: Uint8Array,
    quote: Quote,
    { signed, peer }: { signed?: Uint8Array; peer?: string },
  ): Uint8Array {
    this.#lapse()
    const authorization = Authorization.decode(encoded)
    const { body } = authorization
    const id = cidText(transactionOf(authorization))
    this.#checkTerms(body, quote)
    const stored = this.#books.transfers.get(id)
    if (stored !== undefined) return ownedBy(peer, stored.receipt)
    if (signed !== undefined && this.takesBack) return this.#takeBack(id, authorization, signed)
    this.#judge(authorization)
    this.#checkPayee(body, peer)
    checkHold(body, quote)
    if (body.refundOf !== undefined) this.#checkRefund(body.refundOf, body)
    this.#pay(body.payer, body.amount)
    const about = { transaction: id, counterparty: body.payTo }
    const kind = body.holdUntil === undefined ? paid : held
    const reason = body.refundOf !== undefined ? 'refund' : kind === held ? 'held' : 'paid'
    this.#move(body.payer, -body.amount, { ...about, reason })
    const { payer, payTo: payee, amount, holdUntil } = body
    if (holdUntil !== undefined)
      this.#books.holds.set(id, { payer, payee, amount, untilMs: holdUntil, ...present({ peer }) })
    else
      this.#move(peer ?? payee, amount, {
        transaction: id,
        counterparty: payer,
        reason: body.refundOf === undefined ? 'received' : 'refund',
      })
    return this.#post(
      id,
      {
        transaction: transactionOf(authorization),
        kind,
        payer,
        payee,
        amount,
        ...present({ holdUntil, peer }),
      },
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

  #end(encoded: Uint8Array, end: 'capture' | 'release'): Settled {
    const order = HoldOrder.decode(encoded)
    const { transaction, amount, payee } = order.body
    if ((amount === 0) !== (end === 'release')) throw new NotPaid('invalid_payload')
    const id = cidText(transaction)
    const row = this.#books.across.get(id)
    const made = this.#books.transfers.get(id) ?? (row && this.#books.transfers.get(`end:${id}`))
    if (row?.state !== 'asked') this.#checkHeld(made, row === undefined ? held : made?.kind)
    const body = made && SettlementReceipt.decode(made.receipt).body
    if (body !== undefined && (body.payee !== payee || amount > body.amount))
      throw new NotPaid('invalid_payload')
    this.#lapse()
    const stored = this.#books.transfers.get(`end:${id}`)
    if (stored === undefined) this.#checkOrder(order)
    if (row !== undefined) return this.across.end(id, row, encoded)
    return { receipt: stored === undefined ? this.#endHold(id, amount) : sameEnd(stored.receipt, amount) }
  }

  #checkHeld(made: Transfer | undefined, kind: number | undefined): void {
    if (made === undefined || made.kind !== kind)
      throw new NotPaid('invalid_payload', 'no hold has this transaction')
  }

  #checkOrder(order: HoldOrder): void {
    const { payee, payeeKelSeq } = order.body
    const log = this.#outside.logOf(payee)
    const key = log?.seq === payeeKelSeq ? keyAt(log, payeeKelSeq) : undefined
    if (key === undefined || !HoldOrder.verify(key, order)) throw new NotPaid('invalid_signature')
  }

  #endHold(id: string, taken: number): Uint8Array {
    const hold = this.#books.holds.get(id)
    if (hold === undefined) throw new NotPaid('hold_ended')
    this.#books.holds.delete(id)
    const { payer, payee, amount, peer } = hold
    const reason = taken > 0 ? 'captured' : 'returned'
    if (taken > 0) this.#move(peer ?? payee, taken, { transaction: id, counterparty: payer, reason })
    if (taken < amount) this.#move(payer, amount - taken, { transaction: id, counterparty: payee, reason })
    return this.#post(`end:${id}`, {
      transaction: parseCid(id),
      kind: taken > 0 ? captured : returned,
      payer,
      payee,
      amount: taken > 0 ? taken : amount,
      ...present({ peer }),
    })
  }

  /** Gives back every hold whose time is over. */
  #lapse(): void {
    for (const [id, { untilMs }] of this.#books.holds)
      if (untilMs <= this.#outside.now()) this.#endHold(id, 0)
  }

  get aid(): string {
    return this.#outside.hub.log.aid
  }

  now(): number {
    return this.#outside.now()
  }

  lists(peer: string): boolean {
    return this.across.lists(peer)
  }

  rows(): Map<string, AcrossRow> {
    return this.#books.across
  }

  dueTo(peer: string): number {
    this.#lapse()
    return this.#books.balances.get(peer) ?? 0
  }

  /** Credits that were issued to an agent for payments that this hub had lost. */
  issuedTo(aid: string): number {
    return this.#books.issued.get(aid) ?? 0
  }

  lineFault(): 'lost_before' | 'lost_after' | undefined {
    const { kind } = this.#once.get('peer')?.shift() ?? this.#always.get('peer') ?? {}
    return kind === 'lost_before' || kind === 'lost_after' ? kind : undefined
  }

  stored(id: string, end = false): Uint8Array | undefined {
    return this.#books.transfers.get(`${end ? 'end:' : ''}${id}`)?.receipt
  }

  settleFor(peer: string, encoded: Uint8Array, quote: Quote): Uint8Array {
    return this.#settle(encoded, quote, { peer })
  }

  endFor(peer: string, encoded: Uint8Array): Uint8Array {
    const { transaction, amount } = HoldOrder.decode(encoded).body
    const end = this.endOfFor(peer, cidText(transaction))
    return end ?? this.#endHold(cidText(transaction), amount)
  }

  endOfFor(peer: string, id: string): Uint8Array | undefined {
    this.#lapse()
    const known = this.stored(id, true) ?? this.stored(id)
    if (known === undefined) throw new NotPaid('invalid_payload', 'no hold has this transaction')
    ownedBy(peer, known)
    return this.stored(id, true)
  }

  owedTo(peer: string): Uint8Array[] {
    return this.receipts().filter(receipt => {
      const { body } = SettlementReceipt.decode(receipt)
      return (
        body.peer === peer && body.network === this.network && (body.kind === paid || body.kind === captured)
      )
    })
  }

  takeTheirs(peer: string, receipt: Uint8Array): void {
    this.across.takeTheirs(peer, receipt)
  }

  takeOwn(peer: string, receipt: Uint8Array): void {
    this.#lapse()
    const { body } = SettlementReceipt.decode(receipt)
    const { payer, payee, amount, kind, holdUntil = 0 } = body
    const id = cidText(body.transaction)
    const name = kind === captured ? `end:${id}` : id
    const isEnded = this.stored(id, true) !== undefined
    if (body.peer !== peer || this.#books.transfers.has(name) || isEnded) return
    const hold = this.#books.holds.get(id)
    if (kind === captured && hold !== undefined) {
      this.#books.holds.delete(id)
      this.#move(payer, hold.amount, { transaction: id, counterparty: payee, reason: 'returned' })
    }
    const short = amount - (this.#books.balances.get(payer) ?? 0)
    if (short > 0 && kind === held && holdUntil <= this.now()) return
    if (short > 0) {
      this.#books.issued.set(payer, this.issuedTo(payer) + short)
      this.#move(payer, short, { reason: 'restored' })
    }
    const about = { transaction: id, counterparty: payee }
    this.#move(payer, -amount, { ...about, reason: kind === held ? 'held' : 'paid' })
    if (kind === held) this.#books.holds.set(id, { payer, payee, amount, untilMs: holdUntil, peer })
    else this.#move(peer, amount, { reason: 'paid', transaction: id })
    this.#books.transfers.set(name, { receipt, kind })
  }

  book(peer: string, receipt: Uint8Array): void {
    const { body } = SettlementReceipt.decode(receipt)
    const { transaction, kind, payer, payee, amount, network, holdUntil } = body
    const id = cidText(transaction)
    const isEnd = kind === captured || kind === returned
    const name = isEnd ? `end:${id}` : id
    if (this.#books.transfers.has(name)) return
    const authorization = this.#books.across.get(id)?.authorization
    const of = authorization?.length ? Authorization.decode(authorization).body.refundOf : undefined
    if (kind === paid || kind === captured) {
      this.#move(peer, -amount, { reason: 'paid', transaction: id })
      const reason = of !== undefined ? 'refund' : kind === captured ? 'captured' : 'received'
      const counterparty = payer === payee ? peer : payer
      this.#move(payee, amount, { transaction: id, counterparty, reason })
    }
    const outcome = { transaction, kind, payer, payee, amount, network, peer, ...present({ holdUntil }) }
    this.#post(name, outcome, present({ refundOf: of && cidText(of) }))
  }

  judgeAcross(authorization: Authorization, quote: Quote): void {
    const { body } = authorization
    if (quote.network !== body.network || quote.amount !== body.amount || quote.provider !== body.payTo)
      throw new NotPaid('invalid_payload', 'terms and authorization differ')
    this.#checkTimes(body)
    if (this.#outside.logOf(body.payTo) === undefined)
      throw new NotPaid('invalid_payload', 'the payee is not registered here')
    checkHold(body, quote)
  }

  /** A refund comes to any account here, a payment to who lives here; a peer vouches for its own. */
  #checkPayee({ payer, payTo, refundOf }: Authorization['body'], peer: string | undefined): void {
    const log = this.#outside.logOf(payTo)
    const isKnown = log !== undefined || (refundOf !== undefined && this.#books.balances.has(payTo))
    if (peer === undefined && !isKnown)
      throw new NotPaid('invalid_payload', 'the payee is not registered here')
    if (peer !== undefined && payer !== payTo && refundOf === undefined && log?.home === this.aid)
      throw new NotPaid('invalid_payload', 'the payee lives at this hub')
  }

  #checkTimes({ notBefore, notAfter }: Authorization['body']): void {
    const nowMs = this.#outside.now()
    const isTimely = nowMs >= notBefore - TOLERANCE_MS && nowMs <= notAfter + TOLERANCE_MS
    if (notBefore < this.#restoredAtMs)
      throw new NotPaid('expired', 'it was made before this hub was restored')
    if (!isTimely) throw new NotPaid('expired', 'its time is over')
  }

  #judge(authorization: Authorization): void {
    const { payer, payerKelSeq } = authorization.body
    const log = this.#outside.logOf(payer)
    if (log === undefined || log.deactivated) throw new NotPaid('unknown_payer')
    this.#checkTimes(authorization.body)
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
    outcome: Pick<
      SettlementBody,
      'transaction' | 'kind' | 'payer' | 'payee' | 'amount' | 'holdUntil' | 'peer'
    > &
      Partial<Pick<SettlementBody, 'network'>>,
    more: Partial<Transfer> = {},
  ): Uint8Array {
    const { log, seed } = this.#outside.hub
    const signed = SettlementReceipt.sign(seed, {
      v: 1,
      network: this.network,
      ...outcome,
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

function outcome(work: () => Uint8Array | Settled): Settled {
  try {
    const done = work()
    return done instanceof Uint8Array ? { receipt: done } : done
  } catch (error) {
    if (error instanceof NotPaid) return { refused: error.reason, says: error.message }
    throw error
  }
}

/** A peer is told of a payment only where it is owed the amount. */
function ownedBy(peer: string | undefined, receipt: Uint8Array): Uint8Array {
  if (peer !== undefined && SettlementReceipt.decode(receipt).body.peer !== peer)
    throw new NotPaid('duplicate_settlement')
  return receipt
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
