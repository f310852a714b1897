/** A hub of wire 3: route rows behind the node's hub interface, strict replies, version checks, sessions. */

import { Refused, type Send } from '../../../protocol/contract/client.ts'
import { LIST_LIMIT_MAX, POLL_LIMIT_MAX } from '../../../protocol/contract/limits.ts'
import { XWING_SEED_BYTES, xwingPublicKey } from '../../../protocol/crypto/xwing.ts'
import { fromBase64url, toBase64url } from '../../../protocol/encoding/bytes.ts'
import { canonicalJson, type JsonValue } from '../../../protocol/encoding/json.ts'
import { present } from '../../../protocol/encoding/present.ts'
import { bucketPrefixText } from '../../../protocol/identity/directory.ts'
import { decodeKel, encodeKel, type KeyEvent, type VerifiedKel } from '../../../protocol/identity/kel.ts'
import { openSession, type SessionGrant, sessionMac } from '../../../protocol/mail/session.ts'
import { ENVELOPE_TYPE, headers as names } from '../../../protocol/wire3/headers.ts'
import { wire3Routes as routes } from '../../../protocol/wire3/routes.ts'
import { mergeHubLog } from '../../peers/peers.ts'
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
  type ReviewUpload,
  type SendReply,
  type StatusItem,
  type StatusReply,
} from '../hub.ts'
import { fetchHubIdentity, type HubInputs, Wire3Calls } from './calls.ts'
import { PollSpool } from './poll-spool.ts'

const SEND_TIMEOUT_MS = 15 * 60_000
const POLL_SLACK_MS = 20_000
/** A session is renewed before its end, so that no envelope is on its way when it goes. */
const SESSION_MARGIN_MS = 60_000
const BUCKET_PAGES_MAX = 64

type Session = { sid: Uint8Array; grant: SessionGrant; left: number }

export class Wire3Hub implements HubLine {
  readonly url: string
  #identity: HubIdentity
  #inputs: HubInputs
  #calls: Wire3Calls
  #session: Promise<Session> | undefined
  #probationUntilMs: number | undefined

  constructor(url: string, identity: HubIdentity, inputs: HubInputs) {
    this.url = url
    this.#identity = identity
    this.#inputs = inputs
    this.#calls = new Wire3Calls(url, identity.aid, inputs)
  }

  get identity(): HubIdentity {
    return this.#identity
  }
  get stopped(): string | undefined {
    return this.#calls.stopped
  }
  get timeMs(): number {
    return this.#calls.timeMs
  }
  get lastContactAtMs(): number | undefined {
    return this.#calls.lastContactAtMs
  }

  async checkAdmission(log: VerifiedKel): Promise<'admitted' | 'open'> {
    const body = { aid: log.aid, kel: toBase64url(encodeKel(log.events)), check_only: true }
    const reply = await this.#calls.signed(routes.register, { body })
    if (reply.status === 'registered')
      throw new HubStopped('the hub answered a question with a registration; update it')
    return reply.status
  }

  async register(request: RegisterRequest): Promise<RegisterReply> {
    const { log, profile, keySet, prevSeq, pow, card } = request
    const body = {
      aid: log.aid,
      kel: toBase64url(encodeKel(log.events)),
      ...profileMembers(profile),
      ...(keySet === undefined ? {} : { enc_keys: toBase64url(keySet) }),
      ...present({ prev_seq: prevSeq, a2a_card: card }),
      ...(pow === undefined ? {} : { pow: { seed: toBase64url(pow.seed), nonce: toBase64url(pow.nonce) } }),
    }
    const reply = await this.#calls.signed(routes.register, { body })
    if (reply.status !== 'registered')
      throw new HubStopped('the hub only checked the registration; update it')
    this.#probationUntilMs = reply.probation_until
    return {
      keysStatus: reply.keys_status,
      cardStatus: reply.card_status,
      ...present({ probationUntilMs: reply.probation_until, trial: reply.trial }),
    }
  }

  async publishKeys(keySet: Uint8Array, prevSeq: number | undefined): Promise<void> {
    const body = { keys: toBase64url(keySet), ...present({ prev_seq: prevSeq }) }
    await this.#calls.signed(routes.publishKeys, { params: { aid: this.#inputs.identity.aid }, body })
  }

  async pushLog(log: VerifiedKel): Promise<void> {
    await this.#calls.plain(routes.pushKel, this.#inputs.connections.signed, {
      body: { aid: log.aid, kel: toBase64url(encodeKel(log.events)) },
    })
  }

  async fetchLog(aid: string): Promise<KeyEvent[]> {
    const send = this.#inputs.connections.anonymous(aid)
    const reply = await this.#calls.plain(routes.agentKel, send, { params: { aid } })
    return decodeKel(fromBase64url(reply.kel))
  }

  async fetchAgent(aid: string): Promise<{ log: KeyEvent[]; keySet: Uint8Array } | undefined> {
    const send = this.#inputs.connections.signed
    const reply = await unlessMissing(this.#calls.plain(routes.agentKeys, send, { params: { aid } }))
    if (reply === undefined) return undefined
    return { log: decodeKel(fromBase64url(reply.kel)), keySet: fromBase64url(reply.keys) }
  }

  async updateProfile(profile: Profile): Promise<void> {
    await this.#calls.signed(routes.updateProfile, { body: profileMembers(profile) })
  }

  async setVisibility(visibility: 'hub-local' | 'federated' | 'public'): Promise<void> {
    await this.#calls.signed(routes.setVisibility, {
      params: { aid: this.#inputs.identity.aid },
      body: { visibility },
    })
  }

  async deregister(): Promise<void> {
    await this.#calls.signed(routes.deregister, { params: { aid: this.#inputs.identity.aid }, body: {} })
  }

  async fetchCard(aid: string): Promise<string | undefined> {
    const send = this.#inputs.connections.signed
    const card = await unlessMissing(this.#calls.plain(routes.a2aCard, send, { params: { aid } }))
    return card === undefined ? undefined : canonicalJson(card as JsonValue)
  }

  async publicUrl(): Promise<string | undefined> {
    const catalog = await unlessMissing(
      this.#calls.plain(routes.aiCatalog, this.#inputs.connections.signed, {}),
    )
    const address = catalog?.host.displayName ?? ''
    return /^https?:\/\/[^\s]{1,256}$/.test(address) ? address : undefined
  }

  get probationUntilMs(): number | undefined {
    return this.#probationUntilMs
  }

  async uploadReview({ receipt, review, rsalt }: ReviewUpload): Promise<Uint8Array> {
    const body = { receipt: toBase64url(receipt), review: toBase64url(review), rsalt: toBase64url(rsalt) }
    return fromBase64url((await this.#calls.signed(routes.uploadReview, { body })).attestation)
  }

  async revoke(capabilityIds: Uint8Array[]): Promise<void> {
    await this.#calls.signed(routes.mailboxRevoke, { body: { cap_ids: capabilityIds.map(toBase64url) } })
  }

  async poll(options: { waitSeconds: number; afterId?: number; signal: AbortSignal }): Promise<PollReply> {
    const wait = options.waitSeconds
    const signal = AbortSignal.any([options.signal, AbortSignal.timeout(wait * 1000 + POLL_SLACK_MS)])
    const after = options.afterId === undefined ? {} : { after_id: options.afterId }
    const body = { limit: POLL_LIMIT_MAX, ...after }
    const headers: Record<string, string> = wait > 0 ? { Prefer: `wait=${wait}` } : {}
    let spool = this.#newSpool()
    let held = false
    const send: Send = async request => {
      const response = await this.#inputs.connections.signed(request)
      if (!response.ok || response.body === null) return response
      held = response.headers.get('Preference-Applied') !== null
      spool.discard()
      spool = this.#newSpool()
      return new Response(await spool.read(response.body), {
        status: response.status,
        headers: response.headers,
      })
    }
    try {
      const reply = await this.#calls.signed(
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
        held,
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
    await this.#calls.signed(routes.relayAck, { body })
  }

  async deliveryStates(recipient: string, items: StatusItem[]): Promise<StatusReply[]> {
    const body = {
      items: items.map(({ rid, handle, viaHub }) => ({
        rid,
        handle: toBase64url(handle),
        ...present({ via_hub: viaHub }),
      })),
    }
    const send = this.#inputs.connections.anonymous(recipient)
    const reply = await this.#calls.plain(routes.relayStatus, send, { body })
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
      const body = { prefix: bucketPrefixText(hash, bits), bits, ...present({ cursor }) }
      try {
        const reply = await this.#calls.plain(routes.directoryBucket, send, { body })
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
      ...present({ cursor }),
    }
    const send = this.#inputs.connections.anonymous('')
    const reply =
      cap === undefined
        ? await this.#calls.plain(routes.a2aAgents, send, {
            query: { ...page, ...present({ q }) },
          })
        : await this.#calls.plain(routes.agents, send, { query: { ...page, cap } })
    const agents = reply.agents.map(agent => ({
      aid: agent.aid,
      name: agent.name,
      caps: agent.caps,
      summary: agent.summary,
      lastSeenMs: agent.lastSeen,
      registeredAtMs: agent.registered_at,
      quiet: agent.quiet,
    }))
    return { agents, ...present({ next: reply.next }) }
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
    const reply = await this.#calls.plain(routes.relaySend, send, { body, signal }, headers)
    return {
      rid: reply.rid,
      duplicate: reply.status === 'duplicate',
      ...present({ viaHub: reply.via_hub }),
    }
  }

  /** Asks the hub anew who it is; another identity or a contradicting log ends the conversation. */
  async refresh(): Promise<void> {
    this.#calls.ensureTalking()
    const fresh = await fetchHubIdentity(this.url, this.#inputs.connections.signed)
    const log = mergeHubLog(this.#identity.log, fresh.log)
    if (log === undefined)
      this.#calls.stop('another hub answers at this address, or its key history contradicts itself')
    else this.#identity = { ...fresh, log }
  }

  halt(why: string): void {
    this.#calls.halt(why)
  }

  /** Forgets the session, after the hub refused it or the identity key changed. */
  dropSession(): void {
    this.#session = undefined
  }

  async #sessionHeaders(delivery: Delivery): Promise<Record<string, string>> {
    const session = await this.#liveSession()
    session.left -= 1
    const tsMs = this.#calls.timeMs
    const use = { sid: session.sid, tsMs, envelopeDigest: delivery.digest, access: delivery.access }
    return {
      [names.ts]: String(tsMs),
      [names.session]: toBase64url(session.sid),
      [names.mac]: toBase64url(sessionMac(session.grant.macKey, use)),
    }
  }

  async #liveSession(): Promise<Session> {
    const held = await this.#session?.catch(() => undefined)
    if (held !== undefined && held.left > 0 && this.#calls.timeMs < held.grant.expMs - SESSION_MARGIN_MS)
      return held
    const fresh = this.#openSession()
    this.#session = fresh
    return fresh
  }

  async #openSession(): Promise<Session> {
    const seed = this.#inputs.random(XWING_SEED_BYTES)
    const reply = await this.#calls.signed(routes.relaySession, {
      body: { epk: toBase64url(xwingPublicKey(seed)) },
    })
    const sid = fromBase64url(reply.sid)
    const ends = { hub: this.#identity.aid, sid, aid: this.#inputs.identity.aid }
    const grant = openSession(seed, ends, fromBase64url(reply.enc), fromBase64url(reply.ct))
    return { sid, grant, left: grant.quota }
  }
}

/** The reply, or undefined where the hub has no such thing. */
async function unlessMissing<T>(reply: Promise<T>): Promise<T | undefined> {
  try {
    return await reply
  } catch (error) {
    if (error instanceof Refused && error.status === 404) return undefined
    throw error
  }
}

function profileMembers(profile: Profile | undefined): Partial<Profile> {
  if (profile === undefined) return {}
  const { name, caps, summary, readme } = profile
  return { name, caps, summary, readme }
}
