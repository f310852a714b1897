/**
 * Agents of peers as destinations. Their own hub judges whom they let in; this one judges the session of a first
 * contact, which nobody else knows, and keeps nothing: without an answer the sender's node tries again.
 */
import type { BlobReader } from '../../store/blob-port.ts'
import type { HubContext } from '../context.ts'
import type { Destination, DestinationKind, Destinations, Offer, Sent, Taking } from '../destination.ts'
import { type Content, localContents } from '../envelope-body.ts'
import { Refusal } from '../refusal.ts'
import type { Sessions } from '../sessions.ts'
import type { PeerCalls } from './calls.ts'
import type { Peer } from './peers.ts'

const PIECE_BYTES = 64 * 1024
/** Mailboxes of this hub have numbers above. */
const ELSEWHERE = 0

export class AgentsAtPeers implements DestinationKind {
  readonly #context: HubContext
  readonly #sessions: Sessions
  readonly #calls: PeerCalls

  constructor(context: HubContext, sessions: Sessions, calls: PeerCalls) {
    this.#context = context
    this.#sessions = sessions
    this.#calls = calls
  }

  towards(home: string | undefined): Destinations | undefined {
    const peer = home === undefined ? undefined : this.#context.peers.find(home)
    return peer === undefined || peer.isOpenOnly === true ? undefined : { find: async () => this.#at(peer) }
  }

  #at(peer: Peer): Destination {
    return { judge: offer => this.#judge(offer, peer) }
  }

  async #judge(offer: Offer, peer: Peer): Promise<{ taking: Taking }> {
    const { blobs, random } = this.#context
    if (offer.access.kind === 0) await this.#judgeSession(offer)
    const taking: Taking = {
      recipient: offer.head.to,
      sink: localContents(blobs, random),
      take: content => this.#forward(offer, peer, content),
      drop: async () => undefined,
    }
    return { taking }
  }

  async #judgeSession({ session, digest, accessBytes }: Offer): Promise<void> {
    if (session === undefined) throw new Refusal('sessionInvalid')
    const { aid } = await this.#sessions.judge(session, digest, accessBytes)
    const { memory, now, limits } = this.#context
    const taken = await memory.shares.take({
      sender: aid,
      mailbox: ELSEWHERE,
      nowMs: now(),
      limits: {
        sentPerDay: limits.sessionQuota,
        perMinute: Number.MAX_SAFE_INTEGER,
        senderPerMinute: limits.strangerPerMinute,
        senderPerDay: limits.sessionQuota,
        senderWaiting: Number.MAX_SAFE_INTEGER,
      },
    })
    if (taken.outcome !== 'taken') throw new Refusal('rateLimited', { retryAfterMs: taken.waitMs })
  }

  /** Content goes with the answer, whatever that is. */
  async #forward({ accessBytes }: Offer, peer: Peer, { size, content, file }: Content): Promise<Sent> {
    const pieces = content === undefined ? () => this.#pieces(file ?? '') : () => once(content)
    try {
      const sent = await this.#calls.forward(peer, { accessBytes, size, pieces })
      return { ...sent, viaHub: peer.aid }
    } catch (error) {
      // two hubs of which one does not list the other are none for each other
      throw isNotPeer(error) ? new Refusal('recipientUnknown') : error
    } finally {
      if (file !== undefined) await this.#context.blobs.remove([file])
    }
  }

  async *#pieces(file: string): AsyncGenerator<Uint8Array> {
    const reader = await this.#context.blobs.open(file)
    if (reader === undefined) throw new Error(`the spool ${file} is gone`)
    yield* piecesOf(reader)
  }
}

const isNotPeer = (error: unknown): boolean => error instanceof Refusal && error.code === 'notPeer'

async function* once(content: Uint8Array): AsyncGenerator<Uint8Array> {
  yield content
}

async function* piecesOf(reader: BlobReader): AsyncGenerator<Uint8Array> {
  try {
    for (;;) {
      const piece = new Uint8Array(PIECE_BYTES)
      const read = await reader.fill(piece)
      if (read === 0) return
      yield piece.subarray(0, read)
    }
  } finally {
    await reader.close()
  }
}
