/** Of what lets its sender in here, what an envelope shows. */
import { decodeAccess } from '../../protocol/mail/access.ts'
import { CapabilityBody } from '../../protocol/mail/capability.ts'
import type { MessageBody } from '../../protocol/mail/message.ts'
import type { Credentials } from '../carrier/carrier.ts'
import type { DeliveryCapabilities } from '../peers/capabilities.ts'
import type { PeerBook } from '../peers/peers.ts'
import { genuineGrants } from '../peers/stock.ts'
import type { Threads } from '../store/threads.ts'

/** A credential, and the digest of its envelope. */
type Shown = { access: Uint8Array; digest: Uint8Array }
type ShownParts = { capabilities: DeliveryCapabilities; peers: PeerBook; threads: Threads }

export class ShownCredentials {
  readonly #parts: ShownParts

  constructor(parts: ShownParts) {
    this.#parts = parts
  }

  /** A spent capability is gone from the sender's stock; a first-contact envelope says that its stock is empty. */
  in({ access, digest }: Shown, { from, capabilities: granted }: MessageBody): Credentials {
    const { capabilities, peers, threads } = this.#parts
    return {
      came() {
        const record = decodeAccess(access)
        if (record.kind === 1) capabilities.noteUse(CapabilityBody.decode(record.capabilityBody).id, digest)
        else capabilities.forgetIssued(from)
      },
      taken() {
        if (granted === undefined) return
        capabilities.accept(from, genuineGrants(peers.find(from)?.keys, granted))
        threads.hurry(from)
      },
    }
  }
}
