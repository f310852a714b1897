/**
 * Who one has worked with: oneself in the middle, on the inner ring those with whom a receipt was signed, outside the
 * others. Places follow from the addresses alone, so that the same facts give the same picture.
 */
import { isQuote, peerName } from '../../../view/sentences.ts'
import type { View } from '../../../view/state.ts'
import type { App } from '../app.ts'
import { type Drawn, h } from '../h.ts'
import { cut, picture } from './frame.ts'

const SHOWN_MAX = 40
const SIZE = 400
const HEIGHT = 350
const MIDDLE = SIZE / 2
const CENTRE = HEIGHT / 2
const RINGS = [78, 138] as const

export type Peer = {
  aid: string
  name: string
  isContact: boolean
  tasks: number
  receipts: number
  /** Of the ratings that were given here. */
  rated: number[]
}

/** Everybody of whom a task or a name is here, those with most receipts first; equal ones by address. */
export function peersOf({ interactions, contacts }: Pick<View, 'interactions' | 'contacts'>): Peer[] {
  const peers = new Map<string, Peer>()
  const at = (aid: string, name: string, isContact: boolean): Peer => {
    const known = peers.get(aid) ?? { aid, name, isContact, tasks: 0, receipts: 0, rated: [] }
    peers.set(aid, known)
    return known
  }
  for (const one of contacts ?? [])
    if (!one.blocked) at(one.aid, peerName({ peer: one.aid, peer_name: one.petname }), true)
  for (const item of interactions.values()) {
    const peer = at(item.peer, peerName(item), item.peer_name !== null)
    // a price that was asked is no task, and nothing is proven by it
    if (isQuote(item)) continue
    peer.tasks += 1
    if (item.receipt?.verified === true) peer.receipts += 1
    if (item.rating !== undefined) peer.rated.push(item.rating)
  }
  return [...peers.values()].sort(
    (a, b) => b.receipts - a.receipts || b.tasks - a.tasks || (a.aid < b.aid ? -1 : 1),
  )
}

export type TrustNode = Peer & { x: number; y: number; ring: number }

/** Where each stands: around by the order of addresses, evenly, the first one on top; on its ring by what is proven. */
export function placesOf(peers: readonly Peer[]): TrustNode[] {
  const shown = peers.slice(0, SHOWN_MAX).sort((a, b) => (a.aid < b.aid ? -1 : 1))
  return shown.map((peer, i) => {
    const ring = peer.receipts > 0 ? 0 : 1
    const turn = (i / shown.length) * 2 * Math.PI - Math.PI / 2
    const [x, y] = [MIDDLE + RINGS[ring] * Math.cos(turn), CENTRE + RINGS[ring] * Math.sin(turn)]
    return { ...peer, ring, x: Math.round(x * 10) / 10, y: Math.round(y * 10) / 10 }
  })
}

export function trustPicture(app: App): Drawn | undefined {
  const peers = peersOf(app.view)
  if (peers.length === 0) return undefined
  const places = placesOf(peers)
  const left = peers.length - places.length
  const proven = peers.filter(({ receipts }) => receipts > 0).length
  const more = left > 0 ? ` ${left} more stand in the table.` : ''
  return picture(
    {
      id: 'trust',
      title: 'Who you have worked with',
      says: `${peers.length} in all, ${proven} with a receipt that both of you signed. A thicker line is more tasks.${more}`,
      width: SIZE,
      height: HEIGHT,
      table: {
        heads: ['Who', 'Tasks', 'Receipts of both', 'Your ratings'],
        rows: peers.map(({ name, tasks, receipts, rated }) => [
          name,
          tasks,
          receipts,
          rated.length === 0 ? '' : rated.join(', '),
        ]),
      },
    },
    RINGS.map((radius, i) =>
      h('circle', { key: `ring-${i}`, class: 'ring', cx: MIDDLE, cy: CENTRE, r: radius }),
    ),
    places.map(place => edge(place)),
    places.map(place => dot(place)),
    h('circle', { key: 'me', class: 'me', cx: MIDDLE, cy: CENTRE, r: 22 }),
    h('text', { key: 'me-name', x: MIDDLE, y: CENTRE + 5, class: 'glyph' }, 'you'),
  )
}

const edge = ({ aid, x, y, tasks, receipts }: TrustNode): Drawn =>
  h('line', {
    key: `edge-${aid}`,
    class: `edge ${receipts > 0 ? 'good' : tasks > 0 ? 'wait' : 'none'}`,
    'stroke-width': Math.min(1 + Math.log2(tasks + 1), 7).toFixed(1),
    x1: MIDDLE,
    y1: CENTRE,
    x2: x,
    y2: y,
  })

function dot({ aid, name, x, y, receipts, isContact, ring }: TrustNode): Drawn {
  const isBelow = y >= CENTRE
  return h(
    'g',
    { key: `dot-${aid}` },
    h('circle', {
      class: `dot ${receipts > 0 ? 'good' : 'wait'}${isContact ? '' : ' stranger'}`,
      cx: x,
      cy: y,
      r: ring === 0 ? 10 : 8,
    }),
    h('text', { x, y: isBelow ? y + 24 : y - 14, class: 'label' }, cut(name, 14)),
  )
}
