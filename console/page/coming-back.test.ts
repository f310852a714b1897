/** What the page says once its node answers again. */
import { expect, test } from 'vitest'
import type { App } from './app.ts'
import { comingBack } from './coming-back.ts'
import { emptyDraft, emptyOrder } from './ui.ts'

function page(fault: string, isGone: boolean) {
  const app = {
    view: { connection: { state: 'live' } },
    ui: {
      dialog: { kind: 'help', fault, isGone },
      drafts: new Map([['t', { ...emptyDraft, text: 'words', fault, isGone }]]),
      orders: new Map([['a', { ...emptyOrder, text: 'words', fault, isGone }]]),
    },
    set: (change: object) => Object.assign(app.ui, change),
    setDraft: (id: string, change: object) =>
      app.ui.drafts.set(id, { ...(app.ui.drafts.get(id) ?? emptyDraft), ...change } as never),
    setOrder: (id: string, change: object) =>
      app.ui.orders.set(id, { ...(app.ui.orders.get(id) ?? emptyOrder), ...change } as never),
  }
  const follow = comingBack(app as unknown as App)
  const passes = (...states: string[]) => {
    for (const state of states) {
      app.view.connection.state = state
      follow()
    }
    return [app.ui.dialog.fault, app.ui.drafts.get('t')?.fault, app.ui.orders.get('a')?.fault]
  }
  return passes
}

const LOOK = expect.stringContaining('did not answer then, and does now; look whether it was done')
const SEND = expect.stringContaining('did not answer then, and does now; send it once more')

test.each(['lost', 'stopped'])('that a node was %s is over once it answers again', state => {
  const passes = page('no node answers', true)
  expect(passes('live', state)).toEqual(Array(3).fill('no node answers'))
  expect(passes('live')).toEqual([LOOK, SEND, SEND])
})

test('another fault stays, and so does one without a node that went', () => {
  expect(page('it is over', false)('live', 'lost', 'live')).toEqual(Array(3).fill('it is over'))
  expect(page('no node answers', true)('connecting', 'live', 'live')).toEqual(
    Array(3).fill('no node answers'),
  )
})
