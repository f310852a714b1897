/** The last line: a question, what was said, the line being written, else the keys that help here. */

import { allows } from '../view/allowed.ts'
import { cleanLine } from '../view/clean.ts'
import { isGone } from '../view/faces.ts'
import { type Action, type Focus, type KeyRow, keysOf, keyText } from '../view/keys.ts'
import type { Tone } from '../view/sentences.ts'
import { settingOf } from '../view/settings.ts'
import { type Line, type Segment, spread, widthOf, wrapped } from './cells.ts'
import { shown } from './edit.ts'
import type { Prompt } from './model.ts'
import { taskOf } from './on-tasks.ts'
import { paneOf, type Scene } from './scene.ts'
import { isWholeQuestionSeen } from './update.ts'

/** `above`: lines of what needs more than one. */
export type Foot = { line: Line; above?: readonly Line[]; cursor?: { x: number } }

/** What explains is shown whole, as far as a screen has room for it. */
const LINES_MAX = 5
/** A line that is written has more cells than these, or its question stands over it. */
const LINE_MIN = 16

/** What a line asks for. */
export const ASKS: Record<Prompt['kind'], string> = {
  filter: '/',
  command: ':',
  search: 'search here: ',
  search_all: 'search all conversations: ',
  find: 'search agents: ',
  attach: 'attach file: ',
  save: 'save files in: ',
  contact: 'name of the contact: ',
  reason: 'why (they read it): ',
  rate: 'rating 1-5 and words if you like: ',
  hub: 'address of the hub (https://…): ',
  hub_name: 'your name there: ',
  question: 'ask the auto-reply (may be empty): ',
}

export function foot(scene: Scene, place: Focus, width: number): Foot {
  const { model } = scene
  if (model.prompt !== undefined && model.confirm === undefined) return promptLine(model.prompt, width)
  if (model.refused !== undefined) return refusalLines(scene, model.refused, width)
  if (model.toast !== undefined) {
    const { says, tone } = model.toast
    return explained(says, { width, tone, bold: tone !== 'plain' })
  }
  return { line: hints(scene, place, width) }
}

function promptLine({ kind, buffer, completions }: Prompt, width: number): Foot {
  const asks = ASKS[kind]
  const isBeside = width - widthOf(asks) > LINE_MIN
  const label = isBeside ? asks : ''
  const room = Math.max(8, width - widthOf(label) - 1)
  const { lines, row, column } = shown(buffer, room)
  const more =
    completions === undefined || completions.all.length < 2
      ? ''
      : `  ${completions.n + 1}/${completions.all.length}`
  const line: Line = [{ text: label, bold: true }, { text: lines[row] ?? '' }, { text: more, tone: 'quiet' }]
  const above = isBeside ? [] : wrapped(asks, width - 1).map((text): Line => [{ text, bold: true }])
  return { line, above, cursor: { x: widthOf(label) + column } }
}

type Told = { width: number; tone: Tone; bold: boolean; right?: Segment[] }

/** A sentence in as many lines as it needs, the last of them with what stands at its right. */
function explained(says: string, { width, tone, bold, right = [] }: Told): Foot {
  const room = width - 2 - right.reduce((sum, { text }) => sum + widthOf(text), 0)
  const all = wrapped(cleanLine(says, 1_000), room)
  const kept = all.length > LINES_MAX ? [...all.slice(0, LINES_MAX - 1), `${all[LINES_MAX - 1]}…`] : all
  const lines = kept.map((text): Line => [{ text: ` ${text}`, tone, bold }])
  return { line: spread(lines.at(-1) ?? [], right, width), above: lines.slice(0, -1) }
}

/** It stays where it is, with the key that goes on. */
function refusalLines(scene: Scene, says: string, width: number): Foot {
  const right = keysOf('refused').flatMap(row => hint(scene, row))
  return explained(says, { width, tone: 'warn', bold: true, right })
}

const ABOUT_A_TASK: readonly Action[] = [
  ...(['open', 'reply', 'approve', 'select', 'hold', 'delegate', 'end', 'verify'] as const),
]
const browsesTasks = (place: Focus): boolean => place === 'inbox' || place === 'sent' || place === 'thread'

/** Where a key helps only sometimes. */
const HELPS: Partial<Record<Action, (scene: Scene) => boolean>> = {
  clear_filter: ({ model }) => paneOf(model).filter !== '' || model.marks.size > 0,
  start_node: ({ model, view }) => isGone(view) || model.isNew,
  yes: isWholeQuestionSeen,
  try: ({ model: { form } }) => form !== undefined && settingOf(form.id).tries !== undefined,
  auto_reply_off: ({ view }) => view.autoReply?.enabled === true,
  test_auto_reply: ({ view }) => view.autoReply?.enabled === true,
}

function isUseful(scene: Scene, place: Focus, action: Action): boolean {
  const helps = HELPS[action]
  if (helps !== undefined) return helps(scene)
  if (!browsesTasks(place)) return true
  const task = taskOf(scene)
  return task === undefined ? !ABOUT_A_TASK.includes(action) : allows(scene.view, task, action)
}

/** The keys of a place that help now and have a word. */
export const hintRows = (scene: Scene, place: Focus): readonly KeyRow[] =>
  keysOf(place).filter(row => row.hint !== undefined && isUseful(scene, place, row.action))

/** The keys of this place that have a word, as many as fit; `?` always does. */
function hints(scene: Scene, place: Focus, width: number): Line {
  const { model } = scene
  const rows = hintRows(scene, place)
  const last = rows.filter(row => row.action === 'help')
  const right: Line = last.flatMap(row => hint(scene, row))
  const left: Segment[] = []
  let used = right.reduce((sum, { text }) => sum + widthOf(text), 1)
  const count = model.count === '' ? [] : [{ text: ` ${model.count} `, inverse: true }]
  for (const row of rows) {
    if (row.action === 'help') continue
    const parts = hint(scene, row)
    const wide = parts.reduce((sum, { text }) => sum + widthOf(text), 0)
    if (used + wide > width) break
    used += wide
    left.push(...parts)
  }
  return spread([...count, ...left], right, width)
}

/** A key and its word, on which one can click. */
function hint({ model }: Scene, { keys: [press = ''], hint: word }: KeyRow): Segment[] {
  if (word === undefined) return []
  return [
    { text: ` ${keyText(press, model.isAscii)}`, bold: true, press },
    { text: ` ${word} `, tone: 'quiet', press },
  ]
}
