/** Envelopes opened: under the keys of our mailbox, with the log of whoever wrote them. */
import { keyAt, type VerifiedKel } from '../../protocol/identity/kel.ts'
import type { MessageBody } from '../../protocol/mail/message.ts'
import { type OpenedMessage, openEnvelope } from '../../protocol/mail/open.ts'
import { foundIn } from '../carrier/lookup.ts'
import type { Ground } from '../context.ts'
import type { PolledEnvelope } from '../hubs/hub.ts'
import { isUnusable } from '../peers/peers.ts'
import type { Directory } from './directory.ts'

type Needs = Pick<Ground, 'identity' | 'keys' | 'peers'> & { directory: Directory }

/** Opens one envelope; refused with `NotOpened` or `Malformed`. */
export async function openPolled(
  ctx: Needs,
  polled: PolledEnvelope,
): Promise<{ opened: OpenedMessage; log: VerifiedKel }> {
  let log: VerifiedKel | undefined
  const opened = await openEnvelope({
    source: polled.source,
    recipient: ctx.identity.aid,
    seedOf: kid => ctx.keys.seedOf(kid),
    senderKey: async body => {
      log = await senderLog(ctx, body)
      return log === undefined || body.kelSeq > log.seq ? undefined : keyAt(log, body.kelSeq)
    },
  })
  return { opened, log: log as VerifiedKel }
}

/**
 * The sender's log: its own words merged with what is held, or the directory where those are not enough. One that the
 * directory does not give, for whatever reason, comes with the message when that is sent again.
 */
async function senderLog({ peers, directory }: Needs, body: MessageBody): Promise<VerifiedKel | undefined> {
  try {
    if (body.kel !== undefined) return peers.merge(body.from, body.kel)
    const held = peers.find(body.from)?.log
    if (held !== undefined && held.seq >= body.kelSeq) return held
    return foundIn(await directory.lookup(body.from, { fresh: true }))?.log
  } catch (error) {
    if (isUnusable(error)) return undefined
    throw error
  }
}
