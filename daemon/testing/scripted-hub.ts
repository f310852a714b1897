/**
 * A hub for tests of the node's rules, in this process: it carries envelopes between nodes, lists agents, and answers
 * as it was told where a test says so.
 */
import { Refused } from '../../protocol/contract/client.ts'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { directoryHash, sealBox } from '../../protocol/identity/directory.ts'
import { incept, type VerifiedKel } from '../../protocol/identity/kel.ts'
import type { KeySet, KeyStateNotice } from '../../protocol/identity/keyset.ts'
import type {
  AckItem,
  Delivery,
  HubClient,
  HubCredits,
  HubIdentity,
  PolledEnvelope,
  StatusReply,
} from '../hubs/hub.ts'
import { newestWire } from '../hubs/open.ts'

type Carried = { id: number; to: string; bytes: Uint8Array; rid: string; acceptedAtMs: number }
type Listed = { log: VerifiedKel; keySet: KeySet; notice?: KeyStateNotice }

/** What this hub signs with. */
export const HUB_SEED = new Uint8Array(32).fill(201)

/** What a hub holds; the clients of all nodes of a test share it. */
export class Post {
  readonly log = incept({ seed: HUB_SEED, nextSeed: new Uint8Array(32).fill(202), ts: 1 })
  readonly listed = new Map<string, Listed>()
  readonly dacks = new Map<string, Uint8Array>()
  readonly settled = new Set<string>()
  carried: Carried[] = []
  #ids = 0

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

export class ScriptedHub implements HubClient {
  readonly url = 'http://hub.test'
  readonly sealed = true
  readonly cardBinding = { path: '/send', binding: 'urn:test', extension: 'urn:test:agent', wire: newestWire }
  readonly identity: HubIdentity
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
  #script: Partial<HubClient> = {}

  constructor(post: Post, aid: string, now: () => number) {
    this.#post = post
    this.#aid = aid
    this.#now = now
    this.identity = { aid: post.log.aid, wire: newestWire, log: post.log, bitsMax: 0 }
  }

  get timeMs(): number {
    return this.#now() + this.skewMs
  }

  /** From now on these calls are answered so; an empty script answers as usual. */
  answers(script: Partial<HubClient>): void {
    this.#script = script
  }

  #say<T>(name: keyof HubClient, given: unknown[], usual: () => T): T {
    this.calls.push(name)
    const told = this.#script[name] as ((...given: unknown[]) => T) | undefined
    return told === undefined ? usual() : told(...given)
  }

  refresh(): Promise<void> {
    return this.#say('refresh', [], async () => {})
  }
  checkAdmission(log: VerifiedKel): Promise<'admitted' | 'open'> {
    return this.#say('checkAdmission', [log], async () => 'admitted' as const)
  }
  register(request: Parameters<HubClient['register']>[0]) {
    return this.#say('register', [request], async () => ({ keysStatus: 'stored', cardStatus: 'none' }))
  }
  publishKeys(keySet: Uint8Array, prevSeq: number): Promise<void> {
    return this.#say('publishKeys', [keySet, prevSeq], async () => {})
  }
  pushLog(log: VerifiedKel): Promise<void> {
    return this.#say('pushLog', [log], async () => {})
  }
  fetchLog(aid: string) {
    return this.#say('fetchLog', [aid], async () => [...(this.#post.listed.get(aid)?.log.events ?? [])])
  }
  fetchAgent(aid: string): ReturnType<HubClient['fetchAgent']> {
    return this.#say('fetchAgent', [aid], async () => undefined)
  }
  updateProfile(profile: Parameters<HubClient['updateProfile']>[0]): Promise<void> {
    return this.#say('updateProfile', [profile], async () => {})
  }
  setVisibility(visibility: Parameters<HubClient['setVisibility']>[0]): Promise<void> {
    return this.#say('setVisibility', [visibility], async () => {})
  }
  deregister(): Promise<void> {
    return this.#say('deregister', [], async () => {})
  }
  /** A hub without credits. */
  readonly credits: HubCredits = {
    account: async () => ({
      network: `hub:${this.identity.aid}`,
      balance: 0,
      held: 0,
      probationUntilMs: undefined,
      trial: undefined,
      entries: [],
    }),
    entriesAfter: async () => [],
    settle: async () => ({ refused: 'insufficient_funds', says: 'no credits here' }),
    redeem: async () => ({ refused: 'insufficient_funds', says: 'no credits here' }),
    endHold: async () => ({ refused: 'hold_ended', says: 'no hold here' }),
    supplyRecords: async () => ({ chainDid: '', records: [], headSeq: 0, headId: '', isLast: true }),
    witnessStatements: async () => [],
    liability: async () => undefined,
  }

  fetchCard(aid: string): Promise<string | undefined> {
    return this.#say('fetchCard', [aid], async () => undefined)
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
    return this.#say('uploadReview', [upload], async () => new Uint8Array(0))
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
      const parts: Uint8Array[] = []
      for await (const part of delivery.content()) parts.push(new Uint8Array(part))
      const rid = this.#post.take(delivery.recipient, Buffer.concat(parts), this.timeMs)
      return { rid, duplicate: false }
    })
  }

  poll(options: Parameters<HubClient['poll']>[0]): ReturnType<HubClient['poll']> {
    return this.#say('poll', [options], async () => {
      const mine = this.#post.carried.filter(one => one.to === this.#aid)
      const envelopes = mine.map(
        ({ id, bytes, acceptedAtMs }): PolledEnvelope => ({ id, source: [bytes], acceptedAtMs }),
      )
      return { envelopes, more: false, held: true, [Symbol.dispose]: () => {} }
    })
  }

  ack(items: AckItem[]): Promise<void> {
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
    recipient: string,
    credential: Delivery['credential'],
    items: Parameters<HubClient['deliveryStates']>[2],
  ): Promise<StatusReply[]> {
    return this.#say('deliveryStates', [recipient, credential, items], async () =>
      items.map(({ rid, handle }): StatusReply => {
        const dack = this.#post.dacks.get(toBase64url(handle))
        if (dack !== undefined) return { state: 'done', dack }
        return { state: this.#post.carried.some(one => one.rid === rid) ? 'queued' : 'unknown' }
      }),
    )
  }

  bucket(recipient: string, hash: Uint8Array): ReturnType<HubClient['bucket']> {
    return this.#say('bucket', [recipient, hash], async () => {
      const listed = this.#post.listed.get(recipient)
      const entry = listed && { kel: [...listed.log.events], keySet: listed.keySet }
      const salt = new Uint8Array(32)
      const box = entry && sealBox(recipient, salt, { ...entry, notice: listed.notice ?? null })
      return {
        entries: box === undefined ? [] : [{ h: directoryHash(recipient), box }],
        partial: false,
        bits: 0,
      }
    })
  }
}
