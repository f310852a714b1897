/** Checkpoints offered to witnesses of transparency logs (objects: supply, C2SP tlog-witness), and what comes of it. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { supplyOrigin } from '../../protocol/proof/checkpoint.ts'
import { parseVerifierKey } from '../../protocol/proof/cosignature.ts'
import { callRoute, registeredAgent, startTestHub, type TestAgent, type TestHub } from '../testing/hub.ts'
import { type LogWitness, startLogWitness } from '../testing/log-witness.ts'
import { grant } from '../testing/payments.ts'

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

const note = async (): Promise<string> =>
  (await callRoute(hub, 'checkpoint', undefined)).json['text'] as string
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
  const olds = witness.asked.map(body => body.split('\n')[0])
  expect(olds).toContain(`old ${hub.running.hub.supply.head.seq + 1 - 3}`)
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
