/** For tests and measurements: envelopes with meaningless content, under real credentials, and sending them. */

import { sha256 } from '../../protocol/crypto/engine.node.ts'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { encodeAccess } from '../../protocol/mail/access.ts'
import { proveUse } from '../../protocol/mail/capability.ts'
import {
  type EnvelopeCore,
  encodeEnvelopeHead,
  envelopeDigest,
  latestExpMs,
} from '../../protocol/mail/envelope.ts'
import { sessionMac } from '../../protocol/mail/session.ts'
import { ENVELOPE_TYPE, headers } from '../../protocol/wire3/headers.ts'
import { wire3Routes } from '../../protocol/wire3/routes.ts'
import {
  type Reply,
  random,
  request,
  type Target,
  type TestAgent,
  type TestCapability,
  type TestHub,
  type TestSession,
} from './hub.ts'

const ENC_BYTES = 1120
const KIB = 1024

export type TestEnvelope = {
  bytes: Uint8Array
  accessBytes: Uint8Array
  core: EnvelopeCore
  digest: Uint8Array
}
export type EnvelopeOptions = { contentBytes?: number; expMs?: number; kid?: Uint8Array; to?: string }
/** The envelope of a recipient under an access record that `access` makes from its digest. */
export function makeEnvelope(
  recipient: TestAgent,
  access: (digest: Uint8Array) => Uint8Array,
  options: EnvelopeOptions = {},
): TestEnvelope {
  const content = random(options.contentBytes ?? 4 * KIB)
  const core: EnvelopeCore = {
    to: options.to ?? recipient.aid,
    kid: options.kid ?? recipient.kid,
    expMs: options.expMs ?? latestExpMs(recipient.target.clock.now()),
    enc: random(ENC_BYTES),
    contentDigest: sha256(content),
  }
  const digest = envelopeDigest(core)
  const accessBytes = access(digest)
  const head = encodeEnvelopeHead({ ...core, access: accessBytes }, content.length)
  return { bytes: new Uint8Array(Buffer.concat([head, content])), accessBytes, core, digest }
}

/** An envelope under a capability of its recipient. */
export function sealedUnderCapability(
  recipient: TestAgent,
  { capability, holderSeed }: TestCapability,
  options: EnvelopeOptions & { homeHub?: string } = {},
): TestEnvelope {
  const access = (digest: Uint8Array): Uint8Array =>
    encodeAccess({
      kind: 1,
      capabilityBody: capability.bodyBytes,
      capabilitySignature: capability.signature,
      proof: proveUse(holderSeed, options.homeHub ?? recipient.target.aid, digest),
    })
  return makeEnvelope(recipient, access, options)
}

/** An envelope for a first contact. */
export function sealedForStranger(recipient: TestAgent, options: EnvelopeOptions = {}): TestEnvelope {
  return makeEnvelope(recipient, () => encodeAccess({ kind: 0 }), options)
}

/** Headers of a send, with the session's MAC where there is a session. */
export function sendHeaders(
  envelope: TestEnvelope,
  use?: { session: TestSession; tsMs: number },
): Record<string, string> {
  const plain = { 'Content-Type': ENVELOPE_TYPE, [headers.access]: toBase64url(envelope.accessBytes) }
  if (use === undefined) return plain
  const { session, tsMs } = use
  const { digest: envelopeDigest, accessBytes: access } = envelope
  return {
    ...plain,
    [headers.ts]: String(tsMs),
    [headers.session]: toBase64url(session.sid),
    [headers.mac]: toBase64url(
      sessionMac(session.macKey, { sid: session.sid, tsMs, envelopeDigest, access }),
    ),
  }
}

/** Sends an envelope, under a session where one is given. */
export async function sendEnvelope(
  target: Target,
  envelope: TestEnvelope,
  session?: TestSession,
  more: Record<string, string> = {},
): Promise<Reply> {
  const use = session && { session, tsMs: target.clock.now() }
  return await request(`${target.url}${wire3Routes.relaySend.path}`, 'POST', {
    headers: { ...sendHeaders(envelope, use), ...more },
    body: envelope.bytes,
  })
}

/** Gives one mailbox less room than any operator can. */
export async function giveBytes({ running }: TestHub, aid: string, bytesMax: number): Promise<void> {
  await running.hub.context.store.setQuota(aid, { bytesMax })
  running.hub.agents.forgetAccount(aid)
}
