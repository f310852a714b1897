/** Small pieces that every screen is made of. */
import type { Face } from '../../view/faces.ts'
import type { Tone } from '../../view/sentences.ts'
import { type Drawn, h, type Kid, type Props } from './h.ts'

export const toned = (tone: Tone, ...kids: Kid[]): Drawn => h('span', { class: `tone ${tone}` }, ...kids)
export const chip = (tone: Tone, ...kids: Kid[]): Drawn => h('span', { class: `chip ${tone}` }, ...kids)

export const button = (label: string, run: () => void, props: Props = {}): Drawn =>
  h('button', { type: 'button', onclick: run, ...props }, label)

/** A mark that says the same as the words beside it. */
export const mark = (text: string, tone: Tone): Drawn =>
  h('span', { class: `mark ${tone}`, 'aria-hidden': 'true' }, text)

/** A state in the place of what it keeps away. */
export function faceBlock(face: Face): Drawn {
  const isLoading = face.kind === 'loading'
  return h(
    'div',
    { class: `face ${face.tone} ${face.kind}`, key: 'face', role: isLoading ? 'status' : undefined },
    isLoading && h('span', { class: 'spin', 'aria-hidden': 'true' }),
    h('p', {}, sentence(face.says)),
    face.next !== undefined && h('p', { class: 'next' }, nextOf(face.next)),
  )
}

/** A command stands as one, words as words. */
export const nextOf = (next: string): Drawn =>
  /^svc( |$)/.test(next) ? h('code', {}, next) : h('span', {}, sentence(next))

/** With a capital letter, unless it begins with a name that has none, such as that of a file. */
export const sentence = (text: string): string =>
  /^[\w-]+[._:][\w]/.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1)

/** Names and values. */
export const facts = (rows: readonly (readonly [name: string, ...value: Kid[]])[]): Drawn =>
  h(
    'dl',
    { class: 'facts' },
    rows.map(([name, ...value]) => h('div', { key: name }, h('dt', {}, name), h('dd', {}, ...value))),
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
