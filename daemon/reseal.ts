/** After a rotation: what must be made anew under the new key. Everything else is resealed on its next attempt. */
import { kinds } from '../protocol/payload.ts'
import type { Context } from './context.ts'
import { makeReceipt, remakeCounterSignature } from './receipts.ts'

/** Replaces unconfirmed receipts and counter-signatures, which name a key state; they get new message ids. */
export function remakeReceipts(ctx: Context): void {
  ctx.store.transaction(() => {
    const pending = ctx.store.all<{ message: number; interaction: number; kind: number }>(
      `SELECT o.message, o.interaction, m.kind FROM outbox AS o JOIN messages AS m ON m.key = o.message
       WHERE m.kind IN (?, ?)`,
      kinds.receipt,
      kinds.counterSignature,
    )
    for (const { message, interaction: key, kind } of pending) {
      ctx.threads.setDelivery(message, 'failed', 'made anew under the new key')
      const interaction = ctx.threads.byKey(key)
      if (kind === kinds.receipt) makeReceipt(ctx, interaction)
      else remakeCounterSignature(ctx, interaction)
    }
    ctx.store.run('UPDATE peers SET introduced = NULL')
    ctx.store.run("UPDATE outbox SET state = 'queued', next_at = ?", ctx.now())
  }, 'node.rotate.outbox')
}
