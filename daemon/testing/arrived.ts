/** Messages as a carrier hands them over, without an envelope around them. */
import { encodeAccess } from '../../protocol/mail/access.ts'
import { type MessageBody, messageDigest } from '../../protocol/mail/message.ts'
import type { Arrived } from '../carrier/carrier.ts'
import { ShownCredentials } from '../sealed/shown-credentials.ts'
import type { TestNode } from './node.ts'

const A_SECOND = 1000
/** How a stranger comes in. */
const AS_STRANGER = encodeAccess({ kind: 0 })

/** What `to` has of a message that `from` signed. */
export const arrivedFrom = (
  from: TestNode,
  to: TestNode,
  body: MessageBody,
  { access = AS_STRANGER, untilMs = to.clock.ms + A_SECOND }: { access?: Uint8Array; untilMs?: number } = {},
): Arrived => ({
  body,
  digest: messageDigest(body),
  untilMs,
  way: 'sealed',
  log: from.ctx.identity.log,
  keySet: undefined,
  credentials: new ShownCredentials(to.ctx).in({ access, digest: messageDigest(body) }, body),
})
