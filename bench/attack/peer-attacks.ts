/** Attacks on a hub by one that its operator has listed: floods under signatures that hold, from as many addresses as it likes. */
import { openDataDirectory } from '../../hub/data-dir.ts'
import { orderRunningHub } from '../../hub/operator/socket.ts'
import { random, TestAgent } from '../../hub/testing/hub.ts'
import {
  sealedForStranger,
  sealedUnderCapability,
  sendHeaders,
  type TestEnvelope,
} from '../../hub/testing/mail.ts'
import { payment } from '../../hub/testing/payments.ts'
import { callBody, callPath } from '../../protocol/contract/client.ts'
import type { RouteRow } from '../../protocol/contract/route.ts'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { systemTimers } from '../../protocol/timers.ts'
import { fedRoutes } from '../../protocol/wire3/routes/fed.ts'
import { type HubProcess, rawRequest, registerAgents } from '../lib/hub-load.ts'
import { addAgents } from '../lib/hub-store-items.ts'
import { type Attack, base, base64 } from './orders.ts'

const KIB = 1024
const MIB = 1024 * KIB
const AGENTS = 4000
const REVIEWS = 400
const ASKED = 8000
const STATUS_ITEMS = 64
const ADDRESSES = 250

type RouteName = keyof typeof fedRoutes

/** A key that the operator lists as a peer. */
async function listed(hub: HubProcess): Promise<TestAgent> {
  const peer = new TestAgent(hub)
  const add = { url: 'http://127.0.0.1:9', kel: peer.kel }
  await orderRunningHub(hub.directory, { command: 'peers', add })
  return peer
}

/** One after another from other addresses: what a proxy on this machine would name. */
let sent = 0
const addressed = (): Record<string, string> => ({ 'X-Forwarded-For': `203.0.113.${++sent % ADDRESSES}` })

function asked(
  peer: TestAgent,
  name: RouteName,
  given: { body?: unknown; query?: Record<string, string> } = {},
): string {
  const row: RouteRow = fedRoutes[name]
  const path = callPath(row, given)
  const bytes = row.method === 'GET' ? new Uint8Array(0) : callBody(row, given.body ?? {})
  const signed = peer.sign(row.action ?? '', row.method, path, bytes)
  const type = row.method === 'GET' ? {} : { 'Content-Type': 'application/json' }
  return base64(rawRequest(peer.target, row.method, path, { ...type, ...addressed(), ...signed }, bytes))
}

/** Signed by the peer, or over other bytes. */
function forwarded(peer: TestAgent, envelope: TestEnvelope, over = envelope.bytes): string {
  const { method, path, action } = fedRoutes.fedForward
  const signed = peer.sign(action ?? '', method, path, over)
  return base64(
    rawRequest(
      peer.target,
      method,
      path,
      { ...addressed(), ...sendHeaders(envelope), ...signed },
      envelope.bytes,
    ),
  )
}

const id = (): string => toBase64url(random(16))
const times = (count: number, each: (n: number) => string): string[] =>
  Array.from({ length: count }, (_, n) => each(n))

async function fill(directory: string): Promise<void> {
  const { store, close } = await openDataDirectory({
    directory,
    now: Date.now,
    timers: systemTimers,
    random,
    onBroken: () => undefined,
  })
  await addAgents(store, AGENTS)
  const { rows } = await store.listAgents({ afterAid: '', limit: 1, bytesMax: MIB, rowsMax: 9 })
  const provider = rows[0]?.aid ?? ''
  for (let n = 0; n < REVIEWS; n++)
    await store.addReview({
      provider,
      interaction: random(16),
      reviewer: random(16),
      rating: 5,
      receipt: random(4 * KIB),
      review: random(KIB),
      attestation: random(300),
      kel: random(512),
      home: undefined,
    })
  await close()
}

const flood = (
  name: string,
  what: string,
  requests: (peer: TestAgent, hub: HubProcess) => string[] | Promise<string[]>,
): Attack => ({
  name: `peer-${name}`,
  what,
  fill,
  orders: async (hub, seconds) => ({
    ...base(hub, seconds),
    sockets: 4,
    requests: await requests(await listed(hub), hub),
  }),
})

/** A mailbox and a stranger's credential for it. */
async function mailbox(hub: HubProcess): Promise<TestAgent> {
  const [agent] = (await registerAgents(hub, 1)) as [TestAgent]
  return agent
}

export const peerAttacks: readonly Attack[] = [
  flood('cards', 'a listed peer asks for the first page of agents again and again', peer =>
    times(ASKED, () => asked(peer, 'fedCards', { query: { cursor: '0' } })),
  ),
  flood('reviews', 'the same with the first page of reviews', peer =>
    times(ASKED, () => asked(peer, 'fedReviews', { query: { cursor: '0' } })),
  ),
  flood('buckets', 'the same with a whole page of the directory', peer =>
    times(ASKED, () => asked(peer, 'fedBucket', { body: { prefix: '', bits: 0 } })),
  ),
  flood('status', 'a listed peer asks after 64 envelopes that nobody knows, again and again', peer =>
    times(ASKED, () =>
      asked(peer, 'fedStatus', {
        body: { items: Array.from({ length: STATUS_ITEMS }, () => ({ rid: id(), handle: id() })) },
      }),
    ),
  ),
  flood('settle', 'a listed peer asks for payments out of accounts that hold nothing', (peer, hub) => {
    const payer = new TestAgent(hub)
    const one = payment(payer, new TestAgent(hub), 1).request
    return times(ASKED, () => asked(peer, 'fedSettle', { body: one }))
  }),
  flood('unknown', 'a listed peer hands on mail for agents that are not here', (peer, hub) =>
    times(ASKED / 4, () => forwarded(peer, sealedForStranger(new TestAgent(hub)))),
  ),
  flood('strangers', 'a listed peer hands first contacts on to one agent', async (peer, hub) => {
    const agent = await mailbox(hub)
    return times(ASKED / 4, () => forwarded(peer, sealedForStranger(agent)))
  }),
  flood('forged', 'a listed peer hands mail of 1 MiB on and signs something else', async (peer, hub) => {
    const agent = await mailbox(hub)
    const envelope = sealedUnderCapability(agent, agent.capability(), { contentBytes: MIB })
    return times(64, () => forwarded(peer, envelope, random(8)))
  }),
]
