/**
 * Where an envelope goes. It is found before key sets are asked for: an agent of this hub has one here, and whoever lives
 * elsewhere is judged there.
 */
import type { Access } from '../../protocol/mail/access.ts'
import type { EnvelopeHead } from '../../protocol/mail/envelope.ts'
import type { Content, ContentSink } from './envelope-body.ts'
import type { SessionUse } from './sessions.ts'

/** What head and headers decide together. `accessBytes`: the credential that came beside the envelope. */
export type Offer = {
  access: Access
  accessBytes: Uint8Array
  session: SessionUse | undefined
  head: EnvelopeHead
  digest: Uint8Array
  size: number
  /** The peer that hands it on for a sender of its own; undefined where the sender itself came. */
  from?: string | undefined
}

/** `viaHub`: the AID of the peer that has it now. */
export type Sent = {
  status: 'queued' | 'duplicate'
  rid: Uint8Array
  recipientQuiet: boolean
  viaHub?: string
}

/** An offer whose credential holds: its content may be read now. */
export interface Taking {
  /** For whose share of the room content counts while it comes. */
  readonly recipient: string
  /** Where content goes as it comes. */
  readonly sink: ContentSink
  take(content: Content): Promise<Sent>
  /** Nothing of what was not queued stays. */
  drop(content: Content): Promise<void>
}

export interface Destination {
  /** Settles everything that head and headers decide: an offer that is taken, or the answer to a repeat. */
  judge(offer: Offer): Promise<{ taking: Taking } | { repeated: Sent }>
}

/** Where the agents of one home hub are found. */
export interface Destinations {
  /** Undefined where nobody of that AID is there. */
  find(to: string): Promise<Destination | undefined>
}

/** Destinations of one kind. */
export interface DestinationKind {
  /** Those of a home hub, undefined where they are of another kind; a sender that names none means this hub. */
  towards(home: string | undefined): Destinations | undefined
}
