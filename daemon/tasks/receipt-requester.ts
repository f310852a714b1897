/**
 * The requester's half of a receipt (objects: receipt): it compares with what it holds, and counter-signs, waits for a
 * message on its way, or disputes. Everything runs inside a transaction of its caller.
 */
import { cidText } from '../../protocol/crypto/hash.ts'
import { equal } from '../../protocol/encoding/bytes.ts'
import { Receipt } from '../../protocol/proof/receipt.ts'
import type { Store } from '../store/open.ts'
import { noReason } from '../store/reasons.ts'
import type { Interaction, Threads } from '../store/threads.ts'
import { receiptsWaitingSince } from '../store/transcripts.ts'
import type { Contradictions } from './contradictions.ts'
import type { CounterSigner } from './counter-signer.ts'
import type { Ratings } from './ratings.ts'
import type { Fault, ReceiptJudge } from './receipt-judge.ts'
import type { ReceiptRecords } from './receipt-records.ts'
import { isCut } from './standing.ts'

/** Longer than any mail that was sent before a receipt can still be on its way. */
const RECEIPT_WAIT_MS = 14 * 86_400_000 + 3_600_000

type HeldParts = {
  threads: Threads
  judge: ReceiptJudge
  contradictions: Contradictions
  signer: CounterSigner
  records: ReceiptRecords
  ratings: Ratings
}

export class HeldReceipts {
  readonly #parts: HeldParts

  constructor(parts: HeldParts) {
    this.#parts = parts
  }

  /** The requester's answer to a receipt: counter-signature, a wait for a message still on its way, or a dispute. */
  take(interaction: Interaction, receipt: Receipt): Interaction {
    const { contradictions, signer } = this.#parts
    const contradiction = contradictions.take(interaction, receipt)
    if (contradiction !== undefined) return contradiction
    if (interaction.counterSignature !== null) return signer.send(interaction, interaction.counterSignature)
    const encoded = Receipt.encode(receipt)
    const wasDisputed = interaction.receiptState === 'disputed'
    if (wasDisputed && interaction.receipt !== null && equal(interaction.receipt, encoded)) return interaction
    return this.settle(this.keep(interaction, receipt), receipt, wasDisputed)
  }

  /** Keeps a receipt until it is judged; why there was none is true no longer. */
  keep(interaction: Interaction, receipt: Receipt): Interaction {
    return this.#parts.threads.update(interaction, {
      receipt: Receipt.encode(receipt),
      receiptState: 'waiting',
      ...(interaction.receiptState === 'none' ? noReason : {}),
    })
  }

  /** Signs the second receipt in the place of the first, which stays in the chain with the record of the contradiction. */
  accept(interaction: Interaction): Interaction {
    if (interaction.contradicting === null) return interaction
    const receipt = Receipt.decode(interaction.contradicting)
    const held = this.#parts.threads.update(interaction, {
      receipt: interaction.contradicting,
      contradicting: null,
      receiptState: 'waiting',
    })
    return this.settle(held, receipt, true)
  }

  /**
   * Judges a receipt that is held; called again when a message arrives that it waited for. `isRecorded`: the chain knows
   * already that a receipt of this task is disputed.
   */
  settle(interaction: Interaction, receipt: Receipt, isRecorded = false): Interaction {
    const { threads, judge, records, signer } = this.#parts
    const disputed = (note: string) => this.#dispute(interaction, { receipt, note, isRecorded })
    const provider = judge.signer(interaction, receipt)
    if (provider === undefined) return disputed('the signature of the provider does not hold')
    records.noteHead({ receipt })
    const fault = judge.compare(interaction, receipt, provider.kelSeq)
    if (fault?.fault === 'missing_message')
      return threads.update(interaction, { receiptNote: describe(fault) })
    if (fault !== undefined) return disputed(describe(fault))
    if (signer.isHeldUp)
      return threads.update(interaction, { receiptNote: 'not signed: the evidence chain is quarantined' })
    return this.#sign(interaction, receipt)
  }

  #sign(interaction: Interaction, receipt: Receipt): Interaction {
    const { threads, signer, records, ratings } = this.#parts
    const counterSignature = signer.sign(receipt)
    records.judged(interaction, receipt, true)
    const signed = threads.update(interaction, {
      receiptState: 'signed',
      receiptNote: null,
      counterSignature,
      resultCid: cidText(receipt.body.resultCid),
      status: receipt.body.status,
    })
    ratings.signKept(signed)
    return signer.send(signed, counterSignature)
  }

  /** A receipt that waited for a message is judged again once both last messages are here. */
  settleWaiting({ key }: Interaction): void {
    const current = this.#parts.threads.byKey(key)
    if (current.receiptState === 'waiting' && current.receipt !== null && isCut(current))
      this.settle(current, Receipt.decode(current.receipt))
  }

  /** A receipt that names a message which never came is disputed once no mail of its time can be on its way. */
  disputeOverdue(store: Store, now: number): void {
    for (const key of receiptsWaitingSince(store, now - RECEIPT_WAIT_MS)) {
      const interaction = this.#parts.threads.byKey(key)
      if (interaction.receipt === null) continue
      const note = interaction.receiptNote ?? 'a covered message never arrived'
      this.#dispute(interaction, { receipt: Receipt.decode(interaction.receipt), note, isRecorded: false })
    }
  }

  #dispute(interaction: Interaction, { receipt, note, isRecorded }: Disputed): Interaction {
    const { threads, records } = this.#parts
    if (!isRecorded) records.judged(interaction, receipt, false)
    return threads.update(interaction, { receiptState: 'disputed', receiptNote: note })
  }
}

type Disputed = { receipt: Receipt; note: string; isRecorded: boolean }

function describe({ fault, number }: Fault): string {
  const what = fault.replaceAll('_', ' ')
  return number === undefined
    ? `the receipt differs in: ${what}`
    : `the receipt differs in: ${what}, number ${number}`
}
