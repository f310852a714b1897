/**
 * Calls of this node's own capabilities over A2A. They run like calls that came by mail, and what pays for them ends in
 * the same set of payments: each pays for one call, whichever way it came.
 */
import { fromUtf8, utf8 } from '../../protocol/encoding/bytes.ts'
import type { JsonValue } from '../../protocol/encoding/json.ts'
import { parseJson } from '../../protocol/encoding/json.ts'
import { transactionOf } from '../../protocol/proof/payment.ts'
import type { Quote } from '../../protocol/proof/quote.ts'
import type { Context } from '../context.ts'
import { maySign } from '../payments/may-sign.ts'
import { quoteFor } from '../payments/price-check.ts'
import { type A2aTaskRow, a2aTaskAt, addA2aTask, setA2aInteraction } from '../store/a2a.ts'
import { type PaymentRow, paymentById, paymentOf } from '../store/payments.ts'
import { newInteractionId } from '../store/threads.ts'
import type { ConversationNeeds } from '../tasks/conversation.ts'
import { takeLocalCall } from '../tasks/local-calls.ts'
import { refuseA2a } from './errors.ts'
import type { UserMessage } from './shapes.ts'
import { agentMessage, statusOf, type TaskEvents } from './task-events.ts'
import { authorizationFor, isJudged, metadataKeys, PaymentNeeded, requiredBy } from './x402.ts'

export type CapabilityCallsNeeds = ConversationNeeds &
  Pick<Context, 'hub' | 'timers' | 'random' | 'log'> & {
    modules: Context['modules'] & {
      find(capability: string): { timeoutMs?: number | undefined } | undefined
      startsOf(capability: string): number | undefined
    }
  }

/** How a client pays: by a header of its request, or by the extension. */
export type Means = { payment: JsonValue | undefined; isExtended: boolean }
export type AskedCall = { capability: string; args: Record<string, JsonValue> }

/** How long an answer waits for the hub's word on a payment. */
const JUDGED_MS = 30_000

export class CapabilityCalls {
  readonly #ctx: CapabilityCallsNeeds
  readonly #taskEvents: TaskEvents
  readonly #isPaidHere: boolean

  /** `isPaidHere`: whether this build takes payments. */
  constructor(ctx: CapabilityCallsNeeds, taskEvents: TaskEvents, isPaidHere: boolean) {
    this.#ctx = ctx
    this.#taskEvents = taskEvents
    this.#isPaidHere = isPaidHere
  }

  /** Opens the task of a call; runs inside a transaction. Throws {@link PaymentNeeded} where it has a price. */
  open(call: AskedCall, context: string, means: Means): A2aTaskRow {
    const { modules, identity } = this.#ctx
    if (!modules.serves(call.capability))
      refuseA2a('InvalidParams', `this node does not serve ${call.capability}; the card lists what it does`)
    const quote = this.#quote(call.capability)
    if (quote === undefined)
      return this.#take(call, context, { caller: identity.aid, authorization: undefined })
    if (means.payment !== undefined) return this.#take(call, context, this.#payer(quote, means.payment))
    if (!means.isExtended) throw new PaymentNeeded(quote)
    return this.#ask(call, context, quote)
  }

  /** Takes what pays for a call that was asked for before; runs inside a transaction. */
  pay(task: A2aTaskRow, { metadata = {} }: UserMessage): A2aTaskRow {
    const { store } = this.#ctx
    const call = parseJson(fromUtf8(task.request ?? utf8('{}'))) as AskedCall
    const given = metadata[metadataKeys.payload]
    if (metadata[metadataKeys.status] === 'payment-rejected') {
      this.#taskEvents.tellStatus(task.key, { state: 'TASK_STATE_CANCELED', message: undefined })
      return a2aTaskAt(store, task.key)
    }
    if (given === undefined)
      return refuseA2a('InvalidParams', 'the call waits for its payment', `metadata.${metadataKeys.payload}`)
    const quote = this.#quote(call.capability)
    if (quote === undefined)
      return refuseA2a('UnsupportedOperation', 'the call has no price any more; call it anew')
    const paid = this.#payerOrRefuse(quote, given as JsonValue)
    const interaction = takeLocalCall(this.#ctx, { id: task.id, ...call, ...paid })
    setA2aInteraction(store, task.key, interaction.key)
    return a2aTaskAt(store, task.key)
  }

  /** The payment of a task, once the hub has judged it or some time is over. */
  async judged(task: A2aTaskRow, signal: AbortSignal): Promise<PaymentRow | undefined> {
    const { store, events, threads, timers } = this.#ctx
    const until = timers.monotonic() + JUDGED_MS
    for (;;) {
      const { interaction } = a2aTaskAt(store, task.key)
      if (interaction === null) return undefined
      const row = paymentOf(store, interaction)
      const isOver = threads.byKey(interaction).state !== 'open'
      const left = until - timers.monotonic()
      if (isOver || (row !== undefined && isJudged(row)) || left <= 0 || signal.aborted) return row
      await events.next(() => true, Math.min(left, LOOK_MS), signal)
    }
  }

  /** What asks for another payment in the place of one that was not good. */
  neededAgain(task: A2aTaskRow, why: string | undefined, settled: object | undefined): Error {
    const capability = task.interaction === null ? null : this.#ctx.threads.byKey(task.interaction).capability
    const quote = capability === null ? undefined : this.#quote(capability)
    if (quote === undefined) return new Error('a call that was paid for has no price')
    return new PaymentNeeded(quote, why, settled)
  }

  /** What a call costs now. */
  #quote(capability: string): Quote | undefined {
    const { modules, hub, identity } = this.#ctx
    if (!maySign(this.#ctx))
      refuseA2a('UnsupportedOperation', 'this node takes no calls now; svc status says why')
    const amount = modules.priceOf(capability)
    if (amount === undefined) return undefined
    if (!this.#isPaidHere)
      return refuseA2a(
        'UnsupportedOperation',
        `${capability} has a price, and this build has no payment support`,
      )
    const home = hub.home
    if (home === undefined)
      return refuseA2a('UnsupportedOperation', 'no hub is there that could take a payment; svc status')
    const seconds = (modules.find(capability)?.timeoutMs ?? 0) / 1000
    const starts = modules.startsOf(capability)
    return quoteFor({
      provider: identity.aid,
      hub: home.identity.aid,
      what: capability,
      amount,
      seconds,
      starts,
    })
  }

  #payer(quote: Quote, given: JsonValue): { caller: string; authorization: Uint8Array } {
    const { authorization, encoded } = authorizationFor(quote, given)
    if (paymentById(this.#ctx.store, transactionOf(authorization)) !== undefined)
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

  #take(
    call: AskedCall,
    context: string,
    paid: { caller: string; authorization: Uint8Array | undefined },
  ): A2aTaskRow {
    const { store, random, now } = this.#ctx
    const id = newInteractionId(random)
    const interaction = takeLocalCall(this.#ctx, { id, ...call, ...paid })
    const at = now()
    const status = JSON.stringify(statusOf('TASK_STATE_SUBMITTED', at))
    const standing = { state: 'TASK_STATE_SUBMITTED', stateAt: at, status } as const
    return addA2aTask(store, {
      id,
      agent: '',
      context,
      interaction: interaction.key,
      request: null,
      ends: 0,
      ...standing,
    })
  }

  #ask(call: AskedCall, context: string, quote: Quote): A2aTaskRow {
    const { store, random, now } = this.#ctx
    const id = newInteractionId(random)
    const message = agentMessage({ id, context }, `${id}.price`, [{ text: priceText(quote) }])
    const metadata = { [metadataKeys.status]: 'payment-required', [metadataKeys.required]: requiredBy(quote) }
    const at = now()
    const state = 'TASK_STATE_INPUT_REQUIRED'
    const status = JSON.stringify(statusOf(state, at, { ...message, metadata }))
    const request = utf8(JSON.stringify(call))
    return addA2aTask(store, {
      id,
      agent: '',
      context,
      interaction: null,
      request,
      ends: 0,
      state,
      stateAt: at,
      status,
    })
  }
}

const LOOK_MS = 1_000
const priceText = ({ what, amount, network }: Quote): string =>
  `${what} costs ${amount} credits on ${network}`
