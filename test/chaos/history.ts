/** What was done and acknowledged, and what is there afterwards, as plain data. */

export type Name = string

export type Turn = {
  mine: boolean
  text: string
  kind: string
  delivery?: { state: string; reason?: string; next_try_at?: number; give_up_at?: number } | undefined
  missing_before?: number | undefined
}

export type Payment = {
  amount: number
  network: string
  state: string
  taken?: number | undefined
  given_back?: number | undefined
  problem?: string | undefined
  reason?: string | undefined
  held_until?: number | undefined
  /** AID of the hub of the other side, where that is another one. */
  other_hub?: string | undefined
  /** Two hubs would learn of it for the first time. */
  first_across?: true | undefined
}

/** A task as one of its sides shows it. */
export type View = {
  state: string
  reason?: string | undefined
  answer_by?: number | undefined
  lost_by_peer_at?: number | undefined
  turns: Turn[]
  receipt?:
    | { id: string; verified: boolean; status: string; fault?: string; awaits_counter_signature?: true }
    | undefined
  payment?: Payment | undefined
}

/** Words whose keeping was acknowledged to their author. */
export type Said = { by: Name; to: Name; text: string; atMs: number }

/** What the task was to come to. */
export type Outcome = 'receipt' | 'declined' | 'cancelled' | 'either'

export type Task = {
  n: number
  kind: string
  from: Name
  to: Name
  id: string
  startedMs: number
  said: Said[]
  outcome: Outcome
  /** Credits that have moved for good where all went as it was meant. */
  moves: number
  isFinished: boolean
  /** Whether its script came to an end that says what moved. */
  isKnown?: boolean
  /** What its script waited for when time was over. */
  waitedFor?: string | undefined
  /** The code of the refusal that ended it. */
  refused?: string | undefined
}

/** A node or hub that was put back to an earlier time. */
export type Restore = { who: Name; savedMs: number; restoredMs: number }

/** What a node says of itself. */
export type Standing = {
  old_copy: boolean
  restored?: { waiting: number; lost: { interaction_id: string }[] } | undefined
  warnings: string[]
  counts: { outbox: number; foreign: number }
}

/** The ledger of one hub as one node reads and compares it. */
export type Account = {
  network: string
  balance: number
  held: number
  unknown: { transaction: string; delta: number }[]
  missing: { transaction: string; kind: string; amount: number }[]
  short?: { sum: number; balance: number } | undefined
}

export type Scene = {
  tasks: Task[]
  /** By node, then by task. */
  views: ReadonlyMap<Name, ReadonlyMap<string, View | undefined>>
  restores: Restore[]
  standing: ReadonlyMap<Name, Standing>
  /** Hubs by the network of their credits. */
  hubs: ReadonlyMap<string, Name>
  nowMs: number
}
