/** The threads that wait for an automatic answer, and what a backend is asked in one. */
import type { WaitingThread } from '../../autoreply/answering.ts'
import type { BackendRequest, ConversationTurn } from '../../autoreply/backend.ts'
import { cidText } from '../../protocol/crypto/hash.ts'
import { kinds } from '../../protocol/mail/payload.ts'
import type { Context } from '../context.ts'
import { NUMBERS_KNOWN } from '../store/interactions.ts'
import { camelRows } from '../store/rows.ts'
import type { Interaction, Message } from '../store/threads.ts'

type Needs = Pick<Context, 'store' | 'threads' | 'contacts' | 'attachments' | 'settings' | 'identity' | 'hub'>

const WAITING_MAX = 1000
const THREADS_PER_PEER_MAX = 10

/** A word of one side, not a step of the protocol. */
const IS_WORD = `number > 0 AND kind IN (${kinds.delegate}, ${kinds.message}, ${kinds.result})`
export const LAST_WORD_SQL = `SELECT direction, number FROM messages WHERE interaction = ? AND ${IS_WORD} ORDER BY key DESC LIMIT 1`
/**
 * Open threads of those who may be answered whose last word is the peer's, or whose end it proposed; oldest first. A copy that
 * is lost may have answered already where the other side has not said yet what it holds; where that one lost the task, no answer
 * arrives.
 */
const WAITING_SQL = `
SELECT id, peer, auto_replies, end_by, direction, number, has_image FROM (
  SELECT i.id, i.peer, i.auto_replies, i.end_by, i.updated_at, m.direction, m.number,
    EXISTS (SELECT 1 FROM messages AS p JOIN message_attachments AS a ON a.message = p.key
      WHERE p.interaction = i.key AND p.direction = 'in' AND a.media_type LIKE 'image/%') AS has_image,
    row_number() OVER (PARTITION BY i.peer ORDER BY i.updated_at) AS rank
  FROM interactions AS i JOIN messages AS m ON m.key = (
    SELECT key FROM messages WHERE interaction = i.key AND ${IS_WORD} ORDER BY key DESC LIMIT 1)
  WHERE i.side = 'received' AND i.state IN ('open', 'end_proposed') AND i.auto_reply = 1 AND i.own_last IS NULL
    AND i.${NUMBERS_KNOWN} AND i.lost_by_peer_at IS NULL
    AND (?1 OR EXISTS (SELECT 1 FROM contacts AS c
      WHERE c.aid = i.peer AND c.petname IS NOT NULL AND c.blocked = 0))
    AND (m.direction = 'in' OR i.end_by = 'peer')
) WHERE rank <= ?2 ORDER BY updated_at LIMIT ?3`
type WaitingRow = {
  id: string
  peer: string
  auto_replies: number
  end_by: string | null
  direction: string
  number: number
  has_image: number
}

/** One look at the store, whatever lies there unanswered; a few threads of each peer, so that none crowds out others. */
export function waitingThreads(ctx: Needs): WaitingThread[] {
  if (ctx.identity.log.deactivated || ctx.hub.oldCopy !== undefined) return []
  const strangers = ctx.settings.current.auto_reply?.strangers === true
  const rows = ctx.store.all<WaitingRow>(WAITING_SQL, strangers ? 1 : 0, THREADS_PER_PEER_MAX, WAITING_MAX)
  return rows.map(row => ({
    interactionId: row.id,
    peer: row.peer,
    turn: row.number,
    autoReplies: row.auto_replies,
    endProposed: row.end_by === 'peer' && row.direction === 'out',
    hasImage: row.has_image === 1,
  }))
}

/** What a backend is asked: the words of both sides, and what came with them. */
export function requestOf(ctx: Needs, interaction: Interaction, historyMax: number): BackendRequest {
  const spoken = camelRows<Message>(
    ctx.store.all(
      `SELECT * FROM messages WHERE interaction = ? AND number > 0 AND (text <> '' OR kind <= ${kinds.message})
       ORDER BY coalesce(place, key) DESC, number DESC LIMIT ?`,
      interaction.key,
      historyMax,
    ),
  )
  const turns = spoken.reverse().map(
    (message): ConversationTurn => ({
      role: message.direction === 'in' ? 'peer' : 'me',
      text: message.text,
      attachments: ctx.threads.attachmentsOf(message.key).map(({ name, mediaType, size, cid }) => ({
        name,
        mediaType,
        bytes: size,
        path: ctx.attachments.find(cidText(cid)) ?? null,
      })),
    }),
  )
  return {
    interactionId: interaction.id,
    peer: interaction.peer,
    peerName: ctx.contacts.petnameOf(interaction.peer),
    turns,
    systemPrompt: ctx.settings.current.auto_reply?.system_prompt,
  }
}
