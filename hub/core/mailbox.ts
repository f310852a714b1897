/** Mailboxes (hub API §4.1): collecting, confirming, asking after envelopes and taking capabilities back. */
import { ACK_ITEMS_MAX, DACK_BYTES, STATUS_ITEMS_MAX } from '../../protocol/contract/limits.ts'
import { equal } from '../../protocol/encoding/bytes.ts'
import { HANDLE_BYTES } from '../../protocol/mail/dack.ts'
import type { AckItem, DeliveryState, WaitingEnvelope } from '../store/port.ts'
import type { Agent, Agents } from './agents.ts'
import type { HubContext } from './context.ts'
import type { HeldPolls, Waited as Wait } from './held-polls.ts'
import { POLL_BYTES_MAX } from './limits.ts'
import type { Buckets } from './ports/rates.ts'
import { Refusal } from './refusal.ts'

const RID_BYTES = 16
const MS_PER_SECOND = 1000

export type Collected = { envelopes: WaitingEnvelope[]; more: boolean }
/**
 * `waitedSeconds`: the time that was granted · `otherPolls`: those of this mailbox that it met, which ended (`older`) or
 * which ended it (`newer`).
 */
export type Waited = { waitedSeconds: number | undefined; otherPolls: OtherPoll[] }
export type OtherPoll = 'older' | 'newer'
const NOTHING: Collected = { envelopes: [], more: false }
/** How an agent asks for its mail: how long it would wait, and how to learn that it has gone meanwhile. */
export type Collecting = {
  afterId: number
  limit: number
  waitSeconds: number
  onGone: (callback: () => void) => () => void
}

export type MailboxParts = { agents: Agents; polls: HeldPolls }

export class Mailboxes {
  readonly #context: HubContext
  readonly #parts: MailboxParts
  readonly #revokes: Buckets
  readonly #statusQueries: Buckets

  constructor(context: HubContext, parts: MailboxParts) {
    this.#context = context
    this.#parts = parts
    this.#revokes = context.memory.rates.of('revocations', context.limits.revokeRate)
    this.#statusQueries = context.memory.rates.of('status queries', context.limits.statusRate)
  }

  /** Waiting envelopes at once, or the first that come within the time. */
  async collect(agent: Agent, given: Collecting): Promise<Collected & Waited> {
    const { agents, polls } = this.#parts
    const { afterId, limit, onGone } = given
    const waitSeconds = Math.min(given.waitSeconds, this.#context.limits.pollWaitSecondsMax)
    const { number } = agent.row
    agents.noteSeen(agent)
    const found = await this.poll(agent, afterId, limit)
    if (found.envelopes.length > 0 || waitSeconds <= 0 || !polls.mayHold(number))
      return { ...found, waitedSeconds: undefined, otherPolls: [] }
    const look = async () => (await this.poll(agent, afterId, 1)).envelopes.length > 0
    const waiting = polls.wait(number, waitSeconds * MS_PER_SECOND, onGone, look)
    // Mail may have been committed, or the signer shut out, between the first look and the wait.
    const meanwhile = (await this.#isCurrent(agent)) ? await this.poll(agent, afterId, limit) : NOTHING
    if (meanwhile === NOTHING || meanwhile.envelopes.length > 0) {
      polls.letGo(number)
      return { ...meanwhile, waitedSeconds: waitSeconds, otherPolls: othersIn(await waiting) }
    }
    const waited = await waiting
    const granted = { waitedSeconds: waitSeconds, otherPolls: othersIn(waited) }
    if (waited.end !== 'mail' || !(await this.#isCurrent(agent))) return { ...NOTHING, ...granted }
    agents.noteSeen(agent)
    return { ...(await this.poll(agent, afterId, limit)), ...granted }
  }

  /** A signer whose key state changed while it waited gets nothing. */
  async #isCurrent(agent: Agent): Promise<boolean> {
    const present = await this.#parts.agents.findRegistered(agent.row.aid)
    return present !== undefined && present.log.seq === agent.log.seq
  }

  /** Waiting envelopes of an agent, oldest first. */
  async poll(agent: Agent, afterId: number, limit: number): Promise<Collected> {
    const { store, now } = this.#context
    return await store.poll({
      mailbox: agent.row.number,
      afterId,
      limit,
      bytesMax: POLL_BYTES_MAX,
      nowMs: now(),
    })
  }

  /** By id, the bytes of waiting envelopes that lie in no file. */
  async contents(agent: Agent, ids: readonly number[]): Promise<ReadonlyMap<number, Uint8Array>> {
    return await this.#context.store.contents({ mailbox: agent.row.number, ids })
  }

  /** Removes collected envelopes and keeps the confirmations for their senders. */
  async ack(agent: Agent, items: AckItem[]): Promise<{ acked: number; stored: number }> {
    const wellFormed = items.length >= 1 && items.length <= ACK_ITEMS_MAX && items.every(isAckItem)
    if (!wellFormed) throw new Refusal('ackItemMalformed')
    const { store, blobs, memory, now, limits } = this.#context
    const mailbox = agent.row.number
    const result = await store.ack({ mailbox, items, keepUntilMs: now() + limits.deliveryLifeMs })
    await memory.shares.noteGone(result.ids.map(id => ({ mailbox, id })))
    await blobs.remove(result.files)
    return { acked: result.acked, stored: result.stored }
  }

  /** States by rid; a confirmation goes out only to who knows its handle. `asker`: whose questions these count as. */
  async status(
    items: readonly { rid: Uint8Array; handle: Uint8Array }[],
    asker: string,
  ): Promise<{ state: DeliveryState['state']; dack: Uint8Array | undefined }[]> {
    const { store, now, limits } = this.#context
    await this.countQuery(items, asker)
    const states = await store.status(items.map(item => item.rid))
    const fetched: Uint8Array[] = []
    const answers = items.map(({ rid, handle }, index) => {
      const found = states[index]
      if (found?.state !== 'done') return { state: found?.state ?? 'unknown', dack: undefined }
      const { dack } = found
      const knows = dack !== undefined && found.handle !== undefined && equal(found.handle, handle)
      if (knows && !found.fetched) fetched.push(rid)
      return { state: found.state, dack: knows ? dack : undefined }
    })
    if (fetched.length > 0) await store.markFetched(fetched, now() + limits.deliveryLifeFetchedMs)
    return answers
  }

  /** Counts a question about envelopes, wherever they are, and refuses one that is none. */
  async countQuery(items: readonly { rid: Uint8Array; handle: Uint8Array }[], asker: string): Promise<void> {
    const waitMs = await this.#statusQueries.take(asker, this.#context.now())
    if (waitMs > 0) throw new Refusal('rateLimited', { retryAfterMs: waitMs })
    const wellFormed =
      items.length >= 1 &&
      items.length <= STATUS_ITEMS_MAX &&
      items.every(({ rid, handle }) => rid.length === RID_BYTES && handle.length === HANDLE_BYTES)
    if (!wellFormed) throw new Refusal('statusQueryMalformed')
  }

  /** Takes capabilities of an agent back. */
  async revoke(agent: Agent, capabilities: Uint8Array[]): Promise<{ revoked: number; total: number }> {
    const { store, now, limits } = this.#context
    const waitMs = await this.#revokes.take(agent.row.aid, now())
    if (waitMs > 0) throw new Refusal('rateLimited', { retryAfterMs: waitMs })
    const result = await store.revoke({
      mailbox: agent.row.number,
      capabilities,
      deleteAtMs: now() + limits.revocationLifeMs,
      nowMs: now(),
      max: limits.revocationsMax,
    })
    if (result.outcome === 'full') throw new Refusal('revocationsFull')
    return { revoked: result.revoked, total: result.total }
  }

  /** Deletes what has expired; true when there is more to do. */
  async sweep(limit: number): Promise<boolean> {
    const { store, blobs, memory, now } = this.#context
    const { envelopes, files, more } = await store.sweep(now(), limit)
    await memory.shares.noteGone(envelopes)
    await blobs.remove(files)
    return more
  }
}

/** Handle and confirmation come together or not at all. */
function isAckItem({ handle, dack }: AckItem): boolean {
  if (handle === undefined || dack === undefined) return handle === dack
  return handle.length === HANDLE_BYTES && dack.length === DACK_BYTES
}

function othersIn({ end, endedOlder }: Wait): OtherPoll[] {
  return [...(endedOlder ? (['older'] as const) : []), ...(end === 'newer' ? (['newer'] as const) : [])]
}
