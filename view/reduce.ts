/** From one view to the next: what the node answered, refused or sent. Pure; an action that changes nothing gives the same view. */
import type { OperationInput, OperationName, OperationReply } from '../protocol/control/operations.ts'
import type { InteractionSummary, Turn } from '../protocol/control/shapes.ts'
import { present } from '../protocol/encoding/present.ts'
import type { NodeEventSeen } from './node-client.ts'
import {
  type Connection,
  type Found,
  firstView,
  type List,
  type Narrowed,
  type Refusal,
  type Side,
  type Thread,
  type ThreadHeld,
  type Transfers,
  type View,
} from './state.ts'

/** A reply with what was asked, by operation. */
export type Replied = {
  [N in OperationName]: {
    type: 'reply'
    name: N
    input: OperationInput<N>
    reply: OperationReply<N>
    at: number
  }
}[OperationName]
export type Refused = { type: 'refused'; name: OperationName; input: unknown; refusal: Refusal }
export type Action =
  | Replied
  | Refused
  | { type: 'asking'; name: OperationName; input: unknown; at: number }
  | { type: 'connection'; connection: Connection }
  | { type: 'event'; event: NodeEventSeen; at: number }
  | { type: 'narrow'; side: Side; to: Narrowed | undefined }
  | { type: 'reset' }

const RUNS_KEPT = 50
const THREADS_KEPT = 20

export function reduce(view: View, action: Action): View {
  switch (action.type) {
    case 'connection':
      return { ...view, connection: action.connection }
    case 'event':
      return withEvent(view, action.event, action.at)
    case 'narrow':
      return withFound(view, action.side, action.to)
    case 'reset':
      return { ...view, cursor: undefined }
    case 'asking':
      return asking(view, action)
    case 'refused':
      return refused(view, action)
    case 'reply':
      return replied({ ...view, heardAt: action.at }, action)
  }
}

const sideOf = (name: OperationName): Side | undefined =>
  name === 'inbox' ? 'received' : name === 'results' ? 'sent' : undefined
const idIn = (input: unknown): string => (input as { interaction_id: string }).interaction_id

/** What was searched for, as it is typed. */
const queryOf = ({ query = '', capability }: OperationInput<'find'>): string =>
  capability === undefined ? query : `cap:${capability}`

const withList = (view: View, side: Side, list: Partial<List>): View => ({
  ...view,
  lists: { ...view.lists, [side]: { ...view.lists[side], ...list } },
})

/** What a list was asked for, where it was narrowed. */
function narrowedBy(name: OperationName, input: unknown): Narrowed | undefined {
  type Flag = boolean | 'true' | 'false'
  const { words = '', needs, archived } = input as { words?: string; needs?: Flag; archived?: Flag }
  const isNarrowed =
    sideOf(name) !== undefined && (words !== '' || needs !== undefined || archived !== undefined)
  return isNarrowed
    ? { words, needs: String(needs) === 'true', archived: String(archived) === 'true' }
    : undefined
}

export const isSameNarrowing = (one: Narrowed | undefined, other: Narrowed | undefined): boolean =>
  one?.words === other?.words && one?.needs === other?.needs && one?.archived === other?.archived

/** A list that is narrowed anew knows nothing yet of what fits. */
function withFound(view: View, side: Side, to: Narrowed | undefined): View {
  const found: Found | undefined = to && { ...to, ids: new Set(), loaded: false, loading: true }
  return { ...view, found: { ...view.found, [side]: found } }
}

/** Changes what was found, where that is still what was asked for. */
function inFound(view: View, side: Side, asked: Narrowed, change: (held: Found) => Found): View {
  const held = view.found[side]
  if (held === undefined || !isSameNarrowing(held, asked)) return view
  return { ...view, found: { ...view.found, [side]: change(held) } }
}

function withThread(view: View, id: string, held: ThreadHeld): View {
  const threads = new Map(view.threads)
  threads.delete(id)
  threads.set(id, held)
  for (const oldest of threads.keys()) {
    if (threads.size <= THREADS_KEPT) break
    threads.delete(oldest)
  }
  return { ...view, threads }
}

function asking(view: View, { name, input, at }: Extract<Action, { type: 'asking' }>): View {
  const side = sideOf(name)
  const narrowed = narrowedBy(name, input)
  if (side !== undefined && narrowed !== undefined)
    return inFound(view, side, narrowed, held => ({ ...held, loading: true, refusal: undefined }))
  if (side !== undefined) return withList(view, side, { loading: true })
  if (name === 'search') return searching(view, input as OperationInput<'search'>)
  if (name === 'thread') {
    const held = view.threads.get(idIn(input))
    return withThread(view, idIn(input), { at, ...held, loading: true })
  }
  if (name === 'find') {
    const { cursor } = input as OperationInput<'find'>
    const query = queryOf(input as OperationInput<'find'>)
    const agents = { ...view.agents, query, loading: true, refusal: undefined }
    return {
      ...view,
      agents: cursor === undefined && query !== view.agents.query ? { ...agents, found: [] } : agents,
    }
  }
  if (name === 'evidence') return { ...view, evidence: { ...view.evidence, loading: true } }
  return view
}

function refused(view: View, { name, input, refusal }: Refused): View {
  const side = sideOf(name)
  const narrowed = narrowedBy(name, input)
  if (side !== undefined && narrowed !== undefined)
    return inFound(view, side, narrowed, held => ({ ...held, loaded: true, loading: false, refusal }))
  if (side !== undefined) return withList(view, side, { loading: false, refusal })
  if (name === 'search') return { ...view, search: { ...view.search, loading: false, loaded: true, refusal } }
  if (name === 'thread') {
    const held = view.threads.get(idIn(input))
    return withThread(view, idIn(input), { at: refusal.at, ...held, loading: false, refusal })
  }
  if (name === 'find') return { ...view, agents: { ...view.agents, loading: false, loaded: true, refusal } }
  if (name === 'evidence') return { ...view, evidence: { ...view.evidence, loading: false, refusal } }
  return view
}

function replied(view: View, action: Replied): View {
  switch (action.name) {
    case 'status':
      return { ...view, status: action.reply }
    case 'inbox':
    case 'results':
      return withPage(view, action.name === 'inbox' ? 'received' : 'sent', action)
    case 'interactions':
      return withItems(view, action.reply.items)
    case 'thread':
      return withNewestDelivery(withTurns(view, action), action)
    case 'search':
      return withMatches(view, action)
    case 'find':
      return withAgents(view, action)
    case 'contacts':
      return { ...view, contacts: action.reply.contacts }
    case 'evidence':
      return withRecords(view, action)
    case 'evidenceHeads':
      return { ...view, heads: action.reply.heads }
    case 'autoReplyShow':
    case 'autoReplySet':
    case 'autoReplyOff':
      return { ...view, autoReply: action.reply }
    case 'agentPrices':
      return { ...view, cardPrices: new Map(view.cardPrices).set(action.input.aid, action.reply.prices) }
    case 'verify':
      return { ...view, verdicts: new Map(view.verdicts).set(action.input.interaction_id, action.reply) }
    default:
      return { ...view, ...account(action) }
  }
}

function account(action: Replied): Partial<View> {
  switch (action.name) {
    case 'autoReplyRuns':
      return { autoReplyRuns: action.reply }
    case 'autoReplyAgents':
      return { answerers: action.reply }
    case 'a2a':
    case 'a2aSet':
      return { a2a: action.reply }
    case 'prices':
    case 'priceSet':
      return { prices: action.reply }
    case 'balance':
      return { balance: action.reply }
    case 'spend':
      return { spend: action.reply }
    case 'capabilityList':
      return { capabilities: action.reply }
    default:
      return {}
  }
}

function withItems(view: View, items: readonly InteractionSummary[]): View {
  if (items.length === 0) return view
  const interactions = new Map(view.interactions)
  for (const item of items) interactions.set(item.interaction_id, item)
  return { ...view, interactions }
}

/** A first page leaves the place where older rows go on, once there is one. */
function withPage(view: View, side: Side, action: Extract<Replied, { name: 'inbox' | 'results' }>): View {
  const { items, next_cursor: next } = action.reply
  const narrowed = narrowedBy(action.name, action.input)
  if (narrowed !== undefined)
    return inFound(withItems(view, items), side, narrowed, found => ({
      ...found,
      ids: new Set([...found.ids, ...items.map(item => item.interaction_id)]),
      loaded: true,
      loading: false,
      refusal: undefined,
      // what is asked anew begins at the newest, and what was found stays
      nextCursor: action.input.cursor === undefined && found.loaded ? found.nextCursor : next,
    }))
  const held = view.lists[side]
  const isFurther = action.input.cursor !== undefined
  const nextCursor = isFurther || !held.loaded ? next : held.nextCursor
  return withList(withItems(view, items), side, {
    loaded: true,
    loading: false,
    refusal: undefined,
    nextCursor,
  })
}

/** Texts never change: the rest of one joins its beginning, and what was read further stays. */
function joined(before: readonly Turn[], turns: readonly Turn[], from: number): Turn[] {
  return turns.map((turn, i) => {
    const held = before.find(one => one.n === turn.n && one.at === turn.at)
    if (held === undefined) return turn
    if (i === 0 && from > 0) return { ...turn, text: held.text.slice(0, from) + turn.text }
    if (held.text.length <= turn.text.length) return turn
    const { next_char: _nearer, ...rest } = turn
    return { ...rest, text: held.text, ...present({ next_char: held.next_char }) }
  })
}

/** A part of a thread that goes on joins what is here. */
function withTurns(view: View, { input, reply, at }: Extract<Replied, { name: 'thread' }>): View {
  const from = input.from_turn ?? 1
  const before = view.threads.get(reply.interaction_id)?.thread?.turns ?? []
  const turns = [
    ...before.filter(turn => turn.n < from),
    ...joined(before, reply.turns, input.from_char ?? 0),
  ]
  const isPart = input.from_char !== undefined
  // the rest of one text says nothing of the turns behind it
  if (isPart) turns.push(...before.filter(turn => turn.n > (turns.at(-1)?.n ?? 0)))
  const thread: Thread = { ...reply, turns }
  return withThread(view, reply.interaction_id, { thread, loading: false, refusal: undefined, at })
}

/** The row says what became of the newest message, as its conversation does, which may be read before it. */
function withNewestDelivery(view: View, { input, reply }: Extract<Replied, { name: 'thread' }>): View {
  const item = view.interactions.get(reply.interaction_id)
  const delivery = reply.turns.findLast(turn => turn.mine)?.delivery
  const isToEnd = reply.next_turn === undefined && input.from_char === undefined
  if (item === undefined || delivery === undefined || !isToEnd) return view
  return withItems(view, [{ ...item, delivery }])
}

/** Words that are asked for anew find nothing of the previous ones. */
function searching(view: View, { words, interaction_id: within, cursor }: OperationInput<'search'>): View {
  const { search } = view
  const isSame = cursor !== undefined && search.words === words && search.within === within
  const matches = isSame ? search.matches : []
  return { ...view, search: { words, within, matches, loaded: isSame, loading: true } }
}

function withMatches(view: View, { input, reply }: Extract<Replied, { name: 'search' }>): View {
  const { search } = view
  if (input.words !== search.words || input.interaction_id !== search.within) return view
  const matches = input.cursor === undefined ? reply.matches : [...search.matches, ...reply.matches]
  return {
    ...view,
    search: { ...search, matches, loaded: true, loading: false, nextCursor: reply.next_cursor },
  }
}

function withAgents(view: View, { input, reply }: Extract<Replied, { name: 'find' }>): View {
  if (queryOf(input) !== view.agents.query) return view
  const before = input.cursor === undefined ? [] : view.agents.found
  const known = new Set(before.map(agent => agent.aid))
  const { agents, ...searched } = reply
  const found = [...before, ...agents.filter(agent => !known.has(agent.aid))]
  return {
    ...view,
    agents: {
      query: view.agents.query,
      found,
      loaded: true,
      loading: false,
      nextCursor: reply.next_cursor,
      searched,
      refusal: undefined,
    },
  }
}

function withRecords(view: View, { reply }: Extract<Replied, { name: 'evidence' }>): View {
  const records = new Map([...view.evidence.records, ...reply.records].map(record => [record.seq, record]))
  return {
    ...view,
    evidence: {
      head: reply.head,
      records: [...records.values()].sort((a, b) => b.seq - a.seq),
      loaded: true,
      loading: false,
      refusal: undefined,
    },
  }
}

/** How far it is; `over` says that it has arrived, was refused, or was stopped. */
function transferred(transfers: Transfers, data: unknown): Transfers {
  const { interaction_id: id, sent, total, received } = (data ?? {}) as Record<string, unknown>
  if (typeof id !== 'string')
    return { ...transfers, received: typeof received === 'number' ? received : undefined }
  const sending = new Map(transfers.sending)
  if (typeof sent === 'number' && typeof total === 'number' && total > 0) sending.set(id, { sent, total })
  else sending.delete(id)
  return { ...transfers, sending }
}

function withEvent(view: View, { id, event, data }: NodeEventSeen, at: number): View {
  const cursor = id ?? view.cursor
  const seen = { ...view, heardAt: at, cursor }
  if (event === 'transfer') return { ...seen, transfers: transferred(view.transfers, data) }
  // what went on while nobody listened may be over
  if (event === 'open' || event === 'reset') return { ...seen, transfers: firstView.transfers }
  if (event !== 'autoreply') return seen
  const { interaction_id: interactionId, event: what } = (data ?? {}) as Record<string, unknown>
  if (typeof interactionId !== 'string') return seen
  const run = { interactionId, event: typeof what === 'string' ? what : '', at }
  return { ...seen, runs: [run, ...view.runs].slice(0, RUNS_KEPT) }
}
