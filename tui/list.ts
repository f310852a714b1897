/** The rows of a list as lines: only those in sight are made. */

import { cleanLine } from '../view/clean.ts'
import { screenFace } from '../view/faces.ts'
import { agentRows, evidenceRows, listShown, narrowing, sentOf, type TaskRow, taskRow } from '../view/rows.ts'
import type { List } from '../view/state.ts'
import {
  cell,
  cut,
  fitted,
  type Line,
  lineWidth,
  ofRow,
  type Segment,
  type Style,
  widthOf,
  wrapped,
} from './cells.ts'
import { hasFilterLine } from './layout.ts'
import { paneOf, type Scene } from './scene.ts'

/** Exactly `height` lines of `width` cells. */
export function listLines(scene: Scene, width: number, height: number): Line[] {
  const { model, view, cache } = scene
  const { ids } = cache.rows(model, view)
  const over = hasFilterLine(model) ? [filterLine(scene, ids.length)] : []
  const room = height - over.length
  const lines = ids.length === 0 ? emptyLines(scene, width) : rowLines(scene, width, room)
  const blank: Line = [{ text: ' '.repeat(width) }]
  const all = [...over, ...lines.slice(0, room)].map(line => fitted(line, width))
  return [...all, ...Array.from({ length: Math.max(0, height - all.length) }, () => blank)]
}

/** How far the node has looked for what a list of tasks is narrowed to. */
function lookedFor({ model, view }: Scene): List | undefined {
  if (model.screen !== 'inbox' && model.screen !== 'sent') return undefined
  const { pendingOnly, archivedOnly: archived } = model
  const options = { pendingOnly, archived, filter: paneOf(model).filter }
  return narrowing(options) && listShown(view, model.screen === 'inbox' ? 'received' : 'sent', options)
}

function filterLine(scene: Scene, found: number): Line {
  const { model } = scene
  const list = lookedFor(scene)
  const more = list?.loading === true ? ', searching …' : list?.nextCursor === undefined ? '' : ' and more'
  const { filter } = paneOf(model)
  const marks = model.marks.size
  const parts = [
    ...(marks > 0 ? [`${marks} marked: a approve, N decline, z archive, esc none`] : []),
    ...(model.pendingOnly ? ['only what waits for you (p: all)'] : []),
    ...(model.archivedOnly ? ['only what was archived (Z: the list)'] : []),
    ...(filter === '' ? [] : [`/${filter}`]),
  ]
  return [{ text: ` ${parts.join('  ')}  ${found === 1 ? '1 row' : `${found} rows`}${more}`, tone: 'wait' }]
}

function emptyLines(scene: Scene, width: number): Line[] {
  const { model, view } = scene
  const { filter } = paneOf(model)
  const list = lookedFor(scene)
  if (list?.refusal !== undefined) return [[], [{ text: `  ${cleanLine(list.refusal.says)}`, tone: 'bad' }]]
  if (list?.loading === true) return [[], [{ text: '  searching the whole history …', tone: 'quiet' }]]
  if (filter !== '') return [[], [{ text: '  no row fits; esc clears the filter', tone: 'quiet' }]]
  if (model.pendingOnly) return [[], [{ text: '  nothing waits for you; p shows everything', tone: 'quiet' }]]
  if (model.archivedOnly) return [[], [{ text: '  nothing was archived; Z shows the list', tone: 'quiet' }]]
  const face = screenFace(view, model.screen, 0)
  if (face === undefined) return []
  const says = wrapped(face.says, width - 4).map((text): Line => [{ text: `  ${text}`, tone: face.tone }])
  const next =
    face.next === undefined ? [] : wrapped(face.next, width - 4).map((text): Line => [{ text: `  ${text}` }])
  return [[], ...says, ...next]
}

function rowLines(scene: Scene, width: number, height: number): Line[] {
  const { model, view, cache, now } = scene
  const { top, selected } = paneOf(model)
  if (model.screen === 'agents') return agentLines(scene, width, height)
  if (model.screen === 'evidence') return evidenceLines(scene, width, height)
  const { items } = cache.rows(model, view)
  const rows = items.slice(top, top + height).map(item => taskRow(item, now, sentOf(view, item)))
  const columns = columnsOf(rows, width)
  return rows.map(row => {
    const look = {
      isSelected: row.id === selected,
      hasDraft: model.drafts.has(row.id),
      mark: model.marks.get(row.id),
      columns,
    }
    return ofRow(taskLine(row, width, look), row.id)
  })
}

type Look = { isSelected: boolean; hasDraft?: boolean; mark?: string | undefined; columns: Columns }
const AGE = 5
/** Cells of a state; fewer where there is little room and the states in sight are shorter. */
const STATE = 13
const ROOMY = 72
/** Below that there is no room for how long ago. */
const NARROW = 56
/** What notes leave to the words of a task. */
const TEXT_MIN = 8

/** A row that is selected is inverse over its whole width, so that it shows without colours too. */
const lookOf = ({ isSelected }: Pick<Look, 'isSelected'>): Style => (isSelected ? { inverse: true } : {})

type Columns = { readonly state: number; readonly peer: number }

/** Cells of states and names: what is in sight needs no more, where there is little room. */
function columnsOf(rows: readonly TaskRow[], width: number): Columns {
  const peer = width >= 90 ? 18 : width < NARROW ? 9 : 12
  if (width >= ROOMY) return { state: STATE, peer }
  const widest = (of: (row: TaskRow) => string) => Math.max(...rows.map(row => widthOf(of(row)))) + 1
  return {
    state: Math.min(
      STATE,
      widest(row => row.state),
    ),
    peer: Math.min(
      peer,
      widest(row => row.peer),
    ),
  }
}

function taskLine(row: TaskRow, width: number, look: Look): Line {
  const style = lookOf(look)
  const isNarrow = width < NARROW
  const notes = noteSegments(row, look)
  const head: Segment[] = [
    { text: look.mark !== undefined ? '+' : row.unread > 0 ? '•' : ' ', bold: true, tone: 'warn' },
    { text: `${row.mark} `, tone: row.tone },
    { text: cell(row.state, look.columns.state), tone: row.tone },
    { text: cell(row.peer, look.columns.peer), bold: row.unread > 0, dim: row.isStranger },
    { text: isNarrow ? ' ' : `${row.age.padStart(AGE)} `, tone: 'quiet' },
  ]
  while (notes.length > 0 && width - lineWidth(head) - lineWidth(notes) < TEXT_MIN) notes.pop()
  const room = width - lineWidth(head) - lineWidth(notes)
  const fault = look.mark === undefined || look.mark === '' ? undefined : `not done: ${cleanLine(look.mark)}`
  const text: Segment =
    fault === undefined
      ? { text: cell(row.text, Math.max(0, room)), bold: row.unread > 0 }
      : { text: cell(fault, Math.max(0, room)), bold: true, tone: 'bad' }
  return styled([...head, text, ...notes], width, style)
}

const styled = (line: Line, width: number, style: Style): Line =>
  fitted(
    line.map(segment => ({ ...segment, ...style })),
    width,
    style,
  )

function noteSegments(row: TaskRow, { hasDraft, mark }: Look): Segment[] {
  const notes: Segment[] = row.notes.map(note => ({ text: ` ${note.short}`, tone: note.tone }))
  if (row.files > 0) notes.unshift({ text: ` +${row.files}f`, tone: 'quiet' })
  if (hasDraft === true) notes.unshift({ text: ' draft', tone: 'warn' })
  if (mark !== undefined) notes.unshift({ text: ' marked', tone: 'warn', bold: true })
  if (row.unread > 0) notes.unshift({ text: ` ${row.unread} new`, tone: 'warn' })
  return notes
}

/** Cells of a short address. */
const SHORT = 11

function agentLines(scene: Scene, width: number, height: number): Line[] {
  const { model, view, now } = scene
  const { top, selected, filter } = paneOf(model)
  return agentRows(view, now, filter)
    .slice(top, top + height)
    .map(row => {
      const style = lookOf({ isSelected: row.id === selected })
      const name = row.contact ?? row.name
      const line: Segment[] = [
        { text: row.contact === undefined ? '  ' : ' ✓', tone: 'good' },
        { text: ` ${cell(name, 18)} `, bold: row.contact !== undefined },
        { text: `${cell(row.contact === undefined ? row.short : 'contact', SHORT)} `, tone: 'quiet' },
        { text: `${row.seen.padStart(AGE)} `, tone: 'quiet' },
        ...(model.drafts.has(row.id) ? [{ text: 'draft ', tone: 'warn' as const }] : []),
        ...(row.elsewhere === undefined ? [] : [{ text: `${row.elsewhere}  `, tone: 'warn' as const }]),
        { text: row.summary === '' ? row.caps : `${row.summary}  ` },
        ...(row.summary === '' ? [] : [{ text: row.caps, tone: 'quiet' as const }]),
      ]
      return ofRow(styled(line, width, style), row.id)
    })
}

const LINKS = {
  holds: { text: '│', tone: 'good' },
  broken: { text: '╳', tone: 'bad' },
  first: { text: '┴', tone: 'good' },
  unseen: { text: '┆', tone: 'quiet' },
} as const

function evidenceLines(scene: Scene, width: number, height: number): Line[] {
  const { model, view, now } = scene
  const { top, selected, filter } = paneOf(model)
  const digits = String(view.evidence.head?.length ?? 0).length
  return evidenceRows(view, now, filter)
    .slice(top, top + height)
    .map(row => {
      const style = lookOf({ isSelected: row.id === selected })
      const shortId = row.recordId.slice(-8)
      const head: Segment[] = [
        { text: ' ' },
        { ...LINKS[row.link] },
        { text: ` ${String(row.seq).padStart(digits)} `, bold: true },
        { text: `${row.age.padStart(AGE)} `, tone: 'quiet' },
        ...(row.link === 'broken' ? [{ text: 'BROKEN ', tone: 'bad' as const, bold: true }] : []),
      ]
      const room = width - lineWidth(head) - shortId.length - 2
      const says = cut(row.says, room)
      const type = row.type === row.says ? '' : cut(`  ${row.type}`, Math.max(0, room - widthOf(says)))
      const line: Segment[] = [
        ...head,
        { text: says },
        { text: cell(type, Math.max(0, room - widthOf(says))), tone: 'quiet' },
        { text: ` …${shortId}`, tone: 'quiet' },
      ]
      return ofRow(styled(line, width, style), row.id)
    })
}
