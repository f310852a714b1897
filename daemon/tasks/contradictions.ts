/** A second receipt of one task that says something else than the first: both are kept, with the record that proves it. */
import type { Logger } from 'pino'
import { Receipt, receiptsContradict } from '../../protocol/proof/receipt.ts'
import type { Chain } from '../chain/chain.ts'
import type { Interaction, Threads } from '../store/threads.ts'
import type { ReceiptJudge } from './receipt-judge.ts'

export class Contradictions {
  readonly #threads: Threads
  readonly #chain: Chain
  readonly #judge: ReceiptJudge
  readonly #log: Logger

  constructor(
    { threads, chain, judge }: { threads: Threads; chain: Chain; judge: ReceiptJudge },
    log: Logger,
  ) {
    this.#threads = threads
    this.#chain = chain
    this.#judge = judge
    this.#log = log
  }

  /**
   * What becomes of the task when the provider signed something else before: both receipts are kept, with a record of
   * the chain that proves it, and nobody signs or reviews any more. Undefined when it did not.
   */
  take(interaction: Interaction, receipt: Receipt): Interaction | undefined {
    if (interaction.contradicting !== null) return this.#keepFitting(interaction, receipt)
    if (interaction.receipt === null) return undefined
    const first = Receipt.decode(interaction.receipt)
    const signer = this.#judge.signer(interaction, first, receipt)
    if (signer === undefined || !receiptsContradict(first.body, receipt.body)) return undefined
    if (this.#replaces(interaction, { first, second: receipt, kelSeq: signer.kelSeq })) return undefined
    const second = Receipt.encode(receipt)
    this.#chain.append('svc.receipt.contradiction', {
      interaction_id: interaction.id,
      provider_aid: interaction.peer,
      receipt_bytes: interaction.receipt,
      contradicting_receipt_bytes: second,
    })
    this.#log.warn({ interaction: interaction.id }, 'two receipts contradict each other')
    return this.#threads.update(interaction, {
      contradicting: second,
      receiptState: 'disputed',
      receiptNote: 'the provider signed two receipts of this task that contradict each other; both are kept',
    })
  }

  /** Of later receipts, one that agrees with what is here takes the place of a second one that does not. */
  #keepFitting(interaction: Interaction, receipt: Receipt): Interaction {
    if (interaction.counterSignature !== null || this.#judge.mayAccept(interaction)) return interaction
    if (!this.#judge.fits(interaction, receipt)) return interaction
    return this.#threads.update(interaction, { contradicting: Receipt.encode(receipt) })
  }

  /**
   * Whether a receipt may stand in the place of one that was disputed and that nobody counter-signed: it differs in nothing
   * but the digest of the transcript, and has it as it is here. The first one is in the chain.
   */
  #replaces(
    interaction: Interaction,
    { first, second, kelSeq }: { first: Receipt; second: Receipt; kelSeq: number },
  ): boolean {
    if (interaction.receiptState !== 'disputed' || interaction.counterSignature !== null) return false
    const { transcriptDigest } = second.body
    if (receiptsContradict({ ...first.body, transcriptDigest }, second.body)) return false
    return this.#judge.compare(interaction, second, kelSeq) === undefined
  }
}
