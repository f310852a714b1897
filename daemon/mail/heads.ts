/** Heads of chains on their way: given back with messages that go out anyway, and compared when ours come back. */
import type { Logger } from 'pino'
import { encodePayload, kinds } from '../../protocol/mail/payload.ts'
import { HeldHead, signedHead } from '../../protocol/proof/held-head.ts'
import type { Chain } from '../chain/chain.ts'
import { isContradicted, rememberContradicted, sayHeldBy } from '../chain/old-copy.ts'
import type { CurrentHub } from '../hubs/current.ts'
import type { Identity } from '../identity/identity.ts'
import type { Contacts } from '../peers/contacts.ts'
import { takeDueHead } from '../peers/heads.ts'
import type { Store } from '../store/open.ts'
import type { Threads } from '../store/threads.ts'

type ReturnParts = { store: Store; threads: Threads; contacts: Contacts; hub: CurrentHub }

export class ReturnedHeads {
  readonly #parts: ReturnParts
  readonly #now: () => number

  constructor(parts: ReturnParts, now: () => number) {
    this.#parts = parts
    this.#now = now
  }

  /** Gives a peer back the head that it signed, when it is time for that. */
  giveBack(peer: string): void {
    const { store, threads, contacts, hub } = this.#parts
    if (hub.oldCopy !== undefined || contacts.isBlocked(peer)) return
    store.transaction(() => {
      const head = takeDueHead({ store, now: this.#now }, peer)
      if (head === undefined) return
      const payload = encodePayload(kinds.heldHead, HeldHead.decode(head))
      threads.queueLoose(peer, { kind: kinds.heldHead, payload, text: '', numbered: false })
    }, 'node.head')
  }
}

type OwnHeadParts = {
  store: Store
  identity: Identity
  chain: Chain
  contacts: Contacts
  hub: CurrentHub
  log: Logger
}

export class OwnHeads {
  readonly #parts: OwnHeadParts

  constructor(parts: OwnHeadParts) {
    this.#parts = parts
  }

  /**
   * Compares a head of ours that came back with our chain; false where we never signed it. Of a contact it ends what this
   * node signs when it shows a newer copy; anybody else could have it from one that is stolen.
   */
  compare(from: string, held: HeldHead): boolean {
    const { store, chain, identity, contacts, hub, log } = this.#parts
    const head = signedHead(held, identity.log)
    if (head === undefined) return false
    // whoever has a key that is retired could have signed it since; a rotation is the cure for that
    const isPresent = head.kelSeq === identity.log.seq
    if (!isPresent || !contacts.isContact(from) || !isContradicted(chain, store, head)) return true
    rememberContradicted(store, from, head)
    const why = sayHeldBy(contacts.petnameOf(from) ?? from, chain, head)
    store.afterCommit(() => {
      log.error({ reason: why }, 'stopped talking to the hub')
      hub.oldCopy ??= why
      if (hub.home !== undefined) hub.halt(hub.home, why)
    })
    return true
  }
}
