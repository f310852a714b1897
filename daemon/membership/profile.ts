/**
 * What this node says of itself at a hub: its profile, and a card that is signed for the hub under the present key. A node
 * without capabilities offers nothing to strangers and has no card.
 */
import { sha256 } from '#crypto'
import { equal, utf8 } from '../../protocol/encoding/bytes.ts'
import {
  type AgentCard,
  type CardPrices,
  cardText,
  PLAIN_TASKS,
  signCard,
  type UnsignedCard,
} from '../../protocol/identity/card.ts'
import { signOpenCard } from '../../protocol/identity/open-card.ts'
import type { Served } from '../context.ts'
import type { Settings } from '../home/settings.ts'
import type { HubClient, Profile } from '../hubs/hub.ts'
import type { Identity } from '../identity/identity.ts'
import { forgetCard, hubRow, noteBaseUrl, noteCardAnswer, noteCardSeen } from '../store/hubs.ts'
import type { Store } from '../store/open.ts'
import { describeAgent, type Facts } from './card.ts'

/** How often the node looks whether its hub still serves the card. */
const LOOK_MS = 60 * 60_000

export class OwnProfile {
  readonly #identity: Identity
  readonly #store: Store
  readonly #settings: Settings
  readonly #modules: Served
  readonly #now: () => number
  /** The newest card: every round of the node asks for it. */
  #signed: { of: string; card: AgentCard } | undefined

  constructor(
    parts: { identity: Identity; store: Store; settings: Settings; modules: Served },
    now: () => number,
  ) {
    this.#identity = parts.identity
    this.#store = parts.store
    this.#settings = parts.settings
    this.#modules = parts.modules
    this.#now = now
  }

  get current(): Profile {
    const { name, summary, readme, pricing, guest_messages: guestMessages } = this.#settings.current
    return { name, caps: this.#modules.offered(), summary, readme, pricing, guestMessages }
  }

  /** Who may see this node in the directory; undefined where that was never chosen. */
  get visibility() {
    return this.#settings.current.visibility
  }

  /** The card that a hub should hold now; undefined when the node wants none there. */
  card(hub: HubClient): AgentCard | undefined {
    const row = hubRow(this.#store, hub.url)
    const { name, caps, summary } = this.current
    const wasGiven = row?.cardState != null
    if (caps.length === 0 && !wasGiven) return undefined
    const facts = {
      name,
      caps,
      summary,
      aid: this.#identity.aid,
      hub: hub.identity.aid,
      baseUrl: row?.baseUrl ?? hub.url,
      binding: hub.cardBinding,
      prices: this.#pricesOf(caps),
      voucherUrl: this.#settings.current.voucher_url,
    }
    return this.#signedOnce(facts, card =>
      hub.openMail === undefined
        ? signCard(card, { ...this.#signer, baseUrl: facts.baseUrl })
        : signOpenCard(card, { ...this.#signer, number: hub.timeMs }),
    )
  }

  get #signer() {
    const { aid, log, seed } = this.#identity
    return { seed, aid, seq: log.seq }
  }

  #pricesOf(caps: readonly string[]): CardPrices {
    const priced = [PLAIN_TASKS, ...caps].map(what => [what, this.#modules.priceOf(what)] as const)
    return Object.fromEntries(priced.filter(([, price]) => price !== undefined)) as CardPrices
  }

  #signedOnce(facts: Facts, sign: (card: UnsignedCard) => AgentCard): AgentCard {
    const of = JSON.stringify([facts, this.#signer.seq])
    if (this.#signed?.of === of) return this.#signed.card
    const card = sign(describeAgent(facts))
    this.#signed = { of, card }
    return card
  }

  /** Whether a hub has still to be given the card, or has answered another one. */
  isCardDue(hub: HubClient): boolean {
    const card = this.card(hub)
    if (card === undefined) return false
    const known = hubRow(this.#store, hub.url)?.card
    return known == null || !equal(known, markOf(card))
  }

  /** Notes what the hub said to a card. */
  noteCard(hub: HubClient, card: AgentCard, status: string): void {
    const cardState = status === 'refused' ? 'refused' : 'stored'
    noteCardAnswer(this.#store, hub.url, { card: markOf(card), cardState, now: this.#now() })
  }

  /**
   * Takes over the address that the hub gives itself, which a card has to name; false when that is no news. Behind a
   * proxy it differs from the one that this node uses.
   */
  async learnAddress(hub: HubClient): Promise<boolean> {
    const used = hubRow(this.#store, hub.url)?.baseUrl ?? hub.url
    const told = await hub.publicUrl()
    if (told === undefined || told === used) return false
    noteBaseUrl(this.#store, hub.url, told)
    return true
  }

  /** Looks now and then whether the card is served: a hub that moved or was restored may have it no more. */
  async watchCard(hub: HubClient): Promise<void> {
    const row = hubRow(this.#store, hub.url)
    if (row?.cardState !== 'stored' || this.#now() - (row.cardSeenAt ?? 0) < LOOK_MS) return
    const served = await hub.fetchCard(this.#identity.aid)
    const isThere = served !== undefined && row.card !== null && equal(row.card, sha256(utf8(served)))
    const note = isThere ? noteCardSeen : forgetCard
    note(this.#store, hub.url, this.#now())
  }
}

const marks = new WeakMap<AgentCard, Uint8Array>()

/** What a hub keeps of a card; every round asks for that of the same one. */
function markOf(card: AgentCard): Uint8Array {
  const known = marks.get(card) ?? sha256(utf8(cardText(card)))
  marks.set(card, known)
  return known
}
