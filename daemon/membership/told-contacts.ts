/**
 * Where this node takes sealed mail directly, told to its contacts and to nobody else: sealed, in messages of their own. Who is
 * none any more is told that it is withdrawn; who is blocked is told nothing.
 */
import { encodePayload, kinds } from '../../protocol/mail/payload.ts'
import type { Settings } from '../home/settings.ts'
import type { Contacts } from '../peers/contacts.ts'
import type { PeerBook } from '../peers/peers.ts'
import { noteTold, type Told, toldAddresses } from '../store/direct.ts'
import type { Store } from '../store/open.ts'
import type { Threads } from '../store/threads.ts'

type ToldParts = {
  settings: Settings
  contacts: Contacts
  peers: Pick<PeerBook, 'find'>
  store: Store
  threads: Pick<Threads, 'queueLoose'>
}

export class ToldContacts {
  readonly #parts: ToldParts
  readonly #hubNow: () => number

  constructor(parts: ToldParts, hubNow: () => number) {
    this.#parts = parts
    this.#hubNow = hubNow
  }

  /** Queues what each of them is still to be told. */
  tell(): void {
    const { store } = this.#parts
    const due = this.#due()
    if (due.length === 0) return
    store.transaction(() => {
      for (const one of due) this.#tellOne(one)
    }, 'node.direct.tell')
  }

  /** How many contacts were told the present address. */
  get count(): number {
    const { settings, contacts, store } = this.#parts
    const { address = '' } = settings.current.p2p ?? {}
    if (address === '') return 0
    return toldAddresses(store).filter(({ peer, told }) => told === address && contacts.isContact(peer))
      .length
  }

  #due(): Told[] {
    const { settings, contacts, peers, store } = this.#parts
    const { address } = settings.current.p2p ?? {}
    if (address === undefined) return []
    const now = this.#hubNow()
    const told = new Map(toldAddresses(store).map(one => [one.peer, one]))
    const named = contacts.list().filter(({ aid }) => contacts.isContact(aid))
    // whoever was never heard of has to be written to first
    const known = named.flatMap(({ aid }) => (peers.find(aid) === undefined ? [] : [aid]))
    return [...new Set([...known, ...told.keys()])].flatMap(peer => {
      const wanted = contacts.isContact(peer) ? address : ''
      const before = told.get(peer)
      if (contacts.isBlocked(peer) || wanted === (before?.told ?? '')) return []
      return [{ peer, told: wanted, toldAt: Math.max(now, (before?.toldAt ?? 0) + 1) }]
    })
  }

  #tellOne(due: Told): void {
    const { store, threads } = this.#parts
    const direct = { address: due.told, atMs: due.toldAt }
    threads.queueLoose(due.peer, {
      kind: kinds.capabilities,
      payload: encodePayload(kinds.capabilities, { direct }),
      text: '',
      numbered: false,
    })
    noteTold(store, due)
  }
}
