/** Agents of the hub's directory: search, what each says of itself, and handing one a task. */
import { age, day, sayHour } from '../../view/ages.ts'
import { asTask, textBounds } from '../../view/bounds.ts'
import { cleanLine } from '../../view/clean.ts'
import { screenFace } from '../../view/faces.ts'
import { sayStillHere } from '../../view/next-step.ts'
import { pricesAsked } from '../../view/prices.ts'
import { type AgentRow, agentRows } from '../../view/rows.ts'
import { sayCredits } from '../../view/sentences.ts'
import { sayPriced } from '../../view/settings/credits.ts'
import type { Agent } from '../../view/state.ts'
import { type App, faultOf } from './app.ts'
import { sendOnKey } from './composer.ts'
import { filesField } from './files-field.ts'
import { type Drawn, h } from './h.ts'
import { faceBlock } from './helping.ts'
import { button, card, chip, counter, facts, field, isTooLong, sentence, typedIn } from './parts.ts'
import { back } from './thread.ts'
import { titles, withPath } from './ui.ts'
import { pasting, stillComing } from './upload.ts'

export function agentList(app: App, now: number): Drawn {
  const { agents } = app.view
  const rows = agentRows(app.view, now)
  const face = screenFace(app.view, 'agents', rows.length)
  return h(
    'section',
    { class: 'list', key: 'list-agents', 'aria-labelledby': 'list-title' },
    h('div', { class: 'list-head' }, h('h2', { id: 'list-title' }, titles.agents), searchForm(app)),
    face && faceBlock(app, face),
    rows.length > 0 &&
      h(
        'ul',
        { class: 'rows', key: 'rows' },
        rows.map(row => agentItem(app, row)),
      ),
    agents.nextCursor !== undefined &&
      h(
        'p',
        { class: 'pad', key: 'more' },
        button('More agents', () => void app.live.moreAgents(), { class: 'quiet' }),
      ),
  )
}

function searchForm(app: App): Drawn {
  const words = app.ui.filter.agents ?? app.view.agents.query
  return h(
    'form',
    {
      class: 'search',
      role: 'search',
      onsubmit: event => {
        event.preventDefault()
        app.go({ screen: 'agents', open: undefined, q: words })
        void app.live.find(words)
      },
    },
    h('label', { for: 'filter', class: 'unseen' }, 'Search the directory'),
    h('input', {
      id: 'filter',
      type: 'search',
      placeholder: 'what it does, or cap:text.summarise',
      value: words,
      autocomplete: 'off',
      oninput: event => app.set({ filter: { ...app.ui.filter, agents: typedIn(event) } }),
    }),
    h('button', { type: 'submit' }, 'Search'),
  )
}

function agentItem(app: App, row: AgentRow): Drawn {
  return h(
    'li',
    { key: row.id },
    h(
      'a',
      {
        class: `row plain-row${app.ui.cursor.agents === row.id ? ' at' : ''}`,
        href: `#/agents/${row.id}`,
        'aria-current': app.ui.open === row.id ? 'true' : undefined,
        'data-row': row.id,
        onclick: event => {
          event.preventDefault()
          app.open(row.id)
        },
      },
      h(
        'span',
        { class: 'row-head' },
        h('bdi', { class: 'peer' }, row.contact ?? row.name),
        row.contact === undefined ? h('code', { class: 'soft' }, row.short) : chip('good', 'contact'),
        row.elsewhere !== undefined && chip('warn', row.elsewhere),
        row.quiet && chip('quiet', 'quiet'),
        h('time', {}, row.seen),
      ),
      h('span', { class: 'row-text', dir: 'auto' }, row.summary),
      row.caps !== '' && h('span', { class: 'row-notes soft' }, row.caps),
    ),
  )
}

/** An agent that was found, a contact that was not, or a bare address. */
export function agentPane(app: App, aid: string): Drawn {
  const agent = app.view.agents.found.find(one => one.aid === aid)
  const petname = app.view.contacts?.find(one => one.aid === aid)?.petname ?? agent?.contact
  const title = petname ?? (cleanLine(agent?.name ?? '', 64) || 'An agent')
  return h(
    'article',
    { class: 'detail', key: `agent-${aid}`, 'aria-labelledby': 'detail-title', tabindex: '-1' },
    back(app),
    h('h2', { id: 'detail-title' }, h('bdi', {}, title)),
    agent !== undefined && h('p', { class: 'words', dir: 'auto' }, cleanLine(agent.summary, 1000)),
    petname === undefined || petname === null
      ? contactForm(app, aid)
      : h('p', {}, chip('good', 'a contact of yours')),
    orderForm(app, aid, agent),
    card(
      'About it',
      facts([
        [
          'Address',
          h('code', {}, cleanLine(aid)),
          ' ',
          button('Copy', () => void app.copy(aid, 'the address'), {
            class: 'small',
            'aria-label': 'Copy the address',
          }),
        ],
        ...agentFacts(agent, Date.now()),
      ]),
    ),
  )
}

/** What it asked so far, and what its card names; the hub learns whose card is looked up, so a person says so. */
function priceLines(app: App, aid: string): Drawn {
  const now = Date.now()
  const asked = pricesAsked(app.view, aid)
  const onCard = app.view.cardPrices.get(aid)
  const since = (at: number) => (age(at, now) === 'now' ? 'just now' : `${age(at, now)} ago`)
  return h(
    'div',
    { class: 'prices', key: 'prices' },
    h('h4', {}, 'What it costs'),
    (asked.length > 0 || (onCard?.length ?? 0) > 0) &&
      facts([
        ...(onCard ?? []).map(
          ({ capability, amount }) =>
            [sentence(sayPriced(cleanLine(capability, 64))), `${sayCredits(amount)}, by its card`] as const,
        ),
        ...asked.map(
          ({ what, amount, at }) => [sentence(what), `${sayCredits(amount)}, asked ${since(at)}`] as const,
        ),
      ]),
    onCard?.length === 0 && h('p', {}, 'Its card names no price.'),
    h('p', { class: 'hint' }, 'You see a price before anything runs or is paid, and decide then.'),
    onCard === undefined &&
      button('Look up its prices', () => void lookUp(app, aid), {
        class: 'small',
        title: 'Your hub learns whose prices you look up',
      }),
  )
}

async function lookUp(app: App, aid: string): Promise<void> {
  try {
    await app.live.ask('agentPrices', { aid })
  } catch (error) {
    app.say(faultOf(error), 'bad')
  }
}

function agentFacts(agent: Agent | undefined, now: number): (readonly [string, ...(Drawn | string)[]])[] {
  if (agent === undefined) return []
  return [
    ['Calls itself', h('bdi', {}, cleanLine(agent.name, 64) || 'nothing')],
    ['Capabilities', agent.caps.map(cap => cleanLine(cap, 64)).join(', ') || 'none named'],
    ['Home hub', cleanLine(agent.home ?? agent.hub, 120)],
    ...registrationFacts(agent, now),
  ]
}

/** No hub is asked more of an agent that was found by its AID. */
function registrationFacts({ registered_at, last_seen }: Agent, now: number): (readonly [string, string])[] {
  if (registered_at === null) return []
  return [
    ['Registered', day(registered_at, now)],
    ['Last seen', last_seen === null ? 'never' : sayHour(last_seen, now)],
  ]
}

function contactForm(app: App, aid: string): Drawn {
  return h(
    'form',
    {
      class: 'line',
      key: 'contact',
      onsubmit: event => {
        event.preventDefault()
        const input = (event.target as HTMLFormElement).querySelector('input')
        const petname = input?.value.trim() ?? ''
        if (petname !== '')
          void app.act(
            'contactAdd',
            { aid, petname },
            `${petname} is a contact now; tasks of contacts wait for nobody`,
            () => void app.act('contactRemove', { peer: petname }, `${petname} is no contact any more`),
          )
      },
    },
    h('label', { for: 'petname' }, 'Your name for it'),
    h('input', { id: 'petname', maxlength: '64', autocomplete: 'off' }),
    h('button', { type: 'submit' }, 'Add to contacts'),
  )
}

function orderForm(app: App, aid: string, agent: Agent | undefined): Drawn {
  const order = app.orderOf(aid)
  const isCall = order.capability !== ''
  const isEmpty = !isCall && order.text.trim() === '' && order.files.trim() === ''
  const isLong = isTooLong(isCall ? order.args : asTask(order.text), textBounds.task)
  const isComing = !isCall && stillComing(app, aid) !== undefined
  const send = () => void app.delegate(aid)
  return card(
    'Hand over a task',
    h(
      'form',
      {
        onsubmit: event => {
          event.preventDefault()
          if (!isEmpty) send()
        },
        onkeydown: event => sendOnKey(event, send),
      },
      (agent?.caps.length ?? 0) > 0 && capabilityField(app, aid, agent as Agent),
      isCall ? argsField(app, aid) : wordsFields(app, aid),
      priceLines(app, aid),
      payFields(app, aid),
      order.fault !== undefined &&
        h('p', { class: 'fault', role: 'alert' }, sayStillHere(order.fault, order.isGone === true)),
      h(
        'div',
        { class: 'bar' },
        h(
          'button',
          { type: 'submit', class: 'main', disabled: order.busy || isEmpty || isLong || isComing },
          order.busy ? 'Sending …' : isComing ? 'Waiting for its files …' : 'Hand it over',
        ),
        h('span', { class: 'hint' }, 'Sealed for this agent alone · Ctrl-Enter sends'),
      ),
    ),
  )
}

function capabilityField(app: App, aid: string, agent: Agent): Drawn {
  const { capability } = app.orderOf(aid)
  return field(
    'What',
    h(
      'select',
      { id: 'order-what', onchange: event => app.setOrder(aid, { capability: typedIn(event) }) },
      h('option', { value: '', selected: capability === '' }, 'A task in words'),
      agent.caps.map(cap =>
        h('option', { key: cap, value: cap, selected: capability === cap }, `Call ${cleanLine(cap, 64)}`),
      ),
    ),
  )
}

function wordsFields(app: App, aid: string): Drawn {
  const order = app.orderOf(aid)
  return h(
    'div',
    { key: 'words' },
    field(
      'Task',
      h('textarea', {
        id: 'order',
        rows: '4',
        dir: 'auto',
        value: order.text,
        disabled: order.busy,
        oninput: event => app.setOrder(aid, { text: typedIn(event), fault: undefined }),
        onpaste: pasting(app, aid, {
          bound: textBounds.task,
          take: path => app.setOrder(aid, { files: withPath(app.orderOf(aid), path) }),
        }),
      }),
    ),
    counter(asTask(order.text), textBounds.task),
    filesField(app, {
      of: aid,
      id: 'order-files',
      draft: order,
      set: change => app.setOrder(aid, change),
    }),
  )
}

const argsField = (app: App, aid: string): Drawn =>
  field(
    'Arguments, a JSON object',
    h('textarea', {
      id: 'order-args',
      rows: '4',
      class: 'paths',
      spellcheck: 'false',
      value: app.orderOf(aid).args,
      placeholder: '{"text": "…"}',
      oninput: event => app.setOrder(aid, { args: typedIn(event), fault: undefined }),
    }),
  )

function payFields(app: App, aid: string): Drawn {
  const order = app.orderOf(aid)
  return h(
    'div',
    { class: 'line', key: 'pay' },
    h(
      'label',
      { class: 'check' },
      h('input', {
        type: 'checkbox',
        checked: order.pay,
        onchange: event => app.setOrder(aid, { pay: (event.target as HTMLInputElement).checked }),
      }),
      'Pay its price, at most',
    ),
    h('input', {
      id: 'order-credits',
      inputmode: 'numeric',
      size: '6',
      'aria-label': 'Credits at most',
      disabled: !order.pay,
      value: order.maxCredits,
      oninput: event => app.setOrder(aid, { maxCredits: typedIn(event) }),
    }),
    h('span', {}, 'credits'),
  )
}
