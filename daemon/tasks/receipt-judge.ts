/** Receipts of a provider, compared with what its requester holds. */
import { parseCid } from '../../protocol/crypto/hash.ts'
import { fromBase64url } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { decodePayload, kinds } from '../../protocol/mail/payload.ts'
import { coveredNumbers, Receipt, receiptFault, verifyReceipt } from '../../protocol/proof/receipt.ts'
import type { PeerBook } from '../peers/peers.ts'
import type { Clocks } from '../platform/clock.ts'
import type { Store } from '../store/open.ts'
import type { Interaction, Threads } from '../store/threads.ts'
import { numberedMessages } from '../store/transcripts.ts'
import { paidMarkOf } from './quotes.ts'
import { coveredMessages, inHubTime, resultOf } from './receipts.ts'

export type Fault = { fault: string; number?: number }

export class ReceiptJudge {
  readonly #store: Store
  readonly #peers: PeerBook
  readonly #threads: Threads
  readonly #clocks: Clocks

  constructor(
    { store, peers, threads }: { store: Store; peers: PeerBook; threads: Threads },
    { now, hubNow }: Clocks,
  ) {
    this.#store = store
    this.#peers = peers
    this.#threads = threads
    this.#clocks = { now, hubNow }
  }

  /** The key state of the provider, where it signed all of these; what it did not sign is no receipt, whoever sent it. */
  signer({ peer }: Interaction, ...receipts: readonly Receipt[]): { kelSeq: number } | undefined {
    const log = this.#peers.find(peer)?.log
    const holds = log !== undefined && receipts.every(one => verifyReceipt(one, log) !== undefined)
    return holds ? { kelSeq: log.seq } : undefined
  }

  /** Whether it is the receipt of the other side of this task. */
  isOfProvider(interaction: Interaction, receipt: Receipt): boolean {
    return receipt.body.provider === interaction.peer && this.signer(interaction, receipt) !== undefined
  }

  /**
   * Whether its person may take the second receipt of a task: the first one was disputed and nobody counter-signed it, and
   * the second agrees with all that is held here.
   */
  mayAccept(interaction: Interaction): boolean {
    const { contradicting, counterSignature, receiptState } = interaction
    if (receiptState !== 'disputed' || contradicting === null || counterSignature !== null) return false
    return this.fits(interaction, Receipt.decode(contradicting))
  }

  /** Whether the provider signed it and it agrees with all that is held here. */
  fits(interaction: Interaction, receipt: Receipt): boolean {
    const signer = this.signer(interaction, receipt)
    return signer !== undefined && this.compare(interaction, receipt, signer.kelSeq) === undefined
  }

  /** How a receipt differs from what is held here; `missing_message` alone may still be healed by mail on its way. */
  compare(interaction: Interaction, receipt: Receipt, kelSeq: number): Fault | undefined {
    const [store, threads] = [this.#store, this.#threads]
    const own = new Map<number, { digest: Uint8Array; confirmed: boolean }>()
    const peer = new Map<number, Uint8Array>()
    for (const message of numberedMessages(store, interaction.key)) {
      if (message.direction === 'in') peer.set(message.number, message.digest)
      else if (message.number <= (interaction.ownLast ?? 0))
        own.set(message.number, { digest: message.digest, confirmed: message.delivery === 'delivered' })
    }
    const [requesterSide, providerSide] = receipt.body.cover
    const invented = coveredNumbers(requesterSide).find(number => !own.has(number))
    if (invented !== undefined) return { fault: 'message_never_sent', number: invented }
    const covering = coveredNumbers(providerSide)
    const late = covering.find(number => number > (interaction.peerLast ?? 0))
    if (late !== undefined) return { fault: 'message_after_the_end', number: late }
    const lacking = covering.find(number => !peer.has(number))
    const covered = coveredMessages(threads, interaction, 'in', providerSide)
    const { cid, status: told } = resultOf(covered)
    const ours = { resultCid: cid, status: told, settlement: paidMarkOf(store, interaction, covered) }
    // While a message is on its way only what it cannot change is compared.
    const { resultCid, status, settlement } = lacking === undefined ? ours : receipt.body
    return receiptFault(receipt.body, {
      interactionId: fromBase64url(interaction.id),
      provider: interaction.peer,
      providerKelSeq: kelSeq,
      commitment: interaction.commitment as Uint8Array,
      requestCid: parseCid(interaction.requestCid),
      resultCid,
      status,
      ...present({ settlement }),
      now: this.#clocks.hubNow(),
      startedAt: inHubTime(this.#clocks, interaction.startedAt),
      ownEndAt: interaction.ownEndAt ?? 0,
      own,
      peer,
      peerLast: interaction.peerLast ?? 0,
      lacked: namedAsMissing(threads, interaction),
    })
  }
}

/** Numbers of the provider that the last message of this side said it lacks. */
function namedAsMissing(threads: Threads, { key, ownLast }: Interaction): Set<number> {
  const last = ownLast === null ? undefined : threads.byNumber(key, 'out', ownLast)
  const said = last === undefined ? undefined : decodePayload(last.kind, last.payload)
  const names = said?.kind === kinds.end || said?.kind === kinds.acceptEnd
  return new Set(names ? said.payload.missing : [])
}
