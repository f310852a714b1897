/**
 * Numbers after a restore: this node asks each correspondent which of its messages it holds, gives no number of an open
 * task out before that, and goes on above them. What correspondents have and this node lost is named on both sides.
 */
import { fromBase64url, toBase64url } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { ASKED_MAX, type Numbers } from '../../protocol/mail/numbers.ts'
import { decodePayload, kinds } from '../../protocol/mail/payload.ts'
import type { Identity } from '../identity/identity.ts'
import type { Contacts } from '../peers/contacts.ts'
import type { Waker } from '../platform/waker.ts'
import { numbersSent, numbersSentTo } from '../store/correspondents.ts'
import { isNumberOpen, uncertainInteractions } from '../store/interactions.ts'
import type { Store } from '../store/open.ts'
import { payeesOfOpenQuotes } from '../store/quotes.ts'
import { answeredTo, areContactsDue, lastRestore, noteContactsAsked } from '../store/restores.ts'
import type { Interaction, Message, Threads } from '../store/threads.ts'
import { queueNumbers } from './lost-tasks.ts'

/** A question without an answer is asked again after this long. */
const ASKED_EVERY_MS = 3_600_000
/** So long a word that no restore explains holds a task up. */
const UNRESTORED_WAIT_MS = 60_000

type AskedParts = { identity: Identity; store: Store; threads: Threads; contacts: Contacts; rounds: Waker }
type Question = { at: number; asks: ReadonlySet<string> }

export class AskedNumbers {
  readonly #parts: AskedParts
  readonly #now: () => number

  /** `rounds`: what asks. */
  constructor(parts: AskedParts, now: () => number) {
    this.#parts = parts
    this.#now = now
  }

  /**
   * Doubts the numbers of a task whose other side says that it holds more than was sent from here. A store that came from
   * no backup does so once for each task: the other side may say it to hold the task up.
   */
  doubt({ key }: Interaction): void {
    const { store, threads, rounds } = this.#parts
    const interaction = threads.byKey(key)
    if (isNumberOpen(interaction)) return
    if (interaction.numbering === 'told' && lastRestore(store) === undefined) return
    threads.update(interaction, { numbering: 'asking', certainTo: interaction.certainTo ?? 0 })
    store.afterCommit(() => rounds.wake())
  }

  /** Asks everyone whose answer is due; after a restore every contact too, for what it may know of tasks that are lost. */
  ask(): void {
    const { store, contacts } = this.#parts
    const restored = lastRestore(store)
    if (restored === undefined) this.#goOnUnexplained()
    const open = uncertainInteractions(store).filter(({ numbering }) => numbering === 'asking')
    const peers = new Set([...open.map(({ peer }) => peer), ...this.#contactsToAsk()])
    for (const peer of peers) {
      if (contacts.isBlocked(peer)) continue
      const asked = questionsSince(store, peer, restored?.settledMs ?? 0)
      const own = open.filter(one => one.peer === peer && !this.#isAsked(asked, one))
      if (own.length === 0 && asked.length > 0) continue
      store.transaction(() => {
        for (let i = 0; i === 0 || i < own.length; i += ASKED_MAX)
          this.#askOne(peer, own.slice(i, i + ASKED_MAX), restored?.madeAtMs ?? 0)
      }, 'node.numbers')
    }
    // who has a question already is passed over the next time, so that nobody is lost to a failure on the way here
    if (areContactsDue(store)) noteContactsAsked(store)
  }

  /** The question of this node that a peer answers, and when it was asked. */
  question(peer: string, id: Uint8Array): (Numbers & { at: number }) | undefined {
    const { identity, store } = this.#parts
    const row = numbersSent(store, { sender: identity.aid, id, peer })
    const numbers = row && numbersIn(row.payload)
    return row && numbers && { ...numbers, at: row.at }
  }

  /** Whether the peer was asked before this time, since the last restore. */
  wasAskedBefore(peer: string, before: number): boolean {
    const { store } = this.#parts
    return questionsSince(store, peer, lastRestore(store)?.settledMs ?? 0).some(({ at }) => at < before)
  }

  /** Where nothing shows a restore, a task does not wait for the answer of who may have made the doubt up. */
  #goOnUnexplained(): void {
    const { store, threads } = this.#parts
    const before = this.#now() - UNRESTORED_WAIT_MS
    for (const interaction of uncertainInteractions(store)) {
      const asked = questionsSince(store, interaction.peer, 0)
      if (asked.some(({ at, asks }) => asks.has(interaction.id) && at <= before))
        store.transaction(() => threads.update(interaction, { numbering: 'told' }), 'node.numbers')
    }
  }

  /** Every contact is asked once after a restore, and whoever may have been paid meanwhile. */
  #contactsToAsk(): string[] {
    const { store, contacts } = this.#parts
    if (!areContactsDue(store)) return []
    const named = contacts.list().flatMap(({ aid, petname }) => (petname === null ? [] : [aid]))
    return [...named, ...payeesOfOpenQuotes(store)]
  }

  /** Whether a question about this task waits for its answer; one of a clock that ran ahead is not waited for. */
  #isAsked(asked: readonly Question[], { id, peer }: Interaction): boolean {
    const now = this.#now()
    const since = Math.max(now - ASKED_EVERY_MS, answeredTo(this.#parts.store, peer) + 1)
    return asked.some(({ at, asks }) => asks.has(id) && at >= since && at <= now)
  }

  #askOne(peer: string, open: readonly Interaction[], restoredAtMs: number): void {
    const asks = open.map(({ id, certainTo, heldTo }) => ({
      interactionId: fromBase64url(id),
      after: certainTo ?? 0,
      held: heldTo,
    }))
    const numbers = { restoredAtMs, ...present({ asks: asks.length === 0 ? undefined : asks }) }
    queueNumbers(this.#parts.threads, peer, numbers)
  }
}

/** What this node has asked a peer since a restore; an archive may hold questions from before it. */
const questionsSince = (store: Store, peer: string, since: number): Question[] =>
  numbersSentTo(store, peer, since).flatMap(({ at, payload }) => {
    const numbers = numbersIn(payload)
    if (numbers?.restoredAtMs === undefined) return []
    return [{ at, asks: new Set(numbers.asks?.map(one => toBase64url(one.interactionId))) }]
  })

function numbersIn(payload: Uint8Array): Numbers | undefined {
  const decoded = decodePayload(kinds.numbers, payload)
  return decoded.kind === kinds.numbers ? decoded.payload : undefined
}

/** The peer is of a release that does not know the question. */
export function noteUnanswered(threads: Threads, { kind, payload, recipient }: Message): void {
  const decoded = kind === kinds.numbers ? decodePayload(kind, payload) : undefined
  if (decoded?.kind !== kinds.numbers) return
  for (const { interactionId } of decoded.payload.asks ?? []) {
    const interaction = threads.findById(toBase64url(interactionId))
    if (interaction?.peer === recipient && interaction.numbering === 'asking')
      threads.update(interaction, { numbering: interaction.state === 'ended' ? 'told' : 'awaiting' })
  }
}
