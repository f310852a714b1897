/** The console of a node: one page that follows it, draws what it says, and asks before anything is done for good. */
import { Live } from '../../view/live.ts'
import { agentList, agentPane } from './agents.ts'
import { App } from './app.ts'
import { openPage } from './boot.ts'
import { comingBack } from './coming-back.ts'
import { dialogBox } from './dialogs.ts'
import { saveWith } from './download.ts'
import { evidenceList, evidencePane, headsCard } from './evidence.ts'
import { markHits } from './finding.ts'
import { type Drawn, h, patch } from './h.ts'
import { onKey } from './keys.ts'
import { lockedPage } from './locked.ts'
import { nodePage } from './node.ts'
import { nodeClientOf } from './node-client.ts'
import { noticing } from './noticing.ts'
import { Peer, type Session } from './peer.ts'
import { chainPicture } from './pictures/chain.ts'
import { trustPicture } from './pictures/trust.ts'
import { bannerList, header, liveRegion } from './shell.ts'
import { taskList } from './tasks.ts'
import { threadPane } from './thread.ts'
import { ThreadEnd } from './thread-end.ts'
import { titles } from './ui.ts'
import { uploadWith } from './upload.ts'
import { isFirstRun, welcome } from './welcome.ts'

const TICK_MS = 1_000
const SLOW_TICKS = 10
/** As the stylesheet has it. */
const narrow = matchMedia('(max-width: 48rem)')

const root = document.getElementById('app')
if (root === null) throw new Error('the page has no place to draw')

function around() {
  return {
    now: Date.now,
    random: Math.random,
    after: (ms: number, then: () => void) => {
      const timer = setTimeout(then, ms)
      return () => clearTimeout(timer)
    },
  }
}

function start(place: HTMLElement, { build, ...session }: Session & { build: string }): void {
  const peer = new Peer(session)
  const live = new Live(nodeClientOf(peer), around())
  const files = { upload: uploadWith(peer), save: saveWith(peer) }
  const app = new App({ live, build, ...files }, () => draw(place, app))
  const tell = noticing(app)
  const comeBack = comingBack(app)
  live.subscribe(() => {
    tell()
    comeBack()
    draw(place, app)
    app.seeOpenThread()
  })
  addEventListener('popstate', () => app.arrive())
  addEventListener('hashchange', () => app.arrive())
  addEventListener('keydown', event => onKey(app, event))
  addEventListener('dragover', event => event.preventDefault())
  addEventListener('drop', event => {
    event.preventDefault()
    const files = [...(event.dataTransfer?.files ?? [])]
    if (files.length > 0) void app.attach(files)
  })
  addEventListener('beforeunload', event => {
    if (!app.isBehind) return
    app.keepDrafts()
    event.preventDefault()
  })
  addEventListener('focus', () => void app.lookAgain())
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) app.keepDrafts()
    else void app.lookAgain()
    draw(place, app)
    app.seeOpenThread()
  })
  let ticks = 0
  setInterval(() => {
    ticks += 1
    const isWaiting = app.view.connection.state !== 'live'
    if (!document.hidden && (isWaiting || ticks % SLOW_TICKS === 0)) draw(place, app)
  }, TICK_MS)
  void live.run()
  live.refreshAll()
  app.arrive()
}

const end = new ThreadEnd()

function draw(place: HTMLElement, app: App): void {
  end.look(place)
  const now = Date.now()
  const { screen, open } = app.ui
  const unread = app.view.status?.counts.unread ?? 0
  document.title = `${unread > 0 ? `(${unread}) ` : ''}${titles[screen]} · svc`
  patch(
    place,
    header(app),
    bannerList(app, now),
    h(
      'main',
      { id: 'main', key: 'main', tabindex: '-1', class: open === undefined ? 'at-list' : 'at-detail' },
      h('h1', { class: 'unseen', key: 'title' }, `${titles[screen]}, the console of your node`),
      ...content(app, now),
    ),
    liveRegion(app),
    dialogBox(app),
  )
  end.follow(place, app)
  showDialog(place)
  // how many places there are is known once they stand
  if (markHits(place, app)) draw(place, app)
}

let asker: Element | null = null

/** A dialog takes the focus to its question, and gives it back to where it was asked from. */
function showDialog(place: HTMLElement): void {
  const dialog = place.querySelector('dialog')
  if (dialog !== null && !dialog.open) {
    asker = document.activeElement
    dialog.showModal()
    const field = dialog.querySelector<HTMLElement>(
      '.setting-form :is(input:not([hidden]), select, textarea)',
    )
    const first = field ?? dialog.querySelector<HTMLElement>('h2, input')
    first?.focus()
  } else if (dialog === null && asker !== null) {
    if (asker instanceof HTMLElement && asker.isConnected) asker.focus({ preventScroll: true })
    asker = null
  }
}

function content(app: App, now: number): (Drawn | undefined)[] {
  const { screen, open } = app.ui
  if (isFirstRun(app)) return [welcome(app)]
  switch (screen) {
    case 'inbox':
    case 'sent':
      return [taskList(app, screen, now), open === undefined ? choose('a task') : threadPane(app, open, now)]
    case 'agents':
      return [
        agentList(app, now),
        open === undefined ? overview('below', trustPicture(app)) : agentPane(app, open),
      ]
    case 'evidence':
      return [
        evidenceList(app, now),
        open === undefined
          ? overview('above', chainPicture(app, now, narrow.matches), headsCard(app))
          : evidencePane(app, open, now),
      ]
    case 'node':
      return [nodePage(app, now)]
  }
}

/** What stands beside a list of which nothing is open; on a narrow page, above or below it. */
const overview = (place: 'above' | 'below', ...pictures: (Drawn | undefined)[]): Drawn =>
  h('div', { class: `detail overview ${place}`, key: 'overview' }, ...pictures)

const choose = (what: string): Drawn =>
  h('div', { class: 'detail none', key: 'none' }, h('p', { class: 'soft' }, `Choose ${what} in the list.`))

const opened = await openPage()
if ('key' in opened) start(root, opened)
else patch(root, lockedPage(opened.lacks))
