/** Visitors without keys: start, send, poll, end. */
import { fromBase64 } from '../../protocol/encoding/bytes.ts'
import { GUEST_FILES_BYTES_MAX } from '../../protocol/wire1/routes/guests.ts'
import type { Hub } from '../core/hub.ts'
import { Refusal } from '../core/refusal.ts'
import type { Part } from './handler.ts'

type Names = 'guestStart' | 'guestSend' | 'guestPoll' | 'guestEnd'

const OFF = { enabled: false as const }

export function guestHandlers({ guests }: Hub): Part<Names> {
  return {
    async guestStart({ body: { aid } }) {
      if (!guests.isOpen) return OFF
      const started = await guests.start(aid)
      if (started === undefined)
        return { ...OFF, reason: aid ? 'this agent takes no visitors' : 'no agent here takes visitors' }
      const { id, handler, remaining } = started.session
      return { enabled: true as const, session: id, handler: started.name, handler_aid: handler, remaining }
    },
    async guestSend({ body: { session, body, attachments } }) {
      if (!guests.isOpen) return OFF
      if (body === '' && attachments.length === 0)
        throw new Refusal('requestMalformed', { why: 'it has neither words nor files' })
      const files = attachments.map(({ name, mime, data }) => ({
        ...{ name, mediaType: mime, content: fromBase64(data) },
      }))
      if (files.reduce((sum, { content }) => sum + content.length, 0) > GUEST_FILES_BYTES_MAX)
        throw new Refusal('tooLarge', { part: 'attachments', limitBytes: GUEST_FILES_BYTES_MAX })
      const { outcome, remaining } = await guests.send(session, { text: body, files })
      if (outcome === 'limitReached') return { limit_reached: true as const, remaining }
      return outcome === 'ended' ? { ended: true as const, remaining } : { remaining }
    },
    guestPoll: async ({ body: { session } }) =>
      guests.isOpen ? { messages: await guests.poll(session) } : OFF,
    guestEnd: async ({ body: { session } }) =>
      guests.isOpen ? { ended: true as const, ...(await guests.end(session)) } : OFF,
  }
}
