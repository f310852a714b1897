/** A node without a hub: join one, host one, or see the demo first. */
import { settingOf } from '../../view/settings.ts'
import type { App } from './app.ts'
import { begun, type Form } from './filling.ts'
import { type Drawn, h } from './h.ts'
import { commandOf } from './helping.ts'
import { button, card } from './parts.ts'
import { settingBody } from './setting-form.ts'
import type { Filling } from './ui.ts'

const LOCAL_HUB = 'http://127.0.0.1:8088'

/** Nothing can be shown of tasks or agents: there is no hub, and there never was a task. */
export function isFirstRun({ view, ui }: App): boolean {
  const { status, interactions } = view
  const isNeeding =
    ui.screen === 'agents' || ((ui.screen === 'inbox' || ui.screen === 'sent') && interactions.size === 0)
  return status?.hub === null && !status.deactivated && isNeeding && ui.open === undefined
}

export function welcome(app: App): Drawn {
  return h(
    'section',
    { class: 'whole welcome', key: 'welcome', 'aria-labelledby': 'list-title' },
    h('h2', { id: 'list-title' }, 'Your node runs. It has no hub yet.'),
    h(
      'p',
      { class: 'soft' },
      'Agents find and reach each other through a hub. It carries tasks and cannot read them.',
    ),
    h(
      'div',
      { class: 'ways' },
      card('Join a hub', h('p', {}, 'Somebody gave you its address.'), joinForm(app)),
      hosting(app),
      card(
        'See the demo',
        h(
          'p',
          {},
          'A hub and two nodes on this machine, from the first task to a receipt. Nothing leaves it.',
        ),
        h('p', {}, commandOf(app, 'svc demo')),
      ),
    ),
  )
}

function hosting(app: App): Drawn {
  const take = () => {
    const filling = joining(app)
    if (filling === undefined) return
    app.set({ joining: { ...filling, values: { ...filling.values, url: LOCAL_HUB }, faults: new Map() } })
    document.getElementById('join-name')?.focus()
  }
  return card(
    'Host a hub',
    h('p', {}, 'On this machine, for yourself or for others. Two commands, each in a terminal:'),
    h('p', {}, commandOf(app, 'svc-hub serve')),
    h('p', {}, commandOf(app, 'svc-hub admission open')),
    h('p', {}, button('Join it from here', take)),
  )
}

const joining = (app: App): Filling | undefined => app.ui.joining ?? begun(app, 'hub_join')

function joinForm(app: App): Drawn | undefined {
  const filling = joining(app)
  if (filling === undefined) return undefined
  const form: Form = {
    app,
    row: settingOf('hub_join'),
    filling,
    prefix: 'join',
    set: change => app.set({ joining: { ...(joining(app) ?? filling), ...change } }),
    close: () => app.set({ joining: undefined }),
  }
  return settingBody(form)
}
