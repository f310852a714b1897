/** What the head of a message says whatever carries it. */
import { fromBase64url } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import type { MessageBody } from '../../protocol/mail/message.ts'
import type { Identity } from '../identity/identity.ts'
import type { OutboxEntry } from '../store/outbox.ts'
import type { Threads } from '../store/threads.ts'

type HeadParts = { identity: Identity; threads: Threads; hubNow: () => number }

/** Of a message of the outbox, under the present key and at the hub's time. */
export function headOf({ identity, threads, hubNow }: HeadParts, entry: OutboxEntry): MessageBody {
  const { messageId, kind, number, payload, interaction } = threads.message(entry.message)
  const task = interaction === null ? undefined : threads.byKey(interaction)
  const { aid, log } = identity
  return {
    v: 1,
    from: aid,
    kelSeq: log.seq,
    to: entry.peer,
    messageId,
    tsMs: hubNow(),
    kind,
    ...present({ interactionId: task && fromBase64url(task.id) }),
    number,
    storedUpTo: task?.heldTo ?? 0,
    payload,
    kelHeadDigest: log.headDigest,
    attachments: threads.attachmentsOf(entry.message),
  }
}
