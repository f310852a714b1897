/** What answers: a backend takes a conversation and gives back one text. It knows nothing of nodes or hubs. */
import { Failure } from '../protocol/encoding/errors.ts'

export type ConversationTurn = {
  /** `peer`: the other party's words, hostile until proven otherwise. */
  role: 'peer' | 'me'
  text: string
  attachments: readonly ConversationAttachment[]
}

export type ConversationAttachment = { name: string; mediaType: string; bytes: number; path: string | null }

export type BackendRequest = {
  interactionId: string
  /** AID of the other party, verified. */
  peer: string
  /** Petname of the other party, when it is a contact. */
  peerName: string | null
  turns: readonly ConversationTurn[]
  /** What the owner of this node wants said to the backend before anything else. */
  systemPrompt: string | undefined
}

/** A file that a run left to be sent. */
export type MadeFile = { name: string; content: Uint8Array }

/** `cost`: what the run cost, as far as the program or the server says it, in words for the log. */
export type Answer = { text: string; cost?: string; files?: MadeFile[] }

export type Backend = {
  /** Shown in evidence and logs: `exec:claude`, `openai:model`. */
  readonly name: string
  /** One answer; throws {@link BackendFailed}, also when `signal` ends it. */
  reply(request: BackendRequest, signal: AbortSignal): Promise<Answer>
}

/** The backend gave no usable answer; `message` is for the owner of the node, never for the peer. */
export class BackendFailed extends Failure {
  override name = 'BackendFailed'
}

/** The program, or what it starts, is not there; it would answer nothing else either. */
export class NotStarted extends BackendFailed {
  override name = 'NotStarted'
}

export const ANSWER_CHARACTERS_MAX = 200_000
