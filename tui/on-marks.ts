/** Tasks that are marked, and what is done with all of them after one question. */
import { type Bulk, type BulkName, bulkQuestion, bulksOf } from '../view/bulk.ts'
import { cleanLine } from '../view/clean.ts'
import type { Action } from '../view/keys.ts'
import type { Confirm, Effect, Model } from './model.ts'
import { movedRow } from './moves.ts'
import { paneOf, type Scene, type Step, stay, toast } from './scene.ts'

const BULKS: Partial<Record<Action, readonly BulkName[]>> = {
  approve: ['approve'],
  decline: ['decline'],
  archive: ['archive', 'unarchive'],
}

/** Why nothing of what is marked is done. */
const NOTHING: Partial<Record<Action, string>> = {
  approve: 'nothing that is marked waits for a yes; a payment that does not come back is approved alone',
  decline: 'nothing that is marked can be declined',
  archive: 'what waits for your yes stays in the list',
}

export function onMarks(scene: Scene, action: Action): Step | undefined {
  const { model } = scene
  if (model.screen !== 'inbox' && model.screen !== 'sent') return undefined
  if (model.thread !== undefined)
    return action === 'archive' ? bulkAsked(scene, action, [model.thread.id]) : undefined
  if (action === 'select') return marked(scene)
  if (action === 'archived_only')
    return stay({ ...model, archivedOnly: !model.archivedOnly, marks: new Map() }, { type: 'narrow' })
  if (action === 'clear_filter')
    return model.marks.size === 0 ? undefined : stay({ ...model, marks: new Map() })
  if (model.marks.size > 0) return bulkAsked(scene, action, [...model.marks.keys()])
  const { selected } = paneOf(model)
  return action === 'archive' && selected !== undefined ? bulkAsked(scene, action, [selected]) : undefined
}

/** Marked, or no more, and on to the next row. */
function marked(scene: Scene): Step {
  const { model } = scene
  const { selected } = paneOf(model)
  if (selected === undefined) return stay(toast(model, 'no task is selected'))
  const marks = new Map(model.marks)
  if (!marks.delete(selected)) marks.set(selected, '')
  return movedRow({ ...scene, model: { ...model, marks } }, 'next', 1)
}

function bulkAsked({ model, view }: Scene, action: Action, ids: readonly string[]): Step | undefined {
  const names = BULKS[action]
  if (names === undefined) return undefined
  const bulk = bulksOf(view, ids).find(({ name }) => names.includes(name))
  if (bulk === undefined) return stay(toast(model, NOTHING[action] ?? 'nothing is marked', 'warn'))
  // one task leaves the list and comes back with u
  if (action === 'archive' && ids.length === 1) return stay(model, effectOf(bulk))
  return stay({ ...model, confirm: confirmOf(bulk, ids.length) })
}

const effectOf = ({ name, items }: Bulk, reason?: string): Effect => ({
  type: 'bulk',
  name,
  ids: items.map(({ interaction_id: id }) => id),
  ...(reason !== undefined && { reason }),
})

/** The one question, with every name. */
function confirmOf(bulk: Bulk, marked: number, reason = ''): Confirm {
  const { asks, facts, canHaveReason } = bulkQuestion(bulk)
  const left = marked - bulk.items.length
  return {
    asks,
    facts: [
      ...facts,
      ...(left === 0 ? [] : [['left', `${left} of the marked, for which this is not to be had`] as const]),
      ...(canHaveReason
        ? [['why', reason === '' ? 'nothing is told' : `“${cleanLine(reason, 1_000)}”`] as const]
        : []),
    ],
    yes: effectOf(bulk, reason),
    ...(canHaveReason && { because: (given: string) => confirmOf(bulk, marked, given) }),
  }
}

/** The marks that are left: of what failed, with why. */
export function marksAfter(
  { marks }: Pick<Model, 'marks'>,
  done: readonly string[],
  failed: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  const left = new Map(marks)
  for (const id of done) left.delete(id)
  for (const [id, why] of failed) left.set(id, why)
  return left
}
