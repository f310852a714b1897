/** The frame of the page: who this is, how the node stands, the five screens, and what is wrong now. */

import { cleanLine } from '../../view/clean.ts'
import { banners, type Face } from '../../view/faces.ts'
import { type Screen, screens, taskItems } from '../../view/rows.ts'
import { shortAid, type Tone } from '../../view/sentences.ts'
import type { Side, View } from '../../view/state.ts'
import type { App } from './app.ts'
import { type Drawn, h } from './h.ts'
import { helpButton, nextOf } from './helping.ts'
import { button, chip, sentence } from './parts.ts'
import { titles } from './ui.ts'
import { isFirstRun } from './welcome.ts'

const BANNERS_SHOWN = 3

export function header(app: App): Drawn {
  const { status } = app.view
  const who = status === undefined ? '' : cleanLine(status.name, 64) || shortAid(status.aid)
  const hub = status?.hub_url == null ? '' : cleanLine(status.hub_url.replace(/^https?:\/\//, ''), 80)
  const [tone, state] = standing(app.view)
  return h(
    'header',
    { class: 'top', key: 'top' },
    h('a', { class: 'skip', href: '#main', onclick: toMain }, 'Skip to the content'),
    h('span', { class: 'brand' }, 'svc'),
    h('span', { class: 'who' }, who, hub !== '' && h('span', { class: 'soft' }, ` at ${hub}`)),
    chip(tone, h('span', { class: 'dot', 'aria-hidden': 'true' }), state),
    nav(app),
    button('Find', () => app.ask({ kind: 'palette', words: '', at: 0 }), {
      class: 'quiet help',
      title: 'Find anything (Ctrl-K)',
    }),
    button('Keys', () => app.ask({ kind: 'help' }), { class: 'quiet help', title: 'Keys of this page (?)' }),
  )
}

function toMain(event: Event): void {
  event.preventDefault()
  document.getElementById('main')?.focus()
}

/** One word for node and hub together. */
function standing({ connection, status }: View): [Tone, string] {
  if (connection.state === 'connecting') return ['quiet', 'connecting']
  if (connection.state === 'lost') return ['bad', 'node lost']
  if (connection.state === 'stopped') return ['bad', 'node stopped']
  const hub = status?.hub
  if (hub === undefined) return ['quiet', 'connecting']
  if (hub === null) return ['warn', 'no hub']
  const tones: Record<string, Tone> = { online: 'good', offline: 'warn', stopped: 'bad', registering: 'wait' }
  return [tones[hub.state] ?? 'quiet', hub.state]
}

/** Tasks of a side with something unread, those that are not loaded among them. */
const unreadOf = ({ status }: View, side: Side): number => status?.counts[`unread_${side}`] ?? 0

/** What was read may still wait for a yes. */
function sentCount(view: View): [number, string] {
  const unread = unreadOf(view, 'sent')
  return unread > 0
    ? [unread, 'unread']
    : [taskItems(view, 'sent', { pendingOnly: true }).length, 'waiting for you']
}

function nav(app: App): Drawn {
  const numbers: Partial<Record<Screen, [number, string]>> = {
    inbox: [unreadOf(app.view, 'received'), 'unread'],
    sent: sentCount(app.view),
  }
  return h(
    'nav',
    { 'aria-label': 'Screens' },
    screens.map((screen, i) => {
      const [number, what] = numbers[screen] ?? [0, '']
      return h(
        'a',
        {
          key: screen,
          href: `#/${screen}`,
          class: 'tab',
          'aria-current': app.ui.screen === screen ? 'page' : undefined,
          title: `${titles[screen]} (${i + 1})`,
          onclick: event => {
            event.preventDefault()
            app.go({ screen, open: undefined })
          },
        },
        titles[screen],
        number > 0 && h('span', { class: 'count' }, number, h('span', { class: 'unseen' }, ` ${what}`)),
      )
    }),
  )
}

/** What is wrong or waits now; the worst are shown, the rest stands on the screen of the node. */
export function bannerList(app: App, now: number): Drawn | undefined {
  // the screen of the node begins with them, and the welcome says how to get a hub
  if (app.ui.screen === 'node') return undefined
  const isWelcome = isFirstRun(app)
  const faces = [...buildFaces(app), ...banners(app.view, now)].filter(
    ({ kind }) => !isWelcome || kind !== 'no_hub',
  )
  const shown = faces.slice(0, BANNERS_SHOWN)
  const more = faces.length - shown.length
  return h(
    'div',
    { class: 'banners', key: 'banners', role: 'region', 'aria-label': 'State of the node' },
    shown.map(face => banner(app, face)),
    more > 0 &&
      h(
        'p',
        { class: 'more' },
        button(`${more} more on the screen of the node`, () => app.open(undefined, 'node'), {
          class: 'link',
        }),
      ),
  )
}

/** The node was changed over to another build since this page was opened. */
export function buildFaces(app: App): Face[] {
  const build = app.view.status?.build
  if (build === undefined || build === app.build) return []
  const says = 'the node runs another build than this page; open the page anew'
  return [{ kind: 'warning', tone: 'warn', says, next: 'svc console' }]
}

export function banner(app: App, face: Face): Drawn {
  return h(
    'div',
    { class: `banner ${face.tone}`, key: isOneOfMany(face) ? face.says : face.kind },
    h('span', { class: 'word' }, WORDS[face.tone]),
    h(
      'p',
      {},
      sentence(face.says),
      face.next !== undefined && h('span', { class: 'next' }, ' ', nextOf(app, face.next)),
    ),
    face.help !== undefined && helpButton(app, face.help, 'small'),
  )
}

/** Several of its kind may stand beside each other. */
const isOneOfMany = ({ kind }: Face): boolean => kind === 'warning' || kind === 'waiting'

const WORDS: Record<Tone, string> = {
  plain: 'Note',
  quiet: 'Note',
  good: 'Good',
  wait: 'Waiting',
  warn: 'Look',
  bad: 'Wrong',
}

/** Only counts and what a person did themselves: no words of others are read out unasked. */
export function liveRegion(app: App): Drawn {
  const unread = app.view.status?.counts.unread ?? 0
  const text = app.ui.said?.text ?? (unread > 0 ? `${unread} unread` : '')
  const tone = app.ui.said?.tone ?? 'quiet'
  return h(
    'div',
    {
      class: `said ${tone}${app.ui.said === undefined ? ' unseen' : ''}`,
      key: 'said',
      role: 'status',
      'aria-live': 'polite',
    },
    sentence(text),
  )
}
