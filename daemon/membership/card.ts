/** The node's own A2A card (hub API §4.3), as it is built from the profile. */
import { buildInfo } from '../../protocol/build-info.ts'
import { type CardPrices, PLAIN_TASKS, type UnsignedCard } from '../../protocol/identity/card.ts'
import { REDEEM_BINDING } from '../../protocol/identity/card-offers.ts'
import { shellWord } from '../../protocol/shell.ts'
import type { Config } from '../home/config.ts'
import type { CardBinding, HubClient } from '../hubs/hub.ts'
import { hubRow } from '../store/hubs.ts'
import type { Store } from '../store/open.ts'

const PROTOCOL_VERSION = '1.0'
const MEDIA_TYPES = ['text/plain', 'application/json']

export type Facts = Pick<Config, 'name' | 'caps' | 'summary'> & {
  aid: string
  hub: string
  baseUrl: string
  binding: CardBinding
  /** Where this node takes vouchers; undefined where it takes none. */
  voucherUrl?: string | undefined
  /** Credits of the hub, by skill. */
  prices: CardPrices
}

/** The card before its signature; every member holds something, because an empty one has no one canonical form. */
export function describeAgent(facts: Facts): UnsignedCard {
  const { name, caps, summary, aid, hub, baseUrl, binding, prices, voucherUrl } = facts
  // once a hub has had a card, one without skills of the owner's takes its place: no route takes a card back
  const skills = caps.length === 0 ? [PLAIN_TASKS] : [...new Set(caps)]
  const called = name === '' ? aid : name
  return {
    name: called,
    description: summary === '' ? `${called} takes ${binding.tasks}: ${skills.join(', ')}.` : summary,
    version: buildInfo.version,
    supportedInterfaces: [
      // A binding of its own: no A2A client speaks it, and none may take it for another.
      {
        url: `${baseUrl}${binding.path}`,
        protocolBinding: binding.binding,
        protocolVersion: PROTOCOL_VERSION,
      },
      ...redeemedAt(binding, voucherUrl),
    ],
    capabilities: {
      streaming: false,
      pushNotifications: false,
      extensions: [
        {
          uri: binding.extension,
          description: binding.description,
          params: { aid, hub, wire: binding.wire, ...(Object.keys(prices).length > 0 && { prices }) },
        },
        ...priceLists(binding, prices),
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

/** The gate for vouchers, at a hub that sells them. */
function redeemedAt({ priceList }: CardBinding, url: string | undefined) {
  if (priceList === undefined || url === undefined) return []
  return [{ url, protocolBinding: REDEEM_BINDING, protocolVersion: PROTOCOL_VERSION }]
}

/** Prices where a hub reads them from a list of their own. */
function priceLists({ priceList }: CardBinding, prices: CardPrices) {
  const listed = Object.entries(prices).map(([capability, amount]) => ({ capability, amount }))
  return priceList === undefined || listed.length === 0
    ? []
    : [{ uri: priceList, params: { prices: listed } }]
}

const skillSentence = (id: string): string =>
  id === PLAIN_TASKS ? 'A task in plain words.' : `The capability ${id}, as this agent declares it.`

const priceSentence = (price: number | undefined): string =>
  price === undefined ? '' : ` It costs ${price === 1 ? '1 credit' : `${price} credits`} of its hub.`

/** `shell` of `shell.run@build`: what capabilities of one kind have in common. */
const family = (id: string): string => /^[^.:/@]+/.exec(id)?.[0] ?? id

/** What the user should know when the hub holds no card of this node although it was given one. */
export function cardWarning(store: Store, hub: HubClient | undefined): string | undefined {
  const row = hub === undefined ? undefined : hubRow(store, hub.url)
  if (row?.cardState !== 'refused') return undefined
  return `the hub did not take the A2A card of this node, so A2A catalogs do not list it; check the profile with svc profile show and the address with svc hub-register ${shellWord(row.baseUrl ?? row.url)}`
}
