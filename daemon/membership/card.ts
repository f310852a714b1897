/**
 * The node's own A2A card (hub API §4.3): built from the profile, signed for its hub under the present key, and what the
 * hub is known to hold of it. A node without capabilities offers nothing to strangers and has no card.
 */
import { sha256 } from '#crypto'
import { buildInfo } from '../../protocol/build-info.ts'
import { equal, utf8 } from '../../protocol/encoding/bytes.ts'
import {
  type AgentCard,
  type CardPrices,
  cardText,
  PLAIN_TASKS,
  signCard,
  type UnsignedCard,
} from '../../protocol/identity/card.ts'
import { shellWord } from '../../protocol/shell.ts'
import type { Context } from '../context.ts'
import type { Config } from '../home/config.ts'
import type { CardBinding, HubClient } from '../hubs/hub.ts'
import { forgetCard, hubRow, noteBaseUrl, noteCardAnswer, noteCardSeen } from '../store/hubs.ts'

type Needs = Pick<Context, 'identity' | 'store' | 'settings' | 'modules' | 'now'>

const PROTOCOL_VERSION = '1.0'
const MEDIA_TYPES = ['text/plain', 'application/json']
/** How often the node looks whether its hub still serves the card. */
const LOOK_MS = 60 * 60_000

type Facts = Pick<Config, 'name' | 'caps' | 'summary'> & {
  aid: string
  hub: string
  baseUrl: string
  binding: CardBinding
  /** Credits of the hub, by skill. */
  prices: CardPrices
}

/** The card before its signature; every member holds something, because an empty one has no one canonical form. */
export function describeAgent(facts: Facts): UnsignedCard {
  const { name, caps, summary, aid, hub, baseUrl, binding, prices } = facts
  // once a hub has had a card, one without skills of the owner's takes its place: no route takes a card back
  const skills = caps.length === 0 ? [PLAIN_TASKS] : [...new Set(caps)]
  const called = name === '' ? aid : name
  return {
    name: called,
    description: summary === '' ? `${called} takes sealed tasks: ${skills.join(', ')}.` : summary,
    version: buildInfo.version,
    supportedInterfaces: [
      // A binding of its own: no A2A client speaks it, and none may take it for another.
      {
        url: `${baseUrl}${binding.path}`,
        protocolBinding: binding.binding,
        protocolVersion: PROTOCOL_VERSION,
      },
    ],
    capabilities: {
      streaming: false,
      pushNotifications: false,
      extensions: [
        {
          uri: binding.extension,
          description: 'Reached by sealed envelopes through its hub; the address is the AID.',
          params: { aid, hub, wire: binding.wire, ...(Object.keys(prices).length > 0 && { prices }) },
        },
      ],
    },
    defaultInputModes: MEDIA_TYPES,
    defaultOutputModes: MEDIA_TYPES,
    skills: skills.map(id => ({
      id,
      name: id,
      description: `${skillSentence(id)}${priceSentence(prices[id])}`,
      tags: [family(id)],
    })),
  }
}

const skillSentence = (id: string): string =>
  id === PLAIN_TASKS ? 'A task in plain words.' : `The capability ${id}, as this agent declares it.`

const priceSentence = (price: number | undefined): string =>
  price === undefined ? '' : ` It costs ${price === 1 ? '1 credit' : `${price} credits`} of its hub.`

/** `shell` of `shell.run@build`: what capabilities of one kind have in common. */
const family = (id: string): string => /^[^.:/@]+/.exec(id)?.[0] ?? id

/** The card that a hub should hold now; undefined when the node wants none there. */
export function ownCard(ctx: Needs, hub: HubClient): AgentCard | undefined {
  const row = hubRow(ctx.store, hub.url)
  const { name, summary } = ctx.settings.current
  const caps = ctx.modules.offered()
  const wasGiven = row?.cardState != null
  if (caps.length === 0 && !wasGiven) return undefined
  const { identity } = ctx
  const baseUrl = row?.baseUrl ?? hub.url
  const { aid } = hub.identity
  const prices = pricesOf(ctx, caps)
  const facts = {
    name,
    caps,
    summary,
    aid: identity.aid,
    hub: aid,
    baseUrl,
    binding: hub.cardBinding,
    prices,
  }
  return signedOnce(identity, facts)
}

function pricesOf({ modules }: Needs, caps: readonly string[]): CardPrices {
  const priced = [PLAIN_TASKS, ...caps].map(what => [what, modules.priceOf(what)] as const)
  return Object.fromEntries(priced.filter(([, price]) => price !== undefined)) as CardPrices
}

/** The newest card of each identity that this process holds: every round of the node asks for it. */
const signed = new WeakMap<Context['identity'], { of: string; card: AgentCard }>()

function signedOnce(identity: Context['identity'], facts: Facts): AgentCard {
  const { aid, log, seed } = identity
  const of = JSON.stringify([facts, log.seq])
  const made = signed.get(identity)
  if (made?.of === of) return made.card
  const card = signCard(describeAgent(facts), { seed, aid, seq: log.seq, baseUrl: facts.baseUrl })
  signed.set(identity, { of, card })
  return card
}

/** Whether a hub has still to be given the card, or has answered another one. */
export function isCardDue(ctx: Needs, hub: HubClient): boolean {
  const card = ownCard(ctx, hub)
  if (card === undefined) return false
  const known = hubRow(ctx.store, hub.url)?.card
  return known == null || !equal(known, markOf(card))
}

/** Notes what the hub said to a card. */
export function noteCard(ctx: Needs, hub: HubClient, card: AgentCard, status: string): void {
  const cardState = status === 'refused' ? 'refused' : 'stored'
  noteCardAnswer(ctx.store, hub.url, { card: markOf(card), cardState, now: ctx.now() })
}

const markOf = (card: AgentCard): Uint8Array => sha256(utf8(cardText(card)))

/**
 * Takes over the address that the hub gives itself, which a card has to name; false when that is no news. Behind a proxy
 * it differs from the one that this node uses.
 */
export async function learnAddress(ctx: Needs, hub: HubClient): Promise<boolean> {
  const used = hubRow(ctx.store, hub.url)?.baseUrl ?? hub.url
  const told = await hub.publicUrl()
  if (told === undefined || told === used) return false
  noteBaseUrl(ctx.store, hub.url, told)
  return true
}

/** Looks now and then whether the card is served: a hub that moved or was restored may have it no more. */
export async function watchCard(ctx: Needs, hub: HubClient): Promise<void> {
  const row = hubRow(ctx.store, hub.url)
  if (row?.cardState !== 'stored' || ctx.now() - (row.cardSeenAt ?? 0) < LOOK_MS) return
  const served = await hub.fetchCard(ctx.identity.aid)
  const isThere = served !== undefined && row.card !== null && equal(row.card, sha256(utf8(served)))
  const note = isThere ? noteCardSeen : forgetCard
  note(ctx.store, hub.url, ctx.now())
}

/** What the user should know when the hub holds no card of this node although it was given one. */
export function cardWarning(ctx: Needs, hub: HubClient | undefined): string | undefined {
  const row = hub === undefined ? undefined : hubRow(ctx.store, hub.url)
  if (row?.cardState !== 'refused') return undefined
  return `the hub did not take the A2A card of this node, so A2A catalogs do not list it; check the profile with svc profile show and the address with svc hub-register ${shellWord(row.baseUrl ?? row.url)}`
}
