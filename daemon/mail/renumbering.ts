/** A task goes on above the numbers that its other side says it holds; what of them is not here is kept as lost. */
import { equal } from '../../protocol/encoding/bytes.ts'
import { MESSAGE_ID_BYTES } from '../../protocol/mail/message.ts'
import type { HeldNumbers } from '../../protocol/mail/numbers.ts'
import { decodePayload, encodePayload, kinds } from '../../protocol/mail/payload.ts'
import { MESSAGES_MAX } from '../../protocol/proof/receipt.ts'
import type { Identity } from '../identity/identity.ts'
import type { Machine } from '../platform/machine.ts'
import type { Wakers } from '../platform/waker.ts'
import { claimedCount, insertOutgoing, markClaimed, putInPlace, writeDelivery } from '../store/messages.ts'
import type { Store } from '../store/open.ts'
import { lastRestore } from '../store/restores.ts'
import type { Interaction, Message, Threads } from '../store/threads.ts'
import { endAsSigned } from '../tasks/counter-signatures.ts'
import type { Deliveries } from '../tasks/delivery.ts'
import type { Endings } from '../tasks/endings.ts'
import { textMessage } from '../tasks/messages.ts'
import type { TaskNews } from '../tasks/news.ts'
import type { HeldReceipts } from '../tasks/receipt-requester.ts'
import type { Claims } from './claims.ts'

/** Numbers of a task that the other side may say are taken by messages of ours that are not here. */
const CLAIMED_MAX = 1024
/** Where nothing shows that this store came from a backup, and only the other side says so. */
const CLAIMED_UNRESTORED_MAX = 16
/** Numbers that stay for the two steps that end a task. */
const STEPS_LEFT = 2
export const NOT_OURS =
  'the recipient holds another message under this number, from a copy of this node that is lost; say it again'

type Told = Omit<HeldNumbers, 'interactionId'>
const NOTHING: Told = { highest: 0, digests: [] }

/** What of a peer's word is believed. */
export class BelievedNumbers {
  readonly #store: Store
  readonly #claims: Claims

  constructor(store: Store, claims: Claims) {
    this.#store = store
    this.#claims = claims
  }

  /** What the peer says that it holds, unless that is more than can have been lost; a claim must not use the numbers up. */
  of(interaction: Interaction, told: HeldNumbers | undefined): Told {
    if (told === undefined) return NOTHING
    const isRestored = lastRestore(this.#store) !== undefined
    const max = isRestored ? CLAIMED_MAX : CLAIMED_UNRESTORED_MAX
    const room = max - claimedCount(this.#store, interaction.key)
    const last = Math.min(interaction.numbered + Math.max(0, room), MESSAGES_MAX - STEPS_LEFT)
    if (told.highest > last) {
      this.#claims.note(interaction.peer, interaction)
      return NOTHING
    }
    // where nothing shows a restore nobody has ended anything in the place of this node
    return isRestored ? told : { highest: told.highest, digests: told.digests }
  }
}

/** Words of a copy that is lost, kept as far as they are known. */
export class LostWords {
  readonly #identity: Identity
  readonly #store: Store
  readonly #machine: Machine

  constructor(identity: Identity, store: Store, machine: Machine) {
    this.#identity = identity
    this.#store = store
    this.#machine = machine
  }

  /** Stands in the place of a message that a lost copy sent, as the peer says: its digest is in the transcript of both sides. */
  keep(
    { key, peer }: Interaction,
    { number, digest, last }: { number: number; digest: Uint8Array; last: Told['last'] },
  ): void {
    const store = this.#store
    const { random, now } = this.#machine
    const { kind, payload, text } = last?.[0] === number ? lostEnd(last) : textMessage(LOST_WORDS, [])
    const facts = {
      interaction: key,
      sender: this.#identity.aid,
      recipient: peer,
      messageId: random(MESSAGE_ID_BYTES),
    }
    const said = insertOutgoing(
      store,
      { ...facts, kind, number, at: now(), payload, digest, text, auto: 0 },
      [],
    )
    writeDelivery(store, said, 'unknown', 'only the other side says that it was sent')
    markClaimed(store, said)
    putInPlace(store, said)
  }
}

type GoingOnParts = {
  store: Store
  threads: Threads
  endings: Endings
  heldReceipts: HeldReceipts
  wakers: Wakers
  news: TaskNews
}

/** What waited for certain numbers. */
export class GoingOn {
  readonly #parts: GoingOnParts

  constructor(parts: GoingOnParts) {
    this.#parts = parts
  }

  goOn(interaction: Interaction): void {
    const { store, threads, endings, heldReceipts, wakers, news } = this.#parts
    const current = endAsSigned(store, threads, threads.update(interaction, { numbering: 'told' }))
    endings.agreeIfDue(current)
    heldReceipts.settleWaiting(current)
    store.afterCommit(() => wakers.outbox.wake())
    store.afterCommit(() => wakers.calls.wake())
    news.heard(current)
  }
}

type RenumberingParts = {
  threads: Threads
  deliveries: Deliveries
  believed: BelievedNumbers
  lostWords: LostWords
  goingOn: GoingOn
}

export class Renumbering {
  readonly #parts: RenumberingParts

  constructor(parts: RenumberingParts) {
    this.#parts = parts
  }

  /** The peer answered which numbers it holds. */
  take(interaction: Interaction, told: HeldNumbers | undefined): void {
    this.goOn(interaction, this.#parts.believed.of(interaction, told))
  }

  /** The peer said which numbers it holds: what is the same is delivered, and own numbers go on above all of them. */
  goOn(interaction: Interaction, { highest, digests, last }: Told): void {
    const { threads, deliveries, lostWords, goingOn } = this.#parts
    const base = Math.max(highest, interaction.certainTo ?? 0)
    const renumbered = threads.renumber(interaction, base, withNumber)
    for (const [number, digest] of digests) {
      const own = threads.byNumber(interaction.key, 'out', number)
      if (own === undefined) lostWords.keep(interaction, { number, digest, last })
      else if (equal(own.digest, digest)) deliveries.note(own.key)
      else threads.setDelivery(own.key, 'failed', NOT_OURS)
    }
    goingOn.goOn(renumbered)
  }
}

/** Steps that end a task name their own number. */
function withNumber({ kind, payload }: Message, number: number): Uint8Array {
  const decoded = decodePayload(kind, payload)
  switch (decoded.kind) {
    case kinds.end:
      return encodePayload(kinds.end, { ...decoded.payload, number })
    case kinds.acceptEnd:
      return encodePayload(kinds.acceptEnd, { ...decoded.payload, number })
    default:
      return payload
  }
}

const LOST_WORDS =
  'The other side says that it holds a message of this node here, which this node does not have. A copy that was lost may have said it.'
const LOST_END =
  'The other side says that this node ended the task here. A copy that was lost may have done so; ending it agrees.'

/** A step is kept as one: its number is used again when this side wants the end as well. */
function lostEnd([number, isProposal]: NonNullable<Told['last']>): Pick<
  Message,
  'kind' | 'payload' | 'text'
> {
  const lists = { number, peerHighest: 0, missing: [] }
  return isProposal
    ? { kind: kinds.end, payload: encodePayload(kinds.end, lists), text: LOST_END }
    : {
        kind: kinds.acceptEnd,
        payload: encodePayload(kinds.acceptEnd, { ...lists, endNumber: 1 }),
        text: LOST_END,
      }
}
