/** The messages of a thread that a reader sees, without their payloads. */
import { kinds } from '../../protocol/mail/payload.ts'
import type { Context } from '../context.ts'
import { camelRows } from '../store/rows.ts'
import type { Interaction, Message } from '../store/threads.ts'

type Needs = Pick<Context, 'store'>

/** A message as readers see it; its payload stays where it is. */
export type ShownMessage = Omit<Message, 'payload'>
const SHOWN_COLUMNS = `key, interaction, direction, sender, recipient, message_id, kind, number, at, digest, text,
  retired, auto, delivery, reason`

/** A page of what a reader of a thread sees: one under a retired key too, until the same one came under a good key. */
export function shownMessages(
  ctx: Needs,
  interaction: Interaction,
  page: { skip: number; limit: number },
): ShownMessage[] {
  return camelRows(
    ctx.store.all(
      `SELECT ${SHOWN_COLUMNS} FROM messages AS m WHERE interaction = ? AND (number > 0 OR kind = ? OR (retired = 1
         AND NOT EXISTS (SELECT 1 FROM messages AS g WHERE g.interaction = m.interaction AND g.retired = 0
           AND g.digest = m.digest))) ORDER BY key LIMIT ? OFFSET ?`,
      interaction.key,
      kinds.delegate,
      page.limit,
      page.skip,
    ),
  )
}
