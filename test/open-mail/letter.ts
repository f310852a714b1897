/** Letters as their senders sign them, also those of nobody. */

import { random, type TestHub } from '../../hub/testing/hub.ts'
import type { OpenAgent } from '../../hub/testing/wire1.ts'
import type { MessageBody } from '../../protocol/mail/message.ts'
import { encodePayload, kinds } from '../../protocol/mail/payload.ts'

type Place = { aid: string; hub: TestHub }

/** The head of a message to an agent. */
export const bodyOf = (from: OpenAgent, to: Place, more: Partial<MessageBody> = {}): MessageBody => ({
  v: 1,
  from: from.aid,
  kelSeq: from.log.seq,
  to: to.aid,
  messageId: random(16),
  tsMs: to.hub.clock.now(),
  kind: kinds.message,
  interactionId: random(16),
  number: 1,
  storedUpTo: 0,
  payload: encodePayload(kinds.message, { document: new TextEncoder().encode('{"text":"hello"}') }),
  kelHeadDigest: from.log.headDigest,
  attachments: [],
  ...more,
})
