/** A hub of wire 3: route rows behind the node's hub interface, strict replies, version checks, sessions. */
import { fromBase64url, toBase64url } from '../protocol/bytes.ts'
import { type Call, call, callBody, callPath, Refused, type Send } from '../protocol/client.ts'
import { bucketPrefixText } from '../protocol/directory.ts'
import { decodeKel, encodeKel, type KeyEvent, type VerifiedKel, verifyKel } from '../protocol/kel.ts'
import type { ReplyOf, RouteRow } from '../protocol/route.ts'
import { openSession, type SessionGrant, sessionMac } from '../protocol/session.ts'
import { ENVELOPE_TYPE, headers as names, WIRE } from '../protocol/wire3/headers.ts'
import { LIST_LIMIT_MAX, POLL_LIMIT_MAX, wire3Routes as routes } from '../protocol/wire3/routes.ts'
import { signRequest } from '../protocol/wire3/signed-request.ts'
import { XWING_SEED_BYTES, xwingPublicKey } from '../protocol/xwing.ts'
import type { Connections } from './http.ts'
import {
  type AckItem,
  type BucketReply,
  type Delivery,
  type HubIdentity,
  type HubLine,
  HubStopped,
  type ListedAgent,
  type PollReply,
  type Profile,
  type RegisterReply,
  type RegisterRequest,
  type SendReply,
  type StatusItem,
  type StatusReply,
} from './hub-line.ts'
import type { Identity } from './identity.ts'
import { mergeHubLog } from './peers.ts'
import { PollSpool } from './poll-spool.ts'

const CALL_TIMEOUT_MS = 60_000
const SEND_TIMEOUT_MS = 15 * 60_000
const POLL_SLACK_MS = 20_000
const CLOCK_CORRECTED_MIN_MS = 4 * 60_000
/** A session is renewed before its end, so that no envelope is on its way when it goes. */
const SESSION_MARGIN_MS = 60_000
const BUCKET_PAGES_MAX = 64

export type HubInputs = {
  identity: Identity
  connections: Connections
  now: () => number
  random: (length: number) => Uint8Array
  /** Where large envelopes wait to be opened. */
  spoolFolder: string
}

type Session = { sid: Uint8Array; grant: SessionGrant; left: number }
type SignedOptions = { headers?: Record<string, string>; send?: Send; heldBesideQueue?: boolean }
type SignedCall<R extends RouteRow> = Omit<Call<R>, 'baseUrl' | 'headers' | 'onResponse'>

/** Asks a hub who it is; refuses one whose own log does not verify. */
export async function fetchHubIdentity(url: string, send: Send): Promise<HubIdentity> {
  const reply = await call(routes.hubIdentity, send, {
    baseUrl: url,
    headers: { [names.wire]: String(WIRE) },
    signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
    onResponse: response => {
      const why = incompatibility(response)
      if (why !== undefined) throw new HubStopped(why)
    },
  })
  const log = verifyKel(decodeKel(fromBase64url(reply.kel)))
  if (log.aid !== reply.aid)
    throw new HubStopped('the key history of the hub is not its own; check the address')
  return { aid: log.aid, wire: reply.wire, log, bitsMax: reply.dir_max_bits }
}

/** Why an answer ends the conversation: another wire version. An answer without the header does not. */
function incompatibility(response: Response): string | undefined {
  const wire = response.headers.get(names.wire)
  if (wire !== null && wire !== String(WIRE))
    return `the hub speaks wire version ${wire}, this node ${WIRE}; update the older one`
  if (response.status === 426) return 'the hub requires another wire version; update this node'
  return undefined
}

export class Wire3Hub implements HubLine {
  readonly url: string
  #identity: HubIdentity
  #inputs: HubInputs
  #stopped: string | undefined
  #lastContact: number | undefined
  #queue: Promise<unknown> = Promise.resolve()
  #lastTs = 0
  #clockOffset = 0
  #hubDate: { date: number; seenAt: number } | undefined
  #session: Promise<Session> | undefined

  constructor(url: string, identity: HubIdentity, inputs: HubInputs) {
    this.url = url
    this.#identity = identity
    this.#inputs = inputs
  }

  get identity(): HubIdentity {
    return this.#identity
  }
  get stopped(): string | undefined {
    return this.#stopped
  }
  get timeMs(): number {
    return this.#hubTime()
  }
  get lastContactAtMs(): number | undefined {
    return this.#lastContact
  }

  async checkAdmission(log: VerifiedKel): Promise<'admitted' | 'open'> {
    const body = { aid: log.aid, kel: toBase64url(encodeKel(log.events)), check_only: true }
    const reply = await this.#signed(routes.register, { body })
    if (reply.status === 'registered')
      throw new HubStopped('the hub answered a question with a registration; update it')
    return reply.status
  }

  async register(request: RegisterRequest): Promise<RegisterReply> {
    const { log, profile, keySet, prevSeq, pow } = request
    const body = {
      aid: log.aid,
      kel: toBase64url(encodeKel(log.events)),
      ...profileMembers(profile),
      ...(keySet === undefined ? {} : { enc_keys: toBase64url(keySet) }),
      ...(prevSeq === undefined ? {} : { prev_seq: prevSeq }),
      ...(pow === undefined ? {} : { pow: { seed: toBase64url(pow.seed), nonce: toBase64url(pow.nonce) } }),
    }
    const reply = await this.#signed(routes.register, { body })
    if (reply.status !== 'registered')
      throw new HubStopped('the hub only checked the registration; update it')
    return {
      keysStatus: reply.keys_status,
      cardStatus: reply.card_status,
      ...(reply.probation_until === undefined ? {} : { probationUntilMs: reply.probation_until }),
      ...(reply.trial === undefined ? {} : { trial: reply.trial }),
    }
  }

  async publishKeys(keySet: Uint8Array, prevSeq: number | undefined): Promise<void> {
    const body = { keys: toBase64url(keySet), ...(prevSeq === undefined ? {} : { prev_seq: prevSeq }) }
    await this.#signed(routes.publishKeys, { params: { aid: this.#inputs.identity.aid }, body })
  }

  async pushLog(log: VerifiedKel): Promise<void> {
    await this.#plain(routes.pushKel, this.#inputs.connections.signed, {
      body: { aid: log.aid, kel: toBase64url(encodeKel(log.events)) },
    })
  }

  async fetchLog(aid: string): Promise<KeyEvent[]> {
    const send = this.#inputs.connections.anonymous(aid)
    const reply = await this.#plain(routes.agentKel, send, { params: { aid } })
    return decodeKel(fromBase64url(reply.kel))
  }

  async updateProfile(profile: Profile): Promise<void> {
    await this.#signed(routes.updateProfile, { body: profileMembers(profile) })
  }

  async setVisibility(visibility: 'hub-local' | 'federated' | 'public'): Promise<void> {
    await this.#signed(routes.setVisibility, {
      params: { aid: this.#inputs.identity.aid },
      body: { visibility },
    })
  }

  async deregister(): Promise<void> {
    await this.#signed(routes.deregister, { params: { aid: this.#inputs.identity.aid }, body: {} })
  }

  async revoke(capabilityIds: Uint8Array[]): Promise<void> {
    await this.#signed(routes.mailboxRevoke, { body: { cap_ids: capabilityIds.map(toBase64url) } })
  }

  async poll(options: { waitSeconds: number; afterId?: number; signal: AbortSignal }): Promise<PollReply> {
    const wait = options.waitSeconds
    const signal = AbortSignal.any([options.signal, AbortSignal.timeout(wait * 1000 + POLL_SLACK_MS)])
    const after = options.afterId === undefined ? {} : { after_id: options.afterId }
    const body = { limit: POLL_LIMIT_MAX, ...after }
    const headers: Record<string, string> = wait > 0 ? { Prefer: `wait=${wait}` } : {}
    let spool = this.#newSpool()
    const send: Send = async request => {
      const response = await this.#inputs.connections.signed(request)
      if (!response.ok || response.body === null) return response
      spool.discard()
      spool = this.#newSpool()
      return new Response(await spool.read(response.body), {
        status: response.status,
        headers: response.headers,
      })
    }
    try {
      const reply = await this.#signed(
        routes.relayPoll,
        { body, signal },
        { headers, send, heldBesideQueue: wait > 0 },
      )
      return {
        envelopes: reply.messages.map(message => ({
          id: message.id,
          source: spool.source(Number(message.envelope)),
          acceptedAtMs: message.accepted_at,
        })),
        more: reply.more,
        ...(reply.key_state_notice === undefined ? {} : { notice: fromBase64url(reply.key_state_notice) }),
        [Symbol.dispose]: () => spool.discard(),
      }
    } catch (error) {
      spool.discard()
      throw error
    }
  }

  #newSpool(): PollSpool {
    return new PollSpool(this.#inputs.spoolFolder, this.#inputs.random)
  }

  async ack(items: AckItem[]): Promise<void> {
    const body = {
      items: items.map(({ id, handle, dack }) =>
        handle === undefined || dack === undefined
          ? { id }
          : { id, handle: toBase64url(handle), dack: toBase64url(dack) },
      ),
    }
    await this.#signed(routes.relayAck, { body })
  }

  async deliveryStates(recipient: string, items: StatusItem[]): Promise<StatusReply[]> {
    const body = {
      items: items.map(({ rid, handle, viaHub }) => ({
        rid,
        handle: toBase64url(handle),
        ...(viaHub === undefined ? {} : { via_hub: viaHub }),
      })),
    }
    const send = this.#inputs.connections.anonymous(recipient)
    const reply = await this.#plain(routes.relayStatus, send, { body })
    return reply.items.map(({ state, dack }) => ({
      state,
      ...(dack === undefined ? {} : { dack: fromBase64url(dack) }),
    }))
  }

  /** The whole bucket of a hash; the bits follow the hub's directory, never the agent that is looked for. */
  async bucket(recipient: string, hash: Uint8Array): Promise<BucketReply> {
    const send = this.#inputs.connections.anonymous(recipient)
    const entries: BucketReply['entries'] = []
    let partial = false
    let cursor: string | undefined
    let bits = this.#identity.bitsMax
    for (let page = 0; page < BUCKET_PAGES_MAX; page++) {
      const body = { prefix: bucketPrefixText(hash, bits), bits, ...(cursor === undefined ? {} : { cursor }) }
      try {
        const reply = await this.#plain(routes.directoryBucket, send, { body })
        this.#identity = { ...this.#identity, bitsMax: reply.max_bits }
        for (const { h, box } of reply.entries) entries.push({ h: fromBase64url(h), box: fromBase64url(box) })
        partial ||= reply.partial === true
        cursor = reply.next
        if (cursor === undefined) break
      } catch (error) {
        const bitsMax =
          error instanceof Refused && error.code === 'bucket_too_narrow'
            ? error.members['max_bits']
            : undefined
        if (typeof bitsMax !== 'number' || bitsMax >= bits) throw error
        bits = bitsMax
        this.#identity = { ...this.#identity, bitsMax }
      }
    }
    return { entries, partial, bits }
  }

  async listAgents(query: {
    q?: string
    cap?: string
    limit: number
    cursor?: string
  }): Promise<{ agents: ListedAgent[]; next?: string }> {
    const { q, cap, cursor } = query
    const page = {
      limit: String(Math.min(query.limit, LIST_LIMIT_MAX)),
      ...(cursor === undefined ? {} : { cursor }),
    }
    const send = this.#inputs.connections.anonymous('')
    const reply =
      cap === undefined
        ? await this.#plain(routes.a2aAgents, send, { query: { ...page, ...(q === undefined ? {} : { q }) } })
        : await this.#plain(routes.agents, send, { query: { ...page, cap } })
    const agents = reply.agents.map(agent => ({
      aid: agent.aid,
      name: agent.name,
      caps: agent.caps,
      summary: agent.summary,
      lastSeenMs: agent.lastSeen,
      registeredAtMs: agent.registered_at,
      quiet: agent.quiet,
    }))
    return { agents, ...(reply.next === undefined ? {} : { next: reply.next }) }
  }

  async send(delivery: Delivery): Promise<SendReply> {
    const headers: Record<string, string> = {
      [names.access]: toBase64url(delivery.access),
      'Content-Type': ENVELOPE_TYPE,
      'Content-Length': String(delivery.size),
      ...(delivery.home === this.#identity.aid ? {} : { [names.home]: delivery.home }),
    }
    if (delivery.credential === 'session') Object.assign(headers, await this.#sessionHeaders(delivery))
    const { connections } = this.#inputs
    const send =
      delivery.credential === 'session' ? connections.signed : connections.anonymous(delivery.recipient)
    const body = delivery.content() as AsyncIterable<Uint8Array>
    const signal = AbortSignal.timeout(SEND_TIMEOUT_MS)
    const reply = await this.#plain(routes.relaySend, send, { body, signal }, headers)
    return {
      rid: reply.rid,
      duplicate: reply.status === 'duplicate',
      ...(reply.via_hub === undefined ? {} : { viaHub: reply.via_hub }),
    }
  }

  /** Asks the hub anew who it is; another identity or a contradicting log ends the conversation. */
  async refresh(): Promise<void> {
    this.#ensureTalking()
    const fresh = await fetchHubIdentity(this.url, this.#inputs.connections.signed)
    const log = mergeHubLog(this.#identity.log, fresh.log)
    if (log === undefined)
      this.#stopped = 'another hub answers at this address, or its key history contradicts itself'
    else this.#identity = { ...fresh, log }
    this.#ensureTalking()
  }

  /** Forgets the session, after the hub refused it or the identity key changed. */
  dropSession(): void {
    this.#session = undefined
  }

  async #sessionHeaders(delivery: Delivery): Promise<Record<string, string>> {
    const session = await this.#liveSession()
    session.left -= 1
    const tsMs = this.#hubTime()
    const use = { sid: session.sid, tsMs, envelopeDigest: delivery.digest, access: delivery.access }
    return {
      [names.ts]: String(tsMs),
      [names.session]: toBase64url(session.sid),
      [names.mac]: toBase64url(sessionMac(session.grant.macKey, use)),
    }
  }

  async #liveSession(): Promise<Session> {
    const held = await this.#session?.catch(() => undefined)
    if (held !== undefined && held.left > 0 && this.#hubTime() < held.grant.expMs - SESSION_MARGIN_MS)
      return held
    const fresh = this.#openSession()
    this.#session = fresh
    return fresh
  }

  async #openSession(): Promise<Session> {
    const seed = this.#inputs.random(XWING_SEED_BYTES)
    const reply = await this.#signed(routes.relaySession, {
      body: { epk: toBase64url(xwingPublicKey(seed)) },
    })
    const sid = fromBase64url(reply.sid)
    const ends = { hub: this.#identity.aid, sid, aid: this.#inputs.identity.aid }
    const grant = openSession(seed, ends, fromBase64url(reply.enc), fromBase64url(reply.ct))
    return { sid, grant, left: grant.quota }
  }

  /** A call that carries no signature. */
  async #plain<R extends RouteRow>(
    row: R,
    send: Send,
    given: SignedCall<R>,
    headers: Record<string, string> = {},
  ): Promise<ReplyOf<R>> {
    this.#ensureTalking()
    const full = {
      signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
      ...given,
      baseUrl: this.url,
      headers: { ...headers, [names.wire]: String(WIRE) },
      onResponse: (response: Response) => this.#observe(response),
    } as unknown as Call<R>
    return call(row, send, full)
  }

  /** A signed call; waits for those before it, except that a held poll leaves the queue once it is on its way. */
  async #signed<R extends RouteRow>(
    row: R,
    given: SignedCall<R>,
    options: SignedOptions = {},
  ): Promise<ReplyOf<R>> {
    const attempt = () => this.#signOnce(row, given, options)
    if (options.heldBesideQueue === true) {
      await this.#queue
      return this.#retried(attempt)
    }
    const turn = this.#queue.then(() => this.#retried(attempt))
    this.#queue = turn.catch(() => undefined)
    return turn
  }

  /** Once more above the floor, and once more after the clock was put right; the body never changes. */
  async #retried<T>(attempt: () => Promise<T>): Promise<T> {
    try {
      return await attempt()
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      const clockMoved = error.code === 'unauthorized' && this.#takeClock()
      if (error.code !== 'ts_stale' && error.code !== 'replayed' && !clockMoved) throw error
      const floor = error.members['floor']
      if (typeof floor === 'number') {
        this.#lastTs = Math.max(this.#lastTs, floor)
        if (floor > this.#hubTime()) this.#clockOffset = floor - this.#inputs.now()
      }
      return attempt()
    }
  }

  /** Takes over the hub's clock from its last answer; true when ours was far off. */
  #takeClock(): boolean {
    const offset = this.#hubDate === undefined ? 0 : this.#hubDate.date - this.#hubDate.seenAt
    if (Math.abs(offset - this.#clockOffset) < CLOCK_CORRECTED_MIN_MS) return false
    this.#clockOffset = offset
    this.#lastTs = 0
    return true
  }

  async #signOnce<R extends RouteRow>(
    row: R,
    given: SignedCall<R>,
    options: SignedOptions,
  ): Promise<ReplyOf<R>> {
    const { identity } = this.#inputs
    this.#lastTs = Math.max(this.#hubTime(), this.#lastTs + 1)
    const request = {
      action: row.action as string,
      aid: identity.aid,
      hub: this.#identity.aid,
      ts: this.#lastTs,
      method: row.method,
      path: callPath(row, given as Parameters<typeof callPath>[1]),
      body: callBody(row, given.body),
    }
    const signature = signRequest(request, { seed: identity.seed, seq: identity.log.seq })
    const send = options.send ?? this.#inputs.connections.signed
    return this.#plain(row, send, given, { ...options.headers, ...signature })
  }

  #hubTime(): number {
    return this.#inputs.now() + this.#clockOffset
  }

  #ensureTalking(): void {
    if (this.#stopped !== undefined) throw new HubStopped(this.#stopped)
  }

  #observe(response: Response): void {
    const why = incompatibility(response)
    if (why !== undefined) {
      this.#stopped = why
      throw new HubStopped(why)
    }
    if (response.headers.get(names.wire) === null) return
    const now = this.#inputs.now()
    this.#lastContact = now
    const date = Date.parse(response.headers.get('Date') ?? '')
    if (!Number.isNaN(date)) this.#hubDate = { date, seenAt: now }
  }
}

function profileMembers(profile: Profile | undefined): Partial<Profile> {
  if (profile === undefined) return {}
  const { name, caps, summary, readme } = profile
  return { name, caps, summary, readme }
}
