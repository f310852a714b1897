/** Forms of the table of settings: opened with what stands now, checked before the node is asked, refused beside their field. */
import { cleanLine } from '../../view/clean.ts'
import type { Order, Values } from '../../view/settings/field.ts'
import { faultsIn, fieldOf, orderOf, questionOf, type Setting, startOf } from '../../view/settings/setting.ts'
import { settingOf } from '../../view/settings.ts'
import { type App, faultOf } from './app.ts'
import type { Filling } from './ui.ts'

/** Where a form stands: in a dialog, or on the page. */
export type Form = {
  readonly app: App
  readonly row: Setting
  readonly filling: Filling
  set(change: Partial<Filling>): void
  /** It is done. */
  close(): void
  readonly prefix: string
}

const NONE: ReadonlyMap<string, string> = new Map()

/** A form with what stands now; undefined while the node has not said it. */
export function begun(app: App, id: string, chosen: Values = {}): Filling | undefined {
  const values = startOf(settingOf(id), app.view, chosen)
  return values && { id, values, faults: NONE }
}

/** Opens the form of a setting; one of which all is chosen asks at once, or is done at once. */
export function openSetting(app: App, id: string, given: Values = {}, isWhole = false): void {
  const row = settingOf(id)
  const chosen = row.flips?.(app.view) ?? given
  const filling = begun(app, id, chosen)
  if (filling === undefined) return void openLater(app, id, given, isWhole)
  const why = row.unless?.(app.view)
  if (why !== undefined) return void app.say(why, 'warn')
  if (!isWhole && row.flips === undefined && row.fields.length > 0)
    return void app.ask({ kind: 'setting', filling })
  const form = dialogForm(app, { ...filling, isWhole: true })
  if (questionOf(row, filling.values, app.view) === undefined) void done(form)
  else app.ask({ kind: 'setting', filling: { ...filling, isWhole: true, isAsked: true } })
}

/** From the question back to the form, where there is one. */
export function back(form: Form): void {
  if (form.filling.isWhole === true) form.close()
  else form.set({ isAsked: false })
}

/** Of another screen not all is known that a form shows. */
async function openLater(app: App, id: string, given: Values, isWhole: boolean): Promise<void> {
  await Promise.all([app.live.openNode(), app.live.openAccount()])
  if (begun(app, id, given) !== undefined) openSetting(app, id, given, isWhole)
  else app.say('the node does not say what is set; try it again', 'warn')
}

/** The form that the dialog has. */
export function dialogForm(app: App, filling: Filling): Form {
  const now = () => (app.ui.dialog?.kind === 'setting' ? app.ui.dialog.filling : filling)
  return {
    app,
    row: settingOf(filling.id),
    filling,
    prefix: 'set',
    set: change => {
      if (app.ui.dialog?.kind === 'setting')
        app.set({ dialog: { kind: 'setting', filling: { ...now(), ...change } } })
    },
    close: () => app.close(),
  }
}

export const typed = ({ set, filling }: Form, name: string, value: string): void => {
  const faults = new Map(filling.faults)
  faults.delete(name)
  set({ values: { ...filling.values, [name]: value }, faults, fault: undefined, says: undefined })
}

/** Enter, or the button of the form: says what is wrong, asks what has to be asked, or does it. */
export function submit(form: Form): void {
  const { app, row, filling, set } = form
  if (filling.busy === true) return
  const faults = faultsIn(row, filling.values, app.view)
  if (faults.size > 0) {
    set({ faults })
    return void focusOn(form, [...faults.keys()][0])
  }
  if (filling.isAsked !== true && questionOf(row, filling.values, app.view) !== undefined)
    return void ask(form)
  void done(form)
}

/** The question takes the place of the form, and the focus with it. */
function ask({ set }: Form): void {
  set({ isAsked: true, faults: NONE, fault: undefined, says: undefined })
  document.getElementById('dialog-title')?.focus()
}

function focusOn({ prefix }: Form, name: string | undefined): void {
  document.getElementById(`${prefix}-${name}`)?.focus()
}

async function done(form: Form): Promise<void> {
  const { app, row, filling, set, close } = form
  const { values } = filling
  const undo = row.undo?.(values, app.view)
  set({ busy: true, fault: undefined, says: undefined })
  if (row.waits !== undefined) app.say(row.waits, 'wait')
  try {
    const reply = await app.give(orderOf(row, values, app.view))
    close()
    app.say(app.last.did(row.says(reply, values), undo && (() => void given(app, undo.order, undo.says))))
  } catch (error) {
    refused(form, error)
  }
}

/** What the node refused stands beside the field that it names, else below all of them. */
function refused(form: Form, error: unknown): void {
  const { row, filling, set, app } = form
  const says = error instanceof Error ? cleanLine(error.message, 600) : ''
  app.last.failed(error, says)
  const field = fieldOf(row, filling.values, says)
  const rest = says.replace(/^[a-z_.0-9]+(?::| )\s*/, '')
  const faults = field === undefined ? NONE : new Map([[field.name, rest]])
  const fault = field === undefined ? faultOf(error) : undefined
  const isWhole = filling.isWhole === true
  if (isWhole && app.ui.dialog === undefined) app.say(faultOf(error), 'bad')
  if (isWhole) return void set({ busy: false, fault: faultOf(error) })
  set({ busy: false, isAsked: false, faults, fault })
  if (field !== undefined) focusOn(form, field.name)
}

async function given(app: App, order: Order, says: string): Promise<void> {
  try {
    await app.give(order)
    app.say(app.last.did(says))
  } catch (error) {
    app.say(app.last.failed(error, faultOf(error)), 'bad')
  }
}

/** Tries what is filled in; nothing of it is kept. */
export async function trial(form: Form): Promise<void> {
  const { app, row, filling, set } = form
  const faults = faultsIn(row, filling.values, app.view)
  if (row.tries === undefined || filling.busy === true) return
  if (faults.size > 0) {
    set({ faults })
    return void focusOn(form, [...faults.keys()][0])
  }
  set({ busy: true, fault: undefined, says: { text: row.waits ?? 'trying it', tone: 'wait' } })
  try {
    const reply = await app.give(row.tries.order(filling.values, app.view))
    set({ busy: false, says: { text: row.tries.says(reply), tone: 'good' } })
  } catch (error) {
    set({ busy: false, says: undefined })
    refused(form, error)
  }
}
