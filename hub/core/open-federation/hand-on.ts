/**
 * Open mail to agents of peers. Those that told of the recipient are asked first, one after another; the others only where
 * none told of it. Attacker: anybody, since nobody signs a send, so that one request may cost no more than it brings.
 */
import { cidText, contentIdOfDigest } from '../../../protocol/crypto/hash.ts'
import { FORWARD_VERSION, type Forward, signForward } from '../../../protocol/mail/forward.ts'
import { addressBucket, isProxy } from '../address.ts'
import type { Agents } from '../agents.ts'
import type { HubContext } from '../context.ts'
import type { Peer } from '../federation/peers.ts'
import type { LetterFiles, Payload } from '../open-mail/letter-files.ts'
import type { GivenMessage } from '../open-mail/open-mail.ts'
import type { Buckets, Rate, RateName } from '../ports/rates.ts'
import { Refusal, withoutRoom } from '../refusal.ts'
import type { OpenPeerCalls, SignedForward } from './calls.ts'

const KIB = 1024
const MIB = 1024 * KIB
/** So much of a payload counts as much as a request. */
const BYTES_OF_A_REQUEST = 64 * KIB
/** To one peer, whose agent the recipient is, and where nobody told of it. */
const FOR_TOLD: Rate = { perSecond: 50, burst: 2000 }
const FOR_UNTOLD: Rate = { perSecond: 5, burst: 200 }
/** Of one address, whoever its recipients are. */
const OF_ADDRESS: Rate = { perSecond: 5, burst: 200 }
/** Under way to one peer at a time. */
const CALLS_MAX = 16
const BYTES_MAX = 96 * MIB
/** Under way to all of them. */
const BYTES_MAX_OF_ALL = 96 * MIB
/** Bytes of one payload at most: what a hub takes of another, less the members beside it, as base64. */
const PAYLOAD_BYTES_MAX = 74 * MIB
/** One that gave no answer, or takes no mail of this hub, is asked again after so long. */
const AWAY_MS = 10_000
/** Nobody is asked any more when a request has lasted so long. */
const TURNS_MS_MAX = 45_000

/** What a sender hears whose recipient is, by its own word, at a hub that refuses. */
const REFUSED =
  'the hub of the recipient takes no mail of this hub; ask the operators of both to list each other'

type Underway = { calls: number; bytes: number; awayUntilMs: number; away: 'failed' | 'refused' }
/** What is larger than a bucket takes all of it. */
type Metered = { buckets: Buckets; burst: number }
type Outcome = 'taken' | 'unknown' | 'refused' | 'failed'

export class HandingOn {
  readonly #context: HubContext
  readonly #agents: Agents
  readonly #files: LetterFiles
  readonly #calls: OpenPeerCalls
  readonly #told: Metered
  readonly #untold: Metered
  readonly #addresses: Metered
  readonly #underway = new Map<string, Underway>()
  /** Of payloads that are being handed on. */
  #bytes = 0

  constructor(
    context: HubContext,
    { agents, files, calls }: { agents: Agents; files: LetterFiles; calls: OpenPeerCalls },
  ) {
    this.#context = context
    this.#agents = agents
    this.#files = files
    this.#calls = calls
    const { rates } = context.memory
    const metered = (name: RateName, rate: Rate): Metered => ({
      buckets: rates.of(name, rate),
      burst: rate.burst,
    })
    this.#told = metered('mail handed on', FOR_TOLD)
    this.#untold = metered('searches at peers', FOR_UNTOLD)
    this.#addresses = metered('mail handed on of an address', OF_ADDRESS)
  }

  /** Hands on what is for nobody here; tells to which hub. */
  async send(given: GivenMessage, address: string): Promise<string> {
    const { store, peers } = this.#context
    const asked = peers.all.filter(({ openUrl }) => openUrl !== undefined)
    const isHere = (await this.#agents.findRegistered(given.to)) !== undefined
    if (isHere || asked.length === 0) throw new Refusal('recipientUnknown')
    const aids = asked.map(({ aid }) => aid)
    const tellers = await store.hubsTelling(given.to, aids)
    await this.#count(this.#addresses, isProxy(address) ? undefined : addressBucket(address), given)
    const told = tellers.flatMap(aid => asked.filter(peer => peer.aid === aid))
    const others = asked.filter(({ aid }) => !tellers.includes(aid))
    const { size } = given.payload
    if (size > PAYLOAD_BYTES_MAX)
      throw new Refusal('tooLarge', { limitBytes: PAYLOAD_BYTES_MAX, part: 'payload' })
    if (this.#bytes > 0 && this.#bytes + size > BYTES_MAX_OF_ALL)
      throw withoutRoom('more mail on its way to other hubs')
    this.#bytes += size
    try {
      return await this.#toFirst(told, others, this.#signed(given))
    } finally {
      this.#bytes -= size
    }
  }

  async #toFirst(told: readonly Peer[], others: readonly Peer[], signed: SignedForward): Promise<string> {
    const untilMs = this.#context.timers.monotonic() + TURNS_MS_MAX
    const first = await this.#inTurn(told, signed, { rates: this.#told, untilMs })
    if (first.peer !== undefined) return first.peer
    if (first.hasRefused) throw new Refusal('homeUnreachable', { why: REFUSED })
    const last = await this.#inTurn(others, signed, { rates: this.#untold, untilMs })
    if (last.peer !== undefined) return last.peer
    throw new Refusal('recipientUnknown')
  }

  /** The first that takes it, and whether another takes nothing of this hub. Throws where one of them gave no answer. */
  async #inTurn(
    peers: readonly Peer[],
    signed: SignedForward,
    { rates, untilMs }: { rates: Metered; untilMs: number },
  ): Promise<{ peer?: string; hasRefused: boolean }> {
    let [hasFailed, hasRefused] = [false, false]
    for (const peer of peers) {
      const isLate = this.#context.timers.monotonic() > untilMs
      const outcome = isLate ? 'failed' : await this.#ask(peer, signed, rates)
      if (outcome === 'taken') return { peer: peer.aid, hasRefused }
      hasFailed ||= outcome === 'failed'
      hasRefused ||= outcome === 'refused'
    }
    if (hasFailed) throw new Refusal('homeUnreachable', { retryAfterMs: AWAY_MS })
    return { hasRefused }
  }

  async #ask(peer: Peer, signed: SignedForward, rates: Metered): Promise<Outcome> {
    const { size } = signed.payload
    const underway = this.#underwayTo(peer.aid)
    const { timers } = this.#context
    if (timers.monotonic() < underway.awayUntilMs) return underway.away
    if (underway.calls >= CALLS_MAX || underway.bytes + size > BYTES_MAX) return 'failed'
    await this.#count(rates, peer.aid, signed)
    underway.calls += 1
    underway.bytes += size
    try {
      const outcome = await this.#calls.forward(peer, signed)
      return outcome === 'refused' ? this.#rests(underway, outcome) : outcome
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== 'homeUnreachable') throw error
      return this.#rests(underway, 'failed')
    } finally {
      underway.calls -= 1
      underway.bytes -= size
    }
  }

  #rests(underway: Underway, away: Underway['away']): Outcome {
    Object.assign(underway, { awayUntilMs: this.#context.timers.monotonic() + AWAY_MS, away })
    return away
  }

  #underwayTo(aid: string): Underway {
    const none: Underway = { calls: 0, bytes: 0, awayUntilMs: Number.NEGATIVE_INFINITY, away: 'failed' }
    const held = this.#underway.get(aid) ?? none
    this.#underway.set(aid, held)
    return held
  }

  async #count(
    { buckets, burst }: Metered,
    key: string | undefined,
    { payload }: { payload: Pick<Payload, 'size'> },
  ): Promise<void> {
    if (key === undefined) return
    const weight = Math.min(1 + Math.ceil(payload.size / BYTES_OF_A_REQUEST), burst)
    const retryAfterMs = await buckets.take(key, this.#context.now(), weight)
    if (retryAfterMs > 0)
      throw new Refusal('rateLimited', { why: 'too much mail is handed on to other hubs', retryAfterMs })
  }

  /** Nobody hands it on further, so this hub is the only one that it came through. */
  #signed({ to, from, kind, interaction, payload }: GivenMessage): SignedForward {
    const { identity, now } = this.#context
    const forward: Forward = {
      ...{ v: FORWARD_VERSION, origin: identity.aid, dest: to, from, kind, interaction },
      payloadCid: cidText(contentIdOfDigest(payload.digest)),
      ...{ hop: 1, seenHubs: [identity.aid], ts: now(), kelSeq: identity.seq },
    }
    return {
      ...{ forward, signature: signForward(identity.seed, forward) },
      payload: { size: payload.size, read: () => this.#files.read(payload) },
    }
  }
}
