/** Asking the hub what became of messages that it has, and taking the delivery confirmations that it gives. */
import { STATUS_ITEMS_MAX } from '../../protocol/contract/limits.ts'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { keyAt } from '../../protocol/identity/kel.ts'
import { type Dack, Dack as DackCodec, dackCodes, dackHandle, openDack } from '../../protocol/mail/dack.ts'
import type { Context } from '../context.ts'
import { confirmationReasons, describe, LOST_BY_PEER, LOST_BY_REQUESTER } from '../hubs/failures.ts'
import type { HubClient, StatusReply } from '../hubs/hub.ts'
import {
  askAgainAt,
  endDoubt,
  entriesToAskAbout,
  isTaskOnItsWay,
  type OutboxEntry,
  OVERTOOK,
  SESSION,
} from '../store/outbox.ts'
import { introduceAgain } from '../store/peers.ts'
import { noteDelivered } from '../tasks/delivery.ts'
import { isRequester } from '../tasks/standing.ts'
import { noteUnanswered } from './numbers.ts'
import { endIfOverdue, finish, fraction, isExpired, sendAnew, sendLost } from './steps.ts'

type Needs = Pick<
  Context,
  | 'store'
  | 'peers'
  | 'capabilities'
  | 'threads'
  | 'timings'
  | 'events'
  | 'log'
  | 'now'
  | 'hubNow'
  | 'random'
  | 'wakers'
>

const STATUS_FIRST_MS = 10_000
const STATUS_LAST_MS = 120_000

/** 10 to 120 s apart and jittered, so that a hub cannot pair a pickup with the question about it. */
export function statusPause(ctx: Pick<Context, 'random'>, asked: number): number {
  const span = Math.min(STATUS_FIRST_MS * 2 ** asked, STATUS_LAST_MS - STATUS_FIRST_MS)
  return Math.ceil(STATUS_FIRST_MS + span * fraction(ctx))
}

/** Asks about messages of one recipient and one credential; undefined when it is time for none. */
export function askWhatIsDue(ctx: Needs, hub: HubClient): Promise<void> | undefined {
  const entries = entriesToAskAbout(ctx.store, ctx.now(), STATUS_ITEMS_MAX)
  const [first] = entries
  if (first === undefined) return undefined
  return askAbout(ctx, hub, first, entries)
}

async function askAbout(
  ctx: Needs,
  hub: HubClient,
  { credential }: OutboxEntry,
  asked: OutboxEntry[],
): Promise<void> {
  // lost with the power, the question comes once more
  ctx.store.unflushed(() => {
    for (const { message, attempts } of asked)
      askAgainAt(ctx.store, message, ctx.now() + statusPause(ctx, attempts))
  }, 'node.ask')
  try {
    const items = asked.map(({ rid, handleSecret, viaHub }) => ({
      rid: rid ?? '',
      handle: dackHandle(handleSecret),
      ...present({ viaHub: viaHub ?? undefined }),
    }))
    const replies = await hub.deliveryStates(credential === SESSION ? 'session' : 'capability', items)
    ctx.store.transaction(() => {
      for (const [i, reply] of replies.entries()) {
        const entry = asked[i]
        if (entry !== undefined) takeReply(ctx, entry, reply)
      }
    }, 'node.confirm')
  } catch (error) {
    ctx.log.debug({ reason: describe(error) }, 'status query failed')
    for (const entry of asked) endIfOverdue(ctx, entry)
  }
}

export const UNCONFIRMED = 'collected, but not confirmed'
export const BADLY_CONFIRMED = 'collected, but the confirmation does not verify'

function takeReply(ctx: Needs, entry: OutboxEntry, reply: StatusReply): void {
  if (reply.dack !== undefined) takeConfirmation(ctx, entry, reply.dack)
  else if (reply.state === 'done') sendAnew(ctx, entry, { why: UNCONFIRMED })
  // What has expired is given to nobody any more, whatever the hub still calls it.
  else if (isExpired(ctx, entry)) sendAnew(ctx, entry)
  else if (reply.state === 'unknown') sendLost(ctx, entry)
  else if (!endIfOverdue(ctx, entry)) holdsIt(ctx, entry)
}

function holdsIt({ store, wakers }: Needs, { message, doubted }: OutboxEntry): void {
  if (doubted === 0) return
  endDoubt(store, message)
  store.afterCommit(() => wakers.outbox.wake())
}

function takeConfirmation(ctx: Needs, entry: OutboxEntry, sealed: Uint8Array): void {
  const confirmation = openConfirmation(ctx, entry, sealed)
  // Whoever has a retired key could have made it since: the same message again is confirmed under the present one.
  const isRetired =
    confirmation !== undefined && confirmation.body.kelSeq !== ctx.peers.find(entry.peer)?.log.seq
  const code = confirmation?.body.code
  if (isRetired) sendAnew(ctx, entry)
  else if (code === undefined) sendAnew(ctx, entry, { why: BADLY_CONFIRMED })
  else if (code === dackCodes.stored) noteDelivered(ctx, entry.message)
  else if (code === dackCodes.retiredKey || code === dackCodes.times) {
    introduceAgain(ctx.store, entry.peer)
    sendAnew(ctx, entry)
  } else if (code === dackCodes.malformed && isTaskOnItsWay(ctx.store, entry.message))
    sendAnew(ctx, entry, { why: OVERTOOK, waitsFor: 'task' })
  else if (code === dackCodes.malformed) finishUnusable(ctx, entry)
  else finish(ctx, entry, 'failed', confirmationReasons[code] ?? `refused with code ${code}`)
}

/** The recipient does not know what it belongs to, or what it is. */
function finishUnusable(ctx: Needs, entry: OutboxEntry): void {
  noteUnanswered(ctx, ctx.threads.message(entry.message))
  finish(ctx, entry, 'failed', whyLost(ctx, entry) ?? (confirmationReasons[dackCodes.malformed] as string))
}

function whyLost({ threads }: Needs, { interaction }: OutboxEntry): string | undefined {
  const task = interaction === null ? undefined : threads.byKey(interaction)
  if (task === undefined || task.lostByPeerAt === null) return undefined
  return isRequester(task) ? LOST_BY_PEER : LOST_BY_REQUESTER
}

/** The confirmation, when it is the recipient's and names this message. */
function openConfirmation(ctx: Needs, entry: OutboxEntry, sealed: Uint8Array): Dack | undefined {
  try {
    const dack = openDack(entry.handleSecret, sealed)
    const { body } = dack
    const message = ctx.threads.message(entry.message)
    const log = ctx.peers.find(entry.peer)?.log
    const key = log === undefined ? undefined : keyAt(log, body.kelSeq)
    const digests = JSON.parse(entry.digests) as string[]
    const fits =
      body.recipient === entry.peer &&
      Buffer.from(body.messageId).equals(message.messageId) &&
      Buffer.from(body.messageDigest).equals(message.digest) &&
      digests.includes(toBase64url(body.envelopeDigest))
    return fits && key !== undefined && DackCodec.verify(key, dack) ? dack : undefined
  } catch {
    return undefined
  }
}
