/** What the operator sees first, and the network around the hub. */
import { type Drawn, h, type Kid } from '../page/h.ts'
import type { Api, Item, Reply } from './api.ts'
import { aidOf, button, bytes, type Desk, nothing, number, type Screen, stars, tag, whole } from './parts.ts'

type Room = { api: Api; desk: Desk }
const PERCENT = 100

export class OverviewScreen implements Screen {
  readonly #room: Room
  #seen: { overview: Reply<'adminOverview'>; store: Reply<'adminStore'> } | undefined

  constructor(room: Room) {
    this.#room = room
  }

  async load(): Promise<void> {
    const { api, desk } = this.#room
    const [overview, store] = await Promise.all([api.call('adminOverview'), api.call('adminStore')])
    this.#seen = { overview, store }
    desk.redraw()
  }

  draw(): Kid {
    if (this.#seen === undefined) return nothing('Reading…')
    const { overview: hub, store } = this.#seen
    const fault = faultOf(hub.store)
    return [
      h(
        'header',
        { class: 'head' },
        h('h1', {}, 'Overview'),
        h('p', { class: 'soft' }, 'Hub ', whole(hub.hub)),
      ),
      hub.token_published &&
        h('p', { class: 'note bad' }, 'ADMIN_TOKEN can be guessed. Set another one and restart the hub.'),
      fault !== undefined && h('p', { class: 'note bad' }, fault),
      store.faults.length > 0 &&
        h('p', { class: 'note bad' }, `The store has faults: ${store.faults.join('; ')}`),
      h(
        'dl',
        { class: 'tiles' },
        tile('Agents', number(hub.agents.registered), 'with open mail', '#agents'),
        tile('Archived', number(hub.agents.archived), 'kept, and off', '#archived'),
        tile('Official', number(hub.agents.official), 'you vouch for', '#official'),
        tile('Waiting messages', number(hub.mail.messages), share(hub.mail)),
        tile('Visitors', number(hub.guests.sessions), hub.guests.open ? 'let in' : 'not let in', '#visitors'),
        tile(
          'Tasks completed',
          number(hub.tasks.completed),
          `${number(hub.tasks.cards)} on the board`,
          '#tasks',
        ),
        tile(
          'Reviews',
          number(hub.reviews.count),
          stars(hub.reviews.avg_rating, hub.reviews.count),
          '#reviews',
        ),
        tile('Credits issued', number(hub.credits.issued), `${number(hub.credits.redeemed)} redeemed`),
        tile('Peers', number(hub.peers), `${number(hub.agents.at_peers)} agents there`, '#network'),
        tile(
          'Room on the disk',
          store.room === undefined ? 'elsewhere' : bytes(store.room.disk_bytes),
          `${bytes(store.open.bytes)} of open mail`,
        ),
        tile(
          'Admission',
          hub.admission,
          hub.admission === 'closed' ? 'you let agents in' : 'anybody may join',
        ),
        tile('Release', hub.version, 'svc-hub'),
      ),
    ]
  }
}

const tile = (name: string, figure: string, says: Kid, href?: string): Drawn =>
  h(
    'div',
    {},
    h('dt', {}, href === undefined ? name : h('a', { href }, name)),
    h('dd', {}, h('strong', {}, figure), h('span', { class: 'soft' }, says)),
  )

function share({ bytes: used, bytes_max: max }: { bytes: number; bytes_max: number }): string {
  const percent = Math.floor((used / Math.max(1, max)) * PERCENT)
  return `${bytes(used)}, ${percent === 0 ? 'under 1' : percent} % of the room`
}

type Vision = Reply<'adminVision'>
type Seen = { vision: Vision; caps: Item<'adminCapabilities'>[]; told: Item<'adminDiscover'>[] }
const MARGIN = 60
const RING = { peer: 230, agent: 150, stranger: 280 } as const
const DOT = 6
const NAMED_MAX = 24

export class NetworkScreen implements Screen {
  readonly #room: Room
  #seen: Seen | undefined

  constructor(room: Room) {
    this.#room = room
  }

  async load(): Promise<void> {
    const { api, desk } = this.#room
    const [vision, caps, told] = await Promise.all([
      api.call('adminVision'),
      api.call('adminCapabilities', { query: { limit: 200 } }),
      api.call('adminDiscover', { query: { limit: 200 } }),
    ])
    this.#seen = { vision, caps: caps.items, told: told.items }
    desk.redraw()
  }

  draw(): Kid {
    const seen = this.#seen
    return [
      h(
        'header',
        { class: 'head' },
        h('h1', {}, 'Network'),
        h('p', { class: 'soft' }, 'This hub, its agents, its peers, and who reviewed whom.'),
      ),
      h(
        'div',
        { class: 'tools' },
        button('Read peers now', () => void this.#harvest()),
      ),
      seen === undefined ? nothing('Reading…') : [picture(seen.vision), this.#lists(seen)],
    ]
  }

  #lists({ caps, told }: Seen): Kid {
    return [
      h('h2', {}, 'Capabilities here'),
      caps.length === 0
        ? nothing('No agent names one.')
        : h('p', { class: 'caps' }, ...caps.map(({ cap, agents }) => tag(`${cap} · ${agents}`))),
      h('h2', {}, 'Agents that peers told of'),
      told.length === 0
        ? nothing('None yet.')
        : h(
            'ul',
            { class: 'rows' },
            ...told.map(({ aid, name, summary, home_hub: home }) =>
              h(
                'li',
                { key: aid },
                h(
                  'div',
                  { class: 'what' },
                  h('span', { class: 'name' }, h('bdi', {}, name || 'without a name')),
                  h('div', { class: 'soft' }, aidOf(aid), ' at ', aidOf(home), ' ', h('bdi', {}, summary)),
                ),
              ),
            ),
          ),
    ]
  }

  async #harvest(): Promise<void> {
    const { api, desk } = this.#room
    await desk.attempt(async () => {
      const { peers } = await api.call('adminHarvest')
      const reached = peers.filter(one => one.reached).length
      desk.say(
        peers.length === 0 ? 'This hub has no peers.' : `${reached} of ${peers.length} peers answered.`,
      )
      await this.load()
    })
  }
}

/** The hub in the middle, its agents around it, peers and others outside. */
function picture({ nodes, edges, truncated }: Vision): Kid {
  const at = new Map<string, { x: number; y: number }>()
  for (const kind of ['agent', 'peer', 'stranger'] as const) {
    const ring = nodes.filter(node => node.kind === kind)
    for (const [n, { id }] of ring.entries()) {
      const angle = (n / ring.length) * 2 * Math.PI - Math.PI / 2
      at.set(id, { x: RING[kind] * Math.cos(angle), y: RING[kind] * Math.sin(angle) })
    }
  }
  for (const { id, kind } of nodes) if (kind === 'hub') at.set(id, { x: 0, y: 0 })
  const lines = edges.flatMap(({ from, to, kind, count }) => {
    const [a, b] = [at.get(from), at.get(to)]
    if (a === undefined || b === undefined) return []
    const title = kind === 'review' ? [h('title', {}, `${count} reviews`)] : []
    return [h('line', { class: kind, x1: a.x, y1: a.y, x2: b.x, y2: b.y }, ...title)]
  })
  const areNamed = nodes.length <= NAMED_MAX
  const dots = nodes.map(({ id, kind, name }) => {
    const { x, y } = at.get(id) ?? { x: 0, y: 0 }
    return h(
      'g',
      { class: kind },
      h('circle', { cx: x, cy: y, r: kind === 'hub' ? 2 * DOT : DOT }, h('title', {}, `${name} ${id}`)),
      areNamed && h('text', { x, y: y - 2 * DOT - (kind === 'hub' ? DOT : 0) }, label(name, id)),
    )
  })
  const count = (kind: string) => nodes.filter(node => node.kind === kind).length
  const words = `${count('agent')} agents here, ${count('peer')} peers, ${count('stranger')} others in reviews`
  return h(
    'figure',
    {},
    h('svg', { viewBox: around([...at.values()]), role: 'img', 'aria-label': words }, ...lines, ...dots),
    h('figcaption', { class: 'soft' }, words, truncated ? '; more are there than are drawn' : ''),
  )
}

/** What the operator is told of a store that does not take everything. */
function faultOf({ full, locked, away, broken }: Reply<'adminOverview'>['store']): string | undefined {
  if (broken) return 'The store failed.'
  if (away) return 'The database is away.'
  if (full) return 'The disk is full.'
  return locked ? 'The store is locked.' : undefined
}

/** Just what is drawn, and room for labels. */
function around(points: { x: number; y: number }[]): string {
  const far = Math.max(0, ...points.map(({ x, y }) => Math.hypot(x, y))) + MARGIN
  return `${-far} ${-far} ${2 * far} ${2 * far}`
}

const LABEL_MAX = 18
const label = (name: string, id: string): string => [...(name || id)].slice(0, LABEL_MAX).join('')
