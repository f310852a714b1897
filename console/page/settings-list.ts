/** What can be set at the node, as rows: what stands now, what it means, and the buttons that open the form. */

import { cleanLine } from '../../view/clean.ts'
import { peerName, sayCredits, shortAid } from '../../view/sentences.ts'
import { type Group, groups, type Setting } from '../../view/settings/setting.ts'
import { settingOf } from '../../view/settings.ts'
import type { Contact } from '../../view/state.ts'
import type { App } from './app.ts'
import { openSetting } from './filling.ts'
import { type Drawn, h, type Kid } from './h.ts'
import { setNotices } from './noticing.ts'
import { button, chip, sentence } from './parts.ts'

/** A row of the page: the setting that it shows, and others that belong to it. */
const ROWS: readonly (readonly [Group, readonly (readonly string[])[]])[] = [
  ['answering', [['auto_reply', 'auto_reply_try', 'auto_reply_off']]],
  ['people', [['accept'], ['guest_messages']]],
  ['credits', [['spend'], ['price']]],
  ['profile', [['name'], ['profile'], ['visibility']]],
  ['hub', [['hub_join', 'hub_look', 'hub_leave'], ['a2a']]],
  ['keeping', [['backup'], ['rotate']]],
]

/** What a row is called where it says what stands now, and its form what is done. */
const HEADINGS: Readonly<Record<string, string>> = { hub_join: 'Hub', backup: 'Backup', rotate: 'Key' }
/** What stands there is somebody's own word. */
const OWN_WORDS: readonly string[] = ['name', 'profile']

export const settingsList = (app: App, now: number): Drawn =>
  h(
    'div',
    { class: 'settings', key: 'settings' },
    ROWS.map(([group, rows]) =>
      section(
        groups[group],
        rows.map(ids => settingRow(app, ids, now)),
        group === 'people' && contactRow(app),
        group === 'credits' && priceRows(app),
      ),
    ),
    pageSection(app),
  )

const section = (title: string, ...rows: Kid[]): Drawn =>
  h(
    'section',
    { class: 'setting-group', key: title, 'aria-label': title },
    h('h3', {}, title),
    h('ul', {}, ...rows),
  )

function settingRow(app: App, ids: readonly string[], now: number): Drawn {
  const [main, ...others] = ids.map(settingOf) as [Setting, ...Setting[]]
  const why = main.unless?.(app.view)
  const offered = [main, ...others].filter(row => row.unless?.(app.view) === undefined)
  return rowOf(
    main.id,
    {
      heading: HEADINGS[main.id] ?? main.heading,
      now: main.shows === undefined ? undefined : (main.shows(app.view, now) ?? 'asking the node …'),
      help: why ?? main.help,
    },
    offered.map(row => settingButton(app, row)),
  )
}

/** Its word alone says little where several rows have the same. */
const settingButton = (app: App, row: Setting): Drawn => {
  const word = row.opens?.(app.view) ?? row.yes
  return button(word, () => openSetting(app, row.id), {
    key: row.id,
    class: 'small',
    'aria-label': word === 'Change' ? `Change: ${row.heading}` : undefined,
    title: KEYS[row.id],
  })
}

const KEYS: Readonly<Record<string, string>> = {
  accept: 'Take tasks, or none (T)',
  auto_reply_off: 'Turn the auto-reply off (o)',
  auto_reply_try: 'Try the auto-reply (t)',
}

type Row = { heading: string; now?: string | undefined; help: string }

const rowOf = (id: string, { heading, now, help }: Row, ...kids: Kid[]): Drawn =>
  h(
    'li',
    { class: 'setting', key: id },
    h(
      'div',
      { class: 'setting-what' },
      h('h4', {}, heading),
      now !== undefined &&
        h('p', { class: 'setting-now', dir: 'auto' }, OWN_WORDS.includes(id) ? now : sentence(now)),
      h('p', { class: 'hint' }, help),
    ),
    h('div', { class: 'bar' }, ...kids),
  )

function contactRow(app: App): Drawn {
  const contacts = app.view.contacts ?? []
  const blocked = contacts.filter(one => one.blocked).length
  const now = `${contacts.length}${blocked === 0 ? '' : `, of whom ${blocked} blocked`}`
  return h(
    'li',
    { class: 'setting wide', key: 'contacts' },
    h(
      'div',
      { class: 'setting-what' },
      h('h4', {}, 'Contacts'),
      h('p', { class: 'setting-now' }, app.view.contacts === undefined ? 'Asking the node …' : now),
      h('p', { class: 'hint' }, 'Tasks of a contact wait for nobody.'),
    ),
    h('div', { class: 'bar' }, settingButton(app, settingOf('contact_add'))),
    contacts.length > 0 &&
      h(
        'details',
        { class: 'below' },
        h('summary', {}, contacts.length === 1 ? 'Show the contact' : `Show all ${contacts.length}`),
        h(
          'ul',
          { class: 'people' },
          contacts.map(one => contactItem(app, one)),
        ),
      ),
  )
}

function contactItem(app: App, { aid, petname, blocked }: Contact): Drawn {
  const name = peerName({ peer: aid, peer_name: petname })
  const act = (id: string, label: string) =>
    button(label, () => openSetting(app, id, { peer: aid }, id !== 'contact_rename'), {
      key: id,
      class: 'small',
      'aria-label': `${label} ${name}`,
    })
  return h(
    'li',
    { key: aid },
    h('a', { class: 'name', href: `#/agents/${aid}` }, h('bdi', {}, name)),
    h('code', { class: 'soft' }, shortAid(aid)),
    blocked && chip('warn', 'blocked'),
    h(
      'span',
      { class: 'bar' },
      act('contact_rename', 'Rename'),
      blocked ? act('contact_unblock', 'Unblock') : act('contact_block', 'Block'),
      act('contact_remove', 'Remove'),
    ),
  )
}

/** Each price that is asked, with what changes it. */
function priceRows(app: App): Drawn | undefined {
  const prices = app.view.prices?.prices ?? []
  if (prices.length === 0) return undefined
  return h(
    'li',
    { class: 'setting wide', key: 'prices' },
    h(
      'ul',
      { class: 'people below' },
      prices.map(({ capability, amount, starts }) =>
        h(
          'li',
          { key: capability },
          h('code', {}, cleanLine(capability, 64)),
          h('span', {}, sayCredits(amount)),
          h('span', { class: 'soft' }, starts >= amount ? '' : `${starts} of it once begun`),
          h(
            'span',
            { class: 'bar' },
            button(
              'Change',
              () => openSetting(app, 'price', { capability, amount: String(amount), starts: String(starts) }),
              { class: 'small', 'aria-label': `Change the price of ${cleanLine(capability, 64)}` },
            ),
          ),
        ),
      ),
    ),
  )
}

/** What concerns this page alone. */
function pageSection(app: App): Drawn {
  const { notices } = app.ui
  return section(
    'This page',
    switchRow(
      'keys',
      {
        heading: 'Keys of one letter',
        help: 'They act where nobody is typing; ? lists them. The node remembers it.',
      },
      app.keysOn,
      on => void app.setKeys(on),
    ),
    switchRow(
      'notices',
      {
        heading: 'Notifications',
        help: 'Your desktop tells you what comes while this page is open and you look elsewhere. A closed page tells nothing.',
      },
      notices.on,
      on => void setNotices(app, on),
    ),
    notices.on &&
      switchRow(
        'notice-words',
        { heading: 'With the words of the message', help: 'Whoever sees your screen then reads them too.' },
        notices.words,
        words => app.set({ notices: { ...notices, words } }),
      ),
  )
}

const switchRow = (id: string, row: Row, checked: boolean, set: (on: boolean) => void): Drawn =>
  rowOf(
    id,
    row,
    h(
      'label',
      { class: 'check' },
      h('input', {
        type: 'checkbox',
        id: `switch-${id}`,
        'aria-label': row.heading,
        checked,
        onchange: event => set((event.target as HTMLInputElement).checked),
      }),
      checked ? 'On' : 'Off',
    ),
  )
