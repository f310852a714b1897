/** For tests: for each route of peers and each code that its row names, a request that is refused with it. */
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import type { Wire3RouteName } from '../../protocol/wire3/routes.ts'
import { DAY_MS, HOUR_MS } from '../core/limits.ts'
import { Refusal, type RefusalReason } from '../core/refusal.ts'
import { type Case, hourOf, json, under, type World } from './codes-world.ts'
import { type Reply, random, registeredAgent, TestAgent } from './hub.ts'
import {
  type EnvelopeOptions,
  sealedForStranger,
  sealedUnderCapability,
  sendHeaders,
  type TestEnvelope,
} from './mail.ts'
import { peerOf, sendRow } from './routes.ts'

const KIB = 1024

/** What a peer hands on for a sender of its own. */
async function handedOn(
  world: World,
  envelope: TestEnvelope,
  given: { body?: Uint8Array; by?: TestAgent } = {},
): Promise<Reply> {
  const { body = envelope.bytes, by = peerOf(world.agent) } = given
  return await sendRow('fedForward', world.agent, { body, headers: sendHeaders(envelope), sign: { by } })
}

const handedUnderCapability =
  (options: EnvelopeOptions): Case =>
  world =>
    handedOn(world, sealedUnderCapability(world.agent, world.agent.capability(), options))

const handedFirst = (world: World, options: EnvelopeOptions = {}): Promise<Reply> =>
  handedOn(world, sealedForStranger(world.agent, options))

const notPeer =
  (name: Wire3RouteName): Case =>
  ({ agent }) =>
    sendRow(name, agent, { sign: { by: agent } })

const oftenAsked =
  (name: Wire3RouteName): Case =>
  ({ hub }) => {
    // a peer of its own, whose bucket no other case has emptied
    const agent = new TestAgent(hub)
    const rates = hub.running.hub.federation as unknown as { count: () => Promise<void> }
    return refusing(rates, 'count', 'sourceRate', () => sendRow(name, agent))
  }

/** Runs while one step of the hub refuses. */
async function refusing(
  part: object,
  step: string,
  reason: RefusalReason,
  ask: () => Promise<Reply>,
): Promise<Reply> {
  Object.assign(part, { [step]: () => Promise.reject(new Refusal(reason)) })
  try {
    return await ask()
  } finally {
    Reflect.deleteProperty(part, step)
  }
}

const forwardCases: Record<string, Case> = {
  access_invalid: world =>
    handedOn(
      world,
      sealedUnderCapability(world.agent, { ...world.agent.capability(), holderSeed: random(32) }),
    ),
  bad_envelope: world => handedOn(world, sealedForStranger(world.agent), { body: random(100) }),
  bad_exp: world => handedUnderCapability({ expMs: hourOf(world) + 14 * DAY_MS + 2 * HOUR_MS })(world),
  expired: world => handedUnderCapability({ expMs: hourOf(world) })(world),
  kid_stale: handedUnderCapability({ kid: random(8) }),
  mailbox_full: world => under(world, { mailboxEnvelopesMax: 0 }, () => handedUnderCapability({})(world)),
  not_peer: notPeer('fedForward'),
  redelivery_limited: world =>
    under(world, { queuedPerDayMax: 1 }, async () => {
      const agent = await registeredAgent(world.hub)
      const envelope = sealedUnderCapability(agent, agent.capability())
      await handedOn(world, envelope)
      await agent.call('relayAck', { items: [{ id: 1 }] })
      return await handedOn(world, envelope)
    }),
  source_rate: world =>
    refusing(world.hub.running.hub.federation, 'count', 'sourceRate', () => handedFirst(world)),
  strangers_busy: world => under(world, { strangerPerMinute: 0 }, () => handedFirst(world)),
  too_large_for_stranger: world => handedFirst(world, { contentBytes: 400 * KIB }),
  unknown_destination: world => handedOn(world, sealedForStranger(new TestAgent(world.hub))),
}

export const peerCases: Partial<Record<Wire3RouteName, Record<string, Case>>> = {
  fedForward: forwardCases,
  fedBucket: {
    bucket_too_narrow: ({ agent }) =>
      sendRow('fedBucket', agent, { body: json({ prefix: toBase64url(new Uint8Array(2)), bits: 10 }) }),
    not_peer: notPeer('fedBucket'),
    source_rate: oftenAsked('fedBucket'),
  },
  fedSettle: { not_peer: notPeer('fedSettle'), source_rate: oftenAsked('fedSettle') },
  fedClear: { not_peer: notPeer('fedClear'), source_rate: oftenAsked('fedClear') },
  fedStatus: {
    bad_status_query: ({ agent }) => sendRow('fedStatus', agent, { body: json({ items: [] }) }),
    not_peer: notPeer('fedStatus'),
    source_rate: oftenAsked('fedStatus'),
  },
  fedCards: { not_peer: notPeer('fedCards'), source_rate: oftenAsked('fedCards') },
  fedReviews: { not_peer: notPeer('fedReviews'), source_rate: oftenAsked('fedReviews') },
}
