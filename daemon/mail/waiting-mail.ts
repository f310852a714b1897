/** Waiting mail read for the heads of our chain that it brings back, before anything of it is taken or confirmed. */
import { Malformed } from '../../protocol/encoding/bytes.ts'
import { messagePayload } from '../../protocol/mail/message.ts'
import { kinds } from '../../protocol/mail/payload.ts'
import { sleep } from '../../protocol/timers.ts'
import type { Arrived } from '../carrier/carrier.ts'
import type { Context } from '../context.ts'
import type { HubClient } from '../hubs/hub.ts'
import { compareHead } from './heads.ts'
import { COPY_ENDED_MAX } from './twin-watch.ts'

type Needs = Pick<Context, 'identity' | 'store' | 'chain' | 'contacts' | 'hub' | 'log' | 'carriers'>

/** A hub may answer a little before the time that it was asked to wait. */
const SETTLED_SHARE = 0.9
const UNHELD_PAUSE_MS = 1000

/**
 * Whether another node of this identity waits for mail at the hub: each one ends the held poll of the other. Leaves the
 * mail as it is, and looks at what comes.
 */
export async function watchForTwin(
  ctx: Needs & Pick<Context, 'now' | 'timers' | 'timings'>,
  hub: HubClient,
  signal: AbortSignal,
): Promise<'alone' | 'came_second'> {
  const settledMs = ctx.timings.pollSettledMs
  const carrier = ctx.carriers.over(hub)
  let after = await lookForHeads(ctx, hub, signal)
  for (let ended = 0; ended < COPY_ENDED_MAX && ctx.hub.oldCopy === undefined; ) {
    const askedAt = ctx.timers.monotonic()
    const looked = await carrier.look({ waitMs: Math.max(1000, settledMs), signal, after }, see(ctx))
    const heldMs = ctx.timers.monotonic() - askedAt
    after = looked.after
    if (looked.taken > 0) continue
    if (looked.held && heldMs >= settledMs * SETTLED_SHARE) return 'alone'
    if (looked.held) ended += 1
    else await sleep(ctx.timers, UNHELD_PAUSE_MS, signal)
  }
  return ctx.hub.oldCopy === undefined ? 'came_second' : 'alone'
}

/**
 * Looks through the whole mailbox and leaves it as it is; ends early once a head shows a newer copy of this identity,
 * which then gets this mail. Gives where the next look goes on.
 */
export async function lookForHeads(
  ctx: Needs,
  hub: HubClient,
  signal: AbortSignal,
): Promise<number | undefined> {
  const carrier = ctx.carriers.over(hub)
  let after: number | undefined
  for (let more = true; more && ctx.hub.oldCopy === undefined; ) {
    const looked = await carrier.look({ waitMs: 0, signal, after }, see(ctx))
    after = looked.after
    more = looked.more && looked.taken > 0
  }
  return after
}

const see =
  (ctx: Needs) =>
  ({ body, log }: Arrived): void => {
    if (body.kind !== kinds.heldHead || body.kelSeq !== log.seq) return
    try {
      const message = messagePayload(body)
      if (message.kind === kinds.heldHead)
        ctx.store.transaction(() => compareHead(ctx, body.from, message.payload))
    } catch (error) {
      // the mail is judged when it is taken
      if (!(error instanceof Malformed)) throw error
    }
  }
