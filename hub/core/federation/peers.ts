/** The hubs that this one is federated with, as its operator listed them. */
import type { VerifiedKel } from '../../../protocol/identity/kel.ts'

/** Lists them, in the data directory. */
export const FEDERATION_FILE = 'federation.json'

/**
 * `log`: its key history, pinned when the operator listed it and followed since · `creditLimit`: whole credits that it may
 * owe this hub, none where it is undefined · `openUrl`: where it takes open mail and tells of agents with it, if it does ·
 * `isOpenOnly`: it has nothing else, so that neither sealed mail nor credits go there.
 */
export type Peer = {
  readonly aid: string
  readonly url: string
  readonly log: VerifiedKel
  readonly creditLimit?: number
  readonly openUrl?: string
  readonly isOpenOnly?: boolean
}

/** How a peer answered this hub since it started. */
export type PeerContact = {
  /** When it answered last. */
  answeredMs: number | undefined
  /** Why it gave no usable answer, where that came after. */
  fault: { ms: number; why: string } | undefined
  /** Calls to it that wait or run. */
  waiting: number
}

export class Peers {
  #byAid: ReadonlyMap<string, Peer> = new Map()
  readonly #contacts = new Map<string, PeerContact>()
  #followed: (() => void) | undefined

  /** In the order of the operator's list. */
  get all(): Peer[] {
    return [...this.#byAid.values()]
  }

  /** Those with which sealed mail and credits cross. */
  get sealed(): Peer[] {
    return this.all.filter(({ isOpenOnly }) => isOpenOnly !== true)
  }

  find(aid: string): Peer | undefined {
    return this.#byAid.get(aid)
  }

  /** Knows a peer by its longer key history from here on. */
  follow(aid: string, log: VerifiedKel): void {
    const peer = this.#byAid.get(aid)
    if (peer === undefined) return
    this.replace(this.all.map(one => (one === peer ? { ...peer, log } : one)))
    this.#followed?.()
  }

  /** How this peer has answered. Changes as it does. */
  contact(aid: string): PeerContact {
    const held = this.#contacts.get(aid) ?? { answeredMs: undefined, fault: undefined, waiting: 0 }
    this.#contacts.set(aid, held)
    return held
  }

  /** From here on called when a peer has rotated its key. */
  onFollowed(keep: () => void): void {
    this.#followed = keep
  }

  /** Takes a new list; whoever is not in it is no peer from here on. */
  replace(peers: readonly Peer[]): void {
    this.#byAid = new Map(peers.map(peer => [peer.aid, peer]))
    for (const aid of this.#contacts.keys()) if (!this.#byAid.has(aid)) this.#contacts.delete(aid)
  }
}
