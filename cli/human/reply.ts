/** A reply as a person reads it: names and values, tables of its lists, conversations turn by turn. */

import { type Searched, sayNobody } from '../../protocol/control/found.ts'
import { shownText } from '../../protocol/encoding/plain-text.ts'
import { isTimeName } from '../reply.ts'
import { oneLine, withoutFormats, wrapped } from './cells.ts'
import { type Column, pairs, tableText } from './table.ts'
import { relative, rfc3339 } from './times.ts'

export type Page = {
  readonly now: number
  readonly columns: number
  readonly known?: { readonly aid: unknown; readonly petname: string }
}
type Row = Readonly<Record<string, unknown>>

/** What of the rows of a list is shown, in which order; of any other list everything that is one value. */
const listColumns: Record<string, readonly string[]> = {
  items: ['interaction_id', 'peer', 'state', 'last_at', 'unread', 'rating', 'preview'],
  agents: ['name', 'contact', 'aid', 'home', 'caps', 'summary'],
  contacts: ['petname', 'aid', 'blocked', 'added_at'],
  identities: ['name', 'current', 'running', 'aid'],
  records: ['seq', 'timestamp', 'event_type', 'payload'],
  cards: ['card_id', 'title', 'creator', 'assignee', 'updated_at'],
  matches: ['interaction_id', 'peer', 'mine', 'at', 'text'],
}
/** Words that may be shortened in a table; the whole is in the command that shows one. */
const SHORTENED = ['preview', 'summary', 'caps', 'text', 'title', 'name', 'peer', 'contact', 'payload']
/** Members that name an agent; `<name>_name` beside one is what this user calls it. */
const PEOPLE = ['peer', 'creator', 'assignee', 'actor']
const AID_SHOWN = 12
/** A list of longer ones is no list of names. */
const PHRASE_WORDS = 3

export function humanText(reply: unknown, page: Page): string {
  const lines = isRow(reply) ? ofRow(reply, page) : [valueText('', reply, page)]
  return `${lines.join('\n')}\n`
}

const isRow = (value: unknown): value is Row =>
  value !== null && typeof value === 'object' && !Array.isArray(value)
const isList = (value: unknown): value is Row[] => Array.isArray(value) && value.every(isRow)
const label = (name: string) => oneLine(name.replaceAll('_', ' '))
const isEmpty = (value: unknown) => Array.isArray(value) && value.length === 0
const isNothing = (value: unknown) => value === null || value === undefined || value === ''

function ofRow(row: Row, page: Page): string[] {
  const members = Object.entries(row).filter(([name, value]) => !isNothing(value) && !isSaid(name, row))
  const values = members.filter(([name, value]) => !isPart(name, value))
  const parts = [
    pairs(
      values.map(([name, value]) => [
        label(name),
        `${petnameOf(name, row)}${ofState(name, row) ?? valueText(name, value, page)}`,
      ]),
      page.columns,
    ),
    ...members.flatMap(([name, value]) =>
      isPart(name, value) ? [partOf(name, value, pageOf(row, page), row)] : [],
    ),
  ]
  return parts.filter(part => part.length > 0).flatMap((part, n) => (n === 0 ? part : ['', ...part]))
}

/** A list of rows, which may be empty, a row, sentences, or a text whose lines are to be read as such. */
const isPart = (name: string, value: unknown) =>
  isRow(value) ||
  isLines(name, value) ||
  isSentences(value) ||
  (isList(value) && (value.length > 0 || name in listColumns))
const isLines = (name: string, value: unknown): value is string =>
  name === 'diff' && typeof value === 'string'
const isSentences = (value: unknown): value is string[] =>
  Array.isArray(value) && value.some(one => typeof one === 'string' && one.split(' ').length > PHRASE_WORDS)
/** What this user calls an agent stands before its AID. */
function petnameOf(name: string, row: Row): string {
  const called = PEOPLE.includes(name) ? calledIn(name, row) : undefined
  return called === undefined ? '' : `${called} `
}
const isSaid = (name: string, row: Row) =>
  name === 'new_cursor' ||
  PEOPLE.some(person => person in row && (name === `${person}_name` || name === 'roles')) ||
  (ABOUT_SEARCH.includes(name) && isList(row['agents']))
/** Said in words where nobody was found. */
const ABOUT_SEARCH = ['searched', 'partial', 'unusable']

/** What is inside names the other side as this row does. */
const pageOf = ({ peer, peer_name: petname }: Row, page: Page): Page =>
  typeof petname === 'string' && petname !== '' ? { ...page, known: { aid: peer, petname } } : page

function partOf(name: string, value: unknown, page: Page, row: Row): string[] {
  if (isList(value)) return value.length === 0 ? [noneOf(name, row)] : ofList(name, value, page)
  if (isLines(name, value)) return [`${label(name)}:`, ...linesOf(value)]
  if (isSentences(value)) return [`${label(name)}:`, ...value.map(one => `  - ${oneLine(String(one))}`)]
  const inner = ofRow(value as Row, { ...page, columns: page.columns - 2 })
  return [`${label(name)}:`, ...inner.map(line => (line === '' ? '' : `  ${line}`))]
}

function noneOf(name: string, row: Row): string {
  if (name !== 'agents' || row['searched'] === undefined) return `no ${label(name)}`
  const { says, next } = sayNobody(row as Searched)
  return `${says}; ${next}`
}

/** The lines as they are, also those that are wider than the terminal; indented, so that none passes for another member. */
const linesOf = (text: string): string[] =>
  withoutFormats(shownText(text))
    .trimEnd()
    .split('\n')
    .map(line => `  ${line}`)

function ofList(name: string, rows: readonly Row[], page: Page): string[] {
  if (name === 'turns') return rows.flatMap((turn, n) => [...(n === 0 ? [] : ['']), ...turnText(turn, page)])
  if (name === 'columns') return boardText(rows, page)
  if (name === 'events') return rows.flatMap(row => eventText(row, page))
  if (name === 'findings') return rows.flatMap(row => findingText(row, page))
  const names = listColumns[name] ?? scalarNames(rows)
  const columns = names.map(
    (member): Column => ({
      title: label(member),
      cells: rows.map(row => cellText(member, row, page)),
      cut: SHORTENED.includes(member),
    }),
  )
  return tableText(columns, page.columns)
}

function scalarNames(rows: readonly Row[]): string[] {
  const names = new Set(rows.flatMap(row => Object.keys(row)))
  return [...names].filter(name =>
    rows.every(row => !isRow(row[name]) && !isList(row[name]) && !isSaid(name, row)),
  )
}

function cellText(name: string, row: Row, page: Page): string {
  const value = row[name]
  if (PEOPLE.includes(name)) return whoText(name, row)
  const state = ofState(name, row, SHORT)
  if (state !== undefined) return state
  if (name === 'home') return typeof value === 'string' ? `at hub ${startOf(value)}` : ''
  if (typeof value === 'boolean') return value ? 'yes' : ''
  if (typeof value === 'number' && isTimeName(name)) return relative(value, page.now)
  const isBlank = isNothing(value) || isEmpty(value) || (value === 0 && name === 'unread')
  return isBlank ? '' : valueText(name, value, page)
}

/** What an agent is called here, else the beginning of its AID. */
function whoText(name: string, row: Row): string {
  const aid = row[name]
  return calledIn(name, row) ?? (typeof aid === 'string' ? startOf(aid) : '')
}

/** `you` for this node itself, else the petname; undefined where there is none. */
function calledIn(name: string, row: Row): string | undefined {
  const { roles, mine, [`${name}_name`]: petname } = row
  const isOwn = Array.isArray(roles) ? roles.includes(name) : name === 'actor' && mine === true
  if (isOwn) return 'you'
  return typeof petname === 'string' && petname !== '' ? oneLine(petname) : undefined
}

const startOf = (aid: string): string => `${oneLine(aid).slice(0, AID_SHOWN)}…`

/** Where a status as it is could be read as a verdict. */
const STATUSES: Readonly<Record<string, string>> = {
  UNVERIFIED: 'answer in words, not checked by a program (UNVERIFIED)',
}

function valueText(name: string, value: unknown, page: Page): string {
  if (name === 'status' && typeof value === 'string') return STATUSES[value] ?? oneLine(value)
  if (typeof value === 'number' && isTimeName(name)) return `${rfc3339(value)} (${relative(value, page.now)})`
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (Array.isArray(value))
    return value.length === 0 ? 'none' : value.map(one => valueText('', one, page)).join(', ')
  if (isRow(value)) return oneLine(JSON.stringify(value))
  return oneLine(String(value))
}

/** Where a message is. */
const DELIVERIES: Readonly<Record<string, string>> = {
  queued: 'waits on this machine',
  at_hub: 'at the hub, not confirmed yet',
  failed: 'not delivered',
  unknown: 'no proof that it arrived',
}
/** The same in a column. */
const SHORT: typeof DELIVERIES = { queued: 'queued here', at_hub: 'at the hub' }
const deliveryText = ({ state, reason, direct }: Row): string =>
  `${DELIVERIES[String(state)] ?? label(String(state))}${direct === true ? ' directly' : ''}${isNothing(reason) ? '' : ` (${String(reason)})`}`

/** The state of a task where its name alone misleads: a task on its way, and a price, which is none. */
function ofState(
  name: string,
  { state, delivery, turns, receipt, payment, side }: Row,
  deliveries = DELIVERIES,
): string | undefined {
  if (name !== 'state') return undefined
  if (isRow(receipt) && receipt['status'] === 'PAYMENT_REQUIRED') {
    const { state: paid, paid_as } = isRow(payment) ? payment : {}
    return side === 'sent' && paid === 'open' && paid_as === undefined ? 'price, to decide' : 'price'
  }
  const first = isRow(delivery) ? delivery : isList(turns) ? turns[0]?.['delivery'] : undefined
  return state === 'queued' && isRow(first) ? deliveries[String(first['state'])] : undefined
}

/** One turn of a conversation: who, when and how it stands, then the words. */
function turnText(turn: Row, page: Page): string[] {
  const { n, mine, from, at, kind, text, delivery, attachments } = turn
  const petname = page.known?.aid === from ? page.known?.petname : undefined
  const who = mine === true ? 'you' : (petname ?? `${String(from).slice(0, AID_SHOWN)}…`)
  const state = isRow(delivery) ? `, ${deliveryText(delivery)}` : ''
  const head = `${n}. ${oneLine(String(who))}, ${valueText('at', at, page)}${oneLine(state)}`
  const files = isList(attachments)
    ? attachments.map(file => `[${String(file['name'])}, ${String(file['bytes'])} bytes]`)
    : []
  const said = [String(text ?? ''), ...files].filter(part => part !== '')
  const words = said.length === 0 && !isNothing(kind) ? [`(${label(String(kind))})`] : said
  return [
    head,
    ...words.flatMap(part => wrapped(part, page.columns - 4)).map(line => `    ${line}`.trimEnd()),
  ]
}

function findingText({ state, check, found, mend }: Row, page: Page): string[] {
  const head = `${String(state).toUpperCase()} ${String(check)}: ${String(found)}`
  const step = isNothing(mend)
    ? []
    : wrapped(`mend: ${String(mend)}`, page.columns - 6).map(line => `      ${line}`)
  return [...wrapped(head, page.columns), ...step]
}

/** A task board: each column that has cards, as a table of its own. */
function boardText(columns: readonly Row[], page: Page): string[] {
  const shown = columns.filter(({ total }) => total !== 0)
  if (shown.length === 0) return ['no cards']
  return shown.flatMap(({ column, total, cards, next_cursor: next }, n) => [
    ...(n === 0 ? [] : ['']),
    `${label(String(column))} (${String(total)}):`,
    ...(isList(cards) && cards.length > 0 ? ofList('cards', cards, page) : []),
    ...(isNothing(next) ? [] : [`more with: --column ${String(column)} --cursor ${oneLine(String(next))}`]),
  ])
}

/** What happened to a card: who did what and when, then the note. */
function eventText(event: Row, page: Page): string[] {
  const { at, action, detail } = event
  const head = `${whoText('actor', event)}, ${valueText('at', at, page)}: ${oneLine(String(action))}`
  const words = isNothing(detail) ? [] : wrapped(String(detail), page.columns - 4)
  return [...wrapped(head, page.columns), ...words.map(line => `    ${line}`.trimEnd())]
}
