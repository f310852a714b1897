/** Does what was asked about settings and about several tasks; what comes of it goes back into the model. */
import type { OperationInput, OperationName } from '../protocol/control/operations.ts'
import { wordsOf } from '../protocol/encoding/errors.ts'
import { present } from '../protocol/encoding/present.ts'
import { type BulkName, type BulkResult, bulksOf, runBulk, sayBulk, sorted, undoBulk } from '../view/bulk.ts'
import { lookAgain } from '../view/bulk-again.ts'
import { cleanLine } from '../view/clean.ts'
import type { Order, Undo } from '../view/settings/field.ts'
import { fieldOf, orderOf } from '../view/settings/setting.ts'
import { settingOf } from '../view/settings.ts'
import { bufferOf } from './edit.ts'
import type { Around } from './effects.ts'
import { faulted, typedInto } from './form.ts'
import { act, type Effect, type Form, type Model } from './model.ts'
import { marksAfter } from './on-marks.ts'
import { toast, unsure, without } from './scene.ts'

type Of<T extends Effect['type']> = Extract<Effect, { type: T }>

/** What a setting, a form or several tasks ask for. */
export function setAtNode(around: Around, effect: Of<'set' | 'try' | 'edit_form' | 'bulk'>): Promise<void> {
  switch (effect.type) {
    case 'edit_form':
      return editedForm(around, effect.form)
    case 'bulk':
      return doneToAll(around, effect)
    default:
      return setOrTried(around, effect)
  }
}

/** Calls what a setting calls; a refusal goes to the field that it is about, and a fault of the way to the foot. */
async function setOrTried({ live, change }: Around, effect: Of<'set' | 'try'>): Promise<void> {
  const { id, values, type } = effect
  const row = settingOf(id)
  const view = live.view
  const ofForm = (work: (form: Form, model: Model) => Model) =>
    change(model => (model.form?.id === id ? work(model.form, model) : model))
  ofForm((form, model) => {
    const { told: _told, fault: _fault, ...rest } = form
    return { ...model, form: { ...rest, isSending: true } }
  })
  try {
    if (type === 'try') {
      const order = row.tries?.order(values, view)
      if (order === undefined) return
      const says = row.tries?.says(await live.ask(order.name, inputOf(order))) ?? ''
      return ofForm((form, model) => ({
        ...model,
        form: { ...form, isSending: false, told: { says, tone: 'good' } },
      }))
    }
    const undo = row.undo?.(values, view)
    const order = orderOf(row, values, view)
    const says = row.says(await live.act(order.name, inputOf(order)), values)
    change(model => ({
      ...toast(closed(model, id), undo === undefined ? says : `${says}; u undoes it`, 'good'),
      undo: undo === undefined ? { says } : undoOf(undo),
    }))
  } catch (error) {
    const says = wordsOf(error)
    if (type === 'set') change(model => unsure(model, error))
    ofForm((form, model) => ({ ...model, form: faulted(form, fieldOf(row, values, says)?.name, says) }))
    // a setting without fields has no form in which it could stand
    change(model => (model.form?.id === id ? model : toast(model, cleanLine(says, 600), 'bad')))
  }
}

const inputOf = ({ input }: Order) => input as OperationInput<OperationName>
const closed = (model: Model, id: string): Model =>
  (model.form?.id === id ? without(model, 'form') : model) as Model
const undoOf = ({ order, says }: Undo): NonNullable<Model['undo']> => ({
  says,
  effect: act(order.name, inputOf(order), says),
})

/** A long text of a form, written in the person's editor. */
async function editedForm({ host, terminal, change }: Around, given: Form): Promise<void> {
  let text = given.buffer.text
  await terminal.lend(async () => {
    text = await host.edit(given.buffer.text)
  })
  change(model => (model.form?.id === given.id ? typedInto(model, model.form, bufferOf(text)) : model))
}

/** Several tasks, one after the other; what failed stays marked, with why. */
async function doneToAll({ live, change }: Around, effect: Of<'bulk'>): Promise<void> {
  const { name, ids, reason } = effect
  const bulk = bulksOf(live.view, ids).find(one => one.name === name)
  if (bulk === undefined)
    return change(model => toast(model, 'meanwhile nothing of this is left to be done', 'warn'))
  const results = await runBulk(bulk, {
    view: live.view,
    act: order => live.act(order.name, inputOf(order)),
    ...present({ reason }),
  })
  let step: Model['undo']
  change(model => {
    const after = told(model, { name, results })
    step = after.undo
    return after
  })
  if (sorted(results).unknown.length === 0) return
  const again = await lookAgain(name, results, { live, pause }).catch(() => undefined)
  // where something else was done meanwhile, u is about that
  if (again !== undefined)
    change(model => {
      const after = told(model, { name, results: again })
      return model.undo === step ? after : { ...after, undo: model.undo }
    })
}

const AGAIN_MS = 1_000
const pause = () => new Promise<void>(resolve => setTimeout(resolve, AGAIN_MS).unref())

type Outcome = { name: BulkName; results: readonly BulkResult[] }

/** What became of several tasks; those that are not done stay marked, with why. */
function told(model: Model, { name, results }: Outcome): Model {
  const { done, failed, unknown } = sorted(results)
  const left = [...failed, ...unknown].map(({ item, fault = '' }) => [item.interaction_id, fault] as const)
  const says = sayBulk(name, results)
  const back = undoBulk(name, results)
  const effect = back && {
    type: 'bulk' as const,
    name: back.name,
    ids: back.items.map(item => item.interaction_id),
  }
  const isStep = done.length + unknown.length > 0
  return {
    ...toast(model, effect === undefined ? says : `${says}; u undoes it`, left.length === 0 ? 'good' : 'bad'),
    marks: marksAfter(
      model,
      results.map(({ item }) => item.interaction_id),
      new Map(left),
    ),
    ...(isStep && { undo: { says: back?.label ?? says, ...present({ effect }) } }),
  }
}
