/**
 * After a rotation or a move: what must be made anew, and who must be told. Everything else in the outbox is resealed
 * on its next attempt, with the same id and digest.
 */

import { decodePayload, kinds } from '../../protocol/mail/payload.ts'
import type { Context } from '../context.ts'
import { queueCapabilities } from '../sealed/top-ups.ts'
import { sendAllAgain, signaturesOnTheWay } from '../store/outbox.ts'
import { hurryPayments } from '../store/payments.ts'
import { introduceToAllAgain } from '../store/peers.ts'
import { makeReceipt } from '../tasks/receipt-provider.ts'
import { remakeCounterSignature } from '../tasks/receipt-requester.ts'
import { resignUnsent } from '../tasks/unsent-payments.ts'

type Needs = Pick<
  Context,
  'identity' | 'store' | 'chain' | 'peers' | 'threads' | 'events' | 'log' | 'now' | 'hubNow'
>

/** Replaces unconfirmed receipts and counter-signatures, which name a key state; they get new message ids. */
export function remakeReceipts(ctx: Needs): void {
  ctx.store.transaction(() => {
    for (const { message, interaction: key, kind } of signaturesOnTheWay(ctx.store)) {
      ctx.threads.setDelivery(message, 'failed', 'replaced under the new key')
      const interaction = ctx.threads.byKey(key)
      if (kind === kinds.receipt) makeReceipt(ctx, interaction)
      else remakeCounterSignature(ctx, interaction, { withReceipt: bringsReceipt(ctx, message) })
    }
    introduceToAllAgain(ctx.store)
    sendAllAgain(ctx.store, ctx.now())
    resignUnsent(ctx)
    hurryPayments(ctx.store)
  }, 'node.rotate.outbox')
}

/** Whether a counter-signature goes to a provider that may have lost what it signs. */
function bringsReceipt({ threads }: Needs, key: number): boolean {
  const { kind, payload } = threads.message(key)
  const decoded = decodePayload(kind, payload)
  return decoded.kind === kinds.counterSignature && decoded.payload.receipt !== undefined
}

/** Sends correspondents a message of kind 8: new log, key set and capabilities of the new mailbox. */
export function announceMove(ctx: Needs): void {
  ctx.store.transaction(() => {
    introduceToAllAgain(ctx.store)
    const correspondents = ctx.store.all<{ aid: string }>(
      `SELECT aid FROM contacts WHERE petname IS NOT NULL AND blocked = 0 AND aid IN (SELECT aid FROM peers)
       UNION SELECT peer FROM interactions WHERE state IN ('delivered', 'open', 'end_proposed')`,
    )
    for (const { aid } of correspondents) queueCapabilities(ctx, aid)
  }, 'node.move')
}
