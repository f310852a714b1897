/** Visitors without keys: start, send, poll, end. */
import { fromBase64 } from '../../protocol/encoding/bytes.ts'
import { GUEST_FILES_BYTES_MAX, GUEST_FILES_MAX, GUEST_TEXT_MAX } from '../../protocol/wire1/routes/guests.ts'
import { addressBucket, isProxy } from '../core/address.ts'
import type { Hub } from '../core/hub.ts'
import { Refusal } from '../core/refusal.ts'
import type { LineOptions } from '../http/line.ts'
import { guestPage } from '../pages/guest-page.ts'
import type { Part } from './handler.ts'

type Names = 'guestPage' | 'guestStart' | 'guestSend' | 'guestPoll' | 'guestEnd'

const OFF = { enabled: false as const }

const limits = { text: GUEST_TEXT_MAX, files: GUEST_FILES_MAX, bytes: GUEST_FILES_BYTES_MAX }

type Told = Pick<LineOptions, 'about' | 'guestScript'>

export function guestHandlers({ guests }: Hub, { about, guestScript }: Told): Part<Names> {
  return {
    async guestPage({ query: { aid = '' } }) {
      if (!guests.isOpen) return guestPage({ state: 'off' })
      if (guestScript === undefined) return guestPage({ state: 'unbuilt' })
      const chosen = aid === '' ? undefined : await guests.handler(aid)
      if (aid !== '' && chosen === undefined) return guestPage({ state: 'refused' })
      const handlers = await guests.handlers()
      if (chosen === undefined && handlers.length === 0) return guestPage({ state: 'nobody' })
      return guestPage({ state: 'open', hubName: about.name, handlers, chosen, limits, script: guestScript })
    },
    async guestStart({ body: { aid }, address }) {
      if (!guests.isOpen) return OFF
      const started = await guests.start(aid, isProxy(address) ? undefined : addressBucket(address))
      if (started === undefined)
        return { ...OFF, reason: aid ? 'this agent takes no visitors' : 'no agent here takes visitors' }
      const { id, handler, remaining } = started.session
      return { enabled: true as const, session: id, handler: started.name, handler_aid: handler, remaining }
    },
    async guestSend({ body: { session, body, attachments, once } }) {
      if (!guests.isOpen) return OFF
      if (body === '' && attachments.length === 0)
        throw new Refusal('requestMalformed', { why: 'it has neither words nor files' })
      const files = attachments.map(({ name, mime, data }) => ({
        ...{ name, mediaType: mime, content: fromBase64(data) },
      }))
      if (files.reduce((sum, { content }) => sum + content.length, 0) > GUEST_FILES_BYTES_MAX)
        throw new Refusal('tooLarge', { part: 'attachments', limitBytes: GUEST_FILES_BYTES_MAX })
      const { outcome, remaining } = await guests.send(session, { text: body, files }, once)
      if (outcome === 'limitReached') return { limit_reached: true as const, remaining }
      return outcome === 'ended' ? { ended: true as const, remaining } : { remaining }
    },
    async guestPoll({ body: { session, has } }) {
      if (!guests.isOpen) return OFF
      const { words, isOver } = await guests.poll(session, has)
      // Whoever knows what is ours counts words; others get what the document says.
      const isTold = isOver && has !== undefined
      return { messages: [...words], ...(isTold && { ended: true as const }) }
    },
    guestEnd: async ({ body: { session } }) =>
      guests.isOpen ? { ended: true as const, ...(await guests.end(session)) } : OFF,
  }
}
