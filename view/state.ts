/**
 * What both screens know, as one value that {@link reduce} in `reduce.ts` alone makes anew. Interactions of both
 * directions stand in one map by id; `order` of a list is the order in which the node gave them, and `rows.ts` sorts.
 */
import type { Searched } from '../protocol/control/found.ts'
import type { OperationReply } from '../protocol/control/operations.ts'
import type { InteractionSummary, NodeStatus } from '../protocol/control/shapes.ts'

export type Thread = OperationReply<'thread'>
export type Agent = OperationReply<'find'>['agents'][number]
export type Contact = OperationReply<'contacts'>['contacts'][number]
export type EvidenceRecord = OperationReply<'evidence'>['records'][number]
export type HeldHead = OperationReply<'evidenceHeads'>['heads'][number]

/** What the node said instead of an answer. */
export type Refusal = { code: string; says: string; next?: string; at: number }

export type Connection =
  | { state: 'connecting' }
  /** Changes come by themselves. */
  | { state: 'live' }
  /** The node has no stream: it is asked every few seconds. */
  | { state: 'polling' }
  /** No answer since; tried again at `retryAt`. */
  | { state: 'lost'; says: string; next?: string; since: number; retryAt: number }
  /** The node said that it stops. */
  | { state: 'stopped'; since: number; retryAt: number }

export type Side = 'received' | 'sent'
export type List = {
  /** The first page has come. */
  loaded: boolean
  loading: boolean
  /** Where older rows go on; undefined once all are here. */
  nextCursor?: string | undefined
  refusal?: Refusal | undefined
}

/** What a list is narrowed to: words, and whether only to what waits for a person, or to what was archived. */
export type Narrowed = { readonly words: string; readonly needs: boolean; readonly archived: boolean }
/** What the node found of a narrowed list, as far as it was asked. */
export type Found = List & Narrowed & { readonly ids: ReadonlySet<string> }

export type ThreadHeld = { thread?: Thread; loading: boolean; refusal?: Refusal | undefined; at: number }

/** The last runs of the auto-reply, the newest first. */
export type AutoReplyRun = { interactionId: string; event: string; at: number }

/** What is on its way: messages to the hub by their task, and mail that comes. Bytes. */
export type Transfers = {
  readonly sending: ReadonlyMap<string, { readonly sent: number; readonly total: number }>
  readonly received: number | undefined
}

export type Match = OperationReply<'search'>['matches'][number]
/** Messages of all tasks, or of one, that hold some words: what was asked last. */
export type Search = {
  readonly words: string
  /** The task in which was searched. */
  readonly within?: string | undefined
  readonly matches: readonly Match[]
  readonly loaded: boolean
  readonly loading: boolean
  readonly nextCursor?: string | undefined
  readonly refusal?: Refusal | undefined
}

export type View = {
  connection: Connection
  /** When the node last answered anything. */
  heardAt: number | undefined
  /** Id of the last event that was seen. */
  cursor: string | undefined
  status: NodeStatus | undefined
  interactions: ReadonlyMap<string, InteractionSummary>
  transfers: Transfers
  lists: Readonly<Record<Side, List>>
  /** Lists that are narrowed; undefined where one is whole. */
  found: Readonly<Record<Side, Found | undefined>>
  search: Search
  threads: ReadonlyMap<string, ThreadHeld>
  agents: {
    query: string
    found: readonly Agent[]
    loaded: boolean
    loading: boolean
    nextCursor?: string | undefined
    /** Who was asked, and whether all of these answered. */
    searched?: Searched | undefined
    refusal?: Refusal | undefined
  }
  contacts: readonly Contact[] | undefined
  evidence: {
    head?: OperationReply<'evidence'>['head']
    /** By falling number, without gaps from the newest. */
    records: readonly EvidenceRecord[]
    loaded: boolean
    loading: boolean
    refusal?: Refusal | undefined
  }
  heads: readonly HeldHead[] | undefined
  autoReply: OperationReply<'autoReplyShow'> | undefined
  runs: readonly AutoReplyRun[]
  autoReplyRuns: OperationReply<'autoReplyRuns'> | undefined
  /** Coding agents that can answer. */
  answerers: OperationReply<'autoReplyAgents'> | undefined
  a2a: OperationReply<'a2a'> | undefined
  prices: OperationReply<'prices'> | undefined
  /** What cards of others name, by AID, of those that were looked up. */
  cardPrices: ReadonlyMap<string, OperationReply<'agentPrices'>['prices']>
  balance: OperationReply<'balance'> | undefined
  spend: OperationReply<'spend'> | undefined
  capabilities: OperationReply<'capabilityList'> | undefined
  /** What `verify` said, by interaction. */
  verdicts: ReadonlyMap<string, OperationReply<'verify'>>
}

const nothing = { loaded: false, loading: false } as const

export const firstView: View = {
  connection: { state: 'connecting' },
  heardAt: undefined,
  cursor: undefined,
  status: undefined,
  interactions: new Map(),
  transfers: { sending: new Map(), received: undefined },
  lists: { received: nothing, sent: nothing },
  found: { received: undefined, sent: undefined },
  search: { words: '', matches: [], ...nothing },
  threads: new Map(),
  agents: { query: '', found: [], ...nothing },
  contacts: undefined,
  evidence: { records: [], ...nothing },
  heads: undefined,
  autoReply: undefined,
  runs: [],
  autoReplyRuns: undefined,
  answerers: undefined,
  a2a: undefined,
  prices: undefined,
  cardPrices: new Map(),
  balance: undefined,
  spend: undefined,
  capabilities: undefined,
  verdicts: new Map(),
}
