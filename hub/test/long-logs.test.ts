/** A long key event log costs the hub no more than a short one, whoever shows it and whatever is wrong with it. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { encodeKel, type KeyEvent } from '../../protocol/identity/kel.ts'
import { callRoute, random, registeredAgent, startTestHub, TestAgent, type TestHub } from '../testing/hub.ts'
import { expectRefusal } from '../testing/refusals.ts'

const EVENTS = 300

let hub: TestHub
let agent: TestAgent
/** The keys of the agent as they stood before the last event of its log. */
let before: Pick<TestAgent, 'log' | 'seed' | 'nextSeed'>
beforeAll(async () => {
  hub = await startTestHub()
  agent = await registeredAgent(hub, made => {
    Object.assign(made, new TestAgent(hub, { bornMs: hub.clock.now() - 4 * EVENTS }))
    for (let i = 1; i < EVENTS; i++) {
      before = { log: made.log, seed: made.seed, nextSeed: made.nextSeed }
      made.rotate({ ts: i === EVENTS - 1 ? hub.clock.now() : made.log.ts + 1 })
    }
  })
})
afterAll(() => hub.close())

/** Signature checks that the other thread did meanwhile. */
async function checksOf(work: () => Promise<void>): Promise<number> {
  const { verifier } = hub.running.hub.context
  const real = verifier.verify.bind(verifier)
  let checks = 0
  verifier.verify = (...given) => {
    checks += 1
    return real(...given)
  }
  await work()
  verifier.verify = real
  return checks
}

/** The log with the signatures of these events made worthless; its digests stay what they are. */
function unsigned(log: TestAgent['log'], which: (seq: number) => boolean): Uint8Array {
  const events = log.events.map(event =>
    which(event.body.seq) ? { ...event, signatures: [[0, random(64)]] as KeyEvent['signatures'] } : event,
  )
  return encodeKel(events)
}

test('a log that was verified when it was written is listed and used without a check', async () => {
  const known = await registeredAgent(hub)
  const { store } = hub.running.hub.context
  const row = await store.findAgent(known.aid)
  if (row === undefined) throw new Error('no row')
  const put = { entry: undefined, terms: [] }
  await store.putAgent({ row: { ...row, kel: unsigned(known.log, () => true) }, ...put })
  await hub.restart()
  const listed = await callRoute(hub, 'agents', undefined)
  expect(JSON.stringify(listed.json['agents'])).toContain(known.aid)
  known.target = agent.target = hub
  expect((await known.poll()).messages).toEqual([])
})

test('a fork is judged by its first differing event alone, whatever stands before and after it', async () => {
  const twin = Object.assign(new TestAgent(hub), before)
  twin.rotate({ ts: agent.log.ts + 1 })
  const place = twin.log.seq
  twin.rotate()
  const push = async (kel: Uint8Array) =>
    await callRoute(hub, 'pushKel', { aid: agent.aid, kel: toBase64url(kel) })
  const checks = await checksOf(async () => {
    expectRefusal(await push(unsigned(twin.log, seq => seq !== place)), 'kel_fork')
    expectRefusal(await push(unsigned(twin.log, seq => seq === place)), 'kel_invalid')
  })
  expect(checks).toBe(0)
})

test('what a log shares with the held one is not verified again: an extension costs what is new', async () => {
  agent.rotate()
  const checks = await checksOf(async () => {
    const reply = await callRoute(hub, 'pushKel', { aid: agent.aid, kel: agent.kel })
    expect(reply.json['seq']).toBe(agent.log.seq)
  })
  expect(checks).toBe(1)
})
