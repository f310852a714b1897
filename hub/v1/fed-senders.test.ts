/** Key histories of those who write through a peer and have no card: their letters can be read all the same. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startTestHub, type TestHub } from '../testing/hub.ts'
import { listOpenPeer, MadeUpHub } from '../testing/open-peers.ts'
import { expectReply, OpenAgent, Wire1Client } from '../testing/wire1.ts'

let hub: TestHub
let client: Wire1Client
let bob: OpenAgent
let peer: MadeUpHub
let alice: OpenAgent
let shown: string
beforeAll(async () => {
  hub = await startTestHub({ wires: [1], wire1Federation: { tells: true } })
  client = new Wire1Client(hub)
  bob = await client.registered()
  peer = new MadeUpHub(hub.clock.now())
  await peer.listen()
  await listOpenPeer(hub, peer)
})
afterAll(async () => {
  peer.close()
  await hub.close()
})
beforeEach(() => {
  alice = new OpenAgent(client)
  shown = alice.kel
  peer.asked.length = 0
  peer.answer = ({ url = '' }) =>
    url.endsWith('/kel')
      ? { aid: alice.aid, kel: shown, source: 'local' }
      : { cursor: 0, cards: [], reviews: [] }
})

const history = (aid = alice.aid) => client.get(`/agents/${aid}/kel`)
let texts = 0
const write = (from = alice.aid) =>
  client.post(
    '/fed/v1/forward',
    peer.record({ aid: bob.aid, nowMs: hub.clock.now() }, `${++texts}`, { from }),
  )
const asked = () => peer.asked.filter(path => path.endsWith('/kel'))

describe('the key history of a sender', () => {
  test('is asked of the hub through which the letter came, once', async () => {
    expect((await write()).status).toBe(202)
    const answers = await Promise.all([history(), history()])
    for (const answer of [...answers, await history()]) {
      expect([answer.status, answer.json]).toEqual([
        200,
        { aid: alice.aid, kel: alice.kel, source: 'peer-hub' },
      ])
      expectReply('agentKel', answer)
    }
    expect(asked()).toEqual([`/agents/${alice.aid}/kel`])
  })

  test('is asked anew with the next letter, since a key may have been rotated', async () => {
    await write()
    await history()
    alice.rotate()
    shown = alice.kel
    await write()
    expect((await history()).json['kel']).toBe(alice.kel)
    expect(asked()).toHaveLength(2)
  })

  test('of nobody who wrote is asked of nobody', async () => {
    expect((await history()).status).toBe(404)
    expect(asked()).toEqual([])
  })

  test.each([
    ['of somebody else', () => bob.kel],
    ['that is none', () => 'AAAA'],
  ])('%s is not believed, nor asked for again at once', async (_, kel) => {
    shown = kel()
    await write()
    for (let time = 0; time < 3; time++) expect((await history()).status).toBe(404)
    expect(asked()).toHaveLength(1)
  })

  test('that its hub does not give is unknown', async () => {
    peer.answer = (_request, _body, response) => void response.writeHead(404).end('{"error":"unknown"}')
    await write()
    expect((await history()).status).toBe(404)
  })

  test('of no AID is asked of nobody', async () => {
    expect((await write('somebody')).status).toBe(202)
    expect((await client.get('/agents/somebody/kel')).status).toBeGreaterThanOrEqual(400)
    expect(asked()).toEqual([])
  })
})
