/** What an operator set aside, vouches for, and did, of agents whose mail the hub can read. */

/** `name`: as its agent called itself · `number`: of its mailbox. */
export type ArchivedAgent = {
  n: number
  aid: string
  name: string
  number: number
  atMs: number
  reason: string
}

/** Marks an agent with the write of its row: `restored` takes the mark away. */
export type Archiving = { atMs: number; reason: string } | 'restored'

/** An agent that the operator vouches for: lower places come first. */
export type OfficialAgent = {
  aid: string
  place: number
  badge: string
  addedMs: number
  /** Whose mail reaches it; undefined: anybody's. */
  senders: readonly string[] | undefined
  /** Whether it takes visitors. */
  visitors: boolean
}

/** One order: from where, what, about whom, and how. */
export type OperatorAct = { atMs: number; who: string; action: string; subject: string; detail: string }

export interface ModerationStore {
  /** When and why an agent was archived; undefined for one that is not. */
  archived(aid: string): Promise<{ atMs: number; reason: string } | undefined>
  /** Those archived, the newest first, `before` a number where one is given. */
  archivedAgents(query: { before: number | undefined; limit: number }): Promise<ArchivedAgent[]>
  archivedCount(): Promise<number>

  /** Writes what the operator says of an agent; false where `max` others are written already. */
  putOfficial(given: OfficialAgent & { max: number }): Promise<boolean>
  /** False where there was none. */
  removeOfficial(aid: string): Promise<boolean>
  official(aid: string): Promise<OfficialAgent | undefined>
  /** All of them, by place, then by AID. */
  officials(): Promise<OfficialAgent[]>

  /** Writes down what was done; of more than `max` acts the oldest go. */
  noteAct(given: OperatorAct & { max: number }): Promise<void>
  /** Acts, the newest first, `before` a number where one is given. */
  acts(query: { before: number | undefined; limit: number }): Promise<(OperatorAct & { n: number })[]>

  /** Capability tags of agents with open mail after one, in their order, and how many have each. */
  openCaps(query: { after: string; limit: number }): Promise<{ cap: string; agents: number }[]>
  /** Reviews of an agent after a number, in order, without their documents. */
  openRatings(query: {
    provider: string
    after: number
    limit: number
  }): Promise<{ fedSeq: number; rating: number; review: Uint8Array }[]>
  /** Messages of open mail that wait, and their bytes. */
  openWaiting(): Promise<{ mailboxes: number; messages: number; bytes: number }>
}
