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
import type { BucketReply, HubClient, SealedMail } from '../hubs/hub.ts'
import { noteShown } from '../peers/contradictions.ts'
import { isUnusable, type PeerBook } from '../peers/peers.ts'
import type { Store } from '../store/open.ts'

const CACHED_MS = 3_600_000
const CACHED_MAX = 8

type DirectoryParts = { store: Store; peers: PeerBook; hub: { readonly home: HubClient | undefined } }
type Bucket = { reply: BucketReply; isNew: boolean }

export class Directory {
  readonly #parts: DirectoryParts
  readonly #now: () => number
  readonly #buckets = new Map<string, { at: number; reply: BucketReply }>()

  constructor(parts: DirectoryParts, now: () => number) {
    this.#parts = parts
    this.#now = now
  }

  /** Looks an agent up at the home hub; throws what fails on this machine alone. */
  async lookup(aid: string, options: { fresh: boolean }): Promise<Lookup> {
    const hub = this.#parts.hub.home
    if (hub?.mail === undefined) return notKnown('no_hub')
    const hash = directoryHash(aid)
    let bucket: Bucket
    try {
      bucket = await this.#bucket(hub.mail, hub.identity.bitsMax, hash, options.fresh)
    } catch (error) {
      if (isOwnFailure(error)) throw error
      return notKnown(error instanceof Refused ? 'refused' : 'unanswered', error)
    }
    return this.#read(hub, aid, hash, bucket)
  }

  #read(hub: HubClient, aid: string, hash: Uint8Array, { reply, isNew }: Bucket): Lookup {
    const boxes = reply.entries.filter(entry => equal(entry.h, hash)).map(entry => entry.box)
    if (boxes.length === 0) return reply.partial ? notKnown('incomplete') : { outcome: 'not_listed' }
    // another hub may have put anything under this hash: what cannot be used hides nothing that can
    const found = boxes.map(box => this.#readBox(hub, aid, box, isNew))
    return found.find(({ outcome }) => outcome === 'found') ?? found[0] ?? notKnown('unusable')
  }

  #readBox(hub: HubClient, aid: string, box: Uint8Array, isNew: boolean): Lookup {
    const { store, peers } = this.#parts
    try {
      const entry = openBox(aid, box)
      const held = peers.find(aid)?.log
      // what was fetched before may be older than what is held, and says nothing against anybody
      if (isNew) noteShown(store, hub.identity.log, aid, { held, entry })
      const log = peers.merge(aid, entry.kel)
      return { outcome: 'found', peer: peers.learn(log, entry.keySet) }
    } catch (error) {
      if (error instanceof Malformed || isUnusable(error)) return notKnown('unusable')
      throw error
    }
  }

  /** An incomplete answer is read once: whom it leaves out may be listed. */
  async #bucket(mail: SealedMail, bitsMax: number, hash: Uint8Array, fresh: boolean): Promise<Bucket> {
    const name = `${bitsMax}:${Buffer.from(hash.subarray(0, 2)).toString('hex')}`
    const now = this.#now
    const cached = this.#buckets.get(name)
    if (!fresh && cached !== undefined && now() < cached.at + CACHED_MS)
      return { reply: cached.reply, isNew: false }
    const reply = await mail.bucket(hash)
    if (reply.partial) return { reply, isNew: true }
    this.#buckets.set(name, { at: now(), reply })
    if (this.#buckets.size > CACHED_MAX) this.#buckets.delete(this.#buckets.keys().next().value as string)
    return { reply, isNew: true }
  }
}

const notKnown = (why: NotKnown, error?: unknown): Lookup => ({
  outcome: 'not_known',
  why,
  ...present({ error }),
})
