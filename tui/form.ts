/** A setting as questions: its fields one after the other, each with what stands there now. Pure. */
import { actionOf } from '../view/keys.ts'
import { type Choice, type Field, faultOf, type Values } from '../view/settings/field.ts'
import { faultsIn, fieldsOf, questionOf, type Setting, startOf } from '../view/settings/setting.ts'
import { settingOf } from '../view/settings.ts'
import type { View } from '../view/state.ts'
import { bufferOf, emptyBuffer, insert, steps } from './edit.ts'
import type { Effect, Form, Model } from './model.ts'
import type { Press } from './press.ts'
import { type Scene, type Step, stay, toast, without } from './scene.ts'

/** The field that is asked. */
export const fieldNow = ({ id, values, at }: Form): Field | undefined => fieldsOf(settingOf(id), values)[at]

const SWITCH: readonly Choice[] = [
  { value: 'yes', says: 'yes' },
  { value: 'no', says: 'no' },
]

/** What one can choose, where nothing is typed. */
export function choicesOf(field: Field | undefined, view: View): readonly Choice[] | undefined {
  if (field?.kind === 'choice') return field.choices(view)
  return field?.kind === 'switch' ? SWITCH : undefined
}

/** Opens a setting: at its first field, at its question where it has none, or not at all where it is not offered. */
export function openSetting(scene: Scene, id: string): Step {
  const { model, view } = scene
  const row = settingOf(id)
  const unless = row.unless?.(view)
  if (unless !== undefined) return stay(toast(model, unless, 'warn'))
  const values = startOf(row, view)
  if (values === undefined)
    return stay(toast(model, 'the node has not said yet what it holds; once more in a moment', 'warn'), {
      type: 'screen',
      screen: 'node',
    })
  const form = asked({ id, values, at: 0, buffer: emptyBuffer, isSending: false }, 0)
  return row.fields.length === 0 ? finished({ ...scene, model }, row, form) : stay({ ...model, form })
}

/** A setting with all that it needs, of which only the question is left. */
export const askedAtOnce = (scene: Scene, id: string, values: Values): Step =>
  finished(scene, settingOf(id), { id, values, at: 0, buffer: emptyBuffer, isSending: false })

/** The form at another of its fields, with what stands there. */
function asked(form: Form, at: number, fault?: string): Form {
  const next = { ...without(form, 'fault'), at }
  const value = form.values[fieldNow(next)?.name ?? ''] ?? ''
  return { ...next, buffer: bufferOf(value), ...(fault !== undefined && { fault }) }
}

export function pressForm(scene: Scene, press: Press): Step {
  const { model } = scene
  const form = model.form as Form
  const action = actionOf('form', press.key)
  if (action === 'suspend') return stay(model, { type: 'suspend' })
  if (action === 'back')
    return stay(toast(without(model, 'form'), form.isSending ? 'it goes on' : 'nothing was changed'))
  if (form.isSending) return stay(model)
  switch (action) {
    case 'open':
      return taken(scene, form)
    case 'previous_field':
      return stay({ ...model, form: asked(form, Math.max(0, form.at - 1)) })
    case 'previous':
    case 'next':
      return stay(chosen(scene, form, action === 'next' ? 1 : -1))
    case 'complete':
      return stay(offered(scene, form))
    case 'try':
      return tried(scene, form)
    case 'editor':
      return fieldNow(form)?.kind === 'long' ? stay(model, { type: 'edit_form', form }) : stay(model)
    default:
      return stay(typed(scene, form, press, action === 'newline'))
  }
}

/** The form with a value of the field that is asked, typed or chosen. */
export const withValue = (model: Model, form: Form, value: string): Model => {
  const field = fieldNow(form)
  if (field === undefined) return model
  const { fault: _fault, told: _told, ...rest } = form
  return { ...model, form: { ...rest, values: { ...form.values, [field.name]: value } } }
}

/** Words that were typed or pasted into the field. */
export function typedInto(model: Model, form: Form, buffer: Form['buffer']): Model {
  const next = withValue(model, form, buffer.text)
  return next.form === undefined ? next : { ...next, form: { ...next.form, buffer } }
}

function typed(scene: Scene, form: Form, { key, text }: Press, isNewline: boolean): Model {
  const { model, view } = scene
  const field = fieldNow(form)
  if (choicesOf(field, view) !== undefined) {
    if (field?.kind === 'switch' && (key === 'y' || key === 'n'))
      return withValue(model, form, key === 'y' ? 'yes' : 'no')
    const by = { j: 1, k: -1, space: 1 }[key]
    return by === undefined ? model : chosen(scene, form, by as 1 | -1)
  }
  if (isNewline) return field?.kind === 'long' ? typedInto(model, form, insert(form.buffer, '\n')) : model
  const step = steps[key]
  if (step !== undefined) return typedInto(model, form, step(form.buffer))
  return text === undefined ? model : typedInto(model, form, insert(form.buffer, text))
}

function chosen({ model, view }: Scene, form: Form, by: 1 | -1): Model {
  const field = fieldNow(form)
  const choices = choicesOf(field, view) ?? []
  if (field === undefined || choices.length === 0) return model
  const at = choices.findIndex(({ value }) => value === form.values[field.name])
  const next = choices[(Math.max(at, by > 0 ? -1 : 0) + by + choices.length) % choices.length]
  return withValue(model, form, next?.value ?? '')
}

/** One after the other of what is often meant. */
function offered({ model, view }: Scene, form: Form): Model {
  const field = fieldNow(form)
  const offers = field !== undefined && 'offers' in field ? (field.offers?.(view) ?? []) : []
  if (offers.length === 0) return model
  const at = offers.findIndex(({ value }) => value === form.buffer.text)
  return typedInto(model, form, bufferOf(offers[(at + 1) % offers.length]?.value ?? ''))
}

function taken(scene: Scene, form: Form): Step {
  const { model, view } = scene
  const row = settingOf(form.id)
  const field = fieldNow(form)
  const fault = field && faultOf(field, form.values, view)
  if (fault !== undefined) return stay({ ...model, form: { ...form, fault } })
  if (form.at + 1 < fieldsOf(row, form.values).length)
    return stay({ ...model, form: asked(form, form.at + 1) })
  return finished(scene, row, form)
}

/** Everything is filled in: the last question, or it is done at once where it has none. */
function finished({ model, view }: Scene, row: Setting, form: Form): Step {
  const wrong = wrongField(row, form.values, view)
  if (wrong !== undefined) return stay({ ...model, form: asked(form, wrong.at, wrong.says) })
  const set: Effect = { type: 'set', id: row.id, values: form.values }
  const question = questionOf(row, form.values, view)
  return question === undefined
    ? stay(model, set)
    : stay({ ...model, confirm: { asks: question.asks, facts: question.facts, yes: set } })
}

function tried({ model, view }: Scene, form: Form): Step {
  const row = settingOf(form.id)
  if (row.tries === undefined) return stay(model)
  const wrong = wrongField(row, form.values, view)
  if (wrong !== undefined) return stay({ ...model, form: asked(form, wrong.at, wrong.says) })
  return stay(model, { type: 'try', id: row.id, values: form.values })
}

/** The first field with which something is wrong. */
function wrongField(row: Setting, values: Values, view: View): { at: number; says: string } | undefined {
  const faults = faultsIn(row, values, view)
  const at = fieldsOf(row, values).findIndex(({ name }) => faults.has(name))
  const name = fieldsOf(row, values)[at]?.name
  return name === undefined ? undefined : { at, says: faults.get(name) as string }
}

/** The form at the field about which something was said, or where it is, with what was said. */
export function faulted(form: Form, name: string | undefined, says: string): Form {
  const at = fieldsOf(settingOf(form.id), form.values).findIndex(field => field.name === name)
  return { ...asked(form, at < 0 ? form.at : at, says), isSending: false }
}
