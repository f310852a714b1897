/** From a message in the outbox to an envelope ready to send: keys, credential, introduction, reply capabilities. */

import { cidText } from '../../protocol/crypto/hash.ts'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { type CborValue, encode } from '../../protocol/encoding/cbor.ts'
import { Refusal } from '../../protocol/encoding/errors.ts'
import { sealingKey } from '../../protocol/identity/keyset.ts'
import type { CapabilityBody } from '../../protocol/mail/capability.ts'
import { latestExpMs } from '../../protocol/mail/envelope.ts'
import { sealEnvelope } from '../../protocol/mail/seal.ts'
import type { Attachments } from '../attachments/attachments.ts'
import { waitingRefusals } from '../hubs/failures.ts'
import type { Delivery } from '../hubs/hub.ts'
import type { Identity } from '../identity/identity.ts'
import type { DeliveryCapabilities } from '../peers/capabilities.ts'
import type { Machine } from '../platform/machine.ts'
import type { Store } from '../store/open.ts'
import { noteSealing, type OutboxEntry } from '../store/outbox.ts'
import type { Threads } from '../store/threads.ts'
import { WaitingForKeys } from './awaited-keys.ts'
import { grantedList, type MessageBodies, type WrittenBody } from './message-bodies.ts'
import type { KeyedPeer, Recipients } from './recipients.ts'

const DIGESTS_KEPT_MAX = 256
/** Envelopes up to this size fit every capability and every stranger's limit. */
const OVERHEAD_BYTES = 256 * 1024

/** The recipient takes a message of this size only under a capability, and none is held. */
export class WaitingForCapability extends Refusal<'too_large_for_stranger'> {
  override name = 'WaitingForCapability'
}

/** `capability`: which one of the recipient stands in it; undefined where it goes as a stranger's. */
export type Sealed = {
  delivery: Delivery
  expMs: number
  capability: { id: Uint8Array; body: CapabilityBody } | undefined
}

/** The files that go with a message. */
export class OutgoingFiles {
  readonly #threads: Threads
  readonly #attachments: Attachments

  constructor(threads: Threads, attachments: Attachments) {
    this.#threads = threads
    this.#attachments = attachments
  }

  of(message: number): { bytes: number; contents: ReturnType<Attachments['read']>[] } {
    const files = this.#threads.attachmentsOf(message)
    return {
      bytes: files.reduce((sum, { size }) => sum + size, 0),
      contents: files.map(({ cid }) => this.#attachments.read(cidText(cid))),
    }
  }
}

type Held = ReturnType<DeliveryCapabilities['choose']>
type SealingParts = {
  identity: Identity
  store: Store
  capabilities: DeliveryCapabilities
  recipients: Recipients
  files: OutgoingFiles
  bodies: MessageBodies
}

export class Sealing {
  readonly #parts: SealingParts
  readonly #random: Machine['random']
  readonly #hubNow: () => number

  constructor(parts: SealingParts, { random }: Machine, hubNow: () => number) {
    this.#parts = parts
    this.#random = random
    this.#hubNow = hubNow
  }

  /** Seals a message anew; id, number and digest stay, everything that may change is taken fresh. */
  async seal(entry: OutboxEntry): Promise<Sealed> {
    const { identity, recipients, files, bodies } = this.#parts
    const peer = await recipients.find(entry.peer)
    const key = sealingKey(peer.keys, this.#hubNow())
    if (key === undefined) throw new WaitingForKeys('expired')
    const { bytes, contents } = files.of(entry.message)
    const held = this.#credential(peer, entry, bytes)
    const home = peer.log.home as string
    const written = bodies.write(entry, { asStranger: held === undefined })
    const sealed = await sealEnvelope({
      body: written.body,
      identitySeed: identity.seed,
      recipientKey: { kid: key.kid, publicKey: key.publicKey },
      expMs: latestExpMs(this.#hubNow()),
      credential: held === undefined ? { kind: 0 } : { kind: 1, granted: held.granted, homeHub: home },
      attachments: contents,
      random: this.#random,
    })
    this.#note(entry, sealed.digest, written, held)
    return {
      expMs: sealed.head.expMs,
      capability: held && { id: held.id, body: held.granted.capability.body },
      delivery: {
        recipient: entry.peer,
        home,
        access: sealed.head.access,
        digest: sealed.digest,
        size: sealed.size,
        credential: held === undefined ? 'session' : 'capability',
        content: () => sealed.stream(),
      },
    }
  }

  /** The capability under which it goes; undefined as a stranger, whose mail may not be as large. */
  #credential(peer: KeyedPeer, entry: OutboxEntry, bytes: number): Held {
    const { mailboxEpoch, strangers } = peer.keys.body
    const held = this.#parts.capabilities.choose(entry.peer, mailboxEpoch, bytes + OVERHEAD_BYTES)
    if (held === undefined && bytes > strangers.bytes)
      throw new WaitingForCapability(
        'too_large_for_stranger',
        waitingRefusals['too_large_for_stranger'] as string,
      )
    return held
  }

  /** Every digest ever made for a message is durable before its envelope leaves: a confirmation may name any of them. */
  #note(entry: OutboxEntry, digest: Uint8Array, { granted, introducesAs }: WrittenBody, held: Held): void {
    const { store, capabilities } = this.#parts
    const digests = [...(JSON.parse(entry.digests) as string[]), toBase64url(digest)].slice(-DIGESTS_KEPT_MAX)
    // lost with the power, the message is sealed and sent anew, under its own id
    store.unflushed(() => {
      if (held !== undefined) capabilities.spend(held.id)
      noteSealing(store, entry.message, {
        digests: JSON.stringify(digests),
        granted: encode(grantedList.write(granted) as CborValue),
        introduces: introducesAs,
      })
    }, 'node.seal')
  }
}
