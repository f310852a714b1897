/** Small pieces that every screen is made of. */
import { type Bound, measured } from '../../view/bounds.ts'
import type { Tone } from '../../view/sentences.ts'
import { type Drawn, h, type Kid, type Props } from './h.ts'

export const toned = (tone: Tone, ...kids: Kid[]): Drawn => h('span', { class: `tone ${tone}` }, ...kids)
export const chip = (tone: Tone, ...kids: Kid[]): Drawn => h('span', { class: `chip ${tone}` }, ...kids)

export const button = (label: string, run: () => void, props: Props = {}): Drawn =>
  h('button', { type: 'button', onclick: run, ...props }, label)

/** A mark that says the same as the words beside it. */
export const mark = (text: string, tone: Tone): Drawn =>
  h('span', { class: `mark ${tone}`, 'aria-hidden': 'true' }, text)

/** With a capital letter, unless it begins with a name that has none, such as that of a file. */
export const sentence = (text: string): string =>
  /^[\w-]+[._:][\w/]/.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1)

/** Names and values. */
export const facts = (rows: readonly (readonly [name: string, ...value: Kid[]])[]): Drawn =>
  h(
    'dl',
    { class: 'facts' },
    rows.map(([name, ...value], i) =>
      h('div', { key: `${i} ${name}` }, h('dt', {}, name), h('dd', {}, ...value)),
    ),
  )

export const card = (title: string, ...kids: Kid[]): Drawn =>
  h('section', { class: 'card', key: title, 'aria-label': title }, h('h3', {}, title), ...kids)

/** A field with its label above it. */
export function field(label: string, control: Drawn, hint?: string): Drawn {
  const id = String(control.props['id'])
  return h(
    'div',
    { class: 'field', key: id },
    h('label', { for: id }, label),
    control,
    hint !== undefined && h('p', { class: 'hint', id: `${id}-hint` }, hint),
  )
}

export const typedIn = (event: Event): string => (event.target as HTMLInputElement).value

/** How long a text is, once that is near to what the node takes, in the unit that it counts; and what is too much. */
export function counter(text: string, bound: Bound): Drawn | undefined {
  const { says, fault } = measured(text, bound)
  if (fault !== undefined)
    return h('p', { class: 'field-fault', role: 'alert', key: 'counter' }, sentence(fault))
  return says === undefined
    ? undefined
    : h('p', { class: 'hint counter', 'aria-live': 'polite', key: 'counter' }, says)
}

export const isTooLong = (text: string, bound: Bound): boolean => measured(text, bound).fault !== undefined
