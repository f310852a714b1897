/** Resident memory of the built hub: idle, under the send load, and around one envelope of 96 MiB in and out. */
import { createHash, randomFillSync } from 'node:crypto'
import { request } from 'node:http'
import { random, type TestAgent } from '../hub/testing/hub.ts'
import { sendHeaders } from '../hub/testing/mail.ts'
import { encodeAccess } from '../protocol/mail/access.ts'
import { proveUse } from '../protocol/mail/capability.ts'
import { encodeEnvelopeHead, envelopeDigest, latestExpMs } from '../protocol/mail/envelope.ts'
import { runAlone } from './lib/help.ts'
import {
  atMost,
  type HubProcess,
  load,
  prepareSends,
  type Row,
  registerAgents,
  startHubProcess,
} from './lib/hub-load.ts'

const MIB = 1024 * 1024
const LARGE_CONTENT_BYTES = 96 * MIB - 4096
const SETTLE_MS = 3000
const SAMPLE_MS = 20
const ENC_BYTES = 1120

const settle = () => new Promise(resolve => setTimeout(resolve, SETTLE_MS))

/** The highest resident memory while something runs. */
async function highest(hub: HubProcess, action: () => Promise<unknown>): Promise<number> {
  let most = hub.rssMib()
  const timer = setInterval(() => {
    most = Math.max(most, hub.rssMib())
  }, SAMPLE_MS)
  await action()
  clearInterval(timer)
  return most
}

async function sendLarge(hub: HubProcess, recipient: TestAgent): Promise<void> {
  const content = randomFillSync(Buffer.allocUnsafe(LARGE_CONTENT_BYTES))
  const core = {
    to: recipient.aid,
    kid: recipient.kid,
    expMs: latestExpMs(Date.now()),
    enc: random(ENC_BYTES),
    contentDigest: new Uint8Array(createHash('sha256').update(content).digest()),
  }
  const digest = envelopeDigest(core)
  const { capability, holderSeed } = recipient.capability()
  const accessBytes = encodeAccess({
    kind: 1,
    capabilityBody: capability.bodyBytes,
    capabilitySignature: capability.signature,
    proof: proveUse(holderSeed, hub.aid, digest),
  })
  const head = encodeEnvelopeHead({ ...core, access: accessBytes }, content.length)
  const headers = {
    'X-Svc-Wire': '3',
    'Content-Length': String(head.length + content.length),
    ...sendHeaders({ bytes: head, accessBytes, core, digest }),
  }
  const status = await new Promise<number>((resolve, reject) => {
    const sending = request(`${hub.url}/relay/send`, { method: 'POST', headers }, response => {
      response.resume()
      response.on('end', () => resolve(response.statusCode ?? 0))
    })
    sending.on('error', reject)
    sending.write(head)
    sending.end(content)
  })
  if (status !== 200) throw new Error(`the large envelope was refused with ${status}`)
}

/** Polls and throws the bytes away as they come. */
async function pollLarge(hub: HubProcess, recipient: TestAgent): Promise<void> {
  const body = Buffer.from('{}')
  const headers = { 'X-Svc-Wire': '3', ...recipient.sign('poll', 'POST', '/relay/poll', body) }
  const response = await fetch(`${hub.url}/relay/poll`, { method: 'POST', headers, body })
  let bytes = 0
  for await (const chunk of response.body ?? []) bytes += chunk.length
  if (bytes < LARGE_CONTENT_BYTES) throw new Error(`the poll brought ${bytes} bytes`)
}

export async function run(): Promise<Row[]> {
  const hub = await startHubProcess({ built: true })
  try {
    await settle()
    const idle = hub.rssMib()
    const [recipient, ...recipients] = await registerAgents(hub, 9)
    if (recipient === undefined) throw new Error('no agent')
    // Warm up, so that the growth is the envelope's and not the code's.
    await load(hub.url, prepareSends(hub, recipients, 500), 8)
    await settle()
    const before = hub.rssMib()
    const large = await highest(hub, async () => {
      await sendLarge(hub, recipient)
      await pollLarge(hub, recipient)
    })
    const sends = prepareSends(hub, recipients, 8000)
    const underLoad = await highest(hub, () => load(hub.url, sends, 64))
    return [
      atMost('hub idle', idle, 'MiB', 80),
      atMost('96 MiB envelope in and out, growth', large - before, 'MiB', 32),
      atMost('hub under the send load', underLoad, 'MiB', 130),
    ]
  } finally {
    await hub.stop()
  }
}

if (import.meta.main) await runAlone(import.meta.filename, run)
