/**
 * Calls to direct addresses at once. An address that is slow to answer, as its owner may want it, holds up what goes to that
 * contact and no other mail: the outbox has more turns than all of them together take.
 */
const CALLS_MAX = 3
const CALLS_OF_PEER_MAX = 2

export class UnderWay {
  readonly #ofPeer = new Map<string, number>()
  #all = 0

  /** Undefined where too many are under way; whoever asks has another way. */
  async do<T>(peer: string, call: () => Promise<T>): Promise<T | undefined> {
    const own = this.#ofPeer.get(peer) ?? 0
    if (this.#all >= CALLS_MAX || own >= CALLS_OF_PEER_MAX) return undefined
    this.#count(peer, 1)
    try {
      return await call()
    } finally {
      this.#count(peer, -1)
    }
  }

  #count(peer: string, more: number): void {
    this.#all += more
    const own = (this.#ofPeer.get(peer) ?? 0) + more
    if (own === 0) this.#ofPeer.delete(peer)
    else this.#ofPeer.set(peer, own)
  }
}
