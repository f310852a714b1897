/** Several rows at once: what is selected, the bar of what can be done with them, and the question before it is done. */
import { textBounds } from '../../view/bounds.ts'
import {
  type Bulk,
  type BulkResult,
  bulkQuestion,
  bulksOf,
  runBulk,
  sayBulk,
  sorted,
  undoBulk,
} from '../../view/bulk.ts'
import { lookAgain } from '../../view/bulk-again.ts'
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
  if (results !== undefined) return resultsBox(app, bulk, results)
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

function resultsBox(app: App, { name }: Bulk, results: readonly BulkResult[]): Drawn {
  const { failed, unknown } = sorted(results)
  const rows = (of: readonly BulkResult[]) =>
    facts(of.map(({ item, fault = '' }) => [peerName(item), h('span', { dir: 'auto' }, fault)] as const))
  return box(
    app,
    { title: sentence(sayBulk(name, results).split(';')[0] ?? ''), key: 'bulk' },
    failed.length > 0 && h('p', {}, 'These were not done, and stay selected:'),
    failed.length > 0 && rows(failed),
    unknown.length > 0 &&
      h('p', { role: 'status' }, 'Your node did not say whether it did these. It is asked once it answers:'),
    unknown.length > 0 && rows(unknown),
  )
}

async function doBulk(app: App, bulk: Bulk, reason: string): Promise<void> {
  const { dialog } = app.ui
  if (dialog?.busy === true) return
  if (dialog !== undefined) app.set({ dialog: { ...dialog, busy: true } })
  const results = await runBulk(bulk, { view: app.view, act: order => app.give(order), reason })
  const at = tell(app, bulk, results)
  if (sorted(results).unknown.length === 0) return
  const again = await lookAgain(bulk.name, results, { live: app.live, pause }).catch(() => undefined)
  if (again !== undefined) tell(app, bulk, again, { results, at })
}

const AGAIN_MS = 1_000
const pause = () => new Promise<void>(resolve => setTimeout(resolve, AGAIN_MS))

type Before = { results: readonly BulkResult[]; at: number }

/** Says what became of them: at first, and once more where the node did not answer before. Gives the step that it is. */
function tell(app: App, bulk: Bulk, results: readonly BulkResult[], before?: Before): number {
  const { done, failed, unknown } = sorted(results)
  const left = [...failed, ...unknown].map(({ item }) => item.interaction_id)
  const { dialog, selected } = app.ui
  const isShown = dialog?.kind === 'bulk' && (before === undefined || dialog.results === before.results)
  const isOver = left.length === 0
  const settled = new Set(before?.results.map(({ item }) => item.interaction_id))
  app.set({
    selected: new Set(
      before === undefined ? left : [...selected].filter(id => !settled.has(id) || left.includes(id)),
    ),
    ...(isShown && { dialog: isOver ? undefined : { kind: 'bulk', bulk, results } }),
  })
  const back = undoBulk(bulk.name, results)
  const says = sayBulk(bulk.name, results)
  // something else was done meanwhile, and it is what u is about
  const isLast = before === undefined || app.last.at === before.at
  const isStep = isLast && done.length + unknown.length > 0
  app.say(
    isStep ? app.last.did(says, back && (() => void doBulk(app, back, ''))) : says,
    isOver ? 'good' : 'warn',
  )
  return app.last.at
}

/** One task without a question: u takes it back. */
export function archiveOne(app: App, id: string): void {
  const bulk = bulksOf(app.view, [id]).find(({ name }) => name === 'archive' || name === 'unarchive')
  if (bulk === undefined) app.say('this waits for your yes or no; answer it first', 'warn')
  else void doBulk(app, bulk, '')
}
