/** Agents that the operator vouches for: badge, place, switches, whom they hear, their figures and ratings by month. */
import { type Drawn, h, type Kid } from '../page/h.ts'
import type { Api, Item, Reply } from './api.ts'
import { aidOf, button, type Desk, nothing, number, type Screen, stars, tag, time } from './parts.ts'

type Official = Item<'adminOfficial'>
type Room = { api: Api; desk: Desk }

const MONITORS = ['mail', 'guests', 'credits', 'reviews'] as const
const RATING_MAX = 5

export class OfficialScreen implements Screen {
  readonly #room: Room
  #items: Official[] | undefined
  /** The one whose figures are shown, once they are there. */
  #looked: { id: string; figures: [string, string][]; insights: Reply<'adminInsights'> } | undefined

  constructor(room: Room) {
    this.#room = room
  }

  async load(): Promise<void> {
    const { api, desk } = this.#room
    this.#items = (await api.call('adminOfficial')).items
    desk.redraw()
  }

  draw(): Kid {
    const items = this.#items
    return [
      h(
        'header',
        { class: 'head' },
        h('h1', {}, 'Official agents'),
        h('p', { class: 'soft' }, 'Agents that you vouch for, in the order of their places.'),
      ),
      h(
        'div',
        { class: 'tools' },
        button('Vouch for an agent', () => void this.#add()),
      ),
      items === undefined
        ? nothing('Reading…')
        : items.length === 0
          ? nothing('You vouch for no agent yet.')
          : h('ul', { class: 'rows' }, ...items.map(item => h('li', { key: item.id }, this.#row(item)))),
    ]
  }

  #row(item: Official): Kid {
    const named = item.name || item.id
    const act = (text: string, work: (item: Official) => Promise<void>, kind = '') =>
      button(text, () => void work.call(this, item), { class: kind, 'aria-label': `${text}: ${named}` })
    return [
      h(
        'div',
        { class: 'what' },
        h('a', { class: 'name', href: `#agents/${item.aid}` }, h('bdi', {}, item.name || 'without a name')),
        tag(item.badge || 'official', 'mine'),
        !item.registered && tag('not here', 'bad'),
        !item.listed && tag('not listed', 'wait'),
        h('div', { class: 'soft' }, aidOf(item.aid), ` place ${item.place}, since `, time(item.added_at)),
        h('div', { class: 'soft' }, heard(item)),
      ),
      h('div', { class: 'figures' }, h('span', { class: 'soft' }, `${item.guest_messages} for a visitor`)),
      h(
        'div',
        { class: 'acts' },
        act('Figures', this.#look),
        act('Badge', this.#badge),
        act('Place', this.#place),
        act(item.listed ? 'Hide' : 'List', this.#switch),
        act('Senders', this.#senders),
        act(item.acl.visitors ? 'No visitors' : 'Take visitors', this.#visitors),
        act('Remove', this.#remove, 'bad'),
      ),
      this.#looked?.id === item.id && this.#figures(),
    ]
  }

  #figures(): Drawn | undefined {
    if (this.#looked === undefined) return undefined
    const { figures, insights } = this.#looked
    return h(
      'section',
      { class: 'wide' },
      h('dl', { class: 'facts' }, ...figures.map(([name, value]) => [h('dt', {}, name), h('dd', {}, value)])),
      h('h2', {}, 'Ratings by month'),
      insights.months.length === 0 ? nothing('No reviews yet.') : chart(insights),
    )
  }

  #look = async ({ id }: Official): Promise<void> => {
    const { api, desk } = this.#room
    if (this.#looked?.id === id) {
      this.#looked = undefined
      return desk.redraw()
    }
    await desk.attempt(async () => {
      const [insights, ...all] = await Promise.all([
        api.call('adminInsights', { params: { id } }),
        ...MONITORS.map(what => api.call('adminMonitor', { params: { id, what } })),
      ])
      const figures = all.flatMap(({ what, figures: own }) =>
        Object.entries(own).map(([name, value]): [string, string] => [
          `${what}: ${name.replaceAll('_', ' ')}`,
          typeof value === 'number' ? number(value) : String(value),
        ]),
      )
      this.#looked = { id, figures, insights }
      desk.redraw()
    })
  }

  async #add(): Promise<void> {
    const aid = await this.#room.desk.ask({
      title: 'Vouch for which agent?',
      text: 'Give its AID, 44 characters that begin with A.',
      yes: 'Vouch',
      field: 'AID',
    })
    if (aid !== undefined)
      await this.#changed(async api => void (await api.call('adminVouch', { body: { aid: aid.trim() } })))
  }

  #badge = async ({ id, badge }: Official): Promise<void> => {
    const given = await this.#room.desk.ask({
      title: 'What does its badge say?',
      text: 'One line that stands beside its name.',
      yes: 'Set',
      field: 'Badge',
      value: badge,
    })
    if (given !== undefined) await this.#ops(id, { badge: given })
  }

  #place = async ({ id, place }: Official): Promise<void> => {
    const given = await this.#room.desk.ask({
      title: 'Which place does it take?',
      text: 'A number from 0; lower ones come first.',
      yes: 'Set',
      field: 'Place',
      value: String(place),
    })
    if (given !== undefined) await this.#ops(id, { place: Number(given.trim() === '' ? Number.NaN : given) })
  }

  #switch = async ({ id, listed }: Official): Promise<void> => await this.#ops(id, { listed: !listed })

  #senders = async (item: Official): Promise<void> => {
    const given = await this.#room.desk.ask({
      title: `Whose mail reaches ${item.name || 'this agent'}?`,
      text: 'AIDs with spaces between them, or nothing for anybody. Nobody signs a message of wire 1, so this keeps out mistakes, and no liar.',
      yes: 'Set',
      field: 'Senders',
      value: item.acl.senders === 'named' ? item.acl.aids.join(' ') : '',
    })
    if (given === undefined) return
    const aids = given.split(/[\s,]+/).filter(word => word !== '')
    await this.#acl(item, { senders: aids.length === 0 ? 'anybody' : 'named', aids })
  }

  #visitors = async (item: Official): Promise<void> => await this.#acl(item, { visitors: !item.acl.visitors })

  #acl = async ({ id, acl }: Official, change: Partial<Official['acl']>): Promise<void> =>
    await this.#changed(
      async api => void (await api.call('adminAcl', { params: { id }, body: { ...acl, ...change } })),
    )

  #remove = async ({ id, name }: Official): Promise<void> => {
    const yes = await this.#room.desk.ask({
      title: `Vouch for ${name || 'this agent'} no longer?`,
      text: 'Its badge goes, and anybody may write to it. The agent stays as it is.',
      yes: 'Remove',
      isSharp: true,
    })
    if (yes !== undefined)
      await this.#changed(async api => void (await api.call('adminUnvouch', { params: { id } })))
  }

  #ops = async (id: string, body: { badge?: string; place?: number; listed?: boolean }): Promise<void> =>
    await this.#changed(async api => void (await api.call('adminOps', { params: { id }, body })))

  async #changed(work: (api: Api) => Promise<void>): Promise<void> {
    const { api, desk } = this.#room
    await desk.attempt(async () => {
      await work(api)
      desk.say('It is set.')
      await this.load()
    })
  }
}

const heard = ({ acl }: Official): string =>
  `Hears ${acl.senders === 'anybody' ? 'anybody' : `${acl.aids.length} named senders`}, ${
    acl.visitors ? 'takes visitors' : 'takes no visitors'
  }`

/** Each month as a bar, with its figures as text: a picture alone tells a screen reader nothing. */
const chart = ({ months, truncated, reviews, avg_rating }: Reply<'adminInsights'>): Kid => [
  h('p', {}, stars(avg_rating, reviews), truncated ? ', of which the first 10,000 are shown' : ''),
  h(
    'table',
    { class: 'months' },
    h('thead', {}, h('tr', {}, h('th', {}, 'Month'), h('th', {}, 'Average'), h('th', {}, 'Reviews'))),
    h(
      'tbody',
      {},
      ...months.map(month =>
        h(
          'tr',
          { key: month.month },
          h('td', {}, month.month),
          h(
            'td',
            {},
            h('meter', { min: 0, max: RATING_MAX, value: month.avg_rating, 'aria-hidden': 'true' }),
            ` ${month.avg_rating.toFixed(1)}`,
          ),
          h('td', {}, number(month.reviews)),
        ),
      ),
    ),
  ),
]
