/**
 * The page of a hub's operator. Every name and word on it was written by strangers: it becomes text nodes and nothing else.
 * The token is kept by this tab alone.
 */
import { h, type Kid, patch } from '../page/h.ts'
import { AgentsScreen, archivedScreen } from './agents.ts'
import { Api, Fault } from './api.ts'
import { OfficialScreen } from './official.ts'
import { NetworkScreen, OverviewScreen } from './overview.ts'
import { button, type Desk, type Question, type Screen } from './parts.ts'
import { auditScreen, reviewsScreen, tasksScreen, visitorsScreen } from './work.ts'

const UNAUTHORIZED = 401
const ANSWER = 'answer'

type Asked = { question: Question; answer: (given: string | undefined) => void }
type Tab = { name: string; title: string; screen: Screen }

const api = new Api()
let said = ''
let wrong = ''
let asked: Asked | undefined
let isEntering = false

const desk: Desk = {
  redraw: draw,
  say(text) {
    said = text
    wrong = ''
    draw()
  },
  async attempt(work) {
    try {
      await work()
    } catch (error) {
      if (error instanceof Fault && error.status === UNAUTHORIZED) api.leave()
      wrong = error instanceof Error ? error.message : String(error)
      said = ''
      draw()
    }
  },
  ask: question =>
    new Promise(resolve => {
      asked?.answer(undefined)
      asked = { question, answer: resolve }
      draw()
    }),
}

const room = { api, desk }
const agents = new AgentsScreen(room)
const tabs: readonly Tab[] = [
  { name: 'overview', title: 'Overview', screen: new OverviewScreen(room) },
  { name: 'agents', title: 'Agents', screen: agents },
  { name: 'archived', title: 'Archived', screen: archivedScreen(room) },
  { name: 'official', title: 'Official', screen: new OfficialScreen(room) },
  { name: 'reviews', title: 'Reviews', screen: reviewsScreen(room) },
  { name: 'tasks', title: 'Tasks', screen: tasksScreen(room) },
  { name: 'visitors', title: 'Visitors', screen: visitorsScreen(room) },
  { name: 'network', title: 'Network', screen: new NetworkScreen(room) },
  { name: 'audit', title: 'Audit', screen: auditScreen(room) },
]

function here(): Tab {
  const [name = ''] = location.hash.slice(1).split('/')
  return tabs.find(tab => tab.name === name) ?? (tabs[0] as Tab)
}

/** Reads what the address names. */
function open(): void {
  const [name, aid] = location.hash.slice(1).split('/')
  agents.show(name === 'agents' && aid ? decodeURIComponent(aid) : undefined)
  wrong = ''
  draw()
  document.querySelector('nav [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' })
  if (api.hasToken) void desk.attempt(() => here().screen.load())
}

function draw(): void {
  const app = document.getElementById('app')
  if (app === null) return
  patch(app, ...(api.hasToken ? whole() : [door()]))
  const dialog = document.querySelector('dialog')
  if (asked !== undefined && dialog instanceof HTMLDialogElement && !dialog.open) {
    dialog.showModal()
    document.getElementById(ANSWER)?.focus()
  }
  if (!api.hasToken && document.activeElement === document.body) document.getElementById('token')?.focus()
  document.title = api.hasToken ? `${here().title} · hub operator` : 'hub operator'
}

function door(): Kid {
  return h(
    'main',
    { class: 'door', key: 'door' },
    h('h1', {}, 'Operator of this hub'),
    h(
      'p',
      { class: 'soft' },
      'Give the ADMIN_TOKEN with which the hub was started. This tab keeps it, and forgets it when it is closed.',
    ),
    h(
      'form',
      { class: 'token', onsubmit: enter },
      h('label', { for: 'token' }, 'Token'),
      h('input', { id: 'token', type: 'password', autocomplete: 'off', autofocus: true, required: true }),
      h('button', { type: 'submit', class: 'main', disabled: isEntering }, isEntering ? 'Looking…' : 'Open'),
    ),
    h('p', { role: 'alert', class: wrong === '' ? '' : 'note bad' }, wrong),
  )
}

function enter(event: Event): void {
  event.preventDefault()
  const input = document.getElementById('token') as HTMLInputElement
  isEntering = true
  wrong = ''
  draw()
  void desk
    .attempt(() => api.login(input.value))
    .finally(() => {
      isEntering = false
      if (api.hasToken) open()
      else draw()
    })
}

function whole(): Kid[] {
  const at = here()
  return [
    h('a', { class: 'skip', href: '#main', onclick: skip }, 'To the content'),
    h(
      'header',
      { class: 'top', key: 'top' },
      h('strong', {}, 'Hub operator'),
      h(
        'nav',
        { 'aria-label': 'Screens' },
        ...tabs.map(({ name, title }, n) =>
          h(
            'a',
            {
              key: name,
              href: `${location.pathname}#${name}`,
              title: `Key ${n + 1}`,
              'aria-current': name === at.name ? 'page' : undefined,
            },
            title,
          ),
        ),
      ),
      button('Leave', leave),
    ),
    h('main', { id: 'main', key: `main ${at.name}`, tabindex: -1 }, at.screen.draw()),
    h('p', { role: 'status', class: said === '' ? 'status' : 'status shown', key: 'said' }, said),
    h('p', { role: 'alert', class: wrong === '' ? 'status' : 'status shown bad', key: 'wrong' }, wrong),
    dialog(),
  ]
}

function skip(event: Event): void {
  event.preventDefault()
  document.getElementById('main')?.focus()
}

function leave(): void {
  api.leave()
  said = ''
  location.reload()
}

function dialog(): Kid {
  if (asked === undefined) return undefined
  const { title, text, yes, field, value = '', isSharp = false } = asked.question
  return h(
    'dialog',
    { key: `asks ${title}`, 'aria-labelledby': 'asks', oncancel: event => close(event, undefined) },
    h(
      'form',
      {
        class: 'asks',
        onsubmit: event =>
          close(event, (document.getElementById(ANSWER) as HTMLInputElement | null)?.value ?? ''),
      },
      h('h2', { id: 'asks' }, h('bdi', {}, title)),
      h('p', {}, text),
      field !== undefined && [
        h('label', { for: ANSWER }, field),
        h('input', { id: ANSWER, value, autocomplete: 'off', maxlength: 8192 }),
      ],
      h(
        'div',
        { class: 'acts' },
        button('Cancel', () => close(undefined, undefined)),
        h('button', { type: 'submit', class: isSharp ? 'main bad' : 'main' }, yes),
      ),
    ),
  )
}

function close(event: Event | undefined, given: string | undefined): void {
  event?.preventDefault()
  const { answer } = asked ?? {}
  asked = undefined
  draw()
  answer?.(given)
}

/** Digits open the tabs, `/` goes to the search; what is typed into a field is no key. */
function press(event: KeyboardEvent): void {
  const isTyping = event.target instanceof HTMLElement && event.target.matches('input, textarea, select')
  if (!api.hasToken || asked !== undefined || event.ctrlKey || event.metaKey || event.altKey) return
  if (isTyping) {
    if (event.key === 'Escape') document.getElementById('main')?.focus()
    return
  }
  const tab = tabs[Number(event.key) - 1]
  if (tab !== undefined) location.hash = `#${tab.name}`
  else if (event.key === '/') focusSearch(event)
}

function focusSearch(event: KeyboardEvent): void {
  const { searchId } = here().screen
  if (searchId === undefined) return
  event.preventDefault()
  document.getElementById(searchId)?.focus()
}

addEventListener('hashchange', () => {
  said = ''
  open()
})
addEventListener('keydown', press)
open()
