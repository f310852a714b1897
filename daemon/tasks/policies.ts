/** Who may give this node work: block list, the switch for delegations, contacts, strangers up to a limit. */
import type { Attachments } from '../attachments/attachments.ts'
import type { Settings } from '../home/settings.ts'
import type { CurrentHub } from '../hubs/current.ts'
import type { Contacts } from '../peers/contacts.ts'
import { count } from '../store/counters.ts'
import { forgetIncomingFiles } from '../store/messages.ts'
import type { Store } from '../store/open.ts'
import type { Interaction } from '../store/threads.ts'
import {
  bytesBegun,
  bytesUntaken,
  tasksBegun,
  tasksUnderWay,
  tasksWithdrawn,
  wordsUntaken,
} from '../store/untaken.ts'
import { GUEST_TASKS_MAX, GUEST_TASKS_WITHIN_MS, guestHub, guestsOf } from './guests.ts'

export type Admission = 'open' | 'pending' | 'refused'

/** Counts tasks of strangers, and messages in them, that found no room. */
export const STRANGERS_REFUSED = 'strangers_refused'

const DAY_MS = 86_400_000
const MIB = 1024 * 1024
/** Texts and files of tasks that nobody has taken: of one stranger, and of all of them. */
export const UNTAKEN_BYTES_MAX = { each: 8 * MIB, all: 256 * MIB } as const

/** Tasks that a stranger may send and withdraw in a day, for each one that it may have open. */
const WITHDRAWN_PER_OPEN = 10

type AdmissionParts = {
  store: Store
  contacts: Contacts
  settings: Settings
  hub: Pick<CurrentHub, 'home'>
}

export class Admissions {
  readonly #parts: AdmissionParts
  readonly #now: () => number

  constructor(parts: AdmissionParts, now: () => number) {
    this.#parts = parts
    this.#now = now
  }

  /** What becomes of a task from `from` that brings so many bytes. */
  admit(from: string, bytes: number): Admission {
    const { store, contacts, settings, hub } = this.#parts
    const config = settings.current
    if (contacts.isBlocked(from) || !config.accept_delegations) return 'refused'
    if (contacts.isContact(from)) return 'open'
    const dayAgo = this.#now() - DAY_MS
    if (from === guestHub(hub)) return this.#admitGuest(from, bytes)
    const isFull =
      tasksUnderWay(store, from, dayAgo) >= config.guest_messages ||
      tasksWithdrawn(store, from, dayAgo) >= config.guest_messages * WITHDRAWN_PER_OPEN ||
      wordsUntaken(store, from) >= config.guest_messages ||
      !hasRoom(store, from, bytes)
    return isFull ? this.#refuse() : 'pending'
  }

  /** Nobody approves the task of a visitor where the auto-reply answers it. All visitors are one agent, their hub. */
  #admitGuest(from: string, bytes: number): Admission {
    const begun = tasksBegun(this.#parts.store, from, this.#now() - GUEST_TASKS_WITHIN_MS)
    if (begun >= GUEST_TASKS_MAX || !this.#hasGuestRoom(from, bytes)) return this.#refuse()
    const { settings, hub } = this.#parts
    return guestsOf(settings.current, hub) === undefined ? 'pending' : 'open'
  }

  /** All visitors together fill so much in an hour. */
  #hasGuestRoom(from: string, bytes: number): boolean {
    const since = this.#now() - GUEST_TASKS_WITHIN_MS
    return bytesBegun(this.#parts.store, from, since) + bytes <= UNTAKEN_BYTES_MAX.all
  }

  #refuse(): Admission {
    count(this.#parts.store, STRANGERS_REFUSED)
    return 'refused'
  }

  /** Whether the other side may add a message of so many bytes; a stranger's tasks that nobody took count together. */
  mayAdd({ peer, side, state, capability }: Interaction, bytes: number): boolean {
    const { store, contacts, settings, hub } = this.#parts
    if (peer === guestHub(hub)) return this.#hasGuestRoom(peer, bytes)
    const isTaken = side === 'sent' || (state !== 'pending' && capability === null)
    if (isTaken || contacts.isContact(peer)) return true
    const may = wordsUntaken(store, peer) < settings.current.guest_messages && hasRoom(store, peer, bytes)
    if (!may) count(store, STRANGERS_REFUSED)
    return may
  }
}

function hasRoom(store: Store, peer: string, bytes: number): boolean {
  const { each, all } = UNTAKEN_BYTES_MAX
  return bytesUntaken(store, peer) + bytes <= each && bytesUntaken(store) + bytes <= all
}

/** A task that is not taken leaves none of its files here. */
export function dropFiles(store: Store, attachments: Attachments, interaction: Interaction): void {
  const cids = forgetIncomingFiles(store, interaction.key)
  store.afterCommit(() => attachments.removeUnnamed(store, cids))
}
