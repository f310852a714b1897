/** Checkpoints offered to witnesses of transparency logs (objects: supply, C2SP tlog-witness), and what comes of it. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { parseCid } from '../../protocol/crypto/hash.ts'
import { fromBase64, fromBase64url } from '../../protocol/encoding/bytes.ts'
import { supplyOrigin } from '../../protocol/proof/checkpoint.ts'
import { parseVerifierKey } from '../../protocol/proof/cosignature.ts'
import { consistencyHolds, inclusionHolds } from '../../protocol/proof/merkle.ts'
import { systemTimers } from '../../protocol/timers.ts'
import { callRoute, registeredAgent, startTestHub, type TestAgent, type TestHub } from '../testing/hub.ts'
import { type LogWitness, startLogWitness } from '../testing/log-witness.ts'
import { grant } from '../testing/payments.ts'
import { CheckpointOffers } from '../witness/offer.ts'

let hub: TestHub
let alice: TestAgent
let witness: LogWitness
const configured: { url: string; cosigner: ReturnType<typeof parseVerifierKey> }[] = []
beforeAll(async () => {
  hub = await startTestHub({ limits: { trialCredits: 0 }, checkpointWitnesses: configured })
  alice = await registeredAgent(hub)
  witness = await startLogWitness(supplyOrigin(hub.aid), hub.running.hub.context.identity.kel.publicKey)
  configured.push({ url: witness.url, cosigner: parseVerifierKey(witness.verifierKey) })
  await hub.restart()
})
beforeEach(() => {
  witness.instead = undefined
  hub.alerts.length = 0
})
afterAll(async () => {
  await hub.close()
  await witness.close()
})

/** The newest note; what others are shown unless they ask for that is the newest that a witness cosigned. */
const note = async (newest = true): Promise<string> =>
  (await callRoute(hub, 'checkpoint', undefined, { query: newest ? { newest: 'true' } : {} })).json[
    'text'
  ] as string
const shown = async (query: Record<string, string>): Promise<string> =>
  (await callRoute(hub, 'checkpoint', undefined, { query })).json['text'] as string
const sizeIn = (text: string): number => Number(text.split('\n')[1])
const offer = (): Promise<void> => hub.running.offers.turn()
const goOn = async (records: number): Promise<void> => {
  for (let made = 0; made < records; made++) await grant(hub, alice.aid, 1)
}
const complaints = (): unknown[] =>
  hub.alerts
    .filter(({ event }) => event === 'a checkpoint got no cosignature')
    .map(({ facts }) => facts['why'])

test('a checkpoint is offered at the start, and shown with its cosignature', async () => {
  await offer()
  expect(complaints()).toEqual([])
  expect(witness.signed(await note())).toBe(true)
  expect((await note()).split('\n').filter(line => line.startsWith('— '))).toHaveLength(2)
})

test('a witness follows the tree from any size to any other', async () => {
  for (const records of [1, 1, 2, 3, 5, 8, 13]) {
    await goOn(records)
    expect(witness.signed(await note())).toBe(false)
    await offer()
    expect([complaints(), witness.signed(await note())]).toEqual([[], true])
    expect(witness.latest?.size).toBe(hub.running.hub.supply.head.seq + 1)
  }
})

test('a cosignature outlives a restart, after which the witness is asked for the size that it knows', async () => {
  await offer()
  await hub.restart()
  expect(witness.signed(await note())).toBe(true)
  await goOn(3)
  witness.asked.length = 0
  await offer()
  expect(complaints()).toEqual([])
  expect(witness.signed(await note())).toBe(true)
  // the size is remembered: the first question is already the right one
  const olds = witness.asked.map(body => body.split('\n')[0])
  expect(olds).toEqual([`old ${hub.running.hub.supply.head.seq + 1 - 3}`])
})

test('others are shown the newest checkpoint that is cosigned, and beside it the newest', async () => {
  await offer()
  const size = hub.running.hub.checkpoints.size
  const before = await note(false)
  await goOn(3)
  expect([sizeIn(await note(false)), sizeIn(await note())]).toEqual([size, size + 3])
  expect(await note(false)).toBe(before)
  expect([witness.signed(before), witness.signed(await note())]).toEqual([true, false])
})

test('a change is offered within the minute, and nothing is offered without one', async () => {
  const again = await startLogWitness(supplyOrigin(hub.aid), hub.running.hub.context.identity.kel.publicKey)
  const offers = new CheckpointOffers(
    hub.running.hub.checkpoints,
    [{ url: again.url, cosigner: parseVerifierKey(again.verifierKey) }],
    { timers: systemTimers, alert: () => undefined },
  )
  await offers.turn()
  const asked = again.asked.length
  await offers.tick()
  expect(again.asked.length).toBe(asked)
  await goOn(1)
  await offers.tick()
  expect(again.latest?.size).toBe(hub.running.hub.checkpoints.size)
  await offers.stop()
  await again.close()
})

test('a witness that signs seldom keeps its newest cosignature, and is shown with it where it is asked for', async () => {
  const { checkpoints, context } = hub.running.hub
  const origin = supplyOrigin(hub.aid)
  const slow = await startLogWitness(origin, context.identity.kel.publicKey, 'slow.example')
  const cosigner = parseVerifierKey(slow.verifierKey)
  const offers = new CheckpointOffers(checkpoints, [{ url: slow.url, cosigner }], context)
  await offers.turn()
  const { size } = checkpoints
  await offers.stop()
  for (let n = 0; n < 2; n++) {
    await goOn(2)
    await offer()
  }
  const ofSlow = await shown({ cosigner: slow.name })
  expect([sizeIn(ofSlow), slow.signed(ofSlow), witness.signed(ofSlow)]).toEqual([size, true, false])
  for (const query of [{}, { cosigner: witness.name }, { cosigner: 'nobody.example' }]) {
    const newest = await shown(query)
    expect([sizeIn(newest), slow.signed(newest), witness.signed(newest)]).toEqual([size + 4, false, true])
  }
  await slow.close()
})

test('what an earlier release kept of cosignatures is shown on', async () => {
  await offer()
  const { checkpoints, context } = hub.running.hub
  const line = (await note(false)).split('\n').at(-2) ?? ''
  const kept = { size: checkpoints.size, lines: { [witness.name]: `${line}\n` } }
  await context.store.putSetting('cosignatures', JSON.stringify(kept))
  await goOn(1)
  expect([sizeIn(await note(false)), witness.signed(await note(false))]).toEqual([kept.size, true])
  await offer()
  expect(sizeIn(await note(false))).toBe(kept.size + 1)
})

describe('a proof of the tree', () => {
  const ask = async (name: 'checkpointConsistency' | 'checkpointInclusion', query: Record<string, string>) =>
    (await callRoute(hub, name, undefined, { query })).json
  const nodes = (json: Record<string, unknown>) =>
    (json['proof'] as string[]).map(node => fromBase64url(node))
  const treeOf = (text: string) => ({
    size: sizeIn(text),
    root: fromBase64(text.split('\n')[2] as string),
  })

  test('shows that the cosigned tree is where the newest began, and that a record stands in both', async () => {
    await goOn(300)
    const [old, tree] = [treeOf(await note(false)), treeOf(await note())]
    expect(tree.size).toBeGreaterThan(old.size + 256)
    const told = await ask('checkpointConsistency', { old: `${old.size}`, size: `${tree.size}` })
    expect(consistencyHolds(old, tree, nodes(told))).toBe(true)
    for (const seq of [0, old.size - 1, 255, 256, tree.size - 1]) {
      const shown = await ask('checkpointInclusion', { seq: `${seq}`, size: `${tree.size}` })
      const leaf = { leaf: parseCid(shown['id'] as string), index: seq }
      expect(inclusionHolds(leaf, tree, nodes(shown))).toBe(true)
    }
  })

  test.each([
    ['checkpointConsistency', { old: '2', size: '1' }],
    ['checkpointConsistency', { old: '1', size: '9999999' }],
    ['checkpointConsistency', { old: '0', size: '0' }],
    ['checkpointInclusion', { seq: '5', size: '5' }],
    ['checkpointInclusion', { seq: '0', size: '9999999' }],
  ] as const)('of what is not there is refused: %s %j', async (name, query) => {
    expect((await ask(name, query))['reason']).toBe('bad_request')
  })
})

describe('the operator is told of a witness', () => {
  test('that has cosigned more than there is', async () => {
    witness.instead = { status: 409, text: '100000\n', type: 'text/x.tlog.size' }
    await offer()
    expect(complaints()[0]).toMatch(/it has cosigned a tree of 100000 records, and there are/)
  })

  test('that has cosigned another tree of this size', async () => {
    await offer()
    const { latest } = witness
    witness.latest = latest && { ...latest, root: Buffer.alloc(32) }
    await offer()
    expect(complaints()[0]).toMatch(/it has cosigned another tree of/)
    witness.latest = latest
  })

  test.each([
    ['404', 404, '', /it answered 404/],
    ['403', 403, '', /it answered 403/],
    ['422', 422, '', /it answered 422/],
    ['409 and no size', 409, 'much', /409 without the size/],
    ['a line of somebody else', 200, '— other.example AAAA\n', /no cosignature of its key/],
    ['too much', 200, 'x'.repeat(20_000), /too long/],
  ])('that answers %s', async (_, status, text, why) => {
    await goOn(1)
    witness.instead = { status, text }
    await offer()
    expect(complaints()[0]).toMatch(why)
    expect(witness.signed(await note())).toBe(false)
  })

  test('that does not answer', async () => {
    const { url } = configured[0] as { url: string }
    ;(configured[0] as { url: string }).url = 'http://127.0.0.1:9/w1'
    await offer()
    expect(complaints()).toHaveLength(1)
    ;(configured[0] as { url: string }).url = url
  })
})

test('after a rotation the hub signs the cosigned checkpoint anew, and its cosignature still holds', async () => {
  await offer()
  const size = hub.running.hub.checkpoints.size
  await goOn(1)
  const before = await note(false)
  await hub.running.order({ command: 'rotate' })
  const rotated = await note(false)
  expect([sizeIn(rotated), rotated === before, witness.signed(rotated)]).toEqual([size, false, true])
})
