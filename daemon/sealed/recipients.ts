/** Recipients with keys under which an envelope can be sealed now. */
import { sealingKey } from '../../protocol/identity/keyset.ts'
import type { Peer, PeerBook } from '../peers/peers.ts'
import { awaitedAfter, WaitingForKeys } from './awaited-keys.ts'
import type { Directory } from './directory.ts'

export type KeyedPeer = Peer & { keys: NonNullable<Peer['keys']> }

const isKeyed = (peer: Peer): peer is KeyedPeer => peer.keys !== undefined && peer.log.home !== undefined

export class Recipients {
  readonly #peers: PeerBook
  readonly #directory: Directory
  readonly #hubNow: () => number

  constructor(peers: PeerBook, directory: Directory, hubNow: () => number) {
    this.#peers = peers
    this.#directory = directory
    this.#hubNow = hubNow
  }

  /** The recipient with keys that are good now, from here or from the directory. */
  async find(aid: string): Promise<KeyedPeer> {
    const held = this.#peers.find(aid)
    if (held?.log.deactivated === true) throw new WaitingForKeys('ended')
    const isGood = (peer: KeyedPeer) => sealingKey(peer.keys, this.#hubNow()) !== undefined
    if (held !== undefined && isKeyed(held) && isGood(held)) return held
    const looked = await this.#directory.lookup(aid)
    if (looked.outcome !== 'found') throw awaitedAfter(looked)
    const { peer } = looked
    if (peer.log.deactivated) throw new WaitingForKeys('ended')
    if (!isKeyed(peer)) throw new WaitingForKeys('unusable_keys')
    if (!isGood(peer)) throw new WaitingForKeys('expired')
    return peer
  }
}
