/**
 * What a key event, a move or a new mailbox leaves to be done in the store. Each duty has a mark that is set before it
 * and taken away with it, so that whatever a crash interrupts is done at the next start, before anything is sent.
 */
import type { Context } from '../context.ts'
import { CLOCKS_APART_MAX_MS, clocksApart, hubTime } from '../hubs/clocks.ts'
import type { HubClient } from '../hubs/hub.ts'
import { keepLasting, lasting } from '../store/lasting.ts'
import { allEntries } from '../store/outbox.ts'
import { ownReason } from '../store/reasons.ts'
import { announceMove, remakeReceipts } from './reseal.ts'

export type KeyStateNeeds = Pick<
  Context,
  | 'identity'
  | 'keys'
  | 'store'
  | 'chain'
  | 'peers'
  | 'capabilities'
  | 'threads'
  | 'events'
  | 'log'
  | 'now'
  | 'hubNow'
>

/**
 * An event is for good and the next one must be later: a hub that lies about the time can hold the identity back from
 * every other hub for no longer than this. A clock that is wrong by a time zone or a summer hour is still followed.
 */
const FOLLOWED_AHEAD_MAX_MS = 2 * 3_600_000

/** Time of a key event: that of the hub, as far as it is near our own. */
export function eventTime(ctx: KeyStateNeeds, hub: HubClient | undefined): number {
  const now = ctx.now()
  const ahead = (hub === undefined ? now : hubTime(hub)) - now
  return now + Math.max(-CLOCKS_APART_MAX_MS, Math.min(ahead, FOLLOWED_AHEAD_MAX_MS))
}

/** Whether the clock of a hub is followed as far as an event for it needs. */
export function isClockFollowed(ctx: KeyStateNeeds, hub: HubClient): boolean {
  return hubTime(hub) - ctx.now() <= FOLLOWED_AHEAD_MAX_MS
}

/** Refuses to make an event that the hub would not take for its time. */
export function requireClock(ctx: KeyStateNeeds, hub: HubClient): void {
  if (!isClockFollowed(ctx, hub)) throw clocksApart(hubTime(hub) - ctx.now())
}

/** Marks the mailbox for replacement; part of the transaction that makes it necessary. */
export function markNewMailbox(ctx: KeyStateNeeds): void {
  keepLasting(ctx.store, { mailboxDue: 1 })
}

/** Does what is still open: the rotation that names the home, the new mailbox, the outbox under the new key. */
export function settleKeyState(ctx: KeyStateNeeds, home: HubClient | undefined): void {
  const { identity, keys, store, capabilities } = ctx
  if (identity.log.deactivated) {
    endOutbox(ctx)
    return
  }
  if (home !== undefined && identity.log.home !== home.identity.aid)
    identity.rotate(home.identity.aid, eventTime(ctx, home))
  const isRenewed = lasting(store, 'mailboxDue') === 1
  const isReady = lasting(store, 'outboxKelSeq') === identity.log.seq
  if (isReady && !isRenewed) return
  if (isRenewed) keys.startEpoch()
  store.transaction(() => {
    if (!isReady) remakeReceipts(ctx)
    if (isRenewed) {
      capabilities.voidIssued()
      announceMove(ctx)
    }
    keepLasting(store, { mailboxDue: 0, outboxKelSeq: identity.log.seq })
  }, 'node.key-state')
}

const DEACTIVATED = 'this identity was deactivated'

/** Nothing is sent after the end of an identity: what waits has failed, what lies at the hub is no longer followed. */
function endOutbox(ctx: KeyStateNeeds): void {
  const { store, threads, events } = ctx
  const reason = DEACTIVATED
  store.transaction(() => {
    for (const { message, state } of allEntries(store))
      threads.setDelivery(message, state === 'at_hub' ? 'unknown' : 'failed', reason)
    for (const interaction of threads.unfinished()) {
      threads.update(interaction, { state: 'failed', ...ownReason(reason) })
      const about = { interaction_id: interaction.id, peer: interaction.peer, state: 'failed' }
      store.afterCommit(() => events.emit('message', about))
    }
  }, 'node.deactivated')
}
