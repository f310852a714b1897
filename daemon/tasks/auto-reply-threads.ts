/** The threads that wait for an automatic answer, and what a backend is asked in one. */
import type { WaitingThread } from '../../autoreply/answering.ts'
import type { BackendRequest, ConversationTurn } from '../../autoreply/backend.ts'
import { cidText } from '../../protocol/crypto/hash.ts'
import type { Context } from '../context.ts'
import type { Interaction } from '../store/threads.ts'
import { lastWords, unansweredThreads } from '../store/transcripts.ts'

type Needs = Pick<Context, 'store' | 'threads' | 'contacts' | 'attachments' | 'settings' | 'identity' | 'hub'>

const WAITING_MAX = 1000
const THREADS_PER_PEER_MAX = 10

/** One look at the store, whatever lies there unanswered; a few threads of each peer, so that none crowds out others. */
export function waitingThreads(ctx: Needs): WaitingThread[] {
  if (ctx.identity.log.deactivated || ctx.hub.oldCopy !== undefined) return []
  const strangers = ctx.settings.current.auto_reply?.strangers === true
  const rows = unansweredThreads(ctx.store, { strangers, perPeerMax: THREADS_PER_PEER_MAX, max: WAITING_MAX })
  return rows.map(row => ({
    interactionId: row.id,
    peer: row.peer,
    turn: row.number,
    autoReplies: row.autoReplies,
    endProposed: row.endBy === 'peer' && row.direction === 'out',
    hasImage: row.hasImage === 1,
  }))
}

/** What a backend is asked: the words of both sides, and what came with them. */
export function requestOf(ctx: Needs, interaction: Interaction, historyMax: number): BackendRequest {
  const turns = lastWords(ctx.store, interaction.key, historyMax).map(
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
