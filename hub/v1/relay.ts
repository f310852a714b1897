/** Mail that the hub can read: send, poll, ack. */
import type { Hub } from '../core/hub.ts'
import { MailAnswers, type Printed, writeMail } from '../http/letters.ts'
import { jsonText, Streamed } from '../http/reply.ts'
import type { OpenMessage } from '../store/open-mail-port.ts'
import type { Part } from './handler.ts'

const QUIET = 'the recipient has not asked for its mail for over an hour; the message waits for it'

const HEADERS = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' }

const printed: Printed<OpenMessage> = {
  encoding: 'base64',
  member: 'payload',
  before: ({ id, from, kind, interaction, createdMs }) => {
    const created_at = new Date(createdMs).toISOString()
    return jsonText({ id, from_aid: from, kind, interaction_id: interaction, created_at }).slice(0, -1)
  },
  after: () => '}',
}

export function relayHandlers({
  openMail,
  openFederation,
  guests,
  context,
}: Hub): Part<'relaySend' | 'relayPoll' | 'relayAck'> {
  const answers = new MailAnswers()
  return {
    async relaySend({ body, lifted, address }) {
      const given = {
        to: body.to_aid,
        from: body.from_aid,
        kind: body.kind,
        interaction: body.interaction_id,
        payload: lifted,
      }
      if (given.to === context.identity.aid)
        return { id: await guests.receive(given), status: 'queued' as const }
      const isHere = openFederation === undefined || (await openMail.find(given.to)) !== undefined
      if (!isHere)
        return { status: 'forwarded' as const, via_hub: await openFederation.handingOn.send(given, address) }
      const { id, quiet } = await openMail.send(given, { address })
      const answer = { id, status: 'queued' as const }
      return quiet ? { ...answer, recipient_quiet: true as const, warning: QUIET } : answer
    },
    async relayPoll({ signer, body }) {
      const messages = await openMail.poll(signer, body.limit)
      const sources = {
        contents: (ids: readonly string[]) => openMail.contents(signer, ids),
        blobs: context.openBlobs,
      }
      return new Streamed(HEADERS, response =>
        answers.write(signer.row.number, response, () => writeMail(response, messages, printed, sources)),
      )
    },
    relayAck: async ({ signer, body }) => ({ acked: await openMail.ack(signer, body.ids) }),
  }
}
