/** Payments from an account at one hub to an agent of another, and what the payee's side was told of each. */

import type { Reply, TestAgent } from '../../../hub/testing/hub.ts'
import { ask, order, type Paid, type Paying, payment, receiptOf } from '../../../hub/testing/payments.ts'
import { type SettlementReceipt, settlementKinds, transactionOf } from '../../../protocol/proof/payment.ts'
import type { Side } from './side.ts'

export type Receipt = SettlementReceipt['body']
type Given = {
  name: string
  payers: Side
  payees: Side
  payer: TestAgent
  payee: TestAgent
  amount: number
}

export class Across {
  name: string
  readonly payers: Side
  readonly payees: Side
  readonly payer: TestAgent
  readonly payee: TestAgent
  readonly paid: Paid
  readonly amount: number
  readonly startedMs: number
  /** What the payee takes of a hold, and nothing while it is at work. */
  takes: number | undefined
  /** Its people have gone: nobody asks again. */
  isForgotten = false
  /** What its payee's hub signed for whoever asked, with the time of the answer. */
  readonly told: { body: Receipt; atMs: number }[] = []
  /** With which code it was refused. */
  refused: { code: string; atMs: number } | undefined
  /** What it waits for, as was said last. */
  why = 'not asked'

  constructor({ name, payers, payees, payer, payee, amount }: Given, more: Paying = {}) {
    this.name = name
    this.payers = payers
    this.payees = payees
    this.payer = payer
    this.payee = payee
    this.amount = amount
    this.startedMs = payees.now()
    this.paid = payment(payer, payee, amount, more)
  }

  get transaction(): Uint8Array {
    return transactionOf(this.paid.authorization)
  }

  get isHold(): boolean {
    return this.paid.authorization.body.holdUntil !== undefined
  }

  /** Nobody asks for more of it. */
  get isOver(): boolean {
    if (this.isForgotten || this.refused !== undefined) return true
    const kinds = this.told.map(({ body }) => body.kind)
    return this.isHold && this.takes !== undefined
      ? kinds.some(kind => kind === settlementKinds.captured || kind === settlementKinds.returned)
      : kinds.length > 0
  }

  /** As the payee's node does: for the payment, and once that is held for its end; again until it is answered. */
  async ask(): Promise<void> {
    if (this.isOver || !this.payees.isUp) return
    const isHeld = this.told.length > 0
    const reply = isHeld ? await this.#order() : await ask(this.payees, 'x402Settle', this.paid.request)
    this.#note(reply)
    if (!isHeld && this.told.length > 0 && this.isHold && this.takes !== undefined) await this.ask()
  }

  #order(): Promise<Reply> {
    const takes = this.takes ?? 0
    return ask(this.payees, takes === 0 ? 'x402Release' : 'x402Capture', order(this.payee, this.paid, takes))
  }

  #note(reply: Reply): void {
    const atMs = this.payees.now()
    const { status, json } = reply
    if (status !== 200) this.why = String(json['reason'])
    else if (json['success'] === true) this.told.push({ body: receiptOf(reply).body, atMs })
    else if (json['errorReason'] === 'settlement_pending') this.why = String(json['errorMessage'])
    else this.refused = { code: String(json['errorReason']), atMs }
  }
}
