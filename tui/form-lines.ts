/** A setting as it is asked: what it changes, its fields with what stands there, and under the one that is asked its help and bounds. */
import { type Bound, measured } from '../view/bounds.ts'
import { cleanLine } from '../view/clean.ts'
import { type Choice, type Field, rangeOf } from '../view/settings/field.ts'
import { fieldsOf } from '../view/settings/setting.ts'
import { settingOf } from '../view/settings.ts'
import type { View } from '../view/state.ts'
import { fitted, type Line, spread, wrapped } from './cells.ts'
import { type Buffer, bufferOf, shown } from './edit.ts'
import { choicesOf, fieldNow } from './form.ts'
import type { Form } from './model.ts'

export type FormDrawn = { lines: Line[]; cursor?: { x: number; y: number } }

const INDENT = 4
const LONG_LINES = 6
const CHOICES = 5

export function formLines(view: View, form: Form, width: number, height: number): FormDrawn {
  const row = settingOf(form.id)
  const fields = fieldsOf(row, form.values)
  const title = spread(
    [{ text: ` ${row.heading}`, bold: true }],
    [{ text: `${form.at + 1} of ${fields.length} `, tone: 'quiet' }],
    width,
  )
  const help = wrapped(row.help, width - 2).map((text): Line => [{ text: ` ${text}`, tone: 'quiet' }])
  const told = toldLines(form, width)
  const now = nowLines(view, form, { width, height: height - 1 - told.length })
  const isRoomy = help.length + 2 + now.lines.length + told.length <= height
  const head: Line[] = isRoomy ? [title, ...help, []] : [title]
  const before = fields.slice(0, form.at).map(field => answeredLine(field, form, view))
  const after = fields.slice(form.at + 1).map(field => answeredLine(field, form, view))
  const body = [...before, ...now.lines, ...told, ...after]
  // the field that is asked is in sight, with as much before it as there is room for
  const room = Math.max(1, height - head.length)
  const from = Math.max(0, before.length + now.lines.length + told.length - room)
  const lines = [...head, ...body.slice(from, from + room)].slice(0, height)
  const filled = lines.map(line => fitted(line, width))
  while (filled.length < height) filled.push([{ text: ' '.repeat(width) }])
  if (now.cursor === undefined) return { lines: filled }
  return { lines: filled, cursor: { x: now.cursor.x, y: head.length + before.length - from + now.cursor.y } }
}

/** What the trial said, or that one waits. */
function toldLines(form: Form, width: number): Line[] {
  const waits = `${settingOf(form.id).waits ?? 'asking the node'} …`
  const { says, tone } = form.isSending ? { says: waits, tone: 'wait' as const } : (form.told ?? NOTHING_TOLD)
  return says === '' ? [] : wrapped(says, width - 2).map((text): Line => [{ text: ` ${text}`, tone }])
}
const NOTHING_TOLD = { says: '', tone: 'plain' } as const

/** A field with its value, which is not asked now. */
function answeredLine(field: Field, form: Form, view: View): Line {
  return [
    { text: `   ${field.label}: `, tone: 'quiet' },
    { text: sayValue(field, form.values[field.name] ?? '', view) },
  ]
}

/** A value as it is read; a secret is never shown. */
export function sayValue(field: Field, value: string, view: View): string {
  if (value === '') return 'nothing'
  if (field.kind === 'secret') return '•'.repeat(Math.min(12, value.length))
  const said = choicesOf(field, view)?.find(one => one.value === value)?.says ?? value
  return cleanLine(said, 200)
}

type Room = { width: number; height: number }
type Drawn = { lines: Line[]; cursor?: { x: number; y: number } }

/** The field that is asked; its notes give way where there is no room for all, what is typed never does. */
function nowLines(view: View, form: Form, { width, height }: Room): Drawn {
  const field = fieldNow(form)
  if (field === undefined) return { lines: [] }
  const label: Line = [{ text: ` › ${field.label}`, bold: true, tone: 'wait' }]
  const fault = form.fault === undefined ? [] : wrapped(cleanLine(form.fault, 400), width - INDENT - 2)
  const faults = fault.map(
    (text, i): Line => [{ text: `   ${i === 0 ? '✗' : ' '} ${text}`, tone: 'bad', bold: true }],
  )
  const choices = choicesOf(field, view)
  const input = choices === undefined ? typedLines(field, form, width) : choiceLines(form, field, choices)
  const notes = [boundOf(field, form, view), field.help]
    .flatMap(text => wrapped(text, width - INDENT))
    .map((text): Line => [{ text: `   ${text}`, tone: 'quiet' }])
    .slice(0, Math.max(0, height - 1 - input.lines.length - faults.length))
  const { cursor } = input
  return {
    lines: [label, ...notes, ...input.lines, ...faults],
    ...(cursor && { cursor: { x: cursor.x, y: cursor.y + 1 + notes.length } }),
  }
}

function typedLines(field: Field, form: Form, width: number): Drawn {
  const buffer = field.kind === 'secret' ? dotted(form.buffer) : form.buffer
  const { lines, row, column } = shown(buffer, Math.max(8, width - INDENT - 2))
  const most = field.kind === 'long' ? LONG_LINES : 2
  const top = Math.max(0, Math.min(row - most + 1, lines.length - most))
  const typed = lines.slice(top, top + most).map((text): Line => [{ text: `   › ${text}` }])
  return { lines: typed, cursor: { x: INDENT + 1 + column, y: row - top } }
}

const dotted = ({ text, at }: Buffer): Buffer => ({ ...bufferOf('•'.repeat(text.length)), at })

function choiceLines(form: Form, field: Field, choices: readonly Choice[]): Drawn {
  if (choices.length === 0) return { lines: [[{ text: '   there is nothing to choose from', tone: 'warn' }]] }
  const at = choices.findIndex(({ value }) => value === form.values[field.name])
  const from = Math.max(0, Math.min(at - 2, choices.length - CHOICES))
  const lines = choices.slice(from, from + CHOICES).map(({ says }, i): Line => {
    const isChosen = from + i === at
    const text = `   ${isChosen ? '●' : '○'} ${cleanLine(says, 200)} `
    return [{ text, row: choices[from + i]?.value ?? '', ...(isChosen && { inverse: true }) }]
  })
  return { lines }
}

/** What is taken, said before it is hit, and how near it is. */
export function boundOf(field: Field, form: Form, view: View): string {
  if (field.kind === 'choice' || field.kind === 'switch') return 'up and down choose'
  const optional = field.isNeeded === true ? '' : 'may be empty'
  if (field.kind === 'number')
    return [`a whole number of ${field.unit}${rangeOf(field)}`, optional].filter(Boolean).join('; ')
  const { bound } = field
  const near = bound && measured(form.values[field.name] ?? '', bound).says
  const offers = field.offers?.(view) ?? []
  return [
    bound === undefined ? '' : sayBound(bound),
    optional,
    field.example === undefined ? '' : `such as ${field.example}`,
    offers.length === 0 ? '' : `tab: ${offers.map(one => one.value).join(', ')}`,
    field.kind === 'long' ? 'alt-enter begins a line, ctrl-e opens your editor' : '',
    near ?? '',
  ]
    .filter(Boolean)
    .join('; ')
}

function sayBound({ least = 0, most, unit }: Bound): string {
  if (least === most) return `${most} ${unit}`
  return least === 0 ? `at most ${most} ${unit}` : `${least} to ${most} ${unit}`
}
