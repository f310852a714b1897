/** What any hub may read over wire 1: agents that chose it, with their cards, and reviews that were given here. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestHub, type TestHub } from '../testing/hub.ts'
import { openCardText } from '../testing/open-peers.ts'
import { openReviewUpload } from '../testing/open-reviews.ts'
import { expectReply, type OpenAgent, Wire1Client } from '../testing/wire1.ts'

type Told = { card: string; kel: string; home: string; fed_seq: number }

let hub: TestHub
let client: Wire1Client
beforeAll(async () => {
  hub = await startTestHub({ wires: [1], wire1Federation: { tells: true } })
  client = new Wire1Client(hub)
})
afterAll(() => hub.close())

async function page(cursor: number | undefined): Promise<{ cursor: number; cards: Told[] }> {
  const answer = await client.get(`/fed/v1/cards${cursor === undefined ? '' : `?cursor=${cursor}`}`)
  expect(answer.status).toBe(200)
  expectReply('fedCards', answer)
  return answer.json as { cursor: number; cards: Told[] }
}
async function rest(from?: number): Promise<Told[]> {
  const { cursor, cards } = await page(from)
  return cards.length === 0 ? cards : [...cards, ...(await rest(cursor))]
}
const last = async () => (await rest()).at(-1)?.fed_seq ?? 0
const show = (agent: OpenAgent, visibility: string) =>
  client.post(`/agents/${agent.aid}/visibility`, { ...agent.sign('profile'), visibility })
const cardsOf = async (from: number, agent: OpenAgent) =>
  (await rest(from)).filter(({ kel }) => kel === agent.kel).map(({ card }) => card)

test('an agent is told once it is federated or public, with its card, its log and this hub as its home', async () => {
  for (const visibility of ['federated', 'public']) {
    const from = await last()
    const agent = await client.registered()
    const card = openCardText(agent, 1)
    await agent.register({ card })
    expect(await rest(from)).toEqual([])
    await show(agent, visibility)
    const told = { card, kel: agent.kel, home: hub.aid, fed_seq: expect.any(Number) }
    expect(await rest(from)).toEqual([told])
  }
})

test('every card that is stored has a new number, and the one before is told no more', async () => {
  const from = await last()
  const agent = await client.registered()
  await agent.register({ card: openCardText(agent, 1) })
  await show(agent, 'federated')
  const [first] = (await rest(from)) as [Told]
  await agent.register({ card: first.card })
  expect(await rest(from)).toEqual([first])
  const card = openCardText(agent, 2)
  await agent.register({ card })
  const [second, ...others] = (await rest(from)) as [Told]
  expect([second.card, others, second.fed_seq > first.fed_seq]).toEqual([card, [], true])
  await show(agent, 'public')
  expect(await rest(second.fed_seq)).toEqual([])
})

test('one that narrows, leaves, rotates its key, or has no card is told no more; it is told anew afterwards', async () => {
  const from = await last()
  const agent = await client.registered()
  await show(agent, 'federated')
  expect(await rest(from)).toEqual([])
  const card = openCardText(agent, 1)
  await agent.register({ card })
  expect(await cardsOf(from, agent)).toEqual([card])
  await show(agent, 'hub-local')
  expect(await cardsOf(from, agent)).toEqual([])
  const before = await last()
  await show(agent, 'federated')
  expect(await cardsOf(before, agent)).toEqual([card])
  agent.rotate()
  await agent.register()
  expect(await rest(before)).toEqual([])
  const anew = openCardText(agent, 2)
  await agent.register({ card: anew })
  expect(await cardsOf(before, agent)).toEqual([anew])
  await client.post(`/agents/${agent.aid}/deregister`, agent.sign('profile'))
  expect(await cardsOf(0, agent)).toEqual([])
})

test('there are 200 on a page, whatever stands between them, and a cursor that is none is refused', async () => {
  const { store } = hub.running.hub.context
  const agent = await client.registered()
  const row = await store.findAgent(agent.aid)
  if (row === undefined) throw new Error('the agent is gone')
  const from = await last()
  for (let n = 0; n < 401; n++) {
    const made = { ...row, aid: `agent-${n}`, number: 0, version: 0, visibility: 'federated' } as const
    await store.putAgent({ row: made, entry: undefined, terms: [] })
    await store.putOpenCard({ aid: made.aid, seq: 1, kelSeq: 0, card: '{}' })
  }
  const sizes: number[] = []
  for (let cursor = from; sizes.at(-1) !== 0; ) {
    const next = await page(cursor)
    sizes.push(next.cards.length)
    cursor = next.cursor
  }
  expect(sizes).toEqual([200, 200, 1, 0])
  for (const path of ['cards', 'reviews']) {
    const { status, json } = await client.get(`/fed/v1/${path}?cursor=-1`)
    expect([status, json['error']]).toEqual([400, 'MALFORMED'])
  }
})

test('reviews are those of /federation/reviews, with the number to go on from', async () => {
  const [alice, bob] = [await client.registered(), await client.registered()]
  for (let n = 0; n < 3; n++)
    expect((await client.post('/reviews', openReviewUpload(alice, bob))).status).toBe(200)
  const { json: same } = await client.get('/federation/reviews')
  const answer = await client.get('/fed/v1/reviews')
  expectReply('fedReviews', answer)
  expect(answer.json).toEqual({ cursor: same['next'], reviews: same['reviews'] })
  const [first, ...others] = same['reviews'] as { fed_seq: number }[]
  const after = await client.get(`/fed/v1/reviews?cursor=${first?.fed_seq}`)
  expect(after.json['reviews']).toEqual(others)
  const none = await client.get(`/fed/v1/reviews?cursor=${same['next']}`)
  expect(none.json).toEqual({ cursor: same['next'], reviews: [] })
})

test('there are 100 reviews on a page', async () => {
  const [alice, bob] = [await client.registered(), await client.registered()]
  const { json } = await client.get('/fed/v1/reviews')
  let cursor = json['cursor']
  for (let n = 0; n < 101; n++) await client.post('/reviews', openReviewUpload(alice, bob))
  const sizes: number[] = []
  for (let n = 0; n < 2; n++) {
    const { json: next } = await client.get(`/fed/v1/reviews?cursor=${cursor}`)
    sizes.push((next['reviews'] as unknown[]).length)
    cursor = next['cursor']
  }
  expect(sizes).toEqual([100, 1])
})
