/** The node itself: what needs somebody, what can be set, who it is, what may be spent, and how the last days went. */

import { age, clock } from '../../view/ages.ts'
import { attention } from '../../view/attention.ts'
import { cleanLine } from '../../view/clean.ts'
import { screenFace, stillHere } from '../../view/faces.ts'
import { sayCredits } from '../../view/sentences.ts'
import type { View } from '../../view/state.ts'
import type { App } from './app.ts'
import { type Drawn, h } from './h.ts'
import { faceBlock } from './helping.ts'
import { button, card, facts, mark, toned } from './parts.ts'
import { daysPicture } from './pictures/days.ts'
import { tableOf } from './pictures/frame.ts'
import { latencyPicture } from './pictures/latency.ts'
import { takenPicture } from './pictures/taken.ts'
import { settingsList } from './settings-list.ts'
import { banner, buildFaces } from './shell.ts'
import { titles } from './ui.ts'

type Status = NonNullable<View['status']>

const ENTRIES_SHOWN = 6
const RUNS_SHOWN = 5

export function nodePage(app: App, now: number): Drawn {
  const { status } = app.view
  const face = screenFace(app.view, 'node', status === undefined ? 0 : 1)
  return h(
    'section',
    { class: 'whole node', key: 'list-node', 'aria-labelledby': 'list-title' },
    h('div', { class: 'list-head' }, h('h2', { id: 'list-title' }, titles.node)),
    attentionList(app, now),
    face && faceBlock(app, face),
    status !== undefined &&
      h(
        'div',
        { class: 'node-parts', key: 'parts' },
        settingsList(app, now),
        h(
          'div',
          { class: 'about', key: 'about' },
          identityCard(app, status),
          hubCard(status, now),
          runsCard(app, now),
          creditCard(app, now),
          capabilityCard(app),
          latencyPicture(app, now),
          takenPicture(app, now),
          daysPicture(app, now),
        ),
      ),
  )
}

/** The worst first; that nothing is to be done is said too. */
function attentionList(app: App, now: number): Drawn | undefined {
  const faces = [...buildFaces(app), ...attention(app.view, now)]
  if (app.view.status === undefined && faces.length === 0) return undefined
  return h(
    'section',
    { class: 'attention', key: 'attention', 'aria-label': 'What needs attention' },
    faces.length === 0
      ? h('p', { class: 'calm' }, mark('✓', 'good'), ' Nothing needs you.')
      : faces.map(face => banner(app, face)),
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
      ['Data directory', h('code', {}, cleanLine(status.data_dir))],
      [
        'Version',
        `${cleanLine(status.version)} · `,
        h('code', {}, cleanLine(status.commit ?? 'unknown', 12)),
      ],
    ]),
  )

function hubCard(
  { hub, hub_url: url, counts, guest_messages: guests }: Status,
  now: number,
): Drawn | undefined {
  if (hub === null) return undefined
  return card(
    'At the hub',
    facts([
      ['Address', cleanLine(url ?? '')],
      ['State', toned(hub.state === 'online' ? 'good' : 'warn', hub.state)],
      ['Heard of it', hub.last_contact_at === null ? 'never' : age(hub.last_contact_at, now)],
      ['Mail', hub.sealed ? 'sealed' : toned('warn', 'NOT sealed')],
      ['Waiting to be sent', String(stillHere(counts))],
      [
        'Strangers',
        `${guests} open tasks each${counts.strangers_refused === 0 ? '' : `; ${counts.strangers_refused} refused, as they had too many`}`,
      ],
    ]),
  )
}

/** The last runs of the auto-reply, while it has any. */
function runsCard(app: App, now: number): Drawn | undefined {
  const { runs } = app.view
  if (runs.length === 0) return undefined
  return card(
    'Last answers',
    h(
      'ul',
      { class: 'runs' },
      runs
        .slice(0, RUNS_SHOWN)
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

function creditCard(app: App, now: number): Drawn | undefined {
  const { balance, spend } = app.view
  if (balance === undefined) return undefined
  const entries = balance.entries.slice(0, ENTRIES_SHOWN)
  return card(
    'Credits',
    facts([
      ['Balance', sayCredits(balance.balance)],
      ...(balance.held === 0 ? [] : [['Held by the hub', sayCredits(balance.held)] as const]),
      ...(spend === undefined || spend.day_max === 0
        ? []
        : [['Went today unasked', `${spend.spent_today} of ${spend.day_max}`] as const]),
    ]),
    entries.length > 0 &&
      tableOf(
        {
          heads: ['When', 'Credits', 'What'],
          rows: entries.map(({ at, delta, reason }) => [
            clock(at, now),
            delta > 0 ? `+${delta}` : String(delta),
            reason,
          ]),
        },
        'Latest entries',
      ),
  )
}

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
