/** Mail that the hub can read: the mailboxes of agents that chose it, apart from all sealed mail. */

/** How the mail of an agent goes; `sealed` once it has published keys, and never back. */
export type MailKind = 'none' | 'open' | 'sealed'

export const openKinds = ['delegate', 'result', 'message'] as const
export type OpenKind = (typeof openKinds)[number]

/** What an agent with open mail says of itself beside its row of the registry. */
export type OpenProfile = {
  /** Messages that it takes of one visitor; 0: it takes no visitors. */
  guestQuota: number
  /** Text for people. */
  pricing: string
  /** Where it can be reached directly. */
  address: string | undefined
}

/** Its mailbox: `listed` is the operator's word, `polledMs` undefined for one that was never emptied. */
export type OpenMailbox = OpenProfile & {
  number: number
  listed: boolean
  polledMs: number | undefined
  messages: number
}

export type OpenSend = {
  mailbox: number
  /** Random text. */
  id: string
  from: string
  kind: OpenKind
  interaction: string
  nowMs: number
  size: number
  /** The payload, or the blob that holds it. */
  content: Uint8Array | undefined
  file: string | undefined
  limits: {
    /** Of this mailbox. */
    messagesMax: number
    bytesMax: number
    /** Of all open mail together. */
    totalBytesMax: number
    /** Tasks that are remembered, so that each counts once: nobody signs a send, so they may be made up. */
    tasksMax: number
  }
  /** It is queued once under this digest, as long as that is remembered. */
  once?: OpenOnce | undefined
}

/** What a hub handed on. So many of one origin are remembered, for which the oldest of its own are forgotten. */
export type OpenOnce = { origin: string; digest: Uint8Array; sinceMs: number; max: number }
export type OpenSent = { outcome: 'queued' | 'repeated' | 'mailboxFull' | 'hubFull' | 'noMailbox' }

/** One that waits; its payload is the content of its row, unless a blob holds it. */
export type OpenMessage = {
  id: string
  from: string
  kind: OpenKind
  interaction: string
  createdMs: number
  size: number
  file: string | undefined
}

/** An agent that takes messages of visitors. */
export type GuestTaker = { aid: string; name: string; guestQuota: number }

/** Places lie between 0 and this. */
export const PLACE_MAX = 0xff_ff_ff_ff

export interface OpenMailStore {
  /** The mailbox of an agent by its number; undefined where its mail is not open. */
  openMailbox(number: number): Promise<OpenMailbox | undefined>
  /** The same for many, by number, in one question; those whose mail is not open are left out. */
  openMailboxes(numbers: readonly number[]): Promise<ReadonlyMap<number, OpenMailbox>>
  /** Makes the mailbox, or writes what its agent says of itself. */
  putOpenProfile(given: OpenProfile & { number: number }): Promise<void>
  /** Whether the operator lets the mailbox be listed. */
  listOpen(given: { number: number; listed: boolean }): Promise<void>
  /** How many messages of a visitor a mailbox takes; all else that its agent says stays. */
  setGuestQuota(given: { number: number; guestQuota: number }): Promise<void>
  /**
   * Queues a message once under its id. A result with an interaction counts it as a task that was completed, once among those
   * that are remembered; at every `tasksMax` tasks all of them are forgotten, and count on.
   */
  sendOpen(item: OpenSend): Promise<OpenSent>
  /** Whether something was queued under this digest since a time. */
  wasForwarded(digest: Uint8Array, sinceMs: number): Promise<boolean>
  /** Forgets what was handed on before a time, at most `limit`; whether there is more. */
  sweepForwarded(given: { beforeMs: number; limit: number }): Promise<{ more: boolean }>
  /** What waits, the oldest first, at most `bytesMax` unless the first is larger. */
  pollOpen(query: { mailbox: number; limit: number; bytesMax: number }): Promise<OpenMessage[]>
  /** The payloads of messages of this mailbox that no blob holds, by id; what is gone is left out. */
  openContents(query: { mailbox: number; ids: readonly string[] }): Promise<ReadonlyMap<string, Uint8Array>>
  /** Bytes of all open mail. */
  openBytes(): Promise<number>
  /** Removes messages of this mailbox; `files` are the blobs that nothing names any more. */
  ackOpen(given: { mailbox: number; ids: readonly string[] }): Promise<{ acked: number; files: string[] }>
  /**
   * Listed agents here that take visitors, at most `limit`: those behind a place, then those before it. Each has one place,
   * wherever it came in time, and one drawn from those behind a random place is as good as drawn from all. Left out are
   * those that are away.
   */
  guestTakers(query: { place: number; limit: number; polledAfterMs: number }): Promise<GuestTaker[]>
  /** Notes which mailboxes nobody has asked for since, at most `limit`: they take no visitors until somebody asks. */
  noteAway(given: { polledBeforeMs: number; limit: number }): Promise<{ more: boolean }>
  /** Notes when a mailbox was last asked for. */
  notePolled(given: { number: number; nowMs: number }): Promise<void>
  /** An agent left at this time, or came again: its mail is kept for a while. */
  noteLeft(given: { number: number; leftMs: number | undefined }): Promise<void>
  /** Deletes mail of agents that left before a time, at most `limit` messages. */
  sweepOpen(given: { leftBeforeMs: number; limit: number }): Promise<{ files: string[]; more: boolean }>
  /** Which of these blob names no open message holds. */
  unusedOpenFiles(names: string[]): Promise<string[]>
  /** Tasks of which a result was sent. */
  openTasks(): Promise<number>
  /** Registered agents whose mail is open. */
  openAgents(): Promise<number>
}
