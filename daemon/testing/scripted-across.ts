/**
 * Payments between two ledgers in memory, as hubs that list each other make them (credits: between hubs): the hub of the
 * payee keeps each before it asks, books what that of the payer has signed, asks again by itself, and shows receipts while
 * the two books say something else.
 */
import { cidText } from '../../protocol/crypto/hash.ts'
import {
  Authorization,
  HoldOrder,
  hubOfNetwork,
  SettlementReceipt,
  settlementKinds,
  transactionOf,
} from '../../protocol/proof/payment.ts'
import type { Quote } from '../../protocol/proof/quote.ts'
import type { Settled } from '../hubs/hub.ts'
import { quoteOfRow } from '../payments/receipts.ts'
import { NotPaid } from './not-paid.ts'

const { paid, held, captured } = settlementKinds
const AFTER_END_MS = 4 * 60_000
const ORDER_AGAIN_MS = 10_000
const PENDING = 'settlement_pending'

/** A payment in the credits of a peer, as the hub of its payee keeps it. */
export type AcrossRow = {
  peer: string
  state: 'asked' | 'held' | 'ended'
  amount: number
  authorization: Uint8Array
  askAtMs: number
  order?: Uint8Array
  peerReceipt?: Uint8Array
  peerEnd?: Uint8Array
}

/** What a peer may be asked. */
export interface PeerLedger {
  readonly aid: string
  /** Whether nothing comes back from it. */
  isAway: boolean
  lists(peer: string): boolean
  /** What this hub owes a peer, or below 0 is owed. */
  dueTo(peer: string): number
  settleFor(peer: string, authorization: Uint8Array, quote: Quote): Uint8Array
  endFor(peer: string, order: Uint8Array): Uint8Array
  endOfFor(peer: string, transaction: string): Uint8Array | undefined
  /** Its own receipt, which it may have lost. */
  takeOwn(peer: string, receipt: Uint8Array): void
  /** A receipt of the peer that owes something by it. */
  takeTheirs(peer: string, receipt: Uint8Array): void
  /** Receipts of its own by which it owes a peer. */
  owedTo(peer: string): Uint8Array[]
}

/** What the ledger of this hub does for payments that another hub makes. */
export interface HereLedger extends PeerLedger {
  now(): number
  rows(): Map<string, AcrossRow>
  /** Whether the line to peers is at fault: what is asked then, and before or after it has come. */
  lineFault(): 'lost_before' | 'lost_after' | undefined
  judgeAcross(authorization: Authorization, quote: Quote): void
  /** Signs and books what the receipt of a peer says. */
  book(peer: string, receipt: Uint8Array): void
  stored(id: string, end?: boolean): Uint8Array | undefined
}

export class ScriptedAcross {
  readonly #here: HereLedger
  readonly #peers = new Map<string, { ledger: PeerLedger; limit: number }>()

  constructor(here: HereLedger) {
    this.#here = here
  }

  /** Lists a peer, which may owe so much. */
  list(ledger: PeerLedger, limit: number): void {
    this.#peers.set(ledger.aid, { ledger, limit })
  }

  unlist(aid: string): void {
    this.#peers.delete(aid)
  }

  lists(aid: string): boolean {
    return this.#peers.has(aid)
  }

  /** Peers in whose credits agents of this hub are paid. */
  get lending(): string[] {
    return [...this.#peers].flatMap(([aid, { limit }]) => (limit > 0 ? [aid] : []))
  }

  /** What counts against the limit of a peer and is not booked. */
  openOf(peer: string): number {
    return [...this.#here.rows().values()]
      .filter(row => row.peer === peer && row.state !== 'ended')
      .reduce((sum, { amount }) => sum + amount, 0)
  }

  settle(encoded: Uint8Array, quote: Quote): Settled & { receipt: Uint8Array } {
    const here = this.#here
    const authorization = Authorization.decode(encoded)
    const { network, amount, notAfter } = authorization.body
    const id = cidText(transactionOf(authorization))
    const hub = hubOfNetwork(network) ?? ''
    const known = here.rows().get(id)
    if (known !== undefined) return this.#told(id, this.#answered(id, known))
    const peer = this.#peers.get(hub)
    if (peer === undefined) throw new NotPaid('network_mismatch')
    here.judgeAcross(authorization, quote)
    const owes = -here.dueTo(hub)
    if (owes + this.openOf(hub) + amount > peer.limit) throw new NotPaid('peer_limit')
    const row: AcrossRow = {
      peer: hub,
      state: 'asked',
      amount,
      authorization: encoded,
      askAtMs: notAfter + AFTER_END_MS,
    }
    here.rows().set(id, row)
    return this.#told(id, this.#asked(id, row))
  }

  /** Carries out the order of a payee about a hold at a peer. */
  end(id: string, row: AcrossRow, encoded: Uint8Array): Settled {
    if (row.state === 'asked') throw new NotPaid(PENDING)
    if (row.state !== 'ended') {
      row.order = encoded
      row.askAtMs = this.#here.now() + ORDER_AGAIN_MS
      this.#asked(id, row)
    }
    const receipt = this.#here.stored(id, true)
    if (receipt === undefined) throw new NotPaid(PENDING)
    const { body } = SettlementReceipt.decode(receipt)
    const moved = body.kind === captured ? body.amount : 0
    if (moved !== HoldOrder.decode(encoded).body.amount) throw new NotPaid('hold_ended')
    return { receipt, ...(row.peerEnd && { peerReceipt: row.peerEnd }) }
  }

  /** What a hub does by itself as time passes. */
  tick(): void {
    for (const [id, row] of this.#here.rows())
      if (row.state !== 'ended' && row.askAtMs <= this.#here.now()) {
        row.askAtMs = this.#here.now() + ORDER_AGAIN_MS
        quietly(() => this.#asked(id, row))
      }
    for (const [aid, { ledger }] of this.#peers) if (this.#differs(ledger)) this.#show(aid)
  }

  #differs(ledger: PeerLedger): boolean {
    return this.#here.dueTo(ledger.aid) + ledger.dueTo(this.#here.aid) !== 0
  }

  /** Each hub shows what it signed, and gives the other one its own back. */
  #show(aid: string): void {
    const here = this.#here
    const receipts = [...here.rows().values()].flatMap(({ peer, peerReceipt, peerEnd }) =>
      peer === aid ? [peerReceipt, peerEnd].filter(one => one !== undefined) : [],
    )
    quietly(() =>
      this.#ask(aid, peer => {
        for (const receipt of receipts)
          if (SettlementReceipt.decode(receipt).body.kind !== held)
            quietly(() => peer.takeOwn(here.aid, receipt))
        for (const receipt of here.owedTo(aid)) quietly(() => peer.takeTheirs(here.aid, receipt))
      }),
    )
  }

  /** What a peer shows of what it owes: booked where it is not. */
  takeTheirs(peer: string, receipt: Uint8Array): void {
    const here = this.#here
    const { body } = SettlementReceipt.decode(receipt)
    const id = cidText(body.transaction)
    if (here.stored(id, body.kind === captured) !== undefined) return
    const known = here.rows().get(id)
    if (known?.state === 'asked' && body.kind === captured) return
    const limit = this.#peers.get(peer)?.limit ?? 0
    if (known === undefined && body.amount - here.dueTo(peer) > limit) return
    const row: AcrossRow = known ?? {
      peer,
      state: 'ended',
      amount: body.amount,
      // what its payer signed is not shown
      authorization: new Uint8Array(),
      askAtMs: 0,
    }
    here.rows().set(id, row)
    this.#take(row, receipt)
  }

  #told(id: string, row: AcrossRow): Settled & { receipt: Uint8Array } {
    const receipt = this.#here.stored(id)
    if (receipt === undefined) throw new NotPaid(PENDING)
    return { receipt, ...(row.peerReceipt && { peerReceipt: row.peerReceipt }) }
  }

  #answered(id: string, row: AcrossRow): AcrossRow {
    return row.state === 'asked' ? this.#asked(id, row) : row
  }

  /** Asks the peer about a payment; only what it signed makes or ends one, and its refusal ends one that it has not made. */
  #asked(id: string, row: AcrossRow): AcrossRow {
    const here = this.#here
    const { authorization, order } = row
    if (row.state === 'asked') {
      try {
        const quote = quoteOfRow({ authorization })
        const told = this.#ask(row.peer, peer => peer.settleFor(here.aid, authorization, quote))
        this.#take(row, told)
      } catch (error) {
        if (error instanceof NotPaid && error.reason !== PENDING) here.rows().delete(id)
        throw error
      }
      return row
    }
    const end = this.#ask(row.peer, peer => {
      try {
        return order === undefined ? peer.endOfFor(here.aid, id) : peer.endFor(here.aid, order)
      } catch (error) {
        if (!(error instanceof NotPaid)) throw error
        // a peer that was restored may have lost the hold
        if (row.peerReceipt !== undefined) peer.takeOwn(here.aid, row.peerReceipt)
        return undefined
      }
    })
    if (end === undefined) throw new NotPaid(PENDING)
    this.#take(row, end)
    return row
  }

  /** Books what a peer has signed. */
  #take(row: AcrossRow, receipt: Uint8Array): void {
    const { kind } = SettlementReceipt.decode(receipt).body
    const isFirst = kind === paid || kind === held
    if (isFirst) row.peerReceipt = receipt
    else row.peerEnd = receipt
    row.state = kind === held ? 'held' : 'ended'
    if (kind === held) {
      const { holdUntil = 0 } = Authorization.decode(row.authorization).body
      row.askAtMs = holdUntil + AFTER_END_MS
    }
    this.#here.book(row.peer, receipt)
  }

  #ask<T>(aid: string, work: (peer: PeerLedger) => T): T {
    const peer = this.#peers.get(aid)?.ledger
    const fault = this.#here.lineFault()
    if (peer === undefined || peer.isAway || this.#here.isAway || !peer.lists(this.#here.aid))
      throw new NotPaid(PENDING)
    if (fault === 'lost_before') throw new NotPaid(PENDING)
    if (fault === undefined) return work(peer)
    quietly(() => work(peer))
    throw new NotPaid(PENDING)
  }
}

function quietly(work: () => unknown): void {
  try {
    work()
  } catch (error) {
    if (!(error instanceof NotPaid)) throw error
  }
}
