/** What a provider keeps of the requester's signature under its receipt. Inside a transaction of its caller. */
import { cidText } from '../../protocol/crypto/hash.ts'
import { equal, fromBase64url } from '../../protocol/encoding/bytes.ts'
import { decodePayload, kinds, type Payload } from '../../protocol/mail/payload.ts'
import {
  CounterSignature,
  counterSignatureHolds,
  Receipt,
  verifyReceipt,
} from '../../protocol/proof/receipt.ts'
import type { Identity } from '../identity/identity.ts'
import type { PeerBook } from '../peers/peers.ts'
import { isNumberOpen } from '../store/interactions.ts'
import type { Store } from '../store/open.ts'
import type { Interaction, Threads } from '../store/threads.ts'
import { receiptMessages } from '../store/transcripts.ts'
import type { Deliveries } from './delivery.ts'
import { reasonBeside } from './receipt-provider.ts'
import type { ReceiptRecords } from './receipt-records.ts'
import { failAbove, isCut, isOver } from './standing.ts'

type CounterParts = {
  identity: Identity
  store: Store
  peers: PeerBook
  threads: Threads
  records: ReceiptRecords
  deliveries: Deliveries
}

export class CounterSignatures {
  readonly #parts: CounterParts

  constructor(parts: CounterParts) {
    this.#parts = parts
  }

  /** The provider keeps a counter-signature that covers its receipt; undefined when it does not. */
  take(
    interaction: Interaction,
    { counterSignature: counter, receipt: brought }: Payload<6>,
  ): Interaction | undefined {
    const { store, peers, threads, records, deliveries } = this.#parts
    const requester = peers.find(interaction.peer)
    // A counter-signature counts under the newest key only: it is remade after a rotation.
    if (requester === undefined || counter.body.kelSeq !== requester.log.seq) return undefined
    // Rotations may have made the receipt anew, more than once, while the requester had already signed an earlier one.
    const sent = sentReceipts(store, interaction)
    const own = sent.map(one => one.receipt)
    if (brought !== undefined && this.#isLost(interaction, brought)) own.push(brought)
    const receipt = own.find(one => counterSignatureHolds(counter, one, requester.log))
    if (receipt === undefined) return undefined
    const { resultCid, status } = receipt.body
    if (interaction.receipt === null) records.made(interaction, resultCid)
    records.noteHead({ counterSignature: counter })
    for (const { key, delivery } of sent) if (delivery !== 'failed') deliveries.note(key)
    const signed = threads.update(interaction, {
      receipt: Receipt.encode(receipt),
      counterSignature: CounterSignature.encode(counter),
      receiptState: 'signed',
      resultCid: cidText(resultCid),
      status,
      ...reasonBeside(interaction),
    })
    return isNumberOpen(signed) ? signed : endAsSigned(store, threads, signed)
  }

  /** Whether this identity signed a receipt of the task in a copy of this node that is lost. */
  #isLost({ id }: Interaction, receipt: Receipt): boolean {
    const { identity } = this.#parts
    const { body } = receipt
    const isOurs = body.provider === identity.aid && equal(body.interactionId, fromBase64url(id))
    return isOurs && verifyReceipt(receipt, identity.log) !== undefined
  }
}

/** A receipt that this node had signed, and lost, is its own word that the task ended, and where. */
export function endAsSigned(store: Store, threads: Threads, interaction: Interaction): Interaction {
  const { receipt, receiptState, endBy } = interaction
  if (receipt === null || receiptState !== 'signed' || isCut(interaction) || isOver(interaction))
    return interaction
  const { cover, end } = Receipt.decode(receipt).body
  const [[peerLast], [ownLast]] = cover
  failAbove(store, threads, interaction, ownLast)
  const ended = { state: 'ended', endBy: endBy ?? 'me', ownLast, peerLast, ownEndAt: end } as const
  return threads.update(interaction, ended)
}

/** Every receipt of an interaction that was ever queued, the newest first. */
function sentReceipts(store: Store, interaction: Interaction) {
  return receiptMessages(store, interaction.key).flatMap(({ key, payload, delivery }) => {
    const decoded = decodePayload(kinds.receipt, payload)
    return decoded.kind === kinds.receipt ? [{ key, delivery, receipt: decoded.payload.receipt }] : []
  })
}
