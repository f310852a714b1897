/** What stands over the body: a question before a yes, the keys, what a command printed; and the composer under a conversation. */
import { span } from '../view/ages.ts'
import { cleanLine, cleanText } from '../view/clean.ts'
import { sayFile } from '../view/drafts.ts'
import { type Focus, keysOf, keyText } from '../view/keys.ts'
import { cell, fitted, type Line, spread, widthOf, wrapped } from './cells.ts'
import { shown } from './edit.ts'
import type { Composer, Confirm, Model, Output } from './model.ts'
import { composerWidth } from './writing.ts'

const blank = (width: number): Line => [{ text: ' '.repeat(width) }]
const filled = (lines: Line[], width: number, height: number): Line[] => [
  ...lines.slice(0, height).map(line => fitted(line, width)),
  ...Array.from({ length: Math.max(0, height - lines.length) }, () => blank(width)),
]
const title = (text: string, right: string, width: number): Line =>
  spread([{ text: ` ${text}`, bold: true }], [{ text: `${right} `, tone: 'quiet' }], width)

const key = (name: string, says: string): Line => [
  { text: `  ${name}`, bold: true, press: name },
  { text: ` ${says}  `, press: name },
]

/** A question with the line of its answers; what it rests on is scrolled where it needs more lines than there are. */
export function confirmLines(confirm: Confirm, width: number, height: number, top = 0): Line[] {
  const { asks, facts } = confirmParts(confirm, width)
  const why = confirm.because === undefined ? [] : key('r', 'write why')
  const answer = [...key('y', 'yes'), ...why, ...key('n', 'no')]
  const whole = [[], ...asks, [], ...facts, [], answer]
  if (whole.length <= height) return filled(whole, width, height)
  const room = roomForFacts(asks, height)
  const from = Math.min(top, Math.max(0, facts.length - room))
  const shownFacts = facts.slice(from, from + room)
  const below = facts.length - from - shownFacts.length
  const onward =
    below > 0
      ? key('j', `${below} more ${below === 1 ? 'line' : 'lines'}, then y`)
      : [...answer, ...(from > 0 ? key('k', 'up') : [])]
  return filled([...asks, ...shownFacts, below > 0 ? [...onward, ...key('n', 'no')] : onward], width, height)
}

/** How many lines of what a question rests on stand below those that are shown, and how far it can be scrolled. */
export function confirmScroll(
  confirm: Confirm,
  width: number,
  height: number,
  top = 0,
): { below: number; furthest: number } {
  const { asks, facts } = confirmParts(confirm, width)
  if (asks.length + facts.length + 4 <= height) return { below: 0, furthest: 0 }
  const furthest = Math.max(0, facts.length - roomForFacts(asks, height))
  return { below: furthest - Math.min(top, furthest), furthest }
}

const roomForFacts = (asks: readonly Line[], height: number): number => Math.max(1, height - asks.length - 1)

function confirmParts({ asks, facts }: Confirm, width: number): { asks: Line[]; facts: Line[] } {
  const name = Math.max(0, ...facts.map(([label]) => widthOf(label))) + 2
  return {
    asks: wrapped(asks, width - 4).map((text): Line => [{ text: `  ${text}`, bold: true, tone: 'warn' }]),
    facts: facts.flatMap(([label, value]) =>
      wrapped(value, width - name - 4).map(
        (text, i): Line => [{ text: `  ${cell(i === 0 ? label : '', name)}`, tone: 'quiet' }, { text }],
      ),
    ),
  }
}

const START = [
  's',
  'start your node',
  'it makes an identity that is yours alone, and waits for a hub',
] as const
const WAYS = [
  ['j', 'join a hub', 'somebody gave you its address'],
  ['h', 'host a hub', 'on this machine, for yourself or for others'],
  ['d', 'see a demo', 'a hub and two nodes on this machine; nothing leaves it'],
] as const

/** The ways on, with their keys. */
export const waysOf = ({ isNew }: Pick<Model, 'isNew'>) => (isNew ? [START, ...WAYS] : WAYS)

export const welcomeSays = ({ isNew }: Pick<Model, 'isNew'>): string =>
  isNew
    ? 'There is no node here yet. Yours is where agents reach you, and you them.'
    : 'This node has no hub yet. Agents find and reach each other through one.'

/** What nobody yet, or a node without a hub, can do next. */
export function welcomeLines(model: Pick<Model, 'isNew'>, width: number, height: number): Line[] {
  const ways = waysOf(model).flatMap(([name, what, why]) =>
    beside([`${name}  ${what}`], why, 20, width).map(line => line.map(one => ({ ...one, press: name }))),
  )
  const head = wrapped(welcomeSays(model), width - 4).map((text): Line => [{ text: `  ${text}`, bold: true }])
  return filled(
    [[], ...head, [], ...ways, [], [{ text: '  esc  not now', tone: 'quiet', press: 'esc' }]],
    width,
    height,
  )
}

/** Names and what is said of them, in as many lines as they need. */
function beside(names: readonly string[], says: string, room: number, width: number): Line[] {
  const texts = wrapped(says, width - room - 3)
  return Array.from(
    { length: Math.max(names.length, texts.length) },
    (_, i): Line => [{ text: `  ${cell(names[i] ?? '', room)}`, bold: true }, { text: texts[i] ?? '' }],
  )
}

/** Cells of the keys in help. */
const KEYS_WIDE = 20
const KEYS_NARROW = 14

type Help = { place: Focus; top: number; isAscii: boolean | undefined }

export function helpLines({ place, top, isAscii }: Help, width: number, height: number): Line[] {
  const room = width < 60 ? KEYS_NARROW : KEYS_WIDE
  const rows = keysOf(place).flatMap(row =>
    beside(wrapped(row.keys.map(key => keyText(key, isAscii)).join(' '), room), row.says, room, width),
  )
  const from = Math.min(top, Math.max(0, rows.length - (height - 1)))
  const right =
    rows.length > height - 1
      ? `${from + 1}–${Math.min(rows.length, from + height - 1)} of ${rows.length}`
      : 'esc closes'
  return filled([title(`keys: ${NAMES[place]}`, right, width), ...rows.slice(from)], width, height)
}

const NAMES: Record<Focus, string> = {
  inbox: 'tasks to me',
  sent: 'tasks from me',
  agents: 'agents',
  evidence: 'evidence',
  node: 'node',
  thread: 'a conversation',
  compose: 'writing',
  prompt: 'a line',
  confirm: 'a question',
  refused: 'a refusal',
  help: 'help',
  output: 'reading',
  form: 'a setting',
  welcome: 'welcome',
}

/** Lines of what a command printed; kept, since they are wrapped anew for each press otherwise. */
let kept: { text: string; width: number; lines: string[] } | undefined

export function outputLines(output: Output, width: number, height: number, now: number): Line[] {
  if (kept?.text !== output.text || kept.width !== width)
    kept = { text: output.text, width, lines: wrapped(cleanText(output.text).trimEnd(), width - 2) }
  const { lines } = kept
  const from = Math.min(output.top, Math.max(0, lines.length - (height - 1)))
  const end = Math.min(lines.length, from + height - 1)
  const right = output.isRunning
    ? `runs${lasting(output, now)}; esc stops it`
    : lines.length > height - 1
      ? `${from + 1}–${end} of ${lines.length}`
      : 'esc closes'
  const shownLines = lines.slice(from, end).map((text): Line => [{ text: ` ${text}` }])
  return filled([title(cleanLine(output.title), right, width), ...shownLines], width, height)
}

/** How long it has taken, from a second on. */
const lasting = ({ since = Number.POSITIVE_INFINITY }: Output, now: number): string =>
  now - since < 1_000 ? '' : `, ${span(now - since)}`

export type Composed = { lines: Line[]; cursor: { x: number; y: number } }

/** The composer in exactly `height` lines; its cursor counts from its own first line. */
/** Files that go along; where there is no room for all of them, the last ones, which one key takes off. */
function fileLines(files: readonly string[], room: number): Line[] {
  const line = (text: string): Line => [{ text: ` + ${text}`, tone: 'wait' }]
  const isAll = files.length <= room
  const shown = isAll ? files : files.slice(files.length - Math.max(0, room - 1))
  const more = isAll || room === 0 ? [] : [line(`${files.length - shown.length} other files`)]
  return [...more, ...shown.map(file => line(sayFile(file)))]
}

export function composerLines(composer: Composer, width: number, height: number): Composed {
  const { target, buffer, files, isSending, fault } = composer
  const what = target.kind === 'reply' ? 'reply' : `new task for ${target.name}`
  const head: Line = spread(
    [
      { text: `─ ${what} `, bold: true },
      { text: '─'.repeat(Math.max(0, width - widthOf(what) - 24)), tone: 'quiet' },
    ],
    [
      {
        text: isSending ? 'sending … ' : `${buffer.text.length} characters `,
        tone: isSending ? 'wait' : 'quiet',
      },
    ],
    width,
  )
  const faults =
    fault === undefined
      ? []
      : wrapped(fault, width - 4)
          .slice(0, 3)
          .map((text): Line => [{ text: ` ✗ ${text}`, tone: 'bad' }])
  const notes = [...faults, ...fileLines(files, Math.max(0, height - 2 - faults.length))]
  const room = Math.max(1, height - 1 - notes.length)
  const { lines, row, column } = shown(buffer, composerWidth(width))
  const from = Math.min(Math.max(0, row - room + 1), Math.max(0, lines.length - room))
  const texts = lines.slice(from, from + room).map((text): Line => [{ text: ` › ${text}` }])
  return {
    lines: filled([head, ...texts, ...notes], width, height),
    cursor: { x: 3 + column, y: 1 + row - from },
  }
}
