/** What an envelope carries of a message: its words, what introduces its sender, and capabilities to answer with. */
import { decode } from '../../protocol/encoding/cbor.ts'
import { present } from '../../protocol/encoding/present.ts'
import { list } from '../../protocol/encoding/record.ts'
import { type GrantedCapability, grantedCapability } from '../../protocol/mail/capability.ts'
import type { MessageBody } from '../../protocol/mail/message.ts'
import { kinds } from '../../protocol/mail/payload.ts'
import { headOf } from '../carrier/head.ts'
import type { Identity } from '../identity/identity.ts'
import type { MailboxKeys } from '../identity/mailbox-keys.ts'
import type { DeliveryCapabilities } from '../peers/capabilities.ts'
import type { Contacts } from '../peers/contacts.ts'
import type { PeerBook } from '../peers/peers.ts'
import { mayHoldCapabilities } from '../peers/stock.ts'
import type { Store } from '../store/open.ts'
import type { OutboxEntry } from '../store/outbox.ts'
import type { Threads } from '../store/threads.ts'

export const grantedList = list(grantedCapability, 16)

type GrantParts = { store: Store; threads: Threads; contacts: Contacts; capabilities: DeliveryCapabilities }

/** Reply capabilities. */
export class Grants {
  readonly #parts: GrantParts

  constructor(parts: GrantParts) {
    this.#parts = parts
  }

  /** Those that the message carried before, while they are good, or what the recipient's stock lacks. */
  of(entry: OutboxEntry): GrantedCapability[] {
    const { store, threads, contacts, capabilities } = this.#parts
    const { kind } = threads.message(entry.message)
    const leaves = kind === kinds.declined || kind === kinds.cancelled
    if (leaves || !mayHoldCapabilities({ contacts, store }, entry.peer)) return []
    const alone = kind === kinds.capabilities
    if (entry.granted === null) return capabilities.topUp(entry.peer, alone)
    const kept = grantedList.read(decode(entry.granted), 'granted')
    return kept.length > 0 && kept.every(({ capability }) => capabilities.isIssued(capability.body.id))
      ? kept
      : capabilities.topUp(entry.peer, alone)
  }
}

/** What introduces this node to a correspondent. */
export class Introductions {
  readonly #identity: Identity
  readonly #keys: MailboxKeys
  readonly #peers: PeerBook

  constructor(identity: Identity, keys: MailboxKeys, peers: PeerBook) {
    this.#identity = identity
    this.#keys = keys
    this.#peers = peers
  }

  /** State of our own log and key set, as a correspondent may already know it. */
  get state(): string {
    return `${this.#identity.log.seq}.${this.#keys.set?.body.setSeq ?? 0}`
  }

  isDueTo(peer: string): boolean {
    return this.#peers.introducedTo(peer) !== this.state
  }

  /** Our log and key set. */
  own(): Pick<MessageBody, 'kel' | 'keySet'> {
    return { kel: [...this.#identity.log.events], ...present({ keySet: this.#keys.set }) }
  }
}

type BodyParts = { identity: Identity; threads: Threads; grants: Grants; introductions: Introductions }

/** The words of an envelope, and what of them is kept with it. */
export type WrittenBody = { body: MessageBody; granted: GrantedCapability[]; introducesAs: string | null }

export class MessageBodies {
  readonly #parts: BodyParts
  readonly #hubNow: () => number

  constructor(parts: BodyParts, hubNow: () => number) {
    this.#parts = parts
    this.#hubNow = hubNow
  }

  /** `asStranger`: it goes without a capability of the recipient. */
  write(entry: OutboxEntry, { asStranger }: { asStranger: boolean }): WrittenBody {
    const { grants, introductions } = this.#parts
    const granted = grants.of(entry)
    const introduces = asStranger || introductions.isDueTo(entry.peer)
    const body = this.#bodyOf(entry, { granted, introduces })
    return { body, granted, introducesAs: introduces ? introductions.state : null }
  }

  #bodyOf(entry: OutboxEntry, given: { granted: GrantedCapability[]; introduces: boolean }): MessageBody {
    const { identity, threads, introductions } = this.#parts
    const head = headOf({ identity, threads, hubNow: this.#hubNow }, entry)
    const introduces = given.introduces || head.kind === kinds.delegate || head.kind === kinds.capabilities
    return {
      ...head,
      ...present({ capabilities: given.granted.length === 0 ? undefined : given.granted }),
      handleSecret: entry.handleSecret,
      ...(introduces ? introductions.own() : {}),
    }
  }
}
