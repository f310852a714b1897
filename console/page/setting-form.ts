/** How a setting is drawn: its fields with label, help, what is wrong and how long it may be, and the question before it is done. */
import { measured } from '../../view/bounds.ts'
import { type Field, rangeOf } from '../../view/settings/field.ts'
import { fieldsOf, questionOf } from '../../view/settings/setting.ts'
import { back, type Form, submit, trial, typed } from './filling.ts'
import { type Drawn, h } from './h.ts'
import { button, facts, sentence, toned, typedIn } from './parts.ts'

/** Fields and buttons, or the question with its yes. */
export function settingBody(form: Form, cancel?: () => void): Drawn {
  return form.filling.isAsked === true ? questionBody(form) : formBody(form, cancel)
}

/** What stands above it: the heading of the form, or what is asked. */
export function settingTitle({ app, row, filling }: Form): string {
  const question = filling.isAsked === true ? questionOf(row, filling.values, app.view) : undefined
  return question?.asks ?? row.heading
}

function formBody(form: Form, cancel?: () => void): Drawn {
  const { row, filling } = form
  const isBusy = filling.busy === true
  return h(
    'form',
    {
      class: 'setting-form',
      key: 'fields',
      novalidate: true,
      onsubmit: event => {
        event.preventDefault()
        submit(form)
      },
    },
    h('p', { class: 'soft' }, row.help),
    row.fields.some(({ kind }) => kind === 'secret') && whose(form),
    fieldsOf(row, filling.values).map(field => fieldOf(form, field)),
    filling.fault !== undefined && h('p', { class: 'fault', role: 'alert' }, sentence(filling.fault)),
    filling.says !== undefined &&
      h('p', { class: 'tried', role: 'status' }, toned(filling.says.tone, sentence(filling.says.text))),
    h(
      'div',
      { class: 'bar' },
      h('button', { type: 'submit', class: 'main', disabled: isBusy }, isBusy ? 'Waiting …' : row.yes),
      row.tries !== undefined &&
        button(row.tries.yes, () => void trial(form), { disabled: isBusy, key: 'try' }),
      cancel !== undefined && button('Cancel', cancel, { key: 'cancel' }),
    ),
  )
}

/** For whoever keeps passwords: to whom what is typed here belongs. */
const whose = ({ app }: Form): Drawn =>
  h('input', {
    key: 'whose',
    type: 'text',
    hidden: true,
    autocomplete: 'username',
    value: app.view.status?.aid ?? '',
  })

function questionBody(form: Form): Drawn {
  const { app, row, filling } = form
  const question = questionOf(row, filling.values, app.view)
  const isBusy = filling.busy === true
  return h(
    'div',
    { key: 'question' },
    facts(
      (question?.facts ?? []).map(([name, value]) => [sentence(name), h('span', { dir: 'auto' }, value)]),
    ),
    filling.fault !== undefined && h('p', { class: 'fault', role: 'alert' }, sentence(filling.fault)),
    h(
      'div',
      { class: 'bar' },
      button(isBusy ? 'Waiting …' : (question?.yes ?? row.yes), () => submit(form), {
        class: 'main',
        disabled: isBusy,
        title: `${question?.yes ?? row.yes} (y)`,
      }),
      button(filling.isWhole === true ? 'No' : 'Back', () => back(form), { title: 'No (n)', key: 'no' }),
    ),
  )
}

function fieldOf(form: Form, field: Field): Drawn {
  const { filling, prefix } = form
  const { name, label, help } = field
  const id = `${prefix}-${name}`
  const value = filling.values[name] ?? ''
  const fault = filling.faults.get(name)
  const counter =
    'bound' in field && field.bound !== undefined ? measured(value, field.bound).says : undefined
  const described = [`${id}-help`, fault !== undefined && `${id}-fault`].filter(Boolean).join(' ')
  const common = {
    id,
    'aria-describedby': described,
    'aria-invalid': fault === undefined ? undefined : 'true',
    disabled: filling.busy === true,
  }
  return h(
    'div',
    { class: field.kind === 'switch' ? 'field switch' : 'field', key: name },
    field.kind === 'switch'
      ? h('label', { class: 'check' }, control(form, field, value, common), label)
      : [h('label', { for: id }, label), control(form, field, value, common)],
    counter !== undefined && h('p', { class: 'hint counter', 'aria-live': 'polite' }, counter),
    fault !== undefined &&
      h('p', { class: 'field-fault', id: `${id}-fault`, role: 'alert' }, sentence(fault)),
    h('p', { class: 'hint', id: `${id}-help` }, helpOf(field, help)),
  )
}

const helpOf = (field: Field, help: string): string =>
  field.kind === 'number' && rangeOf(field) !== '' ? `${help} A number${rangeOf(field)}.` : help

type Common = Record<string, string | boolean | undefined>

function control(form: Form, field: Field, value: string, common: Common): Drawn {
  const { app } = form
  const oninput = (event: Event) => typed(form, field.name, typedIn(event))
  switch (field.kind) {
    case 'switch':
      return h('input', {
        ...common,
        type: 'checkbox',
        checked: value === 'yes',
        onchange: event => typed(form, field.name, (event.target as HTMLInputElement).checked ? 'yes' : 'no'),
      })
    case 'choice':
      return h(
        'select',
        { ...common, onchange: oninput },
        field
          .choices(app.view)
          .map(one =>
            h('option', { key: one.value, value: one.value, selected: one.value === value }, one.says),
          ),
      )
    case 'number':
      return h(
        'span',
        { class: 'with-unit' },
        h('input', { ...common, inputmode: 'numeric', autocomplete: 'off', value, oninput }),
        h('span', { class: 'soft', 'aria-hidden': 'true' }, field.unit),
      )
    case 'long':
      return h('textarea', { ...common, rows: '6', dir: 'auto', value, oninput })
    default:
      return h('input', {
        ...common,
        type: field.kind === 'secret' ? 'password' : 'text',
        autocomplete: field.kind === 'secret' ? 'new-password' : 'off',
        spellcheck: 'false',
        dir: 'auto',
        placeholder: field.example,
        value,
        oninput,
      })
  }
}
