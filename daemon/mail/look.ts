/** Waiting mail read for the heads of our chain that it brings back, before anything of it is taken or confirmed. */
import { Malformed } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { messagePayload } from '../../protocol/mail/message.ts'
import { NotOpened } from '../../protocol/mail/open.ts'
import { kinds } from '../../protocol/mail/payload.ts'
import type { Context } from '../context.ts'
import type { HubClient, PolledEnvelope } from '../hubs/hub.ts'
import { compareHead } from './heads.ts'
import { openPolled } from './opening.ts'

type Needs = Pick<Context, 'identity' | 'keys' | 'peers' | 'store' | 'chain' | 'contacts' | 'hub' | 'log'>

/**
 * Looks through the whole mailbox and leaves it as it is; ends early once a head shows a newer copy of this identity,
 * which then gets this mail.
 */
export async function lookForHeads(ctx: Needs, hub: HubClient, signal: AbortSignal): Promise<void> {
  for (let afterId: number | undefined, more = true; more && ctx.hub.oldCopy === undefined; ) {
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
