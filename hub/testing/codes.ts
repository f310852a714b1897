/**
 * For tests: for each route of wire 3 and each code that its row names, a request that is refused with that code; and
 * one for each common code (hub API §7).
 */
import { contentId } from '../../protocol/crypto/hash.ts'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { deactivate, encodeKel } from '../../protocol/identity/kel.ts'
import type { Code } from '../../protocol/wire3/codes.ts'
import { headers } from '../../protocol/wire3/headers.ts'
import type { Wire3RouteName } from '../../protocol/wire3/routes.ts'
import { DAY_MS, HOUR_MS } from '../core/limits.ts'
import { MODE_SETTING } from '../core/membership/admission.ts'
import { type Case, hourOf, under, type World } from './codes-world.ts'
import { callRoute, type Reply, random, registeredAgent, request, TestAgent } from './hub.ts'
import {
  type EnvelopeOptions,
  sealedForStranger,
  sealedUnderCapability,
  sendEnvelope,
  sendHeaders,
} from './mail.ts'
import { ask, redemption } from './payments.ts'
import { peerCases } from './peer-codes.ts'
import { reviewUpload } from './reviews.ts'
import { bodyOf, peerOf, sampleBody, sendRow } from './routes.ts'
import { namedWitness, sendStatement, statementAt } from './witnesses.ts'

const MINUTE_MS = 60_000
const KIB = 1024
const MIB = 1024 * KIB

const storeOf = ({ hub }: World) => hub.running.hub.context.store

async function openly(world: World, ask: () => Promise<Reply>): Promise<Reply> {
  await storeOf(world).putSetting(MODE_SETTING, 'open')
  try {
    return await ask()
  } finally {
    await storeOf(world).putSetting(MODE_SETTING, 'closed')
  }
}

let lastAddress = 0
/** The second request of an address whose bucket holds one. */
const flooded =
  (name: Wire3RouteName): Case =>
  async ({ agent }) => {
    lastAddress += 1
    const given = { sign: 'none' as const, headers: { 'X-Forwarded-For': `203.0.113.${lastAddress}` } }
    await sendRow(name, agent, given)
    return await sendRow(name, agent, given)
  }

const unknown =
  (name: Wire3RouteName): Case =>
  ({ hub }) =>
    callRoute(hub, name, undefined, { params: { aid: new TestAgent(hub).aid } })

const submit = (agent: TestAgent, more: Record<string, unknown> = {}): Promise<Reply> =>
  agent.call('register', { aid: agent.aid, kel: agent.kel, ...more })
const push = (agent: TestAgent): Promise<Reply> =>
  callRoute(agent.target, 'pushKel', { aid: agent.aid, kel: agent.kel })
const publish = (agent: TestAgent, keys: string): Promise<Reply> =>
  agent.call('publishKeys', { keys, prev_seq: 1 }, { params: { aid: agent.aid } })

async function admitted(world: World): Promise<TestAgent> {
  const agent = new TestAgent(world.hub)
  await storeOf(world).admit(agent.aid, true)
  return agent
}

/** A copy of an agent's key state, so that each goes its own way from here. */
const copyOf = (agent: TestAgent): TestAgent =>
  Object.assign(new TestAgent(agent.target), { log: agent.log, seed: agent.seed, nextSeed: agent.nextSeed })

/** An agent whose log the hub has seen go on, and a copy from before. */
async function outdated({ hub }: World): Promise<TestAgent> {
  const agent = await registeredAgent(hub)
  const before = copyOf(agent)
  agent.rotate()
  await submit(agent)
  return before
}

async function forked(world: World): Promise<TestAgent> {
  const twin = await outdated(world)
  await twin.rotate()
  return twin
}

function brokenLog(agent: TestAgent): string {
  const events = agent.log.events.map(event => ({
    ...event,
    signatures: [[0, random(64)] as [number, Uint8Array]],
  }))
  return toBase64url(encodeKel(events))
}

const underCapability =
  (options: EnvelopeOptions): Case =>
  ({ hub, agent }) =>
    sendEnvelope(hub, sealedUnderCapability(agent, agent.capability(), options))

const firstContact = async ({ hub, agent }: World, options: EnvelopeOptions = {}): Promise<Reply> =>
  sendEnvelope(hub, sealedForStranger(agent, options), await (await registeredAgent(hub)).openSession())

const sendCases: Record<string, Case> = {
  access_invalid: ({ hub, agent }) =>
    sendEnvelope(hub, sealedUnderCapability(agent, { ...agent.capability(), holderSeed: random(32) })),
  bad_envelope: ({ agent }) => {
    const envelope = sealedUnderCapability(agent, agent.capability())
    return sendRow('relaySend', agent, { body: random(100), headers: sendHeaders(envelope) })
  },
  bad_exp: world => underCapability({ expMs: hourOf(world) + 14 * DAY_MS + 2 * HOUR_MS })(world),
  expired: world => underCapability({ expMs: hourOf(world) })(world),
  home_unreachable: ({ hub, agent }) =>
    sendEnvelope(hub, sealedUnderCapability(agent, agent.capability()), undefined, {
      [headers.home]: peerOf(agent).aid,
    }),
  kid_stale: underCapability({ kid: random(8) }),
  mailbox_full: world => under(world, { mailboxEnvelopesMax: 0 }, () => underCapability({})(world)),
  rate_limited: async world => under(world, { sessionQuota: 0 }, () => firstContact(world)),
  recipient_unknown: ({ hub }) => {
    const nobody = new TestAgent(hub)
    return sendEnvelope(hub, sealedUnderCapability(nobody, nobody.capability()))
  },
  redelivery_limited: world =>
    under(world, { queuedPerDayMax: 1 }, async () => {
      const agent = await registeredAgent(world.hub)
      const envelope = sealedUnderCapability(agent, agent.capability())
      await sendEnvelope(world.hub, envelope)
      await agent.call('relayAck', { items: [{ id: 1 }] })
      return await sendEnvelope(world.hub, envelope)
    }),
  session_invalid: ({ hub, agent }) => sendEnvelope(hub, sealedForStranger(agent)),
  strangers_busy: world => under(world, { strangerPerMinute: 0 }, () => firstContact(world)),
  too_large_for_stranger: world => firstContact(world, { contentBytes: 400 * KIB }),
}

const registerCases: Record<string, Case> = {
  admission_required: ({ hub }) => new TestAgent(hub).register(),
  pow_required: world => openly(world, () => new TestAgent(world.hub).register()),
  registration_quota: world =>
    openly(world, () => under(world, { registrationsPerDay: 0 }, () => new TestAgent(world.hub).register())),
  invite_removed: ({ agent }) => submit(agent, { invite: 'x' }),
  witness_not_this_hub: async world => submit(await admitted(world)),
  aid_deactivated: async ({ hub }) => {
    const agent = await registeredAgent(hub)
    agent.log = deactivate(agent.log, { seed: agent.nextSeed, ts: hub.clock.now() })
    agent.seed = agent.nextSeed
    await push(agent)
    return await submit(agent)
  },
  kel_invalid: async world => {
    const agent = await admitted(world)
    return await submit(agent, { kel: brokenLog(agent) })
  },
  kel_fork: async world => submit(await forked(world)),
  kel_rollback: async world => submit(await outdated(world)),
  kel_ts_out_of_window: async world => {
    const agent = await admitted(world)
    agent.rotate({ ts: world.hub.clock.now() + 6 * MINUTE_MS })
    return await submit(agent)
  },
  keys_rollback: async ({ hub }) => {
    const agent = await registeredAgent(hub)
    return await submit(agent, { enc_keys: agent.makeKeys({ setSeq: 1 }) })
  },
}

const pushCases: Record<string, Case> = {
  unknown_aid: ({ hub }) => push(new TestAgent(hub)),
  kel_fork: async world => push(await forked(world)),
  kel_rollback: async world => push(await outdated(world)),
  kel_invalid: ({ hub, agent }) =>
    callRoute(hub, 'pushKel', { aid: agent.aid, kel: toBase64url(random(50)) }),
  kel_ts_out_of_window: async ({ hub }) => {
    const agent = await registeredAgent(hub)
    agent.rotate({ ts: hub.clock.now() + DAY_MS })
    return await push(agent)
  },
}

const reviewed = async (world: World, options: Parameters<typeof reviewUpload>[2] = {}): Promise<Reply> =>
  world.agent.call('uploadReview', reviewUpload(world.agent, new TestAgent(world.hub), options))

const reviewCases: Record<string, Case> = {
  probation: world =>
    under(world, { probationMs: HOUR_MS }, async () =>
      reviewed({ ...world, agent: await registeredAgent(world.hub) }),
    ),
  review_exists: async ({ hub, agent }) => {
    const body = reviewUpload(agent, new TestAgent(hub))
    await agent.call('uploadReview', body)
    return await agent.call('uploadReview', body)
  },
  requester_commit_mismatch: world => reviewed(world, { rsalt: random(32) }),
  receipt_not_reviewable: world => reviewed(world, { providerSeed: random(32) }),
  review_window_closed: world => {
    const end = world.hub.clock.now() - 31 * DAY_MS
    return reviewed(world, { body: { start: end - 1, end } })
  },
}

const witnessCases: Record<string, Case> = {
  unknown_aid: ({ hub }) => sendStatement(hub, new TestAgent(hub)),
  aid_deactivated: async ({ hub }) => {
    const witness = await namedWitness(hub)
    witness.log = deactivate(witness.log, { seed: witness.nextSeed, ts: hub.clock.now() })
    return await sendStatement(hub, witness)
  },
  kel_invalid: async ({ hub }) => {
    const witness = await namedWitness(hub)
    const { attestation } = statementAt(hub, witness)
    return await callRoute(hub, 'witness', { attestation, kel: toBase64url(random(50)) })
  },
  kel_fork: async ({ hub }) => {
    const witness = await namedWitness(hub)
    const twin = copyOf(witness)
    witness.rotate()
    await sendStatement(hub, witness)
    twin.rotate()
    return await sendStatement(hub, twin, { observedAt: hub.clock.now() + 1 })
  },
  head_conflict: async ({ hub }) => {
    const witness = await namedWitness(hub)
    const refused = await sendStatement(hub, witness, { headId: contentId(random(8)) })
    await hub.running.order({ command: 'witness', remove: witness.aid })
    return refused
  },
}

/** One who would redeem where a witness has seen another chain. */
const redeemCases: Record<string, Case> = {
  supply_halted: async ({ hub, agent }) => {
    const witness = await namedWitness(hub)
    await sendStatement(hub, witness, { headId: contentId(random(8)) })
    const refused = await ask(hub, 'x402Redeem', redemption(agent, 1, 'x').request)
    await hub.running.order({ command: 'witness', remove: witness.aid })
    return refused
  },
}

/** What a route has beyond its address bucket and, on GET routes, an AID that nobody has. */
const ownCases: Partial<Record<Wire3RouteName, Record<string, Case>>> = {
  relaySession: {
    admission_required: ({ hub }) => sendRow('relaySession', new TestAgent(hub)),
  },
  relaySend: sendCases,
  x402Redeem: redeemCases,
  relayAck: { bad_ack_item: ({ agent }) => agent.call('relayAck', { items: [] }) },
  relayStatus: {
    bad_status_query: ({ hub }) => callRoute(hub, 'relayStatus', { items: [] }),
    home_unreachable: ({ hub, agent }) => {
      const [item] = sampleBody('relayStatus', agent)['items'] as object[]
      return callRoute(hub, 'relayStatus', { items: [{ ...item, via_hub: peerOf(agent).aid }] })
    },
  },
  ...peerCases,
  mailboxRevoke: {
    revocation_list_full: world =>
      under(world, { revocationsMax: 0 }, () => sendRow('mailboxRevoke', world.agent)),
  },
  register: registerCases,
  publishKeys: {
    keys_rollback: async ({ hub }) => {
      const agent = await registeredAgent(hub)
      return await publish(agent, agent.makeKeys({ setSeq: 1 }))
    },
    kel_invalid: async ({ hub, agent }) => publish(agent, (await registeredAgent(hub)).makeKeys()),
  },
  pushKel: pushCases,
  directoryBucket: {
    bucket_too_narrow: ({ hub }) =>
      callRoute(hub, 'directoryBucket', { prefix: toBase64url(new Uint8Array(2)), bits: 10 }),
  },
  uploadReview: reviewCases,
  witnessed: { unknown_aid: unknown('witnessed') },
  witness: witnessCases,
  removedGateway: { gateway_removed: ({ agent }) => sendRow('removedGateway', agent) },
  agentKeys: { unknown_aid: unknown('agentKeys') },
  agentKel: { unknown_aid: unknown('agentKel') },
  liabilityProof: {
    proof_unavailable: ({ agent }) =>
      agent.call('liabilityProof', undefined, { params: { aid: agent.aid }, query: { day: '1' } }),
  },
  agent: { unknown_aid: unknown('agent') },
  a2aCard: { unknown_aid: unknown('a2aCard') },
  cardKeys: { unknown_aid: unknown('cardKeys') },
  reputation: { unknown_aid: unknown('reputation') },
}

/** By code: requests that a route refuses with it. */
export const casesOf = (name: Wire3RouteName): Record<string, Case> => ({
  rate_limited: flooded(name),
  ...ownCases[name],
})

/** What every signed route refuses. */
export const signedCases: Record<
  'unauthorized' | 'key_retired' | 'replayed' | 'ts_stale',
  (name: Wire3RouteName) => Case
> = {
  unauthorized:
    name =>
    async ({ hub }) => {
      const agent = await registeredAgent(hub)
      agent.seed = random(32)
      return await sendRow(name, agent)
    },
  key_retired:
    name =>
    async ({ hub }) => {
      const agent = await registeredAgent(hub)
      const before = copyOf(agent)
      agent.rotate()
      await submit(agent)
      return await sendRow(name, agent, { sign: { by: before } })
    },
  replayed:
    name =>
    async ({ hub }) => {
      const agent = await registeredAgent(hub)
      const again = { sign: { ts: agent.nextTs() }, body: bodyOf(name, agent) }
      await sendRow(name, agent, again)
      // What takes an agent off the registry is tried again once it is back.
      if ((await hub.running.hub.agents.findRegistered(agent.aid)) === undefined) await submit(agent)
      return await sendRow(name, agent, again)
    },
  ts_stale:
    name =>
    async ({ hub }) =>
      sendRow(name, await registeredAgent(hub), { sign: { ts: 1 } }),
}

const brokenStore: Case = async world => {
  const store = storeOf(world)
  const broken = { status: () => Promise.reject(new Error('broken for a test')) }
  Object.assign(store, broken)
  try {
    return await sendRow('relayStatus', world.agent)
  } finally {
    Reflect.deleteProperty(store, 'status')
  }
}

/** By code: a request that any route of its kind refuses with it. */
export const commonCases: Partial<Record<Code, Case>> = {
  bad_request: ({ agent }) => agent.call('updateProfile', { unknown: true }),
  not_found: ({ hub }) => request(`${hub.url}/no/such/path`, 'GET'),
  internal: brokenStore,
  too_large: ({ agent }) => sendRow('relayPoll', agent, { body: new Uint8Array(KIB + 1) }),
  unavailable: underCapability({ contentBytes: 3 * MIB }),
  wire_too_new: ({ agent }) => sendRow('healthz', agent, { headers: { [headers.wire]: '4' } }),
  wire_too_old: ({ agent }) => sendRow('relayPoll', agent, { headers: { [headers.wire]: '2' } }),
  unauthorized: signedCases.unauthorized('relayPoll'),
  key_retired: signedCases.key_retired('relayPoll'),
  replayed: signedCases.replayed('relayPoll'),
  ts_stale: signedCases.ts_stale('relayPoll'),
  identity_headers_not_allowed: ({ agent }) =>
    sendRow('relayStatus', agent, { headers: { [headers.aid]: agent.aid } }),
}
