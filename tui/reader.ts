/** The screen for a screen reader: what matters now in a few plain lines, top down, without frames and columns. */
import { cleanLine, cleanText } from '../view/clean.ts'
import { sayFile } from '../view/drafts.ts'
import { screenFace, stillHere } from '../view/faces.ts'
import { type Focus, keysOf } from '../view/keys.ts'
import { sayStillHere } from '../view/next-step.ts'
import { agentRows, evidenceRows, sentOf, taskRow } from '../view/rows.ts'
import { peerName } from '../view/sentences.ts'
import { fieldsOf } from '../view/settings/setting.ts'
import { settingOf } from '../view/settings.ts'
import type { View } from '../view/state.ts'
import { cut, type Line, wrapped } from './cells.ts'
import { conversationLines } from './conversation.ts'
import { ASKS, hintRows } from './foot.ts'
import { choicesOf, fieldNow } from './form.ts'
import { boundOf, sayValue } from './form-lines.ts'
import { foundSays } from './found.ts'
import type { Frame } from './frame.ts'
import { bannersOf } from './layout.ts'
import type { Composer, Form } from './model.ts'
import { confirmNow } from './on-tasks.ts'
import { waysOf, welcomeSays } from './overlays.ts'
import { paneOf, type Scene } from './scene.ts'
import { nodePage } from './side.ts'
import { placeOf } from './update.ts'

/** Signs that a reader would skip or spell. */
const SPOKEN: Readonly<Record<string, string>> = {
  '/': 'slash',
  '?': 'question mark',
  ':': 'colon',
  '!': 'exclamation mark',
  '*': 'star',
  esc: 'escape',
  pgdn: 'page down',
  pgup: 'page up',
}
const spoken = (key: string): string =>
  SPOKEN[key] ??
  (/^[A-Z]$/.test(key) ? `capital ${key}` : key.replace('ctrl-', 'control ').replace(/^(alt|shift)-/, '$1 '))

const LINES_MAX = 200
const NAMES = {
  inbox: 'Tasks to me',
  sent: 'Tasks from me',
  agents: 'Agents',
  evidence: 'Evidence',
  node: 'Node',
}

/** Frames and marks of ours, which a reader would spell. */
const FRAMES = /[│▌─┃▎┴┆╳█░›✗✓●○◐]/g
const read = (line: Line): string =>
  line
    .map(({ text }) => text)
    .join('')
    .replace(FRAMES, '')
    .replaceAll(' · ', ', ')
    .trim()
    .replace(/ {2,}/g, ', ')

export function readerFrame(scene: Scene): Frame {
  const { model, view, now } = scene
  const width = Math.max(40, model.size.columns)
  const faces = bannersOf(model, view, now).map(({ says, next }) =>
    next === undefined ? says : `${says}. Next: ${next}`,
  )
  const place = placeOf(model)
  const texts = [standing(scene), ...faces, ...contentOf(scene, width)]
  const lines = [...texts, ...footTexts(scene, place)]
    .flatMap(text => wrapped(cleanText(text), width))
    .slice(0, LINES_MAX)
    .map((text): Line => [{ text }])
  return { lines }
}

/** The line that is typed, with its end, since a reader sees no cursor; what was said; else the keys that help. */
function footTexts(scene: Scene, place: Focus): string[] {
  const { prompt, confirm, refused, toast: said } = scene.model
  if (prompt !== undefined && confirm === undefined)
    return [ASKS[prompt.kind].trim(), `Typing: ${cleanLine(prompt.buffer.text) || 'nothing yet'}.`]
  if (refused !== undefined) return [`${refused}. Enter goes on.`]
  if (said !== undefined) return [said.says]
  if (confirm !== undefined) return []
  const rows = hintRows(scene, place)
  const keys = rows.map(({ keys: [key = ''], hint = '' }) => `${spoken(key)}: ${hint}`)
  return keys.length === 0 ? [] : [`Keys: ${keys.join('; ')}.`]
}

/** Who this is and how it stands, before anything else. */
function standing({ view, model }: Scene): string {
  const { status, connection } = view
  const screen = placeOf(model) === 'help' ? 'Help. ' : ''
  if (status === undefined || connection.state !== 'live') return `${screen}Node ${connection.state}.`
  const { unread, pending } = status.counts
  const goingOut = stillHere(status.counts)
  const hub = status.hub === null ? 'no hub' : `hub ${status.hub.state}`
  const waiting = [
    ...(pending > 0 ? [`${pending} ask you`] : []),
    ...(unread > 0 ? [`${unread} unread`] : []),
    ...(goingOut > 0 ? [`${goingOut} going out`] : []),
  ].join(', ')
  return `${screen}${cleanLine(status.name, 64) || 'Your node'}: ${hub}${waiting === '' ? '' : `, ${waiting}`}.`
}

/** The help, and messages that are searched. */
function overOf(scene: Scene): string[] | undefined {
  const { model, view } = scene
  if (model.help !== undefined)
    return keysOf(model.help.place as Focus)
      .filter(({ action }) => action !== 'mouse')
      .map(({ keys, says }) => `${keys.map(spoken).join(' or ')}: ${says}.`)
  if (model.prompt?.kind === 'search_all') {
    const at = Math.min(model.foundAt ?? 0, Math.max(0, view.search.matches.length - 1))
    const match = view.search.matches[at]
    return [
      foundSays(scene, at),
      ...(match === undefined ? [] : [`${peerName(match)}: ${cleanLine(match.text)}`]),
    ]
  }
  return undefined
}

function contentOf(scene: Scene, width: number): string[] {
  const { model, view } = scene
  const { confirm, output, composer, thread } = model
  if (model.isWelcome)
    return [
      welcomeSays(model),
      ...waysOf(model).map(([key, what, why]) => `${key}: ${what}; ${why}.`),
      'Escape: not now.',
    ]
  if (confirm !== undefined)
    return [
      confirm.asks,
      ...confirmNow(scene, confirm).facts.map(([name, value]) => `${name}: ${value}`),
      `Press y for yes,${confirm.because === undefined ? '' : ' r to write why,'} n for no.`,
    ]
  if (model.form !== undefined) return formTexts(view, model.form)
  const over = overOf(scene)
  if (over !== undefined) return over
  if (output !== undefined) return [output.title, cut(output.text, 20_000)]
  const written = composer === undefined ? [] : writtenOf(scene, composer)
  if (thread !== undefined) {
    const lines = conversationLines(scene, thread.id, { width, height: 60 }, thread).map(read)
    return [...lines.filter(line => line !== ''), ...written]
  }
  if (model.screen === 'node') return nodeTexts(scene, width)
  const { ids } = scene.cache.rows(model, view)
  const face = screenFace(view, model.screen, ids.length)
  const at = ids.indexOf(paneOf(model).selected ?? '')
  const place = ids.length === 0 ? '' : `, row ${at + 1} of ${ids.length}`
  return [
    `${NAMES[model.screen]}${place}.`,
    ...(face === undefined ? [rowText(scene, at)] : [face.says, face.next ?? '']),
    ...written,
  ].filter(text => text !== '')
}

/** Of a long text its end is read out, which is written on. */
const READ_MAX = 4_000

/** What is being written, to whom, and what goes along. */
function writtenOf(
  { view }: Scene,
  { target, buffer, files, isSending, fault, isUnanswered }: Composer,
): string[] {
  const item = target.kind === 'reply' ? view.interactions.get(target.id) : undefined
  const to =
    target.kind === 'delegate' ? `New task for ${target.name}` : `Reply to ${item ? peerName(item) : 'them'}`
  const left = Math.max(0, buffer.text.length - READ_MAX)
  const before = left === 0 ? '' : `${left.toLocaleString('en')} characters, and then: `
  return [
    `${to}. Writing: ${before}${buffer.text === '' ? 'nothing yet' : buffer.text.slice(left)}`,
    ...files.map(file => `File: ${sayFile(file)}`),
    ...(fault === undefined ? [] : [sayStillHere(fault, isUnanswered === true)]),
    ...(isSending ? ['Sending.'] : []),
  ]
}

/** The setting that is selected; what the node says of itself is read with the first one. */
function nodeTexts(scene: Scene, width: number): string[] {
  const { ids } = scene.cache.rows(scene.model, scene.view)
  const at = ids.indexOf(paneOf(scene.model).selected ?? '')
  const row = settingOf(ids[Math.max(0, at)] as string)
  const unless = row.unless?.(scene.view)
  const says = `Setting ${at + 1} of ${ids.length}: ${row.heading}. ${unless === undefined ? row.help : `Not now: ${unless}.`}`
  if (at > 0) return [says]
  return [
    says,
    ...nodePage(scene, width, 100)
      .map(read)
      .filter(text => text !== ''),
  ]
}

/** The field that is asked, with all that belongs to it. */
function formTexts(view: View, form: Form): string[] {
  const row = settingOf(form.id)
  const field = fieldNow(form)
  if (field === undefined) return [`${row.heading}.`]
  const choices = choicesOf(field, view)
  const value = sayValue(field, form.values[field.name] ?? '', view)
  const secret = field.kind === 'secret' ? `${form.buffer.text.length} characters` : value
  return [
    `Setting: ${row.heading}. ${row.help}`,
    `Field ${form.at + 1} of ${fieldsOf(row, form.values).length}: ${field.label}. ${field.help}`,
    `${boundOf(field, form, view)}.`,
    ...(choices === undefined ? [] : [`Choices: ${choices.map(({ says }) => says).join('; ')}.`]),
    ...(form.fault === undefined ? [] : [`Not taken: ${form.fault}.`]),
    ...(form.told === undefined ? [] : [form.told.says]),
    ...(form.isSending ? [`${row.waits ?? 'asking the node'}.`] : []),
    choices === undefined ? `Typing: ${secret}.` : `Chosen: ${value}.`,
  ]
}

function rowText({ model, view, cache, now }: Scene, at: number): string {
  if (model.screen === 'agents') {
    const row = agentRows(view, now, paneOf(model).filter)[at]
    return row === undefined
      ? ''
      : `${row.contact ?? row.name}, ${row.contact === undefined ? 'no contact' : 'contact'}, seen ${row.seen}. ${row.summary} ${row.caps}`
  }
  if (model.screen === 'evidence') {
    const row = evidenceRows(view, now, paneOf(model).filter)[at]
    return row === undefined ? '' : `Record ${row.seq}, ${row.age}: ${row.says}. Link ${row.link}.`
  }
  const item = cache.rows(model, view).items[at]
  if (item === undefined) return ''
  const row = taskRow(item, now, sentOf(view, item))
  const notes = row.notes.map(note => note.says).join(', ')
  const unread = row.unread > 0 ? `, ${row.unread} unread` : ''
  return `${row.peer}${row.isStranger ? ', no contact' : ''}, ${row.state}, ${row.age}${unread}: ${row.text}${notes === '' ? '' : `. ${notes}`}`
}
