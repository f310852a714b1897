/** How attachments go: together, or one after another. */
import { STRANGER_BYTES_MIN } from '../../protocol/identity/keyset.ts'
import type { Attachment } from '../../protocol/mail/message.ts'
import { fitsOneEnvelope } from '../../protocol/mail/seal.ts'
import type { CurrentHub } from '../hubs/current.ts'
import type { DeliveryCapabilities } from '../peers/capabilities.ts'
import type { PeerBook } from '../peers/peers.ts'

/** Room for the largest head beside attachments. */
const HEAD_RESERVE_BYTES = 900 * 1024
/** Room for text, log and key set in an envelope of a stranger. */
const STRANGER_RESERVE_BYTES = 320 * 1024

export class Batches {
  readonly #hub: CurrentHub
  readonly #peers: PeerBook
  readonly #capabilities: DeliveryCapabilities

  constructor(hub: CurrentHub, peers: PeerBook, capabilities: DeliveryCapabilities) {
    this.#hub = hub
    this.#peers = peers
    this.#capabilities = capabilities
  }

  /**
   * Attachments that fit one envelope, or one letter, together; what does not fit goes as further messages, one each. So does what only
   * a capability carries, while none is held: the text goes ahead, and the recipient can give one.
   */
  of(peer: string, attachments: readonly Attachment[]): Attachment[][] {
    const sizes = attachments.map(attachment => attachment.size)
    const sum = sizes.reduce((total, size) => total + size, 0)
    const open = this.#hub.last?.openMail
    // nobody is a stranger to open mail
    const fits =
      open === undefined
        ? this.#fitsSealed(peer, sizes, sum)
        : sum <= open.letterBytesMax - HEAD_RESERVE_BYTES
    if (fits) return [[...attachments]]
    return [[], ...attachments.map(attachment => [attachment])]
  }

  #fitsSealed(peer: string, sizes: readonly number[], sum: number): boolean {
    const strangerBytes = this.#peers.find(peer)?.keys?.body.strangers.bytes ?? STRANGER_BYTES_MIN
    const fitsStranger = sum <= strangerBytes - STRANGER_RESERVE_BYTES || this.#capabilities.holdsAny(peer)
    return fitsStranger && fitsOneEnvelope(HEAD_RESERVE_BYTES, sizes)
  }
}
