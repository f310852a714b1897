/** Who takes what a carrier brings: judged by its words first, so that what is refused leaves no file. */
import { Malformed } from '../../protocol/encoding/bytes.ts'
import { Damaged } from '../../protocol/mail/open.ts'
import type { Arrived, ArrivingFiles, Taker } from '../carrier/carrier.ts'
import type { Context } from '../context.ts'
import type { Verdict } from '../store/seen.ts'
import { earlierVerdict, foresee, takeIn } from './receive.ts'
import { keepRetired } from './retired.ts'

export const takerOf = (ctx: Context): Taker => ({
  earlier({ body, digest, log, keySet }) {
    const verdict = earlierVerdict(ctx, body, digest)
    if (verdict === 'stored' && keySet !== undefined) ctx.peers.learn(log, keySet)
    return verdict
  },
  showRetired: ({ body, digest }) => keepRetired(ctx, body, digest),
  take: (arrived, files) => takeWhole(ctx, arrived, files),
})

/** A message without files is judged once, with its content. */
async function takeWhole(ctx: Context, arrived: Arrived, files: ArrivingFiles): Promise<Verdict> {
  if (arrived.body.attachments.length > 0 && foresee(ctx, arrived) !== 'stored') return takeIn(ctx, arrived)
  try {
    return await ctx.attachments.receive(files, ctx.store, () => takeIn(ctx, arrived))
  } catch (error) {
    if (error instanceof Malformed && !(error instanceof Damaged)) return 'malformed'
    throw error
  }
}
