/**
 * Queueing in PostgreSQL. What arrives together is judged here, over the counters and digests of all its mailboxes, and
 * written by one statement a table. Whoever queues holds the rows of the agents, so ids are given in the order of commits.
 */
import { toHex } from '../../../protocol/encoding/bytes.ts'
import type { Enqueue, EnqueueOutcome } from '../port.ts'
import { dayOf, limitReached, type MailboxCounters, type Seen, seenAgain, usesCount } from '../queueing.ts'
import type { Rids } from '../rids.ts'
import type { Queries } from './connections.ts'
import type { Write } from './groups.ts'
import { type Queued, type QueuedGroup, storeQueued, type Use } from './mail-rows.ts'
import { IS_GIVEN_UP, type NoRoom } from './reserve.ts'

export const queueQueries = {
  boxes:
    `SELECT mailbox.number, version, next_id, envelopes, bytes, stranger_envelopes, stranger_bytes, ${IS_GIVEN_UP} AS short` +
    ' FROM mailbox JOIN agent USING (number) WHERE mailbox.number = ANY($1::bigint[])',
  seen:
    'SELECT mailbox, digest, since_ms, times, waiting FROM digest' +
    ' WHERE (mailbox, digest) IN (SELECT * FROM unnest($1::bigint[], $2::bytea[]))',
  revoked:
    'SELECT mailbox, capability FROM revocation' +
    ' WHERE (mailbox, capability) IN (SELECT * FROM unnest($1::bigint[], $2::bytea[]))',
  used:
    'SELECT day, mailbox, capability, uses FROM capability_use' +
    ' WHERE (day, mailbox, capability) IN (SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[]))',
} as const

type Box = MailboxCounters & { number: number; version: number; next_id: number; short: boolean }

/** What a group finds, and what it changes as its items are judged one after another. */
class Group implements QueuedGroup {
  readonly #boxes: ReadonlyMap<number, Box>
  readonly #seen: Map<string, Seen>
  readonly #revoked: ReadonlySet<string>
  readonly #used: Map<string, number>
  readonly queued: Queued[] = []
  /** Of the digests that were queued, what is known of each now. */
  readonly noted = new Map<string, { item: Enqueue; seen: Seen }>()
  readonly uses = new Map<string, Use>()

  constructor(
    boxes: readonly Box[],
    seen: Map<string, Seen>,
    revoked: ReadonlySet<string>,
    used: Map<string, number>,
  ) {
    this.#boxes = new Map(boxes.map(box => [box.number, box]))
    this.#seen = seen
    this.#revoked = revoked
    this.#used = used
  }

  static async read(db: Queries, items: readonly Enqueue[]): Promise<Group> {
    const mailboxes = items.map(({ mailbox }) => mailbox)
    const given = items.flatMap(({ mailbox, use, nowMs }) =>
      use === undefined ? [] : [{ mailbox, capability: use.capability, day: dayOf(nowMs) }],
    )
    const [of, capabilities] = [
      given.map(({ mailbox }) => mailbox),
      given.map(({ capability }) => capability),
    ]
    const days = given.map(({ day }) => day)
    type Noted = Seen & { mailbox: number; digest: Uint8Array }
    type Revoked = Omit<Use, 'day' | 'uses'>
    const digests = items.map(({ digest }) => digest)
    const [boxes, noted, revoked, used] = await Promise.all([
      db.all<Box>(queueQueries.boxes, [...new Set(mailboxes)]),
      db.all<Noted>(queueQueries.seen, mailboxes, digests),
      given.length === 0 ? [] : db.all<Revoked>(queueQueries.revoked, of, capabilities),
      given.length === 0 ? [] : db.all<Use>(queueQueries.used, days, of, capabilities),
    ])
    const seen = new Map(noted.map(row => [nameOf(row.mailbox, row.digest), row]))
    return new Group(
      boxes,
      seen,
      new Set(revoked.map(row => nameOf(row.mailbox, row.capability))),
      new Map(used.map(row => [`${row.day} ${nameOf(row.mailbox, row.capability)}`, row.uses])),
    )
  }

  /** Checks every limit, then counts; nothing is counted unless all of them hold. */
  judge(item: Enqueue, rids: Rids): EnqueueOutcome | NoRoom {
    const box = this.#boxes.get(item.mailbox)
    if (box === undefined) return { outcome: 'noMailbox' }
    if (item.judgedBy !== undefined && item.judgedBy !== box.version)
      return { outcome: 'moved', content: item.content }
    const name = nameOf(item.mailbox, item.digest)
    const repeat = this.#seen.get(name)
    if (repeat !== undefined && repeat.waiting !== 0)
      return { outcome: 'duplicate', rid: rids.of({ mailbox: item.mailbox, id: repeat.waiting }) }
    if (box.short) return { outcome: 'noRoom' }
    const refusal = limitReached(item, box, repeat) ?? this.#useBarred(item, repeat)
    if (refusal !== undefined) return refusal
    const id = box.next_id
    this.#countUse(item, repeat)
    box.next_id += 1
    box.envelopes += 1
    box.bytes += item.size
    box.stranger_envelopes += item.stranger ? 1 : 0
    box.stranger_bytes += item.stranger ? item.size : 0
    const seen = seenAgain(repeat, item.nowMs, id)
    this.#seen.set(name, seen)
    this.noted.set(name, { item, seen })
    this.queued.push({ item, id })
    return { outcome: 'queued', id }
  }

  #useBarred(item: Enqueue, repeat: Seen | undefined): EnqueueOutcome | undefined {
    const { use, mailbox, nowMs } = item
    if (use === undefined) return undefined
    const name = nameOf(mailbox, use.capability)
    if (this.#revoked.has(name)) return { outcome: 'capabilityRevoked' }
    const isSpent = (this.#used.get(`${dayOf(nowMs)} ${name}`) ?? 0) >= use.perDayMax
    return isSpent && usesCount(item, repeat) ? { outcome: 'capabilitySpent' } : undefined
  }

  #countUse(item: Enqueue, repeat: Seen | undefined): void {
    const { use, mailbox, nowMs } = item
    if (use === undefined || !usesCount(item, repeat)) return
    const day = dayOf(nowMs)
    const name = `${day} ${nameOf(mailbox, use.capability)}`
    this.#used.set(name, (this.#used.get(name) ?? 0) + 1)
    const { uses } = this.uses.get(name) ?? { uses: 0 }
    this.uses.set(name, { day, mailbox, capability: use.capability, uses: uses + 1 })
  }
}

const nameOf = (mailbox: number, bytes: Uint8Array): string => `${mailbox} ${toHex(bytes)}`

/** Queues envelopes; a group of them costs as many statements as a single one. */
export const enqueueWith = (rids: Rids): Write<Enqueue, EnqueueOutcome | NoRoom> => ({
  locks: ({ mailbox }) => ({ mailboxes: [mailbox] }),
  async makeAll(db, items) {
    const group = await Group.read(db, items)
    const outcomes = items.map(item => group.judge(item, rids))
    if (group.queued.length > 0) await storeQueued(db, group)
    return outcomes
  },
})
