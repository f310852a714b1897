/** Messages outside of any task: capabilities, heads of chains, numbers. Inside the transaction that judges them. */
import { type AnyPayload, kinds, type SaidAddress } from '../../protocol/mail/payload.ts'
import type { Arrived } from '../carrier/carrier.ts'
import type { Contacts } from '../peers/contacts.ts'
import type { PeerBook } from '../peers/peers.ts'
import { hasTaskWith } from '../store/correspondents.ts'
import { keepAddress } from '../store/direct.ts'
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
  hubNow: () => number
}

/** What was said under a clock that runs ahead is not to outlast what is said later. */
const inTime = ({ address, atMs }: SaidAddress, nowMs: number): SaidAddress => ({
  address,
  atMs: Math.min(atMs, nowMs),
})

export class LooseMail {
  readonly #parts: LooseParts

  constructor(parts: LooseParts) {
    this.#parts = parts
  }

  /** Kinds 8, 11 and 12: from contacts and from the other party of an open interaction only, and never with files. */
  take({ body, log, keySet }: Arrived, message: AnyPayload): Verdict {
    const { store, contacts, peers, ownHeads, numbers, hubNow } = this.#parts
    if (body.attachments.length > 0) return 'malformed'
    const known = contacts.isContact(body.from) || hasTaskWith(store, body.from)
    const isOurs = message.kind !== kinds.heldHead || (known && ownHeads.compare(body.from, message.payload))
    if (!known || !isOurs) return 'malformed'
    if (message.kind === kinds.numbers && !numbers.take(body, message.payload)) return 'malformed'
    peers.learn(log, keySet)
    if (message.kind === kinds.capabilities && message.payload.direct !== undefined)
      keepAddress(store, body.from, inTime(message.payload.direct, hubNow()))
    return 'stored'
  }
}
