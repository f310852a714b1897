/** Several rows at once: what is selected, the bar of what can be done with them, and the question before it is done. */
import { textBounds } from '../../view/bounds.ts'
import { type Bulk, bulkQuestion, bulksOf, runBulk, sayBulk, undoBulk } from '../../view/bulk.ts'
import { peerName } from '../../view/sentences.ts'
import type { App } from './app.ts'
import { box, reasonField } from './dialog-box.ts'
import { type Drawn, h } from './h.ts'
import { button, facts, isTooLong, sentence } from './parts.ts'
import type { Dialog } from './ui.ts'

/** Where the last row was selected: from there `shift` goes on. */
let anchor: string | undefined

export function toggle(app: App, id: string): void {
  const selected = new Set(app.ui.selected)
  if (!selected.delete(id)) selected.add(id)
  anchor = id
  app.set({ selected })
}

/** Everything from the row that was selected last to this one, as the list shows them. */
export function selectTo(app: App, id: string, shown: readonly string[]): void {
  const [from, to] = [shown.indexOf(anchor ?? ''), shown.indexOf(id)]
  if (from < 0 || to < 0) return void toggle(app, id)
  const between = shown.slice(Math.min(from, to), Math.max(from, to) + 1)
  anchor = id
  app.set({ selected: new Set([...app.ui.selected, ...between]) })
}

export function clearSelected(app: App): boolean {
  if (app.ui.selected.size === 0) return false
  app.set({ selected: new Set() })
  return true
}

/** How many are selected, and what fits how many of them. */
export function selectionBar(app: App, shown: readonly string[]): Drawn | undefined {
  const { selected } = app.ui
  const count = shown.filter(id => selected.has(id)).length
  if (count === 0) return undefined
  const bulks = bulksOf(
    app.view,
    shown.filter(id => selected.has(id)),
  )
  return h(
    'div',
    {
      class: 'selection',
      key: 'selection',
      role: 'toolbar',
      'aria-label': 'What is done with those selected',
    },
    h('span', { class: 'many', role: 'status' }, `${count} selected`),
    bulks.map(bulk =>
      button(`${bulk.label} ${bulk.items.length}`, () => askBulk(app, bulk), {
        key: bulk.name,
        class: 'small',
      }),
    ),
    button('All', () => app.set({ selected: new Set(shown) }), {
      class: 'small quiet',
      key: 'all',
      'aria-label': 'Select all rows that are shown',
    }),
    button('None', () => clearSelected(app), {
      class: 'small quiet',
      key: 'none',
      title: 'Select nothing (Esc)',
    }),
  )
}

export const askBulk = (app: App, bulk: Bulk): void => app.ask({ kind: 'bulk', bulk })

/** The box from which a row is selected; it is no part of the link that opens the row. */
export function rowCheck(app: App, id: string, label: string, shown: readonly string[]): Drawn {
  return h('input', {
    type: 'checkbox',
    class: 'pick',
    checked: app.ui.selected.has(id),
    'aria-label': `Select the task with ${label}`,
    title: 'Select (x)',
    onclick: event => {
      if ((event as MouseEvent).shiftKey) selectTo(app, id, shown)
      else toggle(app, id)
    },
  })
}

type Asked = Extract<Dialog, { kind: 'bulk' }> & { fault?: string | undefined; busy?: boolean }

/** Asked once with all names; what failed is said by row, and stays selected. */
export function bulkBox(app: App, dialog: Asked): Drawn {
  const { bulk, results } = dialog
  const failed = results?.filter(({ fault }) => fault !== undefined) ?? []
  if (results !== undefined)
    return box(
      app,
      { title: sentence(sayBulk(bulk.name, results).split(';')[0] ?? ''), key: 'bulk' },
      h('p', {}, 'These were not done, and stay selected:'),
      facts(
        failed.map(({ item, fault }) => [peerName(item), h('span', { dir: 'auto' }, fault ?? '')] as const),
      ),
    )
  const question = bulkQuestion(bulk)
  const { given = '' } = dialog
  const isLong = isTooLong(given, textBounds.reason)
  const run = isLong ? undefined : () => void doBulk(app, bulk, given.trim())
  return box(
    app,
    { title: question.asks, yes: question.yes, run, asked: dialog, key: 'bulk' },
    h(
      'div',
      { class: 'scroll names', tabindex: '0', role: 'region', 'aria-label': 'What it is about' },
      facts(
        question.facts.map(([name, value]) => [sentence(name), h('span', { dir: 'auto' }, value)] as const),
      ),
    ),
    question.canHaveReason &&
      reasonField('Reason, for the other sides', given, text =>
        app.set({ dialog: { ...dialog, given: text } }),
      ),
  )
}

async function doBulk(app: App, bulk: Bulk, reason: string): Promise<void> {
  const { dialog } = app.ui
  if (dialog?.busy === true) return
  if (dialog !== undefined) app.set({ dialog: { ...dialog, busy: true } })
  const results = await runBulk(bulk, { view: app.view, act: order => app.give(order), reason })
  const failed = results.flatMap(({ item, fault }) => (fault === undefined ? [] : item.interaction_id))
  const back = undoBulk(bulk.name, results)
  app.set({
    selected: new Set(failed),
    dialog: failed.length === 0 || app.ui.dialog === undefined ? undefined : { kind: 'bulk', bulk, results },
  })
  app.say(
    app.last.did(sayBulk(bulk.name, results), back && (() => void doBulk(app, back, ''))),
    failed.length === 0 ? 'good' : 'warn',
  )
}

/** One task without a question: u takes it back. */
export function archiveOne(app: App, id: string): void {
  const bulk = bulksOf(app.view, [id]).find(({ name }) => name === 'archive' || name === 'unarchive')
  if (bulk === undefined) app.say('this waits for your yes or no; answer it first', 'warn')
  else void doBulk(app, bulk, '')
}
