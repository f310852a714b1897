/** A hub of wire 1 behind the node's hub interface: it reads the mail that it carries, and holds no key sets. */
import { Refused } from '../../../protocol/contract/client.ts'
import { fromBase64, Malformed, toBase64, toBase64url, utf8 } from '../../../protocol/encoding/bytes.ts'
import { canonicalJson, type JsonValue, parseJson } from '../../../protocol/encoding/json.ts'
import { present } from '../../../protocol/encoding/present.ts'
import { PRICING_EXTENSION } from '../../../protocol/identity/card-offers.ts'
import { decodeKel, encodeKel, type KeyEvent, type VerifiedKel } from '../../../protocol/identity/kel.ts'
import { decodeShared } from '../../../protocol/proof/open-review.ts'
import { WIRE1 } from '../../../protocol/wire1/headers.ts'
import { PRICING_BYTES_MAX } from '../../../protocol/wire1/routes/registry.ts'
import { wire1Routes as routes } from '../../../protocol/wire1/routes.ts'
import type { TaskBoard } from '../board.ts'
import type { DirectAddresses } from '../direct.ts'
import { unlessMissing } from '../failures.ts'
import {
  type CardBinding,
  type HubClient,
  type HubCredits,
  type HubIdentity,
  type HubInputs,
  HubStopped,
  type ListedAgent,
  type Profile,
  type RegisterReply,
  type RegisterRequest,
} from '../hub.ts'
import { mergeHubLog } from '../log.ts'
import type {
  OpenLetter,
  OpenMail,
  OpenReviews,
  OpenReviewUpload,
  PolledLetter,
  TakenLetter,
} from '../open-mail.ts'
import { Wire1Board } from './board.ts'
import { requireOf, Wire1Calls } from './calls.ts'
import { Wire1Credits } from './credits.ts'
import { LETTER_BYTES_MAX } from './payloads.ts'
import { poll } from './poll.ts'

const UNSEALED = 'a hub of wire 1 holds no keys for sealed mail'

export class Wire1Hub implements HubClient, OpenMail, OpenReviews, DirectAddresses {
  readonly url: string
  readonly mail = undefined
  readonly openMail: OpenMail = this
  readonly openReviews: OpenReviews = this
  readonly letterBytesMax = LETTER_BYTES_MAX
  readonly direct: DirectAddresses = this
  readonly probationUntilMs = undefined
  readonly pricingBytesMax = PRICING_BYTES_MAX
  readonly cardBinding: CardBinding = {
    path: routes.relaySend.path,
    binding: 'urn:svc:relay:1',
    extension: 'urn:svc:agent:1',
    wire: WIRE1,
    description: 'Reached through its hub, which can read the mail; the address is the AID.',
    tasks: 'tasks',
    priceList: PRICING_EXTENSION,
  }
  readonly credits: HubCredits
  readonly board: TaskBoard | undefined
  #identity: HubIdentity
  /** What was said last of visitors: each registration says it again. */
  #guestMessages: number | undefined
  readonly #inputs: HubInputs
  readonly #calls: Wire1Calls

  constructor(url: string, identity: HubIdentity, inputs: HubInputs) {
    this.url = url
    this.#identity = identity
    this.#inputs = inputs
    this.#calls = new Wire1Calls(url, inputs)
    this.credits = new Wire1Credits(this.#calls, inputs)
    const { orders } = inputs
    this.board = orders && new Wire1Board(url, this.#calls, { ...inputs, orders })
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
  get #aid(): string {
    return this.#inputs.identity.aid
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

  /** This wire has no question for it: whoever is not let in is refused before anything is written. */
  async checkAdmission(log: VerifiedKel, invite?: string): Promise<'admitted'> {
    await this.#register({ log }, invite)
    return 'admitted'
  }

  async register({ log, profile, card }: RegisterRequest): Promise<RegisterReply> {
    await this.#register({ log, card, ...present({ profile }) }, undefined)
    return { keysStatus: 'none', cardStatus: card === undefined ? 'none' : 'stored' }
  }

  async #register(
    { log, profile, card }: Pick<RegisterRequest, 'log' | 'profile' | 'card'>,
    invite: string | undefined,
  ): Promise<void> {
    // known to others that register meanwhile
    this.#guestMessages = profile?.guestMessages ?? this.#guestMessages
    const guestMessages = this.#guestMessages ?? (await this.#shownGuestMessages())
    const body = {
      kel: toBase64(encodeKel(log.events)),
      ...profileMembers(profile),
      ...present({ guest_messages: guestMessages, invite, card: card && canonicalJson(card as JsonValue) }),
    }
    const reply = await this.#calls.signed(routes.register, { body })
    requireOf(log.aid, reply.aid)
  }

  /** How many messages of a visitor the hub lets in now: a registration that says nothing of it would let some in. */
  async #shownGuestMessages(): Promise<number> {
    const found = await unlessMissing(this.#calls.plain(routes.agent, { params: { aid: this.#aid } }))
    return found?.agent.registered === true ? found.agent.guest_quota : 0
  }

  /** Shown by registering anew, which changes nothing else. */
  async pushLog(log: VerifiedKel): Promise<void> {
    await this.#register({ log }, undefined)
  }

  async fetchLog(aid: string): Promise<KeyEvent[]> {
    const reply = await this.#calls.plain(routes.agentKel, { params: { aid } })
    requireOf(aid, reply.aid)
    return decodeKel(fromBase64(reply.kel))
  }

  async fetchAgent(aid: string): Promise<{ log: KeyEvent[]; keySet: undefined } | undefined> {
    const found = await unlessMissing(this.#calls.plain(routes.agent, { params: { aid } }))
    if (found?.agent.registered !== true) return undefined
    return { log: await this.fetchLog(aid), keySet: undefined }
  }

  async publishKeys(): Promise<never> {
    throw new HubStopped(UNSEALED)
  }

  async updateProfile(profile: Profile): Promise<void> {
    const { log } = this.#inputs.identity
    await this.#register({ log, profile }, undefined)
  }

  async setVisibility(visibility: 'hub-local' | 'federated' | 'public'): Promise<void> {
    const params = { aid: this.#aid }
    await this.#calls.signed(routes.visibility, { params, body: { visibility } })
  }

  async addressOf(aid: string, signal?: AbortSignal): Promise<string | undefined> {
    const asked = this.#calls.plain(routes.address, { params: { aid }, ...present({ signal }) })
    const found = await unlessMissing(asked)
    if (found !== undefined) requireOf(aid, found.aid)
    return found?.addr
  }

  async advertise(addr: string): Promise<void> {
    await this.#calls.signed(routes.publishAddress, { params: { aid: this.#aid }, body: { addr } })
  }

  async deregister(): Promise<void> {
    await this.#calls.signed(routes.deregister, { params: { aid: this.#aid }, body: {} })
  }

  async fetchCard(aid: string): Promise<string | undefined> {
    const text = await unlessMissing(this.#calls.text(routes.card, { params: { aid } }))
    return text && canonicalText(text)
  }

  /** This wire signs no address into a card. */
  async publicUrl(): Promise<undefined> {
    return undefined
  }

  async uploadReview(): Promise<never> {
    throw new HubStopped('a hub of wire 1 takes open reviews alone, which publish task and answer')
  }

  async give({ receipt, review, request, deliverable }: OpenReviewUpload): Promise<void> {
    const body = {
      ...{ receipt: toBase64(receipt), review: toBase64(review) },
      ...{ request_doc: toBase64(request), deliverable: toBase64(deliverable) },
    }
    await this.#calls.plain(routes.reviewGive, { body }).catch(async (error: unknown) => {
      // the answer to an earlier one may have been lost, and this wire names no code for that
      const isHere = error instanceof Refused && error.status === 400 && (await this.#hasReview(receipt))
      if (!isHere) throw error
    })
  }

  async #hasReview(shared: Uint8Array): Promise<boolean> {
    const { provider, interactionId } = decodeShared(shared).receipt.body
    const found = await unlessMissing(this.#calls.plain(routes.agent, { params: { aid: provider } }))
    const id = toBase64url(interactionId)
    return found?.reviews.some(({ interaction_id }) => interaction_id === id) === true
  }

  async listAgents(query: {
    q?: string
    cap?: string
    limit: number
    cursor?: string
    signal?: AbortSignal
  }): Promise<{ agents: ListedAgent[]; next?: string }> {
    const { q, cap, cursor, signal, limit } = query
    const asked = present({ q: cap === undefined && q !== '' ? q : undefined, cap })
    const { agents } = await this.#calls.plain(routes.agents, { query: asked, ...present({ signal }) })
    const from = cursor === undefined ? 0 : Math.max(0, Number.parseInt(cursor, 10) || 0)
    const end = from + limit
    return {
      agents: agents.slice(from, end).map(agent => this.#listed(agent)),
      ...present({ next: end < agents.length ? String(end) : undefined }),
    }
  }

  #listed(agent: Entry): ListedAgent {
    const { aid, name, caps, summary, quiet = false } = agent
    return {
      ...{ aid, name, caps, summary, quiet },
      home: agent.home_hub ?? this.#identity.aid,
      lastSeenMs: agent.last_seen === undefined ? null : Date.parse(agent.last_seen),
      registeredAtMs: agent.registered_at === undefined ? 0 : Date.parse(agent.registered_at),
    }
  }

  async send(letter: OpenLetter, signal: AbortSignal): Promise<TakenLetter> {
    const { to, from, kind, interaction, payload } = letter
    const body = { to_aid: to, from_aid: from, kind, interaction_id: interaction }
    const reply = await this.#calls.plain(routes.relaySend, { body, streamed: [payload], signal })
    return reply.status === 'forwarded'
      ? { id: '', viaHub: reply.via_hub, isQuiet: false }
      : { id: reply.id, viaHub: undefined, isQuiet: reply.recipient_quiet === true }
  }

  poll(signal: AbortSignal): Promise<PolledLetter[]> {
    return poll(this.#calls, this.#inputs, signal)
  }

  async ack(ids: readonly string[]): Promise<number> {
    if (ids.length === 0) return 0
    return (await this.#calls.signed(routes.relayAck, { body: { ids: [...ids] } })).acked
  }
}

type Entry = {
  aid: string
  name: string
  caps: string[]
  summary: string
  quiet?: true | undefined
  home_hub?: string | undefined
  last_seen?: string | undefined
  registered_at?: string | undefined
}

const profileMembers = (profile: Profile | undefined) => {
  if (profile === undefined) return {}
  const { name, caps, summary, readme, pricing = '' } = profile
  // what is too long for the hub takes nothing else along
  const isShown = utf8(pricing).length <= PRICING_BYTES_MAX
  return { name, caps, summary, readme, pricing: isShown ? pricing : '' }
}

/** A card as this node marks it; what is no JSON is none. */
function canonicalText(text: string): string | undefined {
  try {
    return canonicalJson(parseJson(text))
  } catch (error) {
    if (error instanceof Malformed) return undefined
    throw error
  }
}
