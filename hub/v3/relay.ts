/** Relay and mailbox routes (hub API §4.1). */
import type { IncomingHttpHeaders } from 'node:http'
import { POLL_LIMIT_MAX } from '../../protocol/contract/limits.ts'
import { fromBase64url, Malformed, toBase64url } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { KeyStateNotice } from '../../protocol/identity/keyset.ts'
import { type Access, decodeAccess } from '../../protocol/mail/access.ts'
import { ACCESS_HEADER_BYTES_MAX, headers } from '../../protocol/wire3/headers.ts'
import { addressBucket } from '../core/address.ts'
import type { Sent } from '../core/destination.ts'
import type { Hub } from '../core/hub.ts'
import { Refusal } from '../core/refusal.ts'
import type { SessionUse } from '../core/sessions.ts'
import { header } from '../http/headers.ts'
import { MailAnswers, writeMail } from '../http/letters.ts'
import { Streamed } from '../http/reply.ts'
import type { Incoming, Part } from './handler.ts'
import { printedEnvelopes } from './poll-answer.ts'

const SID_BYTES = 16
const MAC_BYTES = 32
const POLL_LIMIT_DEFAULT = 100
const DECIMAL = /^(0|[1-9][0-9]{0,15})$/

type Names = 'relaySession' | 'relaySend' | 'relayPoll' | 'relayAck' | 'relayStatus' | 'mailboxRevoke'

export function relayHandlers(hub: Hub): Part<Names> {
  const answers = new MailAnswers()
  return {
    async relaySession({ signer, body }) {
      const { sid, expMs, enc, ciphertext } = await hub.sessions.open(
        signer.row.aid,
        fromBase64url(body.epk),
        () => hub.agents.isUnderSameKey(signer),
      )
      return { sid: toBase64url(sid), exp: expMs, enc: toBase64url(enc), ct: toBase64url(ciphertext) }
    },
    relaySend: incoming => send(hub, incoming),
    relayPoll: incoming => poll(hub, answers, incoming),
    async relayAck({ signer, body }) {
      const items = body.items.map(({ id, handle, dack }) => ({
        id,
        handle: optionalBytes(handle, 'ackItemMalformed'),
        dack: optionalBytes(dack, 'ackItemMalformed'),
      }))
      return await hub.mailboxes.ack(signer, items)
    },
    async relayStatus({ body, address }) {
      const [first, ...others] = body.items
      if (others.some(({ via_hub: via }) => via !== first?.via_hub)) throw new Refusal('statusQueryMalformed')
      const items = body.items.map(({ rid, handle }) => ({
        rid: bytesOr(rid, 'statusQueryMalformed'),
        handle: bytesOr(handle, 'statusQueryMalformed'),
      }))
      const states = await hub.federation.statusAt(first?.via_hub, items, addressBucket(address))
      return {
        items: states.map(({ state, dack }) =>
          dack === undefined ? { state } : { state, dack: toBase64url(dack) },
        ),
      }
    },
    async mailboxRevoke({ signer, body }) {
      return await hub.mailboxes.revoke(
        signer,
        body.cap_ids.map(id => fromBase64url(id)),
      )
    },
  }
}

async function send(hub: Hub, incoming: Incoming<'relaySend'>) {
  const { accessBytes, access } = readAccess(incoming.headers)
  const session = access.kind === 0 ? readSession(incoming.headers) : undefined
  const towards = hub.sends.towards(header(incoming.headers, headers.home))
  const { source, declared } = incoming.openBody()
  try {
    const sent = await hub.sends.send({ access, accessBytes, session, towards, source, declared })
    return { ...sendAnswer(sent), ...present({ via_hub: sent.viaHub }) }
  } finally {
    source.close()
  }
}

export function sendAnswer({ status, rid, recipientQuiet }: Omit<Sent, 'viaHub'>) {
  return { status, rid: toBase64url(rid), recipient_quiet: recipientQuiet }
}

/** The credential of the header; what is no Access record at all is not accepted as one. */
export function readAccess(given: IncomingHttpHeaders): { accessBytes: Uint8Array; access: Access } {
  const text = header(given, headers.access)
  if (text === undefined)
    throw new Refusal('accessInvalid', {
      why: 'no delivery credential came',
      step: `send it in ${headers.access}`,
    })
  try {
    const accessBytes = fromBase64url(text)
    if (accessBytes.length > ACCESS_HEADER_BYTES_MAX) throw new Refusal('accessInvalid')
    return { accessBytes, access: decodeAccess(accessBytes) }
  } catch (error) {
    if (error instanceof Malformed) throw new Refusal('accessInvalid')
    throw error
  }
}

function readSession(given: IncomingHttpHeaders): SessionUse {
  const ts = header(given, headers.ts) ?? ''
  if (!DECIMAL.test(ts)) throw new Refusal('sessionInvalid')
  const sid = bytesOr(header(given, headers.session) ?? '', 'sessionInvalid')
  const mac = bytesOr(header(given, headers.mac) ?? '', 'sessionInvalid')
  if (sid.length !== SID_BYTES || mac.length !== MAC_BYTES) throw new Refusal('sessionInvalid')
  return { sid, tsMs: Number(ts), mac }
}

async function poll(hub: Hub, answers: MailAnswers, incoming: Incoming<'relayPoll'>): Promise<Streamed> {
  const { signer, body, waitSeconds, onGone } = incoming
  const limit = Math.min(body.limit ?? POLL_LIMIT_DEFAULT, POLL_LIMIT_MAX)
  const asked = { afterId: body.after_id ?? 0, limit, waitSeconds, onGone }
  const { envelopes, more, waitedSeconds, otherPolls } = await hub.mailboxes.collect(signer, asked)
  const notice = toBase64url(KeyStateNotice.encode(hub.agents.notice(signer)))
  const named: Record<string, string> = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' }
  if (waitedSeconds !== undefined) named['Preference-Applied'] = `wait=${waitedSeconds}`
  if (otherPolls.length > 0) named[headers.otherPoll] = otherPolls.join(', ')
  const sources = {
    contents: (ids: readonly number[]) => hub.mailboxes.contents(signer, ids),
    blobs: hub.context.blobs,
  }
  return new Streamed(named, response =>
    answers.write(signer.row.number, response, () =>
      writeMail(response, envelopes, printedEnvelopes({ more, notice }), sources),
    ),
  )
}

type Malformations = 'ackItemMalformed' | 'statusQueryMalformed' | 'sessionInvalid'

export function bytesOr(text: string, reason: Malformations): Uint8Array {
  try {
    return fromBase64url(text).slice()
  } catch {
    throw new Refusal(reason)
  }
}

function optionalBytes(text: string | undefined, reason: Malformations): Uint8Array | undefined {
  return text === undefined ? undefined : bytesOr(text, reason)
}
