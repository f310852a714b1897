/** The node itself: who it is, how its hub stands, who answers whom, what may be spent, and how the last days went. */
import { age, clock } from '../../view/ages.ts'
import { cleanLine, cleanText } from '../../view/clean.ts'
import { screenFace } from '../../view/faces.ts'
import { sayCredits } from '../../view/sentences.ts'
import type { View } from '../../view/state.ts'
import type { App } from './app.ts'
import { type Drawn, h } from './h.ts'
import { button, card, chip, faceBlock, facts, toned } from './parts.ts'
import { daysPicture } from './pictures/days.ts'
import { latencyPicture } from './pictures/latency.ts'
import { takenPicture } from './pictures/taken.ts'
import { titles } from './ui.ts'

type Status = NonNullable<View['status']>

export function nodePage(app: App, now: number): Drawn {
  const { status } = app.view
  const face = screenFace(app.view, 'node', status === undefined ? 0 : 1)
  return h(
    'section',
    { class: 'whole', key: 'list-node', 'aria-labelledby': 'list-title' },
    h('div', { class: 'list-head' }, h('h2', { id: 'list-title' }, titles.node)),
    face && faceBlock(face),
    status !== undefined &&
      h(
        'div',
        { class: 'cards' },
        identityCard(app, status),
        hubCard(status, now),
        tasksCard(app, status),
        autoReplyCard(app, now),
        creditCard(app, now),
        capabilityCard(app),
        latencyPicture(app, now),
        takenPicture(app, now),
        daysPicture(app, now),
      ),
  )
}

const identityCard = (app: App, status: Status): Drawn =>
  card(
    'Identity',
    facts([
      ['Name', cleanLine(status.name, 64) || 'none'],
      [
        'Address',
        h('code', {}, cleanLine(status.aid)),
        ' ',
        button('Copy', () => void app.copy(status.aid, 'your address'), {
          class: 'small',
          'aria-label': 'Copy your address',
        }),
      ],
      ['Summary', h('span', { dir: 'auto' }, cleanLine(status.summary) || 'none')],
      ['Capabilities', status.caps.map(cap => cleanLine(cap, 64)).join(', ') || 'none named'],
      ['Data directory', h('code', {}, cleanLine(status.data_dir))],
      ['Version', cleanLine(status.version)],
      ['Commit', h('code', {}, cleanLine(status.commit ?? 'unknown'))],
    ]),
  )

function hubCard({ hub, hub_url: url, counts }: Status, now: number): Drawn {
  if (hub === null)
    return card('Hub', h('p', {}, 'No hub yet. ', h('code', {}, 'svc hub-register <url> --name <name>')))
  return card(
    'Hub',
    facts([
      ['Address', cleanLine(url ?? '')],
      ['State', toned(hub.state === 'online' ? 'good' : 'warn', hub.state)],
      ['Heard of it', hub.last_contact_at === null ? 'never' : age(hub.last_contact_at, now)],
      ['Wire', hub.wire === null ? 'unknown' : `${hub.wire}, ${hub.sealed ? 'sealed' : 'NOT sealed'}`],
      ['Waiting to be sent', String(counts.outbox)],
    ]),
  )
}

function tasksCard(app: App, status: Status): Drawn {
  const on = status.accept_delegations
  return card(
    'Tasks of others',
    facts([
      ['Taken', on ? toned('good', 'yes') : toned('warn', 'no')],
      ['Open tasks of one stranger', String(status.guest_messages)],
      ['Refused, as they had too many', String(status.counts.strangers_refused)],
    ]),
    button(on ? 'Take no more tasks' : 'Take tasks again', () => toggleAccept(app), {
      title: 'Take tasks, or not (T)',
    }),
  )
}

export function toggleAccept(app: App): void {
  const on = app.view.status?.accept_delegations === true
  app.ask({
    kind: 'sure',
    title: on ? 'Take no more tasks?' : 'Take tasks again?',
    says: on
      ? 'New tasks of anybody are dropped. Those that are here go on.'
      : 'Contacts may hand you tasks, and strangers may ask.',
    yes: on ? 'Take no more' : 'Take tasks',
    run: async () => {
      await app.live.act('accept', { on: !on })
      app.undo = () => void app.act('accept', { on }, on ? 'tasks are taken again' : 'no tasks are taken')
    },
  })
}

function autoReplyCard(app: App, now: number): Drawn {
  const { autoReply, runs } = app.view
  if (autoReply === undefined) return card('Auto-reply', h('p', { class: 'soft' }, 'Asking the node …'))
  if (!autoReply.enabled)
    return card(
      'Auto-reply',
      h('p', {}, 'Off: you answer tasks yourself. ', h('code', {}, 'svc autoreply set --agent <tool>')),
    )
  const config = autoReply.auto_reply
  return card(
    'Auto-reply',
    h('p', {}, chip('good', 'on'), ` ${cleanText(autoReply.says ?? '')}`),
    facts([
      [
        'Backend',
        cleanLine(
          [config?.backend, config?.agent ?? config?.command, config?.model].filter(Boolean).join(' · '),
        ),
      ],
      ['Answers in one task', String(config?.max_auto_replies ?? 30)],
    ]),
    h(
      'div',
      { class: 'bar' },
      button('Try it', () => tryAutoReply(app), { title: 'Try the auto-reply (t)' }),
      button('Turn it off', () => turnOff(app), { title: 'Turn the auto-reply off (o)' }),
    ),
    runs.length > 0 &&
      h(
        'ul',
        { class: 'runs', 'aria-label': 'Last runs' },
        runs
          .slice(0, 5)
          .map((run, i) =>
            h(
              'li',
              { key: `${run.at} ${i}` },
              clock(run.at, now),
              ' ',
              cleanLine(run.event.replaceAll('_', ' ')),
            ),
          ),
      ),
  )
}

export function turnOff(app: App): void {
  if (app.view.autoReply?.enabled !== true) return
  app.ask({
    kind: 'sure',
    title: 'Turn the auto-reply off?',
    says: 'Tasks wait for you from now on. Its settings go; svc autoreply set makes new ones.',
    yes: 'Turn it off',
    run: () => app.live.act('autoReplyOff', {}),
  })
}

export function tryAutoReply(app: App): void {
  app.say('asking the backend; this can take a while', 'wait')
  void app.act(
    'autoReplyTest',
    {},
    ({ answer, ms }) => `it answered in ${(ms / 1000).toFixed(1)} s: ${cleanLine(answer, 160)}`,
  )
}

function creditCard(app: App, now: number): Drawn | undefined {
  const { balance, spend } = app.view
  if (balance === undefined) return undefined
  const entries = balance.entries.slice(0, 6)
  return card(
    'Credits',
    facts([
      ['Balance', sayCredits(balance.balance)],
      ['Held by the hub', sayCredits(balance.held)],
      ...(spend === undefined ? [] : [['Without asking you', saySpend(spend)] as const]),
    ]),
    entries.length > 0 &&
      h(
        'div',
        { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Latest entries' },
        h(
          'table',
          {},
          h(
            'thead',
            {},
            h(
              'tr',
              {},
              h('th', { scope: 'col' }, 'When'),
              h('th', { scope: 'col' }, 'Credits'),
              h('th', { scope: 'col' }, 'What'),
            ),
          ),
          h(
            'tbody',
            {},
            entries.map((entry, i) =>
              h(
                'tr',
                { key: `${entry.at} ${i}` },
                h('td', {}, clock(entry.at, now)),
                h('td', {}, entry.delta > 0 ? `+${entry.delta}` : String(entry.delta)),
                h('td', {}, entry.reason),
              ),
            ),
          ),
        ),
      ),
  )
}

const saySpend = ({ day_max, spent_today }: NonNullable<View['spend']>): string =>
  day_max === 0 ? 'nothing is paid' : `${sayCredits(spent_today)} of ${day_max} went today`

function capabilityCard(app: App): Drawn | undefined {
  const list = app.view.capabilities?.capabilities ?? []
  if (list.length === 0) return undefined
  return card(
    'Capabilities it serves itself',
    h(
      'ul',
      { class: 'plain' },
      list.map(one =>
        h(
          'li',
          { key: one.capability },
          h('code', {}, cleanLine(one.capability, 64)),
          one.price === undefined ? '' : ` ${sayCredits(one.price)}`,
          ' ',
          h('span', { class: 'soft' }, cleanLine(one.summary, 200)),
        ),
      ),
    ),
  )
}
