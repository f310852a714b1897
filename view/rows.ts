/**
 * The rows of the five screens, as data. A row has an `id` that stays while its subject stays, so that a selection is an
 * id and survives whatever comes above it. Text is clean; cutting to a width is the screen's.
 */
import type { InteractionSummary } from '../protocol/control/shapes.ts'
import { present } from '../protocol/encoding/present.ts'
import { age, hourAge } from './ages.ts'
import { cleanLine } from './clean.ts'
import { isSameNarrowing } from './reduce.ts'
import {
  isQuote,
  peerName,
  percent,
  sayCredits,
  sayPayment,
  sayReceipt,
  sayRecord,
  saySending,
  sayState,
  shortAid,
  shortDelivery,
  type Tone,
} from './sentences.ts'
import type { Agent, EvidenceRecord, Found, List, Narrowed, Side, View } from './state.ts'

export const screens = ['inbox', 'sent', 'agents', 'evidence', 'node'] as const
export type Screen = (typeof screens)[number]

/** What a task wants of its reader. */
export type Need = 'approve' | 'pay' | 'accept_end'

export type TaskRow = {
  id: string
  peer: string
  /** No contact: nobody here gave it a name. */
  isStranger: boolean
  mark: string
  state: string
  tone: Tone
  text: string
  at: number
  age: string
  unread: number
  files: number
  need?: Need
  /** What else there is to know: delivery, receipt, rating, price. */
  notes: readonly { says: string; short: string; tone: Tone }[]
}

export type TaskOptions = {
  pendingOnly?: boolean | undefined
  /** Only what was taken out of the lists. */
  archived?: boolean | undefined
  filter?: string | undefined
}

/** Tasks of a side as the screens list them: newest first. */
export function taskItems(view: View, side: Side, options: TaskOptions = {}): InteractionSummary[] {
  const { pendingOnly, filter } = options
  const fits = matcher(filter)
  const found = foundFor(view, side, options)
  const items: InteractionSummary[] = []
  for (const item of view.interactions.values()) {
    if (item.side !== side || (pendingOnly === true && needOf(item) === undefined)) continue
    if (!isListed(item, options)) continue
    // price and paid task are one row, that of the task
    if (view.interactions.has(item.payment?.paid_as ?? '')) continue
    if (fits === undefined || found?.ids.has(item.interaction_id) === true || fits(searched(item)))
      items.push(item)
  }
  return items.sort((a, b) => b.last_at - a.last_at || (a.interaction_id < b.interaction_id ? 1 : -1))
}

/** What was archived stands in its own list, and where words find it. */
const isListed = (item: InteractionSummary, { archived, filter = '' }: TaskOptions): boolean =>
  archived === true ? item.archived === true : item.archived !== true || filter.trim() !== ''

/** What a list is narrowed to; undefined where nothing is left out. */
export const narrowing = ({
  pendingOnly = false,
  archived = false,
  filter = '',
}: TaskOptions): Narrowed | undefined =>
  filter.trim() === '' && !pendingOnly && !archived
    ? undefined
    : { words: filter.trim(), needs: pendingOnly, archived }

/** What the node found for what a list is narrowed to now. */
export function foundFor({ found }: View, side: Side, options: TaskOptions): Found | undefined {
  const held = found[side]
  return isSameNarrowing(held, narrowing(options)) ? held : undefined
}

/** The list that goes on where older rows are asked for: the whole one, or the one that is narrowed. */
export const listShown = (view: View, side: Side, options: TaskOptions): List =>
  narrowing(options) === undefined
    ? view.lists[side]
    : (foundFor(view, side, options) ?? { loaded: false, loading: true })

/** The rows of {@link taskItems}; where there are many, a screen makes only those that it shows, with {@link taskRow}. */
export const taskRows = (view: View, side: Side, options: TaskOptions & { now: number }): TaskRow[] =>
  taskItems(view, side, options).map(item => taskRow(item, options.now, sentOf(view, item)))

/** How far what goes out of a task is, while it does. */
type Sent = { sending?: { sent: number; total: number } }
export const sentOf = ({ transfers }: View, item: InteractionSummary): Sent =>
  present({ sending: transfers.sending.get(item.interaction_id) })

const searched = (item: InteractionSummary): string =>
  `${item.peer_name ?? ''} ${item.peer} ${item.state} ${item.capability ?? ''} ${item.preview} ${item.interaction_id}`

/** All words of a filter, in whatever order and case; undefined where there are none. */
export function matcher(filter = ''): ((text: string) => boolean) | undefined {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return undefined
  return text => {
    const lower = text.toLowerCase()
    return words.every(word => lower.includes(word))
  }
}

function needOf(item: InteractionSummary): Need | undefined {
  if (item.state === 'pending' && item.side === 'received') return 'approve'
  if (item.payment?.state === 'open') return 'pay'
  return undefined
}

export function taskRow(item: InteractionSummary, now: number, { sending }: Sent = {}): TaskRow {
  const peer = peerName(item)
  const said = sayState(item.state, item.side)
  const need = needOf(item)
  const isPay = need === 'pay'
  return {
    id: item.interaction_id,
    peer,
    isStranger: item.peer_name === null,
    mark: isPay ? '$' : said.mark,
    state: isPay ? `asks ${item.payment?.amount} cr` : said.word,
    tone: isPay ? 'warn' : said.tone,
    text: textOf(item, isPay),
    at: item.last_at,
    age: age(item.last_at, now),
    unread: item.unread,
    files: item.attachments,
    ...present({ need }),
    notes: notesOf(item, peer, sending),
  }
}

/** The newest words; of a price that is asked, those of the task. */
function textOf(
  { capability = '', unread_preview: unread, preview }: InteractionSummary,
  isPay: boolean,
): string {
  if (isPay && capability !== '') return cleanLine(capability)
  return cleanLine((isPay ? undefined : unread) ?? preview, 240) || cleanLine(capability)
}

function paymentNote(
  payment: NonNullable<InteractionSummary['payment']>,
  peer: string,
  side: Side,
): TaskRow['notes'][number] {
  return payment.paid_as === undefined
    ? { ...sayPayment(payment, peer, side), short: `${payment.amount}cr` }
    : { says: `price of ${sayCredits(payment.amount)}`, short: 'price', tone: 'quiet' }
}

const HELD = { word: 'held back', tone: 'warn' } as const
const RECEIPT: Partial<Record<Tone, string>> = { good: 'verified', warn: 'unverified', bad: 'BAD receipt' }

function notesOf(item: InteractionSummary, peer: string, sending: Sent['sending']): TaskRow['notes'] {
  const notes: { says: string; short: string; tone: Tone }[] = []
  const { delivery, rating, review, payment } = item
  if (sending !== undefined)
    notes.push({ says: saySending(sending), short: `↑${percent(sending.sent, sending.total)}`, tone: 'wait' })
  else if (delivery !== undefined && delivery.state !== 'delivered') {
    const { word, tone } = delivery.held === true ? HELD : shortDelivery[delivery.state]
    notes.push({ says: word, short: word, tone })
  }
  const receipt = isQuote(item) ? undefined : sayReceipt(item, peer)
  if (receipt !== undefined) notes.push({ ...receipt, short: RECEIPT[receipt.tone] ?? 'receipt' })
  if (payment !== undefined && payment.state !== 'open') notes.push(paymentNote(payment, peer, item.side))
  if (rating !== undefined)
    notes.push({
      says: `rated ${rating} of 5${review?.uploaded === false ? ', not uploaded yet' : ''}`,
      short: `★${rating}`,
      tone: 'quiet',
    })
  if (item.archived === true) notes.push({ says: 'archived', short: 'archived', tone: 'quiet' })
  return notes
}

export type AgentRow = {
  id: string
  /** The address, short: what an agent calls itself is its own claim. */
  short: string
  name: string
  /** Its petname here, where it is a contact. */
  contact: string | undefined
  caps: string
  summary: string
  /** Where it lives, in short words, where that is another hub. */
  elsewhere: string | undefined
  seen: string
  quiet: boolean
}

export const agentRows = (view: View, now: number, filter?: string): AgentRow[] => {
  const fits = matcher(filter)
  const rows = view.agents.found.map(agent => agentRow(agent, now))
  return fits === undefined ? rows : rows.filter(row => fits(Object.values(row).join(' ')))
}

function agentRow(agent: Agent, now: number): AgentRow {
  return {
    id: agent.aid,
    short: shortAid(agent.aid),
    name: cleanLine(agent.name, 64) || shortAid(agent.aid),
    contact: agent.contact === null ? undefined : cleanLine(agent.contact, 64),
    caps: agent.caps.map(cap => cleanLine(cap, 64)).join(' '),
    summary: cleanLine(agent.summary, 240),
    elsewhere: agent.home === undefined ? undefined : `at hub ${shortAid(agent.home)}`,
    seen: seenAgo(agent, now),
    quiet: agent.quiet,
  }
}

/** Of an agent that was found by its AID no hub was asked more. */
function seenAgo({ registered_at: registered, last_seen: seen }: Agent, now: number): string {
  if (registered === null) return ''
  return seen === null ? 'never' : hourAge(seen, now)
}

export type EvidenceRow = {
  id: string
  seq: number
  at: number
  age: string
  type: string
  says: string
  /** The record below it is here, and its id is the one that this record names. */
  link: 'holds' | 'broken' | 'first' | 'unseen'
  recordId: string
  interactionId: string | undefined
}

/** Records from the newest down; each says whether it links to the one below. */
export function evidenceRows(view: View, now: number, filter?: string): EvidenceRow[] {
  const { records } = view.evidence
  const fits = matcher(filter)
  const rows = records.map((record, i) => evidenceRow(record, records[i + 1], now))
  return fits === undefined
    ? rows
    : rows.filter(row => fits(`${row.seq} ${row.type} ${row.says} ${row.recordId}`))
}

function evidenceRow(record: EvidenceRecord, below: EvidenceRecord | undefined, now: number): EvidenceRow {
  return {
    id: record.id,
    seq: record.seq,
    at: record.timestamp,
    age: age(record.timestamp, now),
    type: cleanLine(record.event_type, 64),
    says: sayRecord(record.event_type),
    link: linkOf(record, below),
    recordId: cleanLine(record.id),
    interactionId: interactionOf(record),
  }
}

function linkOf(record: EvidenceRecord, below: EvidenceRecord | undefined): EvidenceRow['link'] {
  if (record.seq === 0) return 'first'
  if (below === undefined || below.seq !== record.seq - 1) return 'unseen'
  return below.id === record.prev_id ? 'holds' : 'broken'
}

/** The task that a record belongs to, by its id as the lists show it. */
function interactionOf({ corr_id: id }: EvidenceRecord): string | undefined {
  const text = id?.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
  return text !== undefined && /^[A-Za-z0-9_-]{22}$/.test(text) ? text : undefined
}

export type HeadRow = { id: string; peer: string; length: number; headId: string }

/** Both heads of the line: our own, and how far each peer has signed that it stood. */
export const headRows = (view: View): HeadRow[] =>
  (view.heads ?? []).map(head => ({
    id: `${head.peer} ${head.head_id}`,
    peer: peerName(head),
    length: head.length,
    headId: cleanLine(head.head_id),
  }))

/**
 * What is selected after the rows have changed: the same row where it is still there, else the one that took its place.
 */
export function keepSelection(
  before: readonly { id: string }[],
  after: readonly { id: string }[],
  selected: string | undefined,
): string | undefined {
  if (after.length === 0) return undefined
  if (selected === undefined) return after[0]?.id
  if (after.some(row => row.id === selected)) return selected
  const place = before.findIndex(row => row.id === selected)
  if (place < 0) return after[0]?.id
  const kept = new Set(after.map(row => row.id))
  const next = before.slice(place).find(row => kept.has(row.id))
  return next?.id ?? after.at(-1)?.id
}
