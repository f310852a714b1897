/**
 * A hub for tests of the node's rules, in this process: it carries envelopes between nodes, lists agents, and answers
 * as it was told where a test says so.
 */
import { Refused } from '../../protocol/contract/client.ts'
import { equal, toBase64url } from '../../protocol/encoding/bytes.ts'
import { cardText } from '../../protocol/identity/card.ts'
import { directoryHash, sealBox } from '../../protocol/identity/directory.ts'
import { incept, type VerifiedKel } from '../../protocol/identity/kel.ts'
import { KeySet, type KeyStateNotice } from '../../protocol/identity/keyset.ts'
import type { DirectAddresses } from '../hubs/direct.ts'
import type {
  AckItem,
  Delivery,
  HubClient,
  HubCredits,
  HubIdentity,
  PolledEnvelope,
  SealedMail,
  StatusReply,
} from '../hubs/hub.ts'
import type { OpenMail, OpenReviews } from '../hubs/open-mail.ts'
import { type LedgerSnapshot, ScriptedLedger } from './scripted-credits.ts'
import { Letters, openSide, unknownAid } from './scripted-letters.ts'

/** The wire of sealed mail, and that of mail which its hub reads. */
export const SEALED = 3
export const OPEN = 1

type Carried = { id: number; to: string; bytes: Uint8Array; rid: string; acceptedAtMs: number }
type Listed = {
  log: VerifiedKel
  keySet: KeySet | undefined
  notice?: KeyStateNotice
  card?: string | undefined
}

/** What this hub signs with. */
export const HUB_SEED = new Uint8Array(32).fill(201)

type PostOptions = { now?: () => number; seed?: Uint8Array; url?: string; wire?: number }

/** What a hub holds, as of one moment. */
export type PostSnapshot = {
  readonly listed: readonly [string, Listed][]
  readonly dacks: readonly [string, Uint8Array][]
  readonly settled: readonly string[]
  readonly carried: readonly Carried[]
  readonly ids: number
  readonly books: LedgerSnapshot
  readonly letters: ReturnType<Letters['snapshot']>
  readonly addresses: readonly [string, string][]
}

function refill<T>(map: Map<string, T>, entries: readonly [string, T][]): void {
  map.clear()
  for (const [key, value] of entries) map.set(key, value)
}

const logs = new Map<string, VerifiedKel>()

/** The log of a hub with this key, made once for all worlds. */
function logOf(seed: Uint8Array): VerifiedKel {
  const name = toBase64url(seed)
  const log = logs.get(name) ?? incept({ seed, nextSeed: new Uint8Array(32).fill(202), ts: 1 })
  logs.set(name, log)
  return log
}

/** What a hub holds; the clients of all nodes of a test share it. */
export class Post {
  readonly seed: Uint8Array
  readonly url: string
  readonly log: VerifiedKel
  readonly wire: number
  readonly letters = new Letters()
  readonly listed = new Map<string, Listed>()
  /** Its credits; nobody has any before a test grants them. */
  readonly ledger: ScriptedLedger
  readonly dacks = new Map<string, Uint8Array>()
  readonly settled = new Set<string>()
  /** Direct addresses of agents. */
  readonly addresses = new Map<string, string>()
  /** Ratings that were uploaded. */
  readonly ratings: Uint8Array[] = []
  /** Receipts of which an open review was given, by their digests. */
  readonly rated: Uint8Array[] = []
  carried: Carried[] = []
  /** Hubs that this one lists. */
  readonly peers = new Set<Post>()
  #ids = 0

  constructor({ now = () => 0, seed = HUB_SEED, url = 'http://hub.test', wire = SEALED }: PostOptions = {}) {
    this.seed = seed
    this.wire = wire
    this.url = url
    this.log = logOf(seed)
    this.ledger = new ScriptedLedger({ hub: this, now, logOf: aid => this.listed.get(aid)?.log })
  }

  /** Lists another hub, for mail and for credits, of which it may owe so many. */
  list(peer: Post, limit = 0): void {
    this.peers.add(peer)
    this.ledger.across.list(peer.ledger, limit)
  }

  unlist(peer: Post): void {
    this.peers.delete(peer)
    this.ledger.across.unlist(peer.log.aid)
  }

  /** Peers that list this hub as well, and answer. */
  get reached(): Post[] {
    return [...this.peers].filter(({ peers, ledger }) => peers.has(this) && !ledger.isAway)
  }

  /** Where an agent is listed: here, or at a peer. */
  placeOf(aid: string): Post | undefined {
    return [this, ...this.reached].find(({ listed }) => listed.has(aid))
  }

  /** Everything as it is now. */
  snapshot(): PostSnapshot {
    const { listed, dacks, settled, carried } = this
    const kept = { listed: [...listed], dacks: [...dacks], settled: [...settled], carried: [...carried] }
    const addresses = [...this.addresses]
    const [books, letters] = [this.ledger.snapshot(), this.letters.snapshot()]
    return { ...kept, ids: this.#ids, books, letters, addresses }
  }

  /** A hub with nothing of its own goes on from what another had. */
  restore(kept: PostSnapshot): void {
    this.#ids = kept.ids
    this.#put(kept, { told: false })
  }

  /** Everything as it is now, to be put back later as from a backup. */
  backup(): () => void {
    const kept = this.snapshot()
    return () => this.#put(kept, { told: true })
  }

  #put(kept: PostSnapshot, { told }: { told: boolean }): void {
    const { listed, dacks, settled, carried, books, letters, addresses } = kept
    refill(this.listed, listed)
    refill(this.addresses, addresses)
    refill(this.dacks, dacks)
    this.settled.clear()
    for (const rid of settled) this.settled.add(rid)
    this.carried = [...carried]
    this.letters.restore(letters)
    this.ledger.restore(books, { told })
  }

  take(to: string, bytes: Uint8Array, acceptedAtMs: number): string {
    const id = ++this.#ids
    const rid = `rid-${id}`
    this.carried.push({ id, to, bytes, rid, acceptedAtMs })
    return rid
  }
}

/** A refusal as a hub gives it. */
export const refusedWith = (code: string, members: Record<string, unknown> = {}, retryAfterMs?: number) =>
  new Refused(403, { reason: code, error: `refused: ${code}`, ...members }, retryAfterMs)

export type Script = Partial<HubClient & SealedMail & Pick<OpenReviews, 'give'>>

export class ScriptedHub implements HubClient, SealedMail {
  readonly pricingBytesMax = 0
  readonly url: string
  readonly mail: SealedMail | undefined
  readonly openMail: OpenMail | undefined
  readonly openReviews: OpenReviews | undefined
  readonly cardBinding: HubClient['cardBinding']
  readonly board = undefined
  readonly direct: DirectAddresses | undefined
  readonly identity: HubIdentity
  readonly credits: HubCredits
  readonly lastContactAtMs = undefined
  knownTimeMs: number | undefined
  readonly calls: string[] = []
  readonly sent: Delivery[] = []
  stopped: string | undefined
  probationUntilMs: number | undefined
  /** How far its clock is from that of the node. */
  skewMs = 0
  #post: Post
  #aid: string
  #now: () => number
  #script: Script = {}

  constructor(post: Post, aid: string, now: () => number) {
    this.#post = post
    this.#aid = aid
    this.#now = now
    this.url = post.url
    this.credits = post.ledger.creditsOf(aid)
    const { wire, log, letters, rated } = post
    this.identity = { aid: log.aid, wire, log, bitsMax: 0 }
    this.cardBinding = {
      ...{ path: '/send', binding: 'urn:test', extension: 'urn:test:agent' },
      ...{ wire, description: 'Reached in tests.', tasks: wire === OPEN ? 'tasks' : 'sealed tasks' },
    }
    const place = {
      ...{ letters, rated, timeMs: () => this.timeMs },
      knows: (to: string) => post.placeOf(to) !== undefined,
    }
    const open =
      wire === OPEN ? openSide(aid, place, (name, given, usual) => this.#say(name, given, usual)) : undefined
    this.openMail = open
    this.openReviews = open
    this.mail = open === undefined ? this : undefined
    this.direct = open && this.#addresses()
  }

  #addresses(): DirectAddresses {
    const { addresses, ledger } = this.#post
    const requireThere = () => {
      if (ledger.isAway) throw Object.assign(new Error('nothing listens there'), { code: 'ECONNREFUSED' })
    }
    return {
      async addressOf(aid) {
        requireThere()
        return addresses.get(aid)
      },
      advertise: async address => {
        requireThere()
        if (address === '') addresses.delete(this.#aid)
        else addresses.set(this.#aid, address)
      },
    }
  }

  get timeMs(): number {
    return this.#now() + this.skewMs
  }

  get apartMs(): number | undefined {
    return this.knownTimeMs && this.knownTimeMs - this.#now()
  }

  /** From now on these calls are answered so; an empty script answers as usual. */
  answers(script: Script): void {
    this.#script = script
  }

  get script(): Script {
    return this.#script
  }

  #say<T>(name: keyof Script, given: unknown[], usual: () => T): T {
    this.calls.push(name)
    const told = this.#script[name] as ((...given: unknown[]) => T) | undefined
    return told === undefined ? usual() : told(...given)
  }

  /** What the hub has of this agent. */
  list(log: VerifiedKel, keySet: KeySet): void {
    this.#post.listed.set(this.#aid, { log, keySet })
  }

  refresh(): Promise<void> {
    return this.#say('refresh', [], async () => {})
  }
  checkAdmission(log: VerifiedKel): Promise<'admitted' | 'open'> {
    return this.#say('checkAdmission', [log], async () => 'admitted' as const)
  }
  register(request: Parameters<HubClient['register']>[0]): ReturnType<HubClient['register']> {
    return this.#say('register', [request], async () => {
      const { log, keySet, card } = request
      this.#list(log, keySet)
      const listed = this.#post.listed.get(log.aid)
      if (card === undefined || listed === undefined) return { keysStatus: 'stored', cardStatus: 'none' }
      this.#post.listed.set(log.aid, { ...listed, card: cardText(card) })
      return { keysStatus: 'stored', cardStatus: 'stored' }
    })
  }
  publishKeys(keySet: Uint8Array, prevSeq: number): Promise<void> {
    return this.#say('publishKeys', [keySet, prevSeq], async () => {
      const listed = this.#post.listed.get(this.#aid)
      if (listed !== undefined) this.#list(listed.log, keySet)
    })
  }
  #list(log: VerifiedKel, encoded: Uint8Array | undefined): void {
    const held = this.#post.listed.get(log.aid)
    const keySet = encoded === undefined ? held?.keySet : KeySet.decode(encoded)
    if (keySet !== undefined || this.#post.wire === OPEN)
      this.#post.listed.set(log.aid, { log, keySet, card: held?.card })
  }
  pushLog(log: VerifiedKel): Promise<void> {
    return this.#say('pushLog', [log], async () => {
      const listed = this.#post.listed.get(log.aid)
      if (listed !== undefined && listed.log.seq < log.seq) this.#post.listed.set(log.aid, { ...listed, log })
    })
  }
  fetchLog(aid: string) {
    return this.#say('fetchLog', [aid], async () => {
      const listed = this.#post.placeOf(aid)?.listed.get(aid)
      if (listed === undefined && this.#post.wire === OPEN) throw unknownAid()
      return [...(listed?.log.events ?? [])]
    })
  }
  fetchAgent(aid: string): ReturnType<HubClient['fetchAgent']> {
    return this.#say('fetchAgent', [aid], async () => {
      const listed = this.#post.placeOf(aid)?.listed.get(aid)
      return listed && { log: [...listed.log.events], keySet: listed.keySet && KeySet.encode(listed.keySet) }
    })
  }
  updateProfile(profile: Parameters<HubClient['updateProfile']>[0]): Promise<void> {
    return this.#say('updateProfile', [profile], async () => {})
  }
  setVisibility(visibility: Parameters<HubClient['setVisibility']>[0]): Promise<void> {
    return this.#say('setVisibility', [visibility], async () => {})
  }
  deregister(): Promise<void> {
    return this.#say('deregister', [], async () => {
      this.#post.listed.delete(this.#aid)
      this.#post.carried = this.#post.carried.filter(({ to }) => to !== this.#aid)
    })
  }
  fetchCard(aid: string): Promise<string | undefined> {
    return this.#say('fetchCard', [aid], async () => this.#post.listed.get(aid)?.card)
  }
  publicUrl(): Promise<string | undefined> {
    return this.#say('publicUrl', [], async () => undefined)
  }
  dropSession(): void {
    this.calls.push('dropSession')
  }
  halt(why: string): void {
    this.stopped = why
  }
  uploadReview(upload: Parameters<HubClient['uploadReview']>[0]): Promise<Uint8Array> {
    return this.#say('uploadReview', [upload], async () => {
      this.#post.ratings.push(upload.review)
      return new Uint8Array(0)
    })
  }
  revoke(ids: Uint8Array[]): Promise<void> {
    return this.#say('revoke', [ids], async () => {})
  }
  listAgents(query: Parameters<HubClient['listAgents']>[0]): ReturnType<HubClient['listAgents']> {
    return this.#say('listAgents', [query], async () => ({ agents: [] }))
  }

  async send(delivery: Delivery) {
    this.sent.push(delivery)
    return this.#say('send', [delivery], async () => {
      const place = this.#post.placeOf(delivery.recipient)
      if (place === undefined) throw refusedWith('recipient_unknown')
      const parts: Uint8Array[] = []
      for await (const part of delivery.content()) parts.push(new Uint8Array(part))
      const rid = place.take(delivery.recipient, Buffer.concat(parts), this.timeMs)
      const via = place === this.#post ? {} : { viaHub: place.log.aid }
      return { rid, duplicate: false, ...via }
    })
  }

  poll(options: Parameters<SealedMail['poll']>[0]): ReturnType<SealedMail['poll']> {
    return this.#say('poll', [options], async () => {
      const { afterId = 0 } = options
      const mine = this.#post.carried.filter(one => one.to === this.#aid && one.id > afterId)
      const envelopes = mine.map(
        ({ id, bytes, acceptedAtMs }): PolledEnvelope => ({ id, source: [bytes], acceptedAtMs }),
      )
      return { envelopes, more: false, held: true, [Symbol.dispose]: () => {} }
    })
  }

  async ack(items: AckItem[]): Promise<void> {
    // nothing is asked of a hub then
    if (items.length === 0) return
    return this.#say('ack', [items], async () => {
      for (const { id, handle, dack } of items) {
        const { rid } = this.#post.carried.find(one => one.id === id) ?? { rid: '' }
        this.#post.settled.add(rid)
        if (handle !== undefined && dack !== undefined) this.#post.dacks.set(toBase64url(handle), dack)
        this.#post.carried = this.#post.carried.filter(one => one.id !== id)
      }
    })
  }

  deliveryStates(
    credential: Delivery['credential'],
    items: Parameters<SealedMail['deliveryStates']>[1],
  ): Promise<StatusReply[]> {
    return this.#say('deliveryStates', [credential, items], async () =>
      items.map(({ rid, handle, viaHub }): StatusReply => {
        const at = this.#post.reached.find(({ log }) => log.aid === viaHub)
        const place = viaHub === undefined ? this.#post : at
        if (place === undefined) throw refusedWith('home_unreachable')
        const dack = place.dacks.get(toBase64url(handle))
        if (dack !== undefined) return { state: 'done', dack }
        if (place.settled.has(rid)) return { state: 'done' }
        return { state: place.carried.some(one => one.rid === rid) ? 'queued' : 'unknown' }
      }),
    )
  }

  bucket(hash: Uint8Array): ReturnType<SealedMail['bucket']> {
    return this.#say('bucket', [hash], async () => {
      const listed = [this.#post, ...this.#post.reached].flatMap(post => [...post.listed])
      const found = listed.filter(([aid]) => equal(directoryHash(aid), hash))
      const entries = found.flatMap(([aid, { log, keySet, notice }]) => {
        if (keySet === undefined) return []
        const box = sealBox(aid, new Uint8Array(32), { kel: [...log.events], keySet, notice: notice ?? null })
        return [{ h: hash, box }]
      })
      return { entries, partial: false, bits: 0 }
    })
  }
}
