/**
 * Looking agents up in the buckets of the hub's directory, which tell it nothing about who is looked for (objects:
 * identity).
 */
import { Refused } from '../../protocol/contract/client.ts'
import { equal, Malformed } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { directoryHash, openBox } from '../../protocol/identity/directory.ts'
import type { Lookup, NotKnown } from '../carrier/lookup.ts'
import { isOwnFailure } from '../hubs/failures.ts'
import type { BucketReply, HubClient } from '../hubs/hub.ts'
import { noteShown } from '../peers/contradictions.ts'
import { isUnusable, type PeerBook } from '../peers/peers.ts'
import type { Store } from '../store/open.ts'

type DirectoryParts = { store: Store; peers: PeerBook; hub: { readonly home: HubClient | undefined } }

export class Directory {
  readonly #parts: DirectoryParts

  constructor(parts: DirectoryParts) {
    this.#parts = parts
  }

  /** Looks an agent up at the home hub; throws what fails on this machine alone. */
  async lookup(aid: string): Promise<Lookup> {
    const hub = this.#parts.hub.home
    if (hub?.mail === undefined) return notKnown('no_hub')
    const hash = directoryHash(aid)
    let reply: BucketReply
    try {
      reply = await hub.mail.bucket(hash)
    } catch (error) {
      if (isOwnFailure(error)) throw error
      return notKnown(error instanceof Refused ? 'refused' : 'unanswered', error)
    }
    return this.#read(hub, aid, hash, reply)
  }

  #read(hub: HubClient, aid: string, hash: Uint8Array, reply: BucketReply): Lookup {
    const boxes = reply.entries.filter(entry => equal(entry.h, hash)).map(entry => entry.box)
    if (boxes.length === 0) return reply.partial ? notKnown('incomplete') : { outcome: 'not_listed' }
    // another hub may have put anything under this hash: what cannot be used hides nothing that can
    const found = boxes.map(box => this.#readBox(hub, aid, box))
    return found.find(({ outcome }) => outcome === 'found') ?? found[0] ?? notKnown('unusable')
  }

  #readBox(hub: HubClient, aid: string, box: Uint8Array): Lookup {
    const { store, peers } = this.#parts
    try {
      const entry = openBox(aid, box)
      const held = peers.find(aid)?.log
      noteShown(store, hub.identity.log, aid, { held, entry })
      const log = peers.merge(aid, entry.kel)
      return { outcome: 'found', peer: peers.learn(log, entry.keySet) }
    } catch (error) {
      if (error instanceof Malformed || isUnusable(error)) return notKnown('unusable')
      throw error
    }
  }
}

const notKnown = (why: NotKnown, error?: unknown): Lookup => ({
  outcome: 'not_known',
  why,
  ...present({ error }),
})
