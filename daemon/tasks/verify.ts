/** The verdict on a completed interaction: both signatures, the content, and when the receipt was first held here. */

import type { InteractionState } from '../../protocol/control/shapes.ts'
import type { VerifyVerdict } from '../../protocol/control/verify-shape.ts'
import { cidText } from '../../protocol/crypto/hash.ts'
import { toBase64, utf8 } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { encodeKel, type VerifiedKel } from '../../protocol/identity/kel.ts'
import { decodePayload } from '../../protocol/mail/payload.ts'
import { ChainRecord } from '../../protocol/proof/evidence.ts'
import {
  type Judgement,
  judgeReceipt,
  resultMatches,
  type Side,
  sayJudgement,
  saySides,
  type TimeEvidence,
} from '../../protocol/proof/judge.ts'
import {
  CounterSignature,
  counterSignatureHolds,
  Receipt,
  receiptId,
  verifyReceipt,
} from '../../protocol/proof/receipt.ts'
import { sleep, type Timers } from '../../protocol/timers.ts'
import type { Carriers } from '../carrier/carrier.ts'
import type { CurrentHub } from '../hubs/current.ts'
import type { Identity } from '../identity/identity.ts'
import type { PeerBook } from '../peers/peers.ts'
import { refuse } from '../refusal.ts'
import { newestHolding, receiptRecord } from '../store/chain.ts'
import type { Store } from '../store/open.ts'
import { quoteOf } from '../store/quotes.ts'
import { reviewOf } from '../store/reviews.ts'
import type { Interaction, Threads } from '../store/threads.ts'
import { answerKeys } from '../store/transcripts.ts'
import { isRequester } from './standing.ts'

/** How long a verdict waits for a hub to say whether the provider has rotated its key. */
const HUB_WAIT_MS = 3000
const UNCHECKED_KEY =
  'the newest of its keys that this node knows; no hub could say whether it has rotated its key since'

type VerdictParts = { identity: Identity; store: Store; peers: PeerBook; threads: Threads; hub: CurrentHub }

export class Verdicts {
  readonly #parts: VerdictParts

  constructor(parts: VerdictParts) {
    this.#parts = parts
  }

  /** The verdict by what is held here; `keyChecked`: the key history of the provider is as its hub has it now. */
  on(interaction: Interaction, keyChecked: boolean): VerifyVerdict {
    const { identity, store, peers, threads, hub } = this.#parts
    const receipt = receiptOf(interaction)
    const ownSide = !isRequester(interaction)
    const peerLog = peers.find(interaction.peer)?.log
    const provider = ownSide ? identity.log : peerLog
    const requester = ownSide ? peerLog : identity.log
    if (provider === undefined) refuse('no_receipt', 'no verified key history of the provider is stored here')
    const evidence = firstHeld(store, interaction)
    const judgement = judgeReceipt(receipt, provider, present({ evidence, hub: hub.home?.identity.log }))
    const attestation = reviewOf(store, interaction.key)?.attestation ?? undefined
    const counterSigned = isCounterSigned(interaction, receipt, requester)
    const content = resultBytes(store, threads, interaction, receipt)
    const disputed = interaction.receiptState === 'disputed'
    const providerSigned = verifyReceipt(receipt, provider) !== undefined
    const sides: Side[] = [
      ...(providerSigned ? (['provider'] as const) : []),
      ...(providerSigned && counterSigned ? (['requester'] as const) : []),
    ]
    const retired = judgement.verdict === 'valid_retired_key' ? judgement : undefined
    return {
      verdict: disputed ? 'invalid' : verdictOf(judgement),
      says: disputed
        ? (interaction.receiptNote ?? 'the receipt is disputed')
        : [
            sayJudgement(judgement, keyChecked ? undefined : UNCHECKED_KEY),
            saySides(sides),
            sayPaid(store, threads, interaction),
          ]
            .filter(Boolean)
            .join(' '),
      interaction_id: interaction.id,
      provider: receipt.body.provider,
      requester: interaction.delegator,
      status: receipt.body.status,
      receipt_id: receiptId(receipt),
      request_cid: cidText(receipt.body.requestCid),
      result_cid: cidText(receipt.body.resultCid),
      content_checked: content !== undefined && resultMatches(receipt, content),
      counter_signed: counterSigned,
      signed_by: sides,
      receipt: toBase64(Receipt.encode(receipt)),
      kel: toBase64(encodeKel(provider.events)),
      key_checked: keyChecked,
      ...present({
        attestation: attestation && toBase64(attestation),
        retired_at: retired?.retiredAt,
        evidence: retired?.evidence.source,
      }),
    }
  }
}

/** Verdicts after a hub was asked for the present key of the provider. */
export class FreshVerdicts {
  readonly #verdicts: Verdicts
  readonly #carriers: Carriers
  readonly #timers: Timers

  constructor(verdicts: Verdicts, carriers: Carriers, timers: Timers) {
    this.#verdicts = verdicts
    this.#carriers = carriers
    this.#timers = timers
  }

  async on(interaction: Interaction): Promise<VerifyVerdict> {
    return this.#verdicts.on(interaction, await this.#isKeyChecked(interaction))
  }

  async #isKeyChecked(interaction: Interaction): Promise<boolean> {
    if (!isRequester(interaction)) return true
    const limit = new AbortController()
    const asked = this.#carriers.find(interaction.peer).then(
      ({ outcome }) => outcome === 'found',
      () => false,
    )
    const late = sleep(this.#timers, HUB_WAIT_MS, limit.signal).then(() => false)
    const isFound = await Promise.race([asked, late])
    limit.abort()
    return isFound
  }
}

/** States in which a task is over without a receipt, for good. */
const NEVER_SIGNED: readonly string[] = ['declined', 'cancelled', 'failed'] satisfies InteractionState[]

function receiptOf({ id, state, receipt }: Interaction): Receipt {
  if (receipt !== null) return Receipt.decode(receipt)
  if (NEVER_SIGNED.includes(state))
    refuse('no_receipt', `this task is ${state}; it has no receipt and gets none`, `svc thread ${id}`)
  return refuse(
    'no_receipt',
    'this interaction has no receipt yet',
    `both sides must end first\nsvc thread ${id}`,
  )
}

function isCounterSigned(
  { counterSignature }: Interaction,
  receipt: Receipt,
  requester: VerifiedKel | undefined,
): boolean {
  if (counterSignature === null || requester === undefined) return false
  return counterSignatureHolds(CounterSignature.decode(counterSignature), receipt, requester)
}

/** Our own chain record of the receipt, which says when it was held. */
function firstHeld(store: Store, interaction: Interaction): TimeEvidence | undefined {
  const row = receiptRecord(store, interaction.key) ?? searched(store, interaction)
  if (row === undefined) return undefined
  const record = ChainRecord.decode(row.record)
  return { at: record.ts, source: `record ${row.seq} of the evidence chain` }
}

/** For interactions of releases that did not note the record: one at a time, the newest first. */
function searched(store: Store, interaction: Interaction): ReturnType<typeof newestHolding> {
  const type = isRequester(interaction) ? 'svc.result.accepted' : 'svc.interaction.receipt'
  return newestHolding(store, type, utf8(interaction.id))
}

/** The document of the receipt among the messages, the newest first, one in memory at a time. */
function resultBytes(
  store: Store,
  threads: Threads,
  interaction: Interaction,
  receipt: Receipt,
): Uint8Array | undefined {
  for (const key of answerKeys(store, interaction.key)) {
    const message = threads.message(key)
    const decoded = decodePayload(message.kind, message.payload)
    if (!('document' in decoded.payload)) continue
    if (resultMatches(receipt, decoded.payload.document)) return decoded.payload.document
  }
  return undefined
}

/** The receipt of a price does not speak of the work, which is another interaction once that is paid. */
function sayPaid(store: Store, threads: Threads, { key }: Interaction): string {
  const paidAs = quoteOf(store, key)?.paidAs
  return paidAs
    ? `It is the receipt of the price; that of the work that was paid for: svc verify ${threads.byKey(paidAs).id}`
    : ''
}

/** What this node goes by is its own record, or the word of its own hub: nobody unnamed. */
const verdictOf = ({ verdict }: Judgement): VerifyVerdict['verdict'] =>
  verdict === 'open' ? 'invalid' : verdict
