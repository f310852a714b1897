/** Delivery confirmations: what a recipient signs of one envelope, and what its sender reads in it. */
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { keyAt } from '../../protocol/identity/kel.ts'
import {
  type Dack,
  type DackCode,
  Dack as DackCodec,
  dackCodes,
  dackHandle,
  openDack,
  sealDack,
} from '../../protocol/mail/dack.ts'
import type { MessageBody } from '../../protocol/mail/message.ts'
import type { Fate } from '../carrier/carrier.ts'
import type { Ground } from '../context.ts'
import type { AckItem } from '../hubs/hub.ts'
import type { OutboxEntry } from '../store/outbox.ts'
import { introduceAgain } from '../store/peers.ts'
import type { Verdict } from '../store/seen.ts'

const NONCE_BYTES = 12
export const UNCONFIRMED = 'collected, but not confirmed'
export const BADLY_CONFIRMED = 'collected, but the confirmation does not verify'

export type Judged = { body: MessageBody; envelopeDigest: Uint8Array; digest: Uint8Array; verdict: Verdict }

/** What removes an envelope from the mailbox and tells its sender the verdict, where that can be told. */
export function confirmation(
  { identity, now, random }: Pick<Ground, 'identity' | 'now' | 'random'>,
  id: number,
  { body, envelopeDigest, digest, verdict }: Judged,
): AckItem {
  const { handleSecret } = body
  if (handleSecret === undefined) return { id }
  const dack = DackCodec.sign(identity.seed, {
    envelopeDigest,
    messageId: body.messageId,
    messageDigest: digest,
    recipient: identity.aid,
    kelSeq: identity.log.seq,
    tsMs: now(),
    code: dackCodes[verdict],
  })
  return { id, handle: dackHandle(handleSecret), dack: sealDack(handleSecret, random(NONCE_BYTES), dack) }
}

type Reading = Pick<Ground, 'store' | 'peers' | 'threads'>

/** What a confirmation proves of the message that it is given for. */
export function fateIn(ctx: Reading, entry: OutboxEntry, sealed: Uint8Array): Fate {
  const dack = openConfirmation(ctx, entry, sealed)
  if (dack === undefined) return { is: 'unproven', why: BADLY_CONFIRMED }
  // Whoever has a retired key could have made it since: the same message again is confirmed under the present one.
  if (dack.body.kelSeq !== ctx.peers.find(entry.peer)?.log.seq) return { is: 'sent_in_vain' }
  const verdict = verdictOf(dack.body.code)
  if (verdict !== 'retiredKey' && verdict !== 'times') return { is: 'judged', verdict }
  introduceAgain(ctx.store, entry.peer)
  return { is: 'sent_in_vain' }
}

const verdictOf = (code: DackCode): Verdict =>
  (Object.keys(dackCodes) as Verdict[]).find(name => dackCodes[name] === code) as Verdict

/** The confirmation, when it is the recipient's and names this message. */
function openConfirmation(ctx: Reading, entry: OutboxEntry, sealed: Uint8Array): Dack | undefined {
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
