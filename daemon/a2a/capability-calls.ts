/**
 * Calls of this node's own capabilities over A2A. They run like calls that came by mail, and what pays for them ends in
 * the same set of payments: each pays for one call, whichever way it came.
 */
import { fromUtf8, utf8 } from '../../protocol/encoding/bytes.ts'
import type { JsonValue } from '../../protocol/encoding/json.ts'
import { parseJson } from '../../protocol/encoding/json.ts'
import { transactionOf } from '../../protocol/proof/payment.ts'
import type { Quote } from '../../protocol/proof/quote.ts'
import { type A2aTaskRow, a2aTaskAt, setA2aInteraction } from '../store/a2a.ts'
import type { Store } from '../store/open.ts'
import { paymentById } from '../store/payments.ts'
import { type Interaction, newInteractionId } from '../store/threads.ts'
import type { LocalCall } from '../tasks/local-calls.ts'
import { refuseA2a } from './errors.ts'
import type { OwnPrices } from './own-prices.ts'
import type { UserMessage } from './shapes.ts'
import { agentMessage, type TaskEvents } from './task-events.ts'
import { authorizationFor, metadataKeys, PaymentNeeded, requiredBy } from './x402.ts'

/** The agent of calls of this node itself. */
export const OWN = ''

/** How a client pays: by a header of its request, or by the extension. */
export type Means = { payment: JsonValue | undefined; isExtended: boolean }
type Paid = { caller: string; authorization: Uint8Array }
export type AskedCall = { capability: string; args: Record<string, JsonValue> }

/** Takes a call of this node, which is run as soon as there is room; runs inside a transaction. */
export type TakeCall = (call: LocalCall) => Interaction

export class CapabilityCalls {
  readonly #store: Store
  readonly #taskEvents: TaskEvents
  readonly #prices: OwnPrices
  readonly #takeCall: TakeCall
  readonly #random: (length: number) => Uint8Array

  constructor(parts: {
    store: Store
    taskEvents: TaskEvents
    prices: OwnPrices
    takeCall: TakeCall
    random: (length: number) => Uint8Array
  }) {
    this.#store = parts.store
    this.#taskEvents = parts.taskEvents
    this.#prices = parts.prices
    this.#takeCall = parts.takeCall
    this.#random = parts.random
  }

  /** Opens the task of a call; runs inside a transaction. Throws {@link PaymentNeeded} where it has a price. */
  open(call: AskedCall, context: string, means: Means): A2aTaskRow {
    this.#prices.requireServed(call.capability)
    const quote = this.#prices.quote(call.capability)
    if (quote === undefined) return this.#take(call, context, undefined)
    if (means.payment !== undefined) return this.#take(call, context, this.#payer(quote, means.payment))
    if (!means.isExtended) throw new PaymentNeeded(quote)
    return this.#ask(call, context, quote)
  }

  /** Takes what pays for a call that was asked for before; runs inside a transaction. */
  pay(task: A2aTaskRow, { metadata = {} }: UserMessage): A2aTaskRow {
    const store = this.#store
    const call = parseJson(fromUtf8(task.request ?? utf8('{}'))) as AskedCall
    const given = metadata[metadataKeys.payload]
    if (metadata[metadataKeys.status] === 'payment-rejected') {
      this.#taskEvents.tellStatus(task.key, { state: 'TASK_STATE_CANCELED', message: undefined })
      return a2aTaskAt(store, task.key)
    }
    if (given === undefined)
      return refuseA2a('InvalidParams', 'the call waits for its payment', `metadata.${metadataKeys.payload}`)
    const quote = this.#prices.quote(call.capability)
    if (quote === undefined)
      return refuseA2a('UnsupportedOperation', 'the call has no price any more; call it anew')
    const paid = this.#payerOrRefuse(quote, given as JsonValue)
    const interaction = this.#takeCall({ id: task.id, ...call, ...paid })
    setA2aInteraction(store, task.key, interaction.key)
    return a2aTaskAt(store, task.key)
  }

  /** What asks for another payment in the place of one that was not good. */
  neededAgain(task: A2aTaskRow, why: string | undefined, settled: object | undefined): Error {
    const capability = task.interaction === null ? null : this.#taskEvents.interactionOf(task).capability
    const quote = capability === null ? undefined : this.#prices.quote(capability)
    if (quote === undefined) return new Error('a call that was paid for has no price')
    return new PaymentNeeded(quote, why, settled)
  }

  #payer(quote: Quote, given: JsonValue): Paid {
    const { authorization, encoded } = authorizationFor(quote, given)
    if (paymentById(this.#store, transactionOf(authorization)) !== undefined)
      throw new PaymentNeeded(quote, 'this payment was taken for another call; pay anew')
    return { caller: authorization.body.payer, authorization: encoded }
  }

  #payerOrRefuse(quote: Quote, given: JsonValue) {
    try {
      return this.#payer(quote, given)
    } catch (error) {
      if (!(error instanceof PaymentNeeded)) throw error
      return refuseA2a('InvalidParams', error.message, `metadata.${metadataKeys.payload}`)
    }
  }

  #take(call: AskedCall, context: string, paid: Paid | undefined): A2aTaskRow {
    const id = newInteractionId(this.#random)
    const { key: interaction } = this.#takeCall({ id, ...call, ...paid })
    return this.#taskEvents.open({ id, agent: OWN, context, interaction })
  }

  #ask(call: AskedCall, context: string, quote: Quote): A2aTaskRow {
    const id = newInteractionId(this.#random)
    const said = agentMessage({ id, context }, `${id}.price`, [{ text: priceText(quote) }])
    const metadata = { [metadataKeys.status]: 'payment-required', [metadataKeys.required]: requiredBy(quote) }
    const request = utf8(JSON.stringify(call))
    return this.#taskEvents.open(
      { id, agent: OWN, context, interaction: null, request },
      { state: 'TASK_STATE_INPUT_REQUIRED', message: { ...said, metadata } },
    )
  }
}

const priceText = ({ what, amount, network }: Quote): string =>
  `${what} costs ${amount} credits on ${network}`
