/** One poll of the mailbox: the answer is spooled as it comes, envelopes apart from the rest. */
import type { Send } from '../../../protocol/contract/client.ts'
import { POLL_LIMIT_MAX } from '../../../protocol/contract/limits.ts'
import { fromBase64url } from '../../../protocol/encoding/bytes.ts'
import { present } from '../../../protocol/encoding/present.ts'
import { headers as names } from '../../../protocol/wire3/headers.ts'
import { wire3Routes as routes } from '../../../protocol/wire3/routes.ts'
import type { HubInputs, OtherPolls, PollReply } from '../hub.ts'
import { Patience, patiently, REST_MS } from '../patience.ts'
import type { Wire3Calls } from './calls.ts'
import { PollSpool } from './poll-spool.ts'

/** The bytes of an answer, told to who wants to know how many there are by now. */
async function* counted(
  body: AsyncIterable<Uint8Array>,
  { receiving }: Pick<HubInputs, 'receiving'>,
  patience: Patience,
): AsyncGenerator<Uint8Array> {
  let bytes = 0
  try {
    for await (const part of patiently(body, patience)) {
      bytes += part.length
      receiving?.(bytes)
      yield part
    }
  } finally {
    receiving?.(undefined)
  }
}

/** How much later than it was asked to an answer begins. */
export const HELD_SLACK_MS = 5_000
const UNHELD_MS = 20_000

export type PollOptions = { waitSeconds: number; afterId?: number; signal: AbortSignal }

export async function poll(calls: Wire3Calls, inputs: HubInputs, options: PollOptions): Promise<PollReply> {
  const wait = options.waitSeconds
  using patience = new Patience(inputs.timers, wait > 0 ? wait * 1000 + HELD_SLACK_MS : UNHELD_MS)
  const signal = AbortSignal.any([options.signal, patience.signal])
  const body = { limit: POLL_LIMIT_MAX, ...present({ after_id: options.afterId }) }
  const headers: Record<string, string> = wait > 0 ? { Prefer: `wait=${wait}` } : {}
  let spool = new PollSpool(inputs.spoolFolder, inputs.random)
  let held = false
  let others: OtherPolls | undefined
  const send: Send = async request => {
    const response = await inputs.connections.signed(request)
    if (!response.ok || response.body === null) return response
    patience.renew(REST_MS)
    held = response.headers.get('Preference-Applied') !== null
    others = othersIn(response)
    spool.discard()
    spool = new PollSpool(inputs.spoolFolder, inputs.random)
    return new Response(await spool.read(counted(response.body, inputs, patience)), {
      status: response.status,
      headers: response.headers,
    })
  }
  try {
    const options = { headers, send, heldBesideQueue: wait > 0 }
    const reply = await calls.signed(routes.relayPoll, { body, signal }, options)
    const notice = reply.key_state_notice
    return {
      envelopes: reply.messages.map(message => ({
        id: message.id,
        source: spool.source(Number(message.envelope)),
        acceptedAtMs: message.accepted_at,
      })),
      more: reply.more,
      held,
      ...present({ others, notice: notice === undefined ? undefined : fromBase64url(notice) }),
      [Symbol.dispose]: () => spool.discard(),
    }
  } catch (error) {
    spool.discard()
    throw error
  }
}

function othersIn(response: Response): OtherPolls | undefined {
  const said = response.headers
    .get(names.otherPoll)
    ?.split(',')
    .map(word => word.trim())
  return said && { older: said.includes('older'), newer: said.includes('newer') }
}
