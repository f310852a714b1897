/**
 * One poll of the mailbox. What anybody wrote to it may be anything: a letter that cannot be read is one of those that came,
 * and holds up none of the others.
 */
import * as z from 'zod'
import type { Send } from '../../../protocol/contract/client.ts'
import { wire1Routes } from '../../../protocol/wire1/routes.ts'
import type { HubInputs } from '../hub.ts'
import type { PolledLetter } from '../open-mail.ts'
import { Patience, patiently, REST_MS } from '../patience.ts'
import type { Wire1Calls } from './calls.ts'
import { Payloads, type WithPayload } from './payloads.ts'

/** How long after the question an answer begins. */
const BEGINS_MS = 20_000
/** Where payloads stand in the answer. */
const PAYLOADS = { member: 'payload', depth: 3 }
/** What the hub itself gives of a letter; everything else is the word of its sender. */
const ID_CHARACTERS_MAX = 256

const routes = wire1Routes
const letter = routes.relayPoll.reply.shape.messages.element.omit({ kind: true })
const row = {
  ...routes.relayPoll,
  reply: z.object({ messages: z.array(z.looseObject({ id: z.string().min(1).max(ID_CHARACTERS_MAX) })) }),
}

export async function poll(
  calls: Wire1Calls,
  { connections, timers }: HubInputs,
  given: AbortSignal,
): Promise<PolledLetter[]> {
  using patience = new Patience(timers, BEGINS_MS)
  const signal = AbortSignal.any([given, patience.signal])
  const send: Send = async request => {
    patience.renew(BEGINS_MS)
    const response = await connections.signed(request)
    const { body, status, headers } = response
    if (!response.ok || body === null) return response
    patience.renew(REST_MS)
    return new Response(ReadableStream.from(patiently(body, patience)), { status, headers })
  }
  const payloads = new Payloads()
  const open = () => payloads.open()
  const { messages } = await calls.lifting(row, { body: { limit: 0 }, signal }, { ...PAYLOADS, open, send })
  return payloads.with(messages, hasText).map(letterOf)
}

const hasText = (message: object): boolean => 'payload' in message && typeof message.payload === 'string'

function letterOf({ message, payload }: WithPayload<{ id: string }>): PolledLetter {
  const { success, data } = letter.safeParse(message)
  if (!success) return { id: message.id, from: '', interaction: '', createdAtMs: 0, payload: undefined }
  const { id, from_aid: from, interaction_id: interaction, created_at: createdAt } = data
  return { ...{ id, from, interaction, payload }, createdAtMs: Date.parse(createdAt) }
}
