/** Waiting mail read for the heads of our chain that it brings back, before anything of it is taken or confirmed. */
import { setTimeout as pause } from 'node:timers/promises'
import { Malformed } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { messagePayload } from '../../protocol/mail/message.ts'
import { NotOpened } from '../../protocol/mail/open.ts'
import { kinds } from '../../protocol/mail/payload.ts'
import type { Context } from '../context.ts'
import type { HubClient, PolledEnvelope } from '../hubs/hub.ts'
import { compareHead } from './heads.ts'
import { openPolled } from './opening.ts'
import { COPY_ENDED_MAX } from './twin-watch.ts'

type Needs = Pick<Context, 'identity' | 'keys' | 'peers' | 'store' | 'chain' | 'contacts' | 'hub' | 'log'>

/** A hub may answer a little before the time that it was asked to wait. */
const SETTLED_SHARE = 0.9
const UNHELD_PAUSE_MS = 1000

/**
 * Whether another node of this identity waits for mail at the hub: each one ends the held poll of the other. Leaves the
 * mail as it is, and looks at what comes.
 */
export async function watchForTwin(
  ctx: Needs & Pick<Context, 'now' | 'timings'>,
  hub: HubClient,
  signal: AbortSignal,
): Promise<'alone' | 'came_second'> {
  const settledMs = ctx.timings.pollSettledMs
  const waitSeconds = Math.max(1, Math.ceil(settledMs / 1000))
  let afterId = await lookForHeads(ctx, hub, signal)
  for (let ended = 0; ended < COPY_ENDED_MAX && ctx.hub.oldCopy === undefined; ) {
    const askedAt = performance.now()
    using reply = await hub.poll({ waitSeconds, ...present({ afterId }), signal })
    const heldMs = performance.now() - askedAt
    for (const polled of reply.envelopes) {
      await look(ctx, polled)
      afterId = Math.max(afterId ?? 0, polled.id)
    }
    if (reply.envelopes.length > 0) continue
    if (reply.held && heldMs >= settledMs * SETTLED_SHARE) return 'alone'
    if (reply.held) ended += 1
    else await pause(UNHELD_PAUSE_MS, undefined, { signal })
  }
  return ctx.hub.oldCopy === undefined ? 'came_second' : 'alone'
}

/**
 * Looks through the whole mailbox and leaves it as it is; ends early once a head shows a newer copy of this identity,
 * which then gets this mail. Gives the id of the last one.
 */
export async function lookForHeads(
  ctx: Needs,
  hub: HubClient,
  signal: AbortSignal,
): Promise<number | undefined> {
  let afterId: number | undefined
  for (let more = true; more && ctx.hub.oldCopy === undefined; ) {
    using reply = await hub.poll({
      waitSeconds: 0,
      ...present({ afterId }),
      signal,
    })
    for (const polled of reply.envelopes) {
      await look(ctx, polled)
      afterId = Math.max(afterId ?? 0, polled.id)
    }
    more = reply.more && reply.envelopes.length > 0
  }
  return afterId
}

async function look(ctx: Needs, polled: PolledEnvelope): Promise<void> {
  try {
    const { opened, log } = await openPolled(ctx, polled)
    await using _ = { [Symbol.asyncDispose]: () => opened.close() }
    const { body } = opened
    if (body.kind !== kinds.heldHead || body.kelSeq !== log.seq) return
    const message = messagePayload(body)
    if (message.kind === kinds.heldHead)
      ctx.store.transaction(() => compareHead(ctx, body.from, message.payload))
  } catch (error) {
    // the mail is judged when it is taken
    if (!(error instanceof NotOpened) && !(error instanceof Malformed)) throw error
  }
}
