/**
 * From a capability id to its effect: a call of what this node serves is run by its provider, any other is handed to
 * auto-reply as a task in words where one is configured, else it is answered as unavailable.
 */

import { DOCUMENT_BYTES_MAX } from '../../protocol/contract/limits.ts'
import { cidText, contentId } from '../../protocol/crypto/hash.ts'
import { fromUtf8, utf8, utf8Length } from '../../protocol/encoding/bytes.ts'
import { CborFloat, type CborValue } from '../../protocol/encoding/cbor.ts'
import type { JsonValue } from '../../protocol/encoding/json.ts'
import { present } from '../../protocol/encoding/present.ts'
import { encodePayload, kinds } from '../../protocol/mail/payload.ts'
import {
  buildEffect,
  type Effect,
  effectText,
  isVerifiable,
  renderEffect,
  renderEvidence,
} from '../../protocol/proof/effect.ts'
import { paymentRequired, type Quote, TASK } from '../../protocol/proof/quote.ts'
import type { Chain } from '../chain/chain.ts'
import type { Served } from '../context.ts'
import type { Settings } from '../home/settings.ts'
import { notePrice } from '../payments/priced-tasks.ts'
import type { Waker } from '../platform/waker.ts'
import type { Store } from '../store/open.ts'
import type { Interaction, Threads } from '../store/threads.ts'
import type { Endings } from './endings.ts'

/** What was observed stands in the chain up to this; the result has all of it. */
const OBSERVED_BYTES_MAX = 4096

/** Who answers a task, and what it costs before they do. */
export type Answering = { by: 'provider' | 'words' | 'nobody'; price: number | undefined }

type DispatchParts = {
  settings: Settings
  modules: Served
  store: Store
  threads: Threads
  effects: Effects
  calls: Waker
}

/** Who answers a task that came. */
export class Dispatch {
  readonly #parts: DispatchParts

  constructor(parts: DispatchParts) {
    this.#parts = parts
  }

  /** A call is answered by its provider, or by an agent in words where there is one; any other task is answered in words. */
  answeringOf(capability: string | null): Answering {
    const { settings, modules } = this.#parts
    if (capability !== null && modules.serves(capability))
      return { by: 'provider', price: modules.priceOf(capability) }
    const isHeard = capability === null || settings.current.auto_reply !== undefined
    return isHeard ? { by: 'words', price: modules.priceOf(TASK) } : { by: 'nobody', price: undefined }
  }

  /** Hands a task that was just taken to who answers it; runs inside the transaction of the caller. */
  handOver(interaction: Interaction, { by, price }: Answering): void {
    const { store, threads, effects, calls } = this.#parts
    if (by === 'nobody') effects.answer(interaction, notServed(interaction.capability ?? ''))
    if (by === 'words' && price !== undefined) notePrice(store, interaction, price)
    if (by !== 'provider' && price === undefined) return
    threads.update(interaction, { autoReply: 0 })
    store.afterCommit(() => calls.wake())
  }
}

export const notServed = (capability: string): Effect =>
  buildEffect({ status: 'UNAVAILABLE', message: `this node does not serve ${capability}` })

/** What stands beside an effect in its answer. */
export type AnswerParts = {
  /** What was observed stays out of the chain. */
  isPrivate?: boolean
  /** The effect is a quote, which asks for this. */
  quote?: Quote
  /** The hub's receipts of what was paid for it. */
  settlements?: Uint8Array[]
}

/** Answers of calls. */
export class Effects {
  readonly #chain: Chain
  readonly #threads: Threads
  readonly #endings: Endings

  constructor(chain: Chain, threads: Threads, endings: Endings) {
    this.#chain = chain
    this.#threads = threads
    this.#endings = endings
  }

  /** Answers a call with its effect, records it and proposes the end; runs inside the transaction of the caller. */
  answer(
    interaction: Interaction,
    given: Effect,
    { isPrivate = false, quote, settlements }: AnswerParts = {},
  ): Interaction {
    const asks = quote && paymentRequired(quote)
    const { effect, document } = fitting(given, asks)
    const resultCid = cidText(contentId(document))
    this.#chain.append('svc.capability.effect', {
      interaction_id: interaction.id,
      capability: interaction.capability ?? TASK,
      caller_aid: interaction.peer,
      status: effect.status,
      verifiable: isVerifiable(effect),
      metrics: metricsOf(effect),
      result_cid: resultCid,
      evidence: evidenceOf(effect, isPrivate),
    })
    const answer =
      quote === undefined
        ? {
            kind: kinds.result,
            payload: encodePayload(kinds.result, { document, ...present({ settlements }) }),
          }
        : { kind: kinds.quote, payload: encodePayload(kinds.quote, { document }) }
    const { interaction: answered } = this.#threads.queue(interaction, {
      ...answer,
      text: effectText(JSON.parse(fromUtf8(document)) as Record<string, unknown>),
      numbered: true,
    })
    return this.#endings.propose(answered)
  }
}

/** The effect with its document, or that it fits no message. */
function fitting(effect: Effect, asks: JsonValue | undefined): { effect: Effect; document: Uint8Array } {
  const document = utf8(renderEffect(effect, asks))
  if (document.length <= DOCUMENT_BYTES_MAX) return { effect, document }
  const message = `the result is larger than the ${DOCUMENT_BYTES_MAX} bytes that a message takes`
  const failed = buildEffect({ status: 'FAILED', message })
  return { effect: failed, document: utf8(renderEffect(failed)) }
}

const metricsOf = ({ record }: Effect): CborValue =>
  new Map(Object.entries(record?.metrics ?? {}).map(([name, value]) => [name, new CborFloat(value)]))

function evidenceOf({ evidence = {} }: Effect, isPrivate: boolean): CborValue {
  const { observedState, ...rest } = evidence
  const isShort = observedState !== undefined && utf8Length(observedState) <= OBSERVED_BYTES_MAX
  const kept = isPrivate || !isShort ? rest : evidence
  return new Map(Object.entries(renderEvidence(kept)) as [string, CborValue][])
}
