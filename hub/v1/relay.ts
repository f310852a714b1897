/** Mail that the hub can read: send, poll, ack. */
import { fromBase64, toBase64 } from '../../protocol/encoding/bytes.ts'
import type { Hub } from '../core/hub.ts'
import type { Part } from './handler.ts'

const QUIET = 'the recipient has not asked for its mail for over an hour; the message waits for it'

export function relayHandlers({
  openMail,
  openFederation,
  guests,
  context,
}: Hub): Part<'relaySend' | 'relayPoll' | 'relayAck'> {
  return {
    async relaySend({ body, address }) {
      const given = {
        to: body.to_aid,
        from: body.from_aid,
        kind: body.kind,
        interaction: body.interaction_id,
        payload: fromBase64(body.payload),
      }
      if (given.to === context.identity.aid)
        return { id: await guests.receive(given), status: 'queued' as const }
      const isHere = openFederation === undefined || (await openMail.find(given.to)) !== undefined
      if (!isHere)
        return { status: 'forwarded' as const, via_hub: await openFederation.handingOn.send(given, address) }
      const { id, quiet } = await openMail.send(given)
      const answer = { id, status: 'queued' as const }
      return quiet ? { ...answer, recipient_quiet: true as const, warning: QUIET } : answer
    },
    async relayPoll({ signer, body }) {
      const messages = await openMail.poll(signer, body.limit)
      return {
        messages: messages.map(({ id, from, kind, interaction, payload, createdMs }) => ({
          id,
          from_aid: from,
          kind,
          interaction_id: interaction,
          payload: toBase64(payload),
          created_at: new Date(createdMs).toISOString(),
        })),
      }
    },
    relayAck: async ({ signer, body }) => ({ acked: await openMail.ack(signer, body.ids) }),
  }
}
