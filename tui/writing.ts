/** Keys while something is written: the composer of messages and the line at the foot of the screen. */
import { present } from '../protocol/encoding/present.ts'
import { cleanText } from '../view/clean.ts'
import { actionOf } from '../view/keys.ts'
import { type Buffer, bufferOf, emptyBuffer, insert, moveLine, steps } from './edit.ts'
import { fieldNow, typedInto } from './form.ts'
import { layoutOf } from './layout.ts'
import {
  act,
  type Composer,
  type Confirm,
  type Effect,
  type Form,
  isTooSmall,
  type Model,
  type Prompt,
} from './model.ts'
import type { Press } from './press.ts'
import { type Scene, type Step, stay, toast, without, withPane } from './scene.ts'

export function pressCompose(scene: Scene, press: Press): Step {
  const { model } = scene
  const composer = model.composer as Composer
  const withBuffer = (buffer: Buffer): Step =>
    stay({ ...model, composer: { ...without(composer, 'fault'), buffer } })
  if (composer.isSending) return press.key === 'esc' ? closed(model, composer) : stay(model)
  switch (actionOf('compose', press.key)) {
    case 'send':
      return sent(model, composer)
    case 'newline':
      return withBuffer(insert(composer.buffer, '\n'))
    case 'attach':
      return stay({ ...model, prompt: { kind: 'attach', buffer: emptyBuffer } })
    case 'detach':
      return stay({ ...model, composer: { ...composer, files: composer.files.slice(0, -1) } })
    case 'editor':
      return stay(model, { type: 'editor', composer })
    case 'back':
      return closed(model, composer)
    case 'suspend':
      return stay(model, { type: 'suspend' })
    default:
      return withBuffer(edited(scene, composer.buffer, press))
  }
}

function edited({ model, view, now }: Scene, buffer: Buffer, { key, text }: Press): Buffer {
  const step = steps[key]
  if (step !== undefined) return step(buffer)
  const width = composerWidth(layoutOf(model, view, now).threadColumns)
  if (key === 'up' || key === 'down') return moveLine(buffer, width, key === 'up' ? -1 : 1)
  return text === undefined ? buffer : insert(buffer, text)
}

/** Cells of a line of the composer, within its frame. */
export const composerWidth = (columns: number): number => Math.max(8, columns - 4)

function sent(model: Model, composer: Composer): Step {
  if (composer.buffer.text.trim() === '' && composer.files.length === 0)
    return stay(toast(model, 'there is nothing to send yet'))
  if (composer.target.kind === 'delegate' && composer.buffer.text.trim() === '')
    return stay(toast(model, 'a task needs words; the files go with them'))
  const sending = { ...without(composer, 'fault'), isSending: true }
  return stay(
    { ...model, composer: sending },
    { type: 'keep_draft', composer },
    { type: 'send', composer: sending },
  )
}

function closed(model: Model, composer: Composer): Step {
  const isEmpty = composer.buffer.text.trim() === '' && composer.files.length === 0
  const closed = without(model, 'composer')
  if (isEmpty) return stay(closed, { type: 'drop_draft', target: composer.target })
  return stay(toast(closed, 'the draft is kept; the same key opens it again'), {
    type: 'keep_draft',
    composer,
  })
}

/** Words that were pasted go in whole, and never as keys. */
export function pasted(scene: Scene, text: string): Step {
  const { model } = scene
  const { confirm, help, output, refused } = model
  if ([confirm, help, output, refused].some(one => one !== undefined)) return stay(model)
  if (model.isReader !== true && isTooSmall(model.size)) return stay(model)
  if (model.prompt === undefined && model.form !== undefined) return pastedIntoForm(model, model.form, text)
  if (model.prompt !== undefined) {
    const line = text.replace(/[\r\n]+/g, ' ').trim()
    return typed(model, model.prompt, insert(model.prompt.buffer, line))
  }
  if (model.composer === undefined || model.composer.isSending)
    return stay(toast(model, 'pasted words are no keys here; r replies, : takes a command'))
  return stay({ ...model, composer: { ...model.composer, buffer: insert(model.composer.buffer, text) } })
}

/** Into a field that is typed, and a line of it where it is one. */
function pastedIntoForm(model: Model, form: Form, text: string): Step {
  const kind = fieldNow(form)?.kind
  if (form.isSending || kind === undefined || kind === 'choice' || kind === 'switch') return stay(model)
  const words = kind === 'long' ? text : text.replace(/[\r\n]+/g, ' ').trim()
  return stay(typedInto(model, form, insert(form.buffer, words)))
}

/** A line that was changed. Rows are filtered while one types, also those that are not loaded. */
function typed(model: Model, prompt: Prompt, buffer: Buffer): Step {
  const { completions: _shown, recalled: _before, ...rest } = prompt
  const next = { ...model, prompt: { ...rest, buffer } }
  if (prompt.kind === 'search') return stay(findingIn(next, buffer.text))
  if (prompt.kind === 'search_all')
    return stay({ ...next, foundAt: 0 }, { type: 'search', words: buffer.text })
  if (prompt.kind !== 'filter') return stay(next)
  return stay(withPane(next, { filter: cleanText(buffer.text) }), { type: 'narrow' })
}

/** The first place that holds the words is shown while they are typed. */
function findingIn(model: Model, text: string): Model {
  const { thread } = model
  if (thread === undefined) return model
  const { find: _before, hit: _at, ...rest } = thread
  const words = cleanText(text).trim()
  return { ...model, thread: words === '' ? rest : { ...rest, find: words, hit: 0 } }
}

/** A command that was run before, or what was typed, in the line. */
function recalled(model: Model, prompt: Prompt, by: 1 | -1): Step {
  const { history } = model
  if (prompt.kind === 'search_all') return stay({ ...model, foundAt: Math.max(0, (model.foundAt ?? 0) - by) })
  if (prompt.kind !== 'command') return stay(model)
  const { n, typed } = prompt.recalled ?? { n: 0, typed: prompt.buffer.text }
  const to = Math.min(Math.max(0, n + by), history.length)
  const buffer = bufferOf(to === 0 ? typed : (history.at(-to) as string))
  return stay({ ...model, prompt: { ...without(prompt, 'completions'), buffer, recalled: { n: to, typed } } })
}

export function pressPrompt(scene: Scene, press: Press): Step {
  const { model } = scene
  const prompt = model.prompt as Prompt
  switch (actionOf('prompt', press.key)) {
    case 'back': {
      const closed = without(model, 'prompt')
      if (prompt.question !== undefined) return stay({ ...closed, confirm: prompt.question })
      if (prompt.kind === 'search') return stay(findingIn(closed, ''))
      return prompt.kind === 'filter'
        ? stay(withPane(closed, { filter: '' }), { type: 'narrow' })
        : stay(closed)
    }
    case 'open':
      return taken(scene, prompt)
    case 'complete':
      return stay(model, { type: 'complete', prompt, back: false })
    case 'previous':
    case 'next':
      return recalled(model, prompt, press.key === 'up' ? 1 : -1)
    case 'suspend':
      return stay(model, { type: 'suspend' })
    default:
      break
  }
  if (press.key === 'shift-tab') return stay(model, { type: 'complete', prompt, back: true })
  const step = steps[press.key]
  const buffer =
    step === undefined
      ? press.text === undefined
        ? prompt.buffer
        : insert(prompt.buffer, press.text)
      : step(prompt.buffer)
  return typed(model, prompt, buffer)
}

/** What a line means once enter takes it; an empty one means nothing but where that is a meaning. */
const TAKEN: Record<
  Prompt['kind'],
  (closed: Model, text: string, about: string, question?: Confirm) => Step
> = {
  filter: closed => stay(closed),
  command: (closed, text) =>
    text === ''
      ? stay(closed)
      : stay(
          { ...withHistory(closed, text), isWelcome: false },
          /^q(uit)?$/.test(text) ? { type: 'quit' } : { type: 'command', line: text },
        ),
  search: closed => stay(closed),
  search_all: closed => stay(closed),
  find: (closed, text) =>
    stay(withPane(closed, { selected: undefined, top: 0 }), { type: 'find', query: text }),
  attach: attached,
  save: (closed, text, about) =>
    text === '' ? stay(closed) : stay(closed, { type: 'save', id: about, folder: text }),
  contact: (closed, text, about) => (text === '' ? stay(closed) : stay(closed, contactAdded(about, text))),
  reason: (closed, text, _about, question) =>
    stay({ ...closed, confirm: question?.because?.(text) ?? question }),
  rate: rated,
  hub: hubNamed,
  hub_name: hubJoined,
  // as a command: how long it takes is shown, and esc stops it
  question: (closed, text) =>
    stay(closed, { type: 'command', line: `autoreply test${text === '' ? '' : ` -- ${quoted(text)}`}` }),
}

/** An address without a scheme is meant as https. */
function hubNamed(closed: Model, text: string): Step {
  if (text === '') return stay(closed)
  const url = text.includes('://') ? text : `https://${text}`
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? ''))
    return stay(
      toast(closed, `${cleanText(text)} is no address of a hub; one is https://hub.example`, 'warn'),
    )
  return stay({ ...closed, prompt: { kind: 'hub_name', buffer: emptyBuffer, about: url } })
}

function hubJoined(closed: Model, text: string, about: string): Step {
  if (text === '')
    return stay(toast(closed, 'others find you by a name; :hub-register <url> --name <name> joins', 'warn'))
  const line = `hub-register ${quoted(about)} --name ${quoted(text)}`
  return stay({ ...withHistory(closed, line), isWelcome: false }, { type: 'command', line })
}

const HISTORY_MAX = 100

const withHistory = (model: Model, line: string): Model => ({
  ...model,
  history: [...model.history.filter(one => one !== line), line].slice(-HISTORY_MAX),
})

/** The message that is selected, opened where it stands. */
function foundOpened({ model, view }: Scene): Step {
  const { matches } = view.search
  const match = matches[Math.min(model.foundAt ?? 0, matches.length - 1)]
  if (match === undefined) return stay(model)
  const screen = match.side === 'sent' ? 'sent' : 'inbox'
  const thread = { id: match.interaction_id, up: 0, begin: match.turn }
  return stay(
    withPane({ ...without(model, 'prompt'), screen, thread }, { selected: match.interaction_id }, screen),
    { type: 'open_thread', id: match.interaction_id, read: true },
  )
}

const taken = (scene: Scene, { kind, buffer, about = '', question }: Prompt): Step =>
  kind === 'search_all'
    ? foundOpened(scene)
    : takenLine(scene, { kind, buffer, about, ...present({ question }) })

const takenLine = ({ model }: Scene, { kind, buffer, about = '', question }: Prompt): Step =>
  TAKEN[kind](without(model, 'prompt'), buffer.text.trim(), about, question)

function contactAdded(aid: string, petname: string): Effect {
  const undo = {
    says: `take ${petname} out of the contacts`,
    effect: act('contactRemove', { peer: petname }, `${petname} is no contact any more`),
  }
  return { ...act('contactAdd', { aid, petname }, `${petname} is a contact now`), undo }
}

/** One word of a command line, whatever stands in it. */
const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`

function rated(model: Model, text: string, id: string): Step {
  const [digit = '', ...comment] = text.split(' ')
  if (!/^[1-5]$/.test(digit))
    return stay(toast(model, 'a rating is a number from 1 to 5, and words behind it if you like', 'warn'))
  const said = comment.join(' ').trim()
  const input = {
    interaction_id: id,
    rating: Number(digit),
    ...present({ comment: said === '' ? undefined : said }),
  }
  return stay(model, act('review', input, `rated ${digit} of 5`))
}

function attached(model: Model, path: string): Step {
  if (path === '' || model.composer === undefined) return stay(model)
  return stay({ ...model, composer: { ...model.composer, files: [...model.composer.files, path] } })
}
