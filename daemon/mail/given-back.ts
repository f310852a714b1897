/**
 * What a correspondent that was restored gets once more: the messages of a task above the last that it holds, this side's
 * receipt, and the counter-signature together with the receipt that it signs.
 */
import type { Context } from '../context.ts'
import { numbersSentSince } from '../store/correspondents.ts'
import { sentAbove } from '../store/messages.ts'
import type { Interaction } from '../store/threads.ts'
import { remakeCounterSignature } from '../tasks/receipt-requester.ts'
import { isRequester } from '../tasks/standing.ts'

type Needs = Pick<Context, 'identity' | 'chain' | 'store' | 'threads' | 'now'>

/** Messages of one task that go once more for one question. */
const AGAIN_MAX = 1024
/** Within a day a correspondent gets something back for so many questions: one that asks for ever gets no more. */
const QUESTIONS_PER_DAY_MAX = 16
const DAY_MS = 86_400_000

/** Whether what this peer asks for is sent again: it was not asked for too often. */
export const mayGiveBack = ({ store, now }: Pick<Needs, 'store' | 'now'>, peer: string): boolean =>
  numbersSentSince(store, peer, now() - DAY_MS) < QUESTIONS_PER_DAY_MAX

/** Sends again what the other side says that it does not hold. */
export function giveBack(ctx: Needs, interaction: Interaction, held: number): void {
  for (const key of sentAbove(ctx.store, interaction.key, { above: held, max: AGAIN_MAX }))
    ctx.threads.sendOnceMore(key)
  if (isRequester(interaction)) remakeCounterSignature(ctx, interaction, { withReceipt: true })
}
