/** Messages outside of any task: capabilities, heads of chains, numbers. Inside the transaction that judges them. */
import { type AnyPayload, kinds } from '../../protocol/mail/payload.ts'
import type { Arrived } from '../carrier/carrier.ts'
import type { Contacts } from '../peers/contacts.ts'
import type { PeerBook } from '../peers/peers.ts'
import { hasTaskWith } from '../store/correspondents.ts'
import type { Store } from '../store/open.ts'
import type { Verdict } from '../store/seen.ts'
import type { OwnHeads } from './heads.ts'
import type { ToldNumbers } from './told-numbers.ts'

type LooseParts = {
  store: Store
  contacts: Contacts
  peers: PeerBook
  ownHeads: OwnHeads
  numbers: ToldNumbers
}

export class LooseMail {
  readonly #parts: LooseParts

  constructor(parts: LooseParts) {
    this.#parts = parts
  }

  /** Kinds 8, 11 and 12: from contacts and from the other party of an open interaction only, and never with files. */
  take({ body, log, keySet }: Arrived, message: AnyPayload): Verdict {
    const { store, contacts, peers, ownHeads, numbers } = this.#parts
    if (body.attachments.length > 0) return 'malformed'
    const known = contacts.isContact(body.from) || hasTaskWith(store, body.from)
    const isOurs = message.kind !== kinds.heldHead || (known && ownHeads.compare(body.from, message.payload))
    if (!known || !isOurs) return 'malformed'
    if (message.kind === kinds.numbers && !numbers.take(body, message.payload)) return 'malformed'
    peers.learn(log, keySet)
    return 'stored'
  }
}
