/** A hub of wire 3: route rows behind the node's hub interface, strict replies, version checks, sessions. */

import { Refused } from '../../../protocol/contract/client.ts'
import { ACK_ITEMS_MAX, LIST_LIMIT_MAX } from '../../../protocol/contract/limits.ts'
import { concat, fromBase64url, Malformed, toBase64url } from '../../../protocol/encoding/bytes.ts'
import { canonicalJson, type JsonValue } from '../../../protocol/encoding/json.ts'
import { present } from '../../../protocol/encoding/present.ts'
import { bucketPrefixText } from '../../../protocol/identity/directory.ts'
import {
  decodeKel,
  encodeKel,
  KelInvalid,
  type KeyEvent,
  type VerifiedKel,
} from '../../../protocol/identity/kel.ts'
import { decodeKelLazily } from '../../../protocol/identity/kel-lazy.ts'
import { ENVELOPE_TYPE, headers as names, WIRE } from '../../../protocol/wire3/headers.ts'
import { wire3Routes as routes } from '../../../protocol/wire3/routes.ts'
import { unlessMissing } from '../failures.ts'
import {
  type AckItem,
  type BucketReply,
  type CardBinding,
  type Delivery,
  type HubClient,
  type HubCredits,
  type HubIdentity,
  type HubInputs,
  HubStopped,
  type ListedAgent,
  type PollReply,
  type Profile,
  type RegisterReply,
  type RegisterRequest,
  type ReviewUpload,
  type SealedMail,
  type SendReply,
  type StatusItem,
  type StatusReply,
} from '../hub.ts'
import { mergeHubLog } from '../log.ts'
import { Wire3Calls } from './calls.ts'
import { Wire3Credits } from './credits.ts'
import { type PollOptions, poll } from './poll.ts'
import { Sessions } from './sessions.ts'

const SEND_TIMEOUT_MS = 15 * 60_000
const BUCKET_PAGES_MAX = 64
/** Envelopes up to this size leave in one piece: each write to a connection wakes the hub. */
const WHOLE_BYTES_MAX = 64 * 1024

export class Wire3Hub implements HubClient, SealedMail {
  readonly url: string
  readonly mail: SealedMail = this
  readonly openMail = undefined
  readonly openReviews = undefined
  readonly board = undefined
  readonly direct = undefined
  readonly pricingBytesMax = 0
  readonly cardBinding: CardBinding = {
    path: routes.relaySend.path,
    binding: 'urn:svc:relay:3',
    extension: 'urn:svc:agent:3',
    wire: WIRE,
    description: 'Reached by sealed envelopes through its hub; the address is the AID.',
    tasks: 'sealed tasks',
  }
  #identity: HubIdentity
  #inputs: HubInputs
  #calls: Wire3Calls
  #sessions: Sessions
  #probationUntilMs: number | undefined
  readonly credits: HubCredits

  constructor(url: string, identity: HubIdentity, inputs: HubInputs) {
    this.url = url
    this.#identity = identity
    this.#inputs = inputs
    this.#calls = new Wire3Calls(url, identity.aid, inputs)
    this.credits = new Wire3Credits(this.#calls, identity.aid, inputs)
    this.#sessions = new Sessions(this.#calls, identity.aid, inputs)
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
  get knownTimeMs(): number | undefined {
    return this.#calls.knownTimeMs
  }
  get apartMs(): number | undefined {
    return this.#calls.apartMs
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
      ...present({ enc_keys: keySet === undefined ? undefined : toBase64url(keySet) }),
      ...present({
        prev_seq: prevSeq,
        a2a_card: card,
        pow: pow === undefined ? undefined : { seed: toBase64url(pow.seed), nonce: toBase64url(pow.nonce) },
      }),
    }
    const reply = await this.#calls.signed(routes.register, { body })
    if (reply.status !== 'registered')
      throw new HubStopped('the hub only checked the registration; update it')
    this.#probationUntilMs = reply.probation_until ?? this.#probationUntilMs
    return {
      keysStatus: reply.keys_status,
      cardStatus: reply.card_status,
      ...present({ probationUntilMs: reply.probation_until, trial: reply.trial }),
    }
  }

  async publishKeys(keySet: Uint8Array, prevSeq: number): Promise<void> {
    const body = { keys: toBase64url(keySet), prev_seq: prevSeq }
    await this.#calls.signed(routes.publishKeys, { params: { aid: this.#inputs.identity.aid }, body })
  }

  async pushLog(log: VerifiedKel): Promise<void> {
    await this.#calls.plain(routes.pushKel, this.#inputs.connections.signed, {
      body: { aid: log.aid, kel: toBase64url(encodeKel(log.events)) },
    })
  }

  async fetchLog(aid: string): Promise<KeyEvent[]> {
    const send = this.#inputs.connections.question
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

  poll(options: PollOptions): Promise<PollReply> {
    return poll(this.#calls, this.#inputs, options)
  }

  async ack(items: AckItem[]): Promise<void> {
    const given = items.map(({ id, handle, dack }) =>
      handle === undefined || dack === undefined
        ? { id }
        : { id, handle: toBase64url(handle), dack: toBase64url(dack) },
    )
    for (let i = 0; i < given.length; i += ACK_ITEMS_MAX)
      await this.#calls.signed(routes.relayAck, { body: { items: given.slice(i, i + ACK_ITEMS_MAX) } })
  }

  async deliveryStates(credential: Delivery['credential'], items: StatusItem[]): Promise<StatusReply[]> {
    const body = {
      items: items.map(({ rid, handle, viaHub }) => ({
        rid,
        handle: toBase64url(handle),
        ...present({ via_hub: viaHub }),
      })),
    }
    const { connections } = this.#inputs
    const send = credential === 'session' ? connections.signed : connections.question
    const reply = await this.#calls.plain(routes.relayStatus, send, { body })
    return reply.items.map(({ state, dack }) => ({
      state,
      ...present({ dack: dack === undefined ? undefined : fromBase64url(dack) }),
    }))
  }

  /** The whole bucket of a hash; the bits follow the hub's directory, never the agent that is looked for. */
  async bucket(hash: Uint8Array): Promise<BucketReply> {
    const send = this.#inputs.connections.question
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
        const bitsMax = bitsServed(error)
        if (bitsMax === undefined || bitsMax >= bits) throw error
        // what was read so far, and its place, are of another bucket
        entries.length = 0
        cursor = undefined
        bits = bitsMax
        this.#identity = { ...this.#identity, bitsMax }
      }
    }
    // no agent is absent from pages that were not read
    return { entries, partial: partial || cursor !== undefined, bits }
  }

  async listAgents(query: {
    q?: string
    cap?: string
    limit: number
    cursor?: string
    signal?: AbortSignal
  }): Promise<{ agents: ListedAgent[]; next?: string }> {
    const { q, cap, cursor, signal } = query
    const page = {
      limit: String(Math.min(query.limit, LIST_LIMIT_MAX)),
      ...present({ cursor }),
    }
    const send = this.#inputs.connections.question
    const reply =
      cap === undefined
        ? await this.#calls.plain(routes.a2aAgents, send, {
            query: { ...page, ...present({ q }) },
            ...present({ signal }),
          })
        : await this.#calls.plain(routes.agents, send, { query: { ...page, cap }, ...present({ signal }) })
    const agents = reply.agents.map(agent => ({
      aid: agent.aid,
      name: agent.name,
      caps: agent.caps,
      summary: agent.summary,
      home: homeOf(agent.kel),
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
      ...present({ [names.home]: delivery.home === this.#identity.aid ? undefined : delivery.home }),
    }
    const session = delivery.credential === 'session' ? await this.#sessions.headersFor(delivery) : undefined
    Object.assign(headers, session?.headers)
    const { connections, timers } = this.#inputs
    const send = delivery.credential === 'session' ? connections.signed : connections.mail(delivery.recipient)
    const parts = delivery.content() as AsyncIterable<Uint8Array>
    const body = delivery.size <= WHOLE_BYTES_MAX ? await gathered(parts) : parts
    const late = timers.deadline(SEND_TIMEOUT_MS)
    const signal = delivery.signal === undefined ? late : AbortSignal.any([late, delivery.signal])
    const asked = this.#calls.plain(routes.relaySend, send, { body, signal }, headers)
    const reply = await asked.catch(async (error: unknown) => {
      if (session !== undefined && error instanceof Refused && error.code === 'session_invalid')
        await this.#sessions.refused(session.sid)
      throw error
    })
    return {
      rid: reply.rid,
      duplicate: reply.status === 'duplicate',
      isQuiet: reply.recipient_quiet,
      ...present({ viaHub: reply.via_hub }),
    }
  }

  async refresh(isAsked = false): Promise<void> {
    const fresh = await this.#calls.identify(isAsked)
    const log = mergeHubLog(this.#identity.log, fresh.log)
    if (log === undefined)
      this.#calls.stop('another hub answers at this address, or its key history contradicts itself')
    else this.#identity = { ...fresh, log }
  }

  halt(why: string): void {
    this.#calls.halt(why)
  }

  dropSession(): void {
    this.#sessions.drop()
  }
}

async function gathered(parts: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const held: Uint8Array[] = []
  for await (const part of parts) held.push(part)
  return concat(...held)
}

function profileMembers(profile: Profile | undefined): Partial<Profile> {
  if (profile === undefined) return {}
  const { name, caps, summary, readme } = profile
  return { name, caps, summary, readme }
}

/** The home that the last event of a log names, as it was sent. */
function homeOf(kel: string): string | undefined {
  try {
    return decodeKelLazily(fromBase64url(kel)).at(-1)?.body.witnesses[0]
  } catch (error) {
    if (error instanceof Malformed || error instanceof KelInvalid) return undefined
    throw error
  }
}

/** How narrow a bucket the hub serves, where it refused a narrower one. */
function bitsServed(error: unknown): number | undefined {
  if (!(error instanceof Refused) || error.code !== 'bucket_too_narrow') return undefined
  const served = error.members['max_bits']
  return typeof served === 'number' ? served : undefined
}
