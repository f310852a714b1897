/** Agents with open mail: found, listed or not, archived and brought back; one of them whole. */
import { h, type Kid } from '../page/h.ts'
import type { Api, Item, Reply } from './api.ts'
import { List } from './list.ts'
import {
  aidOf,
  button,
  type Desk,
  day,
  nothing,
  number,
  type Screen,
  stars,
  tag,
  time,
  whole,
} from './parts.ts'

type Agent = Item<'adminAgents'>
type Room = { api: Api; desk: Desk }

const LIVENESS: Record<Agent['liveness'], [text: string, kind: string]> = {
  unknown: ['never polled', ''],
  awake: ['awake', 'good'],
  quiet: ['quiet', 'wait'],
  abandoned: ['abandoned', 'bad'],
}
const SEARCH = 'agent-search'
const WAIT_MS = 250

/** The tab of all agents, or of one where the address names it. */
export class AgentsScreen implements Screen {
  readonly searchId = SEARCH
  readonly #room: Room
  readonly #list: List<'adminAgents'>
  #words = ''
  #timer: number | undefined
  /** The one that is shown whole. */
  #aid: string | undefined
  #agent: Reply<'adminAgent'>['agent'] | undefined

  constructor(room: Room) {
    this.#room = room
    this.#list = new List(
      room,
      'adminAgents',
      {
        title: 'Agents',
        says: 'All whose mail this hub can read. Agents with sealed mail do not show here.',
        empty: 'No agent matches.',
        row: agent => this.#row(agent),
        tools: reload => this.#search(reload),
        keyOf: ({ aid }) => aid,
      },
      () => ({ q: this.#words }),
    )
  }

  /** Shows one agent whole, or all. */
  show(aid: string | undefined): void {
    if (aid !== this.#aid) this.#agent = undefined
    this.#aid = aid
  }

  async load(): Promise<void> {
    const { api, desk } = this.#room
    if (this.#aid === undefined) return await this.#list.load()
    const { agent } = await api.call('adminAgent', { params: { aid: this.#aid } })
    this.#agent = agent
    desk.redraw()
  }

  draw(): Kid {
    if (this.#aid === undefined) return this.#list.draw()
    return this.#agent === undefined ? nothing('Reading…') : this.#whole(this.#agent)
  }

  #search(reload: () => void): Kid {
    const oninput = (event: Event) => {
      this.#words = (event.target as HTMLInputElement).value
      clearTimeout(this.#timer)
      this.#timer = setTimeout(reload, WAIT_MS) as unknown as number
    }
    return h(
      'form',
      { class: 'tools', role: 'search', onsubmit: event => event.preventDefault() },
      h('label', { for: SEARCH }, 'Find an agent'),
      h('input', {
        ...{ id: SEARCH, type: 'search', value: this.#words, autocomplete: 'off', spellcheck: 'false' },
        ...{ placeholder: 'name, AID, capability, words', oninput },
      }),
    )
  }

  #row(agent: Agent): Kid {
    const [text, kind] = LIVENESS[agent.liveness]
    return [
      h(
        'div',
        { class: 'what' },
        h(
          'a',
          { class: 'name', href: `#agents/${agent.aid}` },
          h('bdi', {}, agent.name === '' ? 'without a name' : agent.name),
        ),
        agent.badge !== undefined && tag(agent.badge === '' ? 'official' : agent.badge, 'mine'),
        !agent.listed && tag('not listed', 'wait'),
        tag(text, kind),
        h('div', { class: 'soft' }, aidOf(agent.aid), ' ', h('bdi', {}, agent.summary)),
        h('div', { class: 'caps' }, ...agent.caps.map(cap => tag(cap))),
      ),
      h(
        'div',
        { class: 'figures' },
        h('span', {}, stars(agent.avg_rating, agent.review_count)),
        h('span', { class: 'soft' }, `${number(agent.waiting)} waiting`),
      ),
      this.#acts(agent),
    ]
  }

  #acts(agent: Agent): Kid {
    const named = agent.name === '' ? agent.aid : agent.name
    return h(
      'div',
      { class: 'acts' },
      button(agent.listed ? 'Hide' : 'List', () => void this.#list1(agent), {
        'aria-label': `${agent.listed ? 'Hide' : 'List'} ${named}`,
      }),
      button(`Visitors: ${agent.guest_messages}`, () => void this.#quota(agent), {
        'aria-label': `Visitors: ${agent.guest_messages}, of ${named}`,
      }),
      button('Vouch', () => void this.#vouch(agent), { 'aria-label': `Vouch for ${named}` }),
      button('Archive', () => void this.#archive(agent), { class: 'bad', 'aria-label': `Archive ${named}` }),
    )
  }

  #whole(agent: Reply<'adminAgent'>['agent']): Kid {
    const rows: [string, Kid][] = [
      ['AID', whole(agent.aid)],
      ['Summary', h('bdi', {}, agent.summary)],
      ['Capabilities', agent.caps.map(cap => tag(cap))],
      ['Price', h('bdi', {}, agent.pricing)],
      ['Registered', day(agent.registered_at)],
      ['Last asked for mail', time(agent.last_seen)],
      ['Waiting messages', number(agent.waiting)],
      ['Rating', stars(agent.avg_rating, agent.review_count)],
      ['Visibility', agent.visibility],
      ['Direct address', agent.address ?? 'none'],
      ['Key events', number(agent.key_events)],
      ['Signed card', agent.has_card ? 'yes' : 'no'],
      ['Credits', `${number(agent.credits.balance)}, and ${number(agent.credits.held)} held`],
    ]
    const { archived } = agent
    return [
      h('p', {}, h('a', { href: '#agents' }, 'All agents')),
      h(
        'header',
        { class: 'head' },
        h('h1', {}, h('bdi', {}, agent.name === '' ? 'without a name' : agent.name)),
      ),
      archived !== undefined &&
        h(
          'p',
          { class: 'note bad' },
          'Archived ',
          time(archived.at),
          archived.reason && `: ${archived.reason}`,
        ),
      archived === undefined
        ? this.#acts(agent)
        : h(
            'div',
            { class: 'acts' },
            button('Restore', () => void restored(this.#room, agent, () => this.load())),
          ),
      h('dl', { class: 'facts' }, ...rows.map(([name, value]) => [h('dt', {}, name), h('dd', {}, value)])),
      agent.readme !== '' && h('pre', { class: 'readme' }, agent.readme),
    ]
  }

  async #list1({ aid, name, listed }: Agent): Promise<void> {
    const { api, desk } = this.#room
    const reason = await desk.ask({
      title: listed ? `Hide ${name || 'this agent'}?` : `List ${name || 'this agent'}?`,
      text: listed
        ? 'Listings and visitors no longer find it. Whoever knows its AID or capability still does.'
        : 'Listings show it again.',
      yes: listed ? 'Hide' : 'List',
      field: 'Reason, for the audit',
    })
    if (reason === undefined) return
    await desk.attempt(async () => {
      await api.call('adminModerate', { params: { aid }, body: { listed: !listed, reason } })
      desk.say(listed ? 'It is not listed any more.' : 'It is listed.')
      await this.load()
    })
  }

  async #quota({ aid, name, guest_messages: held }: Agent): Promise<void> {
    const { api, desk } = this.#room
    const given = await desk.ask({
      title: `How many messages of a visitor does ${name || 'this agent'} take?`,
      text: 'From 0, which takes no visitors, to 100. The agent sets this anew when it registers again.',
      yes: 'Set',
      field: 'Messages',
      value: String(held),
    })
    if (given === undefined) return
    await desk.attempt(async () => {
      const body = { guest_messages: Number(given.trim() === '' ? Number.NaN : given) }
      await api.call('adminQuota', { params: { aid }, body })
      desk.say(`It takes ${given} messages of a visitor.`)
      await this.load()
    })
  }

  async #vouch({ aid, name, badge }: Agent): Promise<void> {
    const { api, desk } = this.#room
    const given = await desk.ask({
      title: `Vouch for ${name || 'this agent'}?`,
      text: 'It becomes an official agent of this hub, under this badge.',
      yes: 'Vouch',
      field: 'Badge',
      value: badge ?? 'official',
    })
    if (given === undefined) return
    await desk.attempt(async () => {
      await api.call('adminVouch', { body: { aid, badge: given } })
      desk.say('It is an official agent of this hub.')
      await this.load()
    })
  }

  async #archive({ aid, name, waiting }: Agent): Promise<void> {
    const { api, desk } = this.#room
    const reason = await desk.ask({
      title: `Archive ${name || 'this agent'}?`,
      text: `Nobody finds or reaches it, and it does not come back by itself. Its ${number(waiting)} waiting messages, credits and reviews are kept. Restoring it brings all back.`,
      yes: 'Archive',
      field: 'Reason, for the audit',
      isSharp: true,
    })
    if (reason === undefined) return
    await desk.attempt(async () => {
      await api.call('adminArchive', { params: { aid }, query: { reason } })
      desk.say('It is archived.')
      if (this.#aid !== undefined) location.hash = '#agents'
      await this.load()
    })
  }
}

/** Asks, then brings an archived agent back. */
async function restored(
  { api, desk }: Room,
  { aid, name }: { aid: string; name: string },
  then: () => Promise<void>,
) {
  const yes = await desk.ask({
    title: `Restore ${name || 'this agent'}?`,
    text: 'It is registered again, with its mail and all else that it had.',
    yes: 'Restore',
  })
  if (yes === undefined) return
  await desk.attempt(async () => {
    await api.call('adminRestore', { params: { aid } })
    desk.say('It is back.')
    await then()
  })
}

/** Agents that are archived. */
export const archivedScreen = (room: Room): Screen =>
  new List(room, 'adminDeleted', {
    title: 'Archived',
    says: 'Agents that were taken off. All that they had is kept.',
    empty: 'No agent is archived.',
    keyOf: ({ aid }) => aid,
    row: (agent, { load }) => [
      h(
        'div',
        { class: 'what' },
        h('a', { class: 'name', href: `#agents/${agent.aid}` }, h('bdi', {}, agent.name || 'without a name')),
        h('div', { class: 'soft' }, aidOf(agent.aid), ' ', agent.reason),
      ),
      h(
        'div',
        { class: 'figures' },
        h('span', {}, time(agent.archived_at)),
        h('span', { class: 'soft' }, `${number(agent.waiting)} waiting`),
      ),
      h(
        'div',
        { class: 'acts' },
        button('Restore', () => void restored(room, agent, load), {
          'aria-label': `Restore ${agent.name || agent.aid}`,
        }),
      ),
    ],
  })
