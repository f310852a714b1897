/**
 * News outside of the page, as the browser shows them: off unless a person switches them on, only while a tab is open and
 * looked away from, and without words of others unless that person wants them.
 */
import { type Notice, noticesOf } from '../../view/notices.ts'
import type { App } from './app.ts'

/** More than that at once are told as one. */
const TOLD_MAX = 3

/** Tells what is new between one view and the next, as it is called after each change. */
export function noticing(app: App): () => void {
  let before = app.view
  return () => {
    const [held, now] = [before, app.view]
    before = now
    if (!app.ui.notices.on || isLookedAt()) return
    const notices = noticesOf(held, now)
    if (notices.length > TOLD_MAX)
      tell(app, { title: `${notices.length} tasks have something new`, tag: 'many' })
    else for (const notice of notices) tell(app, { title: notice.says, tag: notice.id, notice })
  }
}

const isLookedAt = (): boolean => document.visibilityState === 'visible' && document.hasFocus()

type Told = { title: string; tag: string; notice?: Notice }

function tell(app: App, { title, tag, notice }: Told): void {
  const body = app.ui.notices.words ? (notice?.words ?? '') : ''
  // the same tag in two tabs is one notification
  const shown = new Notification(title, { body, tag })
  shown.onclick = () => {
    window.focus()
    if (notice !== undefined) app.open(notice.id, notice.side === 'received' ? 'inbox' : 'sent')
  }
}

/** Asks the browser, which asks the person, the first time. */
export async function setNotices(app: App, on: boolean): Promise<void> {
  if (!on) return app.set({ notices: { ...app.ui.notices, on: false } })
  if (!('Notification' in globalThis)) return app.say('this browser shows no notifications', 'warn')
  const answer = await Notification.requestPermission()
  if (answer !== 'granted') {
    // the box is drawn as it stands
    app.set({ notices: { ...app.ui.notices, on: false } })
    return app.say('the browser does not let this page notify you; its settings for this page can', 'warn')
  }
  app.set({ notices: { ...app.ui.notices, on: true } })
  app.say('news are told while this page is open and you look elsewhere')
}
