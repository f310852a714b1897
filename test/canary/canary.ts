/** Really sealed mail through a real hub, and what its folder and its answers then hold of those who sent it. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import {
  random,
  registeredAgent,
  request,
  type TestAgent,
  type TestHub,
  type TestSession,
} from '../../hub/testing/hub.ts'
import { sha256 } from '../../protocol/crypto/engine.node.ts'
import { contentId } from '../../protocol/crypto/hash.ts'
import { xwingPublicKey } from '../../protocol/crypto/xwing.ts'
import { concat, toBase64url, utf8 } from '../../protocol/encoding/bytes.ts'
import { aidBytes } from '../../protocol/identity/aid.ts'
import { incept, type VerifiedKel } from '../../protocol/identity/kel.ts'
import { latestExpMs } from '../../protocol/mail/envelope.ts'
import { encodePayload, kinds } from '../../protocol/mail/payload.ts'
import { type Credential, sealEnvelope } from '../../protocol/mail/seal.ts'
import { sessionMac } from '../../protocol/mail/session.ts'
import { documentBytes } from '../../protocol/proof/documents.ts'
import { ENVELOPE_TYPE, headers } from '../../protocol/wire3/headers.ts'

const RECIPIENTS = 4
const REGISTERED = 7
const COLLECT_EVERY = 250
const STRANGER_EVERY = 20
const LARGE_EVERY = 97
const LARGE_BYTES = 100_000
const SESSION_PAUSE_MS = 60_000

/** Somebody who was never registered at the hub. */
export type Outsider = { log: VerifiedKel; seed: Uint8Array; name: string; task: string; file: string }

export function outsider(_i: number): Outsider {
  const seed = random(32)
  const log = incept({ seed, nextSeed: random(32), ts: 1_780_000_000_000 })
  const mark = toBase64url(random(12))
  return { log, seed, name: `name-${mark}`, task: `task-${mark} please read`, file: `file-${mark}.txt` }
}

export type Mail = {
  recipients: TestAgent[]
  registered: TestAgent[]
  outsiders: Outsider[]
  statuses: Map<string, number>
}

/**
 * `sends` messages of both kinds to agents at `home`, by way of `hub`: under capabilities from outsiders, under sessions
 * from those who are registered at `hub`.
 */
export async function sendMail(hub: TestHub, sends: number, home = hub): Promise<Mail> {
  const recipients = await Promise.all(Array.from({ length: RECIPIENTS }, () => registeredAgent(home)))
  const registered = await Promise.all(Array.from({ length: REGISTERED }, () => registeredAgent(hub)))
  const outsiders = Array.from({ length: 5 }, (_, i) => outsider(i))
  const statuses = new Map<string, number>()
  for (let i = 0; i < sends; i++) {
    const to = recipients[i % RECIPIENTS] as TestAgent
    const from = outsiders[i % outsiders.length] as Outsider
    const stranger = i % STRANGER_EVERY === 0
    if (stranger) for (const { clock } of new Set([hub, home])) clock.advance(SESSION_PAUSE_MS)
    const session = stranger
      ? await (registered[(i / STRANGER_EVERY) % REGISTERED] as TestAgent).openSession()
      : undefined
    const large = i % LARGE_EVERY === 0
    const status = await sendOne({ hub, home }, from, to, session, large)
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    if (i % COLLECT_EVERY === COLLECT_EVERY - 1) await Promise.all(recipients.map(collect))
  }
  return { recipients, registered, outsiders, statuses }
}

async function sendOne(
  { hub, home }: { hub: TestHub; home: TestHub },
  from: Outsider,
  to: TestAgent,
  session: TestSession | undefined,
  large: boolean,
) {
  const credential: Credential =
    session === undefined ? { kind: 1, granted: to.capability(), homeHub: home.aid } : { kind: 0 }
  const now = hub.clock.now()
  const file = concat(utf8(`content of ${from.file} `), random(large ? LARGE_BYTES : 64))
  const attachments = [{ name: from.file, mediaType: 'text/plain', size: file.length, cid: contentId(file) }]
  const document = documentBytes({ task: `${from.task} by ${from.name}`, attachments: [] })
  const sealed = await sealEnvelope({
    body: {
      v: 1,
      from: from.log.aid,
      kelSeq: 0,
      to: to.aid,
      messageId: random(16),
      tsMs: now,
      kind: kinds.delegate,
      interactionId: random(16),
      number: 1,
      storedUpTo: 0,
      payload: encodePayload(kinds.delegate, { document, requesterCommitment: random(32) }),
      kelHeadDigest: from.log.headDigest,
      handleSecret: random(32),
      attachments,
      kel: [...from.log.events],
    },
    identitySeed: from.seed,
    recipientKey: { kid: to.kid, publicKey: xwingPublicKey(to.encryptionSeed) },
    expMs: latestExpMs(now),
    credential,
    attachments: [() => [file]],
    random,
  })
  const parts: Uint8Array[] = []
  for await (const part of sealed.stream()) parts.push(new Uint8Array(part))
  const { access } = sealed.head
  const reply = await request(`${hub.url}/relay/send`, 'POST', {
    headers: {
      'Content-Type': ENVELOPE_TYPE,
      [headers.access]: toBase64url(access),
      ...(home === hub ? {} : { [headers.home]: home.aid }),
      ...sessionHeaders(session, now, sealed.digest, access),
    },
    body: concat(...parts),
  })
  return String(reply.json['status'] ?? reply.json['reason'])
}

function sessionHeaders(
  session: TestSession | undefined,
  tsMs: number,
  envelopeDigest: Uint8Array,
  access: Uint8Array,
): Record<string, string> {
  if (session === undefined) return {}
  return {
    [headers.ts]: String(tsMs),
    [headers.session]: toBase64url(session.sid),
    [headers.mac]: toBase64url(
      sessionMac(session.macKey, { sid: session.sid, tsMs, envelopeDigest, access }),
    ),
  }
}

async function collect(agent: TestAgent): Promise<void> {
  const { messages } = await agent.poll({ limit: 100 })
  if (messages.length > 0) await agent.call('relayAck', { items: messages.map(({ id }) => ({ id })) })
}

/** Every form in which the AID of an agent could stand. */
export function tracesOfAids(aids: readonly string[]): Map<string, Buffer> {
  const secrets = aids.flatMap((aid): [string, Uint8Array][] => [
    [`AID ${aid}`, aidBytes(aid)],
    [`hash of the AID ${aid}`, sha256(aidBytes(aid))],
    [`hash of the text ${aid}`, sha256(utf8(aid))],
  ])
  return new Map(secrets.flatMap(([what, bytes]) => formsOf(what, bytes)))
}

function formsOf(what: string, bytes: Uint8Array): [string, Buffer][] {
  const raw = Buffer.from(bytes)
  const forms: [string, Buffer | string][] = [
    ['bytes', raw],
    ['hex', raw.toString('hex')],
    ['HEX', raw.toString('hex').toUpperCase()],
    ['base64', raw.toString('base64').replace(/=+$/, '')],
    ['base64url', raw.toString('base64url')],
  ]
  return forms.map(([form, value]) => [`${what} as ${form}`, Buffer.from(value)])
}

/** Everything that would tell of an outsider, in every form in which it could stand. */
export function traces(outsiders: readonly Outsider[]): Map<string, Buffer> {
  const found = new Map<string, Buffer>()
  for (const [i, { log, name, task, file }] of outsiders.entries()) {
    const aid = aidBytes(log.aid)
    const key = log.publicKey
    const secrets: [string, Uint8Array][] = [
      ['AID', aid],
      ['hash of the AID', sha256(aid)],
      ['hash of the AID text', sha256(utf8(log.aid))],
      ['identity key', key],
      ['log head', log.headDigest],
      ['name', utf8(name)],
      ['task', utf8(task)],
      ['file name', utf8(file)],
    ]
    for (const [what, bytes] of secrets)
      for (const [name, form] of formsOf(`${what} of outsider ${i}`, bytes)) found.set(name, form)
  }
  return found
}

/** The traces that stand in a folder's files, the database and its log among them. */
export function searchFolder(folder: string, wanted: ReadonlyMap<string, Buffer>): string[] {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(name =>
    statSync(join(folder, name)).isFile(),
  )
  return files.flatMap(name => {
    const bytes = readFileSync(join(folder, name))
    return [...wanted].filter(([, form]) => bytes.includes(form)).map(([what]) => `${what} in ${name}`)
  })
}
