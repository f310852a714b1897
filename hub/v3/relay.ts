/** Relay and mailbox routes (hub API §4.1). */
import type { IncomingHttpHeaders } from 'node:http'
import { fromBase64url, Malformed, toBase64url } from '../../protocol/encoding/bytes.ts'
import { KeyStateNotice } from '../../protocol/identity/keyset.ts'
import { type Access, decodeAccess } from '../../protocol/mail/access.ts'
import { ACCESS_HEADER_BYTES_MAX, headers } from '../../protocol/wire3/headers.ts'
import { POLL_LIMIT_MAX } from '../../protocol/wire3/routes.ts'
import type { Agent } from '../core/agents.ts'
import type { Hub } from '../core/hub.ts'
import { Refusal } from '../core/refusal.ts'
import type { SessionUse } from '../core/sessions.ts'
import { declaredLength } from '../http/body.ts'
import type { WaitingEnvelope } from '../store/port.ts'
import { header } from './auth.ts'
import { readEnvelopeHead } from './envelope-body.ts'
import { type Incoming, type Part, Streamed } from './handler.ts'
import { writePollAnswer } from './poll-answer.ts'

const SID_BYTES = 16
const MAC_BYTES = 32
const MS_PER_SECOND = 1000
const POLL_LIMIT_DEFAULT = 100
const DECIMAL = /^(0|[1-9][0-9]{0,15})$/
const WAIT = /(?:^|,)\s*wait\s*=\s*([0-9]{1,4})\s*(?:[,;]|$)/i

type Names = 'relaySession' | 'relaySend' | 'relayPoll' | 'relayAck' | 'relayStatus' | 'mailboxRevoke'

export function relayHandlers(hub: Hub): Part<Names> {
  return {
    async relaySession({ signer, body }) {
      const { sid, expMs, enc, ciphertext } = hub.sessions.open(signer.row.aid, fromBase64url(body.epk))
      return { sid: toBase64url(sid), exp: expMs, enc: toBase64url(enc), ct: toBase64url(ciphertext) }
    },
    relaySend: incoming => send(hub, incoming),
    relayPoll: incoming => poll(hub, incoming),
    async relayAck({ signer, body }) {
      const items = body.items.map(({ id, handle, dack }) => ({
        id,
        handle: optionalBytes(handle, 'ackItemMalformed'),
        dack: optionalBytes(dack, 'ackItemMalformed'),
      }))
      return await hub.mailboxes.ack(signer, items)
    },
    async relayStatus({ body, address }) {
      hub.takeStatus(address)
      if (body.items.some(item => item.via_hub !== undefined && item.via_hub !== hub.context.identity.aid))
        throw new Refusal('statusQueryMalformed')
      const items = body.items.map(({ rid, handle }) => ({
        rid: bytesOr(rid, 'statusQueryMalformed'),
        handle: bytesOr(handle, 'statusQueryMalformed'),
      }))
      const states = await hub.mailboxes.status(items)
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
  const home = header(incoming.headers, headers.home)
  if (home !== undefined && home !== hub.context.identity.aid) throw new Refusal('recipientUnknown')
  const source = incoming.openBody()
  try {
    const body = await readEnvelopeHead(source, declaredLength(incoming.request))
    const { envelopeBytesMax } = hub.context.limits
    if (body.size > envelopeBytesMax) throw new Refusal('tooLarge', { limitBytes: envelopeBytesMax })
    const judged = await hub.mailboxes.judge({
      head: body.head,
      access,
      accessBytes,
      size: body.size,
      session,
    })
    if ('repeated' in judged) return sendAnswer(judged.repeated)
    const { blobs, random } = hub.context
    const content = await body.read(blobs, random)
    let kept = false
    try {
      const sent = await hub.mailboxes.queue(judged.accepted, content)
      kept = sent.status === 'queued'
      return sendAnswer(sent)
    } finally {
      if (!kept && content.file !== undefined) await hub.removeUnused(content.file)
    }
  } finally {
    source.close()
  }
}

function sendAnswer(sent: { status: 'queued' | 'duplicate'; rid: Uint8Array; recipientQuiet: boolean }) {
  return { status: sent.status, rid: toBase64url(sent.rid), recipient_quiet: sent.recipientQuiet }
}

/** The credential of the header; what is no Access record at all is not accepted as one. */
function readAccess(given: IncomingHttpHeaders): { accessBytes: Uint8Array; access: Access } {
  const text = header(given, headers.access)
  if (text === undefined) throw new Refusal('accessInvalid')
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

async function poll(hub: Hub, incoming: Incoming<'relayPoll'>): Promise<Streamed> {
  const { signer, body } = incoming
  const limit = Math.min(body.limit ?? POLL_LIMIT_DEFAULT, POLL_LIMIT_MAX)
  const waitSeconds = preferredWait(header(incoming.headers, 'prefer'), hub.context.limits.pollWaitSecondsMax)
  hub.agents.noteSeen(signer)
  const ask = () => hub.mailboxes.poll(signer, body.after_id ?? 0, limit)
  let page = await ask()
  let applied = false
  if (page.envelopes.length === 0 && waitSeconds > 0 && hub.polls.mayHold(signer.row.number)) {
    applied = true
    page = await held(hub, incoming, waitSeconds, ask)
  }
  const notice = toBase64url(KeyStateNotice.encode(hub.agents.notice(signer)))
  const named: Record<string, string> = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' }
  if (applied) named['Preference-Applied'] = `wait=${waitSeconds}`
  return new Streamed(named, response =>
    writePollAnswer(response, page.envelopes, { more: page.more, notice }, hub.context.blobs),
  )
}

type Page = { envelopes: WaitingEnvelope[]; more: boolean }

/** Holds the poll until mail is committed; a signer whose key state changed meanwhile gets nothing. */
async function held(
  hub: Hub,
  { signer, onGone }: Incoming<'relayPoll'>,
  waitSeconds: number,
  ask: () => Promise<Page>,
): Promise<Page> {
  const { number } = signer.row
  const waiting = hub.polls.wait(number, waitSeconds * MS_PER_SECOND, onGone)
  // Mail may have been committed between the first look and the wait.
  const meanwhile = await ask()
  if (meanwhile.envelopes.length > 0) hub.polls.end(number)
  const end = await waiting
  if (meanwhile.envelopes.length > 0) return meanwhile
  if (end !== 'mail' || !(await isCurrent(hub, signer))) return { envelopes: [], more: false }
  hub.agents.noteSeen(signer)
  return await ask()
}

async function isCurrent(hub: Hub, signer: Agent): Promise<boolean> {
  const present = await hub.agents.findRegistered(signer.row.aid)
  return present !== undefined && present.log.seq === signer.log.seq
}

/** Seconds of `Prefer: wait=N` (RFC 7240), cut to what the hub holds; 0 without it. */
function preferredWait(prefer: string | undefined, secondsMax: number): number {
  const seconds = WAIT.exec(prefer ?? '')?.[1]
  return seconds === undefined ? 0 : Math.min(Number(seconds), secondsMax)
}

type Malformations = 'ackItemMalformed' | 'statusQueryMalformed' | 'sessionInvalid'

function bytesOr(text: string, reason: Malformations): Uint8Array {
  try {
    return fromBase64url(text).slice()
  } catch {
    throw new Refusal(reason)
  }
}

function optionalBytes(text: string | undefined, reason: Malformations): Uint8Array | undefined {
  return text === undefined ? undefined : bytesOr(text, reason)
}
