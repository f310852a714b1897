/** The requester's signature under a receipt, and its way to the provider. Inside a transaction of the caller. */
import { present } from '../../protocol/encoding/present.ts'
import { encodePayload, kinds } from '../../protocol/mail/payload.ts'
import { CounterSignature, Receipt, receiptBodyHash } from '../../protocol/proof/receipt.ts'
import type { Chain } from '../chain/chain.ts'
import type { Identity } from '../identity/identity.ts'
import type { Interaction, Threads } from '../store/threads.ts'

export class CounterSigner {
  readonly #identity: Identity
  readonly #chain: Chain
  readonly #threads: Threads

  constructor(identity: Identity, chain: Chain, threads: Threads) {
    this.#identity = identity
    this.#chain = chain
    this.#threads = threads
  }

  /** Whether nothing is signed now, as the chain lacks records. */
  get isHeldUp(): boolean {
    return this.#chain.isQuarantined
  }

  sign(receipt: Receipt): Uint8Array {
    const { aid, seed, log } = this.#identity
    const [chainLength, chainHead] = this.#chain.position
    const counter = CounterSignature.sign(seed, {
      requester: aid,
      kelSeq: log.seq,
      chainLength,
      chainHead,
      bodyHash: receiptBodyHash(receipt.bodyBytes),
    })
    return CounterSignature.encode(counter)
  }

  /**
   * Signs a receipt that was counter-signed anew, under the present key: after a rotation, and for a provider that may have
   * lost its receipt, which then goes along.
   */
  remake(interaction: Interaction, { withReceipt }: { withReceipt: boolean }): Interaction {
    if (interaction.receipt === null || interaction.counterSignature === null) return interaction
    const receipt = Receipt.decode(interaction.receipt)
    const counterSignature = this.sign(receipt)
    const signed = this.#threads.update(interaction, { counterSignature })
    return this.send(signed, counterSignature, withReceipt ? receipt : undefined)
  }

  send(interaction: Interaction, encoded: Uint8Array, receipt?: Receipt): Interaction {
    const counterSignature = CounterSignature.decode(encoded)
    return this.#threads.queue(interaction, {
      kind: kinds.counterSignature,
      payload: encodePayload(kinds.counterSignature, { counterSignature, ...present({ receipt }) }),
      text: '',
      numbered: false,
    }).interaction
  }
}
