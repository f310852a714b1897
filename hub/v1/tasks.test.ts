/** The task board: who may do what to a card, from where, and what a repeat does. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { wire1Routes } from '../../protocol/wire1/routes.ts'
import { startTestHub, type TestHub } from '../testing/hub.ts'
import { type OpenAgent, Wire1Client, type Wire1Reply } from '../testing/wire1.ts'

let hub: TestHub
let client: Wire1Client
let creator: OpenAgent
let worker: OpenAgent
let other: OpenAgent

beforeAll(async () => {
  hub = await startTestHub({ wires: [1] })
  client = new Wire1Client(hub)
  creator = await client.registered({ name: 'creator' })
  worker = await client.registered({ name: 'worker' })
  other = await client.registered({ name: 'other' })
})
afterAll(() => hub.close())

type Card = { id: string; state: string; column: string; assignee_aid?: string }
let last = 0

/** Each at a time of its own. */
function act(agent: OpenAgent, action: string, members: Record<string, unknown>): Promise<Wire1Reply> {
  last = Math.max(last + 1, hub.clock.now())
  return client.post(`/tasks/${action}`, { ...agent.sign(`task.${action}`, { ts: last }), ...members })
}
const cardOf = ({ json }: Wire1Reply) => json['card'] as Card
const made = async (column = 'ready'): Promise<string> =>
  cardOf(await act(creator, 'create', { title: 'add these up', column })).id

/** A card that went so far, by those who may. */
async function taken(...actions: string[]): Promise<string> {
  const id = await made()
  for (const action of actions) {
    const agent = ['accept', 'reject'].includes(action) ? creator : worker
    expect((await act(agent, action, { card_id: id })).status).toBe(200)
  }
  return id
}
/** Nothing stays in progress behind a test. */
const finish = async (id: string) => {
  await act(worker, 'submit', { card_id: id })
  await act(creator, 'accept', { card_id: id })
}

describe('a card', () => {
  test('goes from its creator to an assignee and back, and the board shows it where it is', async () => {
    const created = await act(creator, 'create', {
      title: 'add these up',
      taskdoc_cid: 'bafy',
      column: 'draft',
    })
    const card = cardOf(created)
    expect(card).toEqual({
      ...{
        id: expect.any(String),
        title: 'add these up',
        taskdoc_cid: 'bafy',
        state: 'open',
        column: 'draft',
      },
      ...{ creator_aid: creator.aid, created_at: expect.any(Number), updated_at: expect.any(Number) },
    })
    const id = { card_id: card.id }
    const steps: [OpenAgent, string, Record<string, unknown>, string, string][] = [
      [creator, 'move', { column: 'ready' }, 'open', 'ready'],
      [worker, 'claim', {}, 'claimed', 'in_progress'],
      [worker, 'block', { note: 'no numbers' }, 'claimed', 'blocked'],
      [creator, 'unblock', {}, 'claimed', 'in_progress'],
      [worker, 'submit', { note: '42' }, 'submitted', 'in_review'],
      [creator, 'reject', { note: 'count again' }, 'claimed', 'in_progress'],
      [worker, 'submit', { note: '43' }, 'submitted', 'in_review'],
      [creator, 'accept', {}, 'accepted', 'done'],
    ]
    for (const [agent, action, members, state, column] of steps)
      expect(cardOf(await act(agent, action, { ...id, ...members }))).toMatchObject({ state, column })
    const { json } = await client.get('/tasks/board')
    const columns = json['columns'] as { key: string; cards: Card[] }[]
    expect(columns.map(({ key }) => key)).toEqual([
      ...['draft', 'backlog', 'ready', 'in_progress', 'in_review', 'done', 'blocked'],
    ])
    expect(columns.find(({ key }) => key === 'done')?.cards.map(one => one.id)).toContain(card.id)
    const shown = await client.get(`/tasks/cards/${card.id}`)
    expect(shown.json['card']).toMatchObject({ assignee_aid: worker.aid })
    const events = shown.json['events'] as { action: string; detail: string; actor_aid: string }[]
    expect(events.map(({ action, detail }) => [action, detail]).slice(-4)).toEqual([
      ...[
        ['submit', '42'],
        ['reject', 'count again'],
        ['submit', '43'],
        ['accept', 'done'],
      ],
    ])
    expect((await client.get('/tasks/cards/nowhere')).status).toBe(404)
  })

  test.each([
    ['moved by another than its creator', [], 'move', () => worker, { column: 'draft' }, 403],
    ['moved into a column of work', [], 'move', () => creator, { column: 'done' }, 400],
    ['moved once it was taken', ['claim'], 'move', () => creator, { column: 'ready' }, 409],
    ['taken twice', ['claim'], 'claim', () => other, {}, 409],
    ['submitted by another than its assignee', ['claim'], 'submit', () => other, {}, 403],
    ['submitted before it was taken', [], 'submit', () => creator, {}, 403],
    ['accepted by its assignee', ['claim', 'submit'], 'accept', () => worker, {}, 403],
    ['accepted before it was submitted', ['claim'], 'accept', () => creator, {}, 409],
    ['rejected after it was accepted', ['claim', 'submit', 'accept'], 'reject', () => creator, {}, 409],
    ['blocked by a stranger', ['claim'], 'block', () => other, {}, 403],
    ['unblocked while it is not blocked', ['claim'], 'unblock', () => creator, {}, 409],
  ] as const)('is not %s', async (_, before, action, agent, members, status) => {
    const id = await taken(...before)
    const was = (await client.get(`/tasks/cards/${id}`)).json
    expect((await act(agent(), action, { card_id: id, ...members })).status).toBe(status)
    expect((await client.get(`/tasks/cards/${id}`)).json).toEqual(was)
    await finish(id)
  })

  test('that nobody made is 404', async () => {
    expect((await act(worker, 'claim', { card_id: 'nowhere' })).status).toBe(404)
  })

  test('is in progress with two others of its assignee at most, but comes back to it when it is rejected', async () => {
    const [first, ...rest] = [await taken('claim'), await taken('claim'), await taken('claim')]
    const fourth = await made()
    const claim = () => act(worker, 'claim', { card_id: fourth })
    expect((await claim()).status).toBe(409)
    expect((await act(other, 'claim', { card_id: fourth })).status).toBe(200)
    await act(worker, 'submit', { card_id: first })
    const fifth = await taken('claim')
    expect((await act(creator, 'reject', { card_id: first })).status).toBe(200)
    for (const id of [first as string, ...rest, fifth]) await finish(id)
    await act(other, 'submit', { card_id: fourth })
    await act(creator, 'accept', { card_id: fourth })
  })
})

describe('a challenge that is shown again', () => {
  test('makes no second card, and two cards of one millisecond differ', async () => {
    const challenge = creator.sign('task.create')
    const create = async (title: string) =>
      cardOf(await client.post('/tasks/create', { ...challenge, title, column: 'ready' })).id
    const [first, again, another] = [await create('one'), await create('one'), await create('two')]
    expect(again).toBe(first)
    expect(another).not.toBe(first)
  })

  test.each([
    ['move', [], { column: 'backlog' }],
    ['claim', [], {}],
    ['submit', ['claim'], { note: 'done' }],
    ['accept', ['claim', 'submit'], {}],
    ['reject', ['claim', 'submit'], { note: 'again' }],
    ['block', ['claim'], { note: 'stuck' }],
    ['unblock', ['claim', 'block'], {}],
  ] as const)('of %s changes nothing', async (action, before, members) => {
    const id = await taken(...before)
    const agent = ['move', 'accept', 'reject'].includes(action) ? creator : worker
    last = Math.max(last + 1, hub.clock.now())
    const body = { ...agent.sign(`task.${action}`, { ts: last }), card_id: id, ...members }
    const first = await client.post(`/tasks/${action}`, body)
    const store = (await client.get(`/tasks/cards/${id}`)).json
    expect(first.status).toBe(200)
    expect(await client.post(`/tasks/${action}`, body)).toMatchObject({ status: 200, json: first.json })
    expect((await client.get(`/tasks/cards/${id}`)).json).toEqual(store)
    if (action === 'block') await act(worker, 'unblock', { card_id: id })
    await finish(id)
  })

  test('does not hand in again what was rejected since', async () => {
    const id = await taken('claim')
    last = Math.max(last + 1, hub.clock.now())
    const body = { ...worker.sign('task.submit', { ts: last }), card_id: id, note: 'first try' }
    await client.post('/tasks/submit', body)
    await act(creator, 'reject', { card_id: id })
    expect(cardOf(await client.post('/tasks/submit', body))).toMatchObject({ column: 'in_progress' })
    const earlier = { ...worker.sign('task.block', { ts: last - 1000 }), card_id: id }
    expect((await client.post('/tasks/block', earlier)).status).toBe(409)
    await finish(id)
  })
})

describe('the board', () => {
  test('takes 500 cards of one creator, also under one challenge, and goes on for others', async () => {
    const [hostile, honest] = [await client.registered({}), await client.registered({})]
    const challenge = hostile.sign('task.create')
    const create = async (at: number) =>
      (await client.post('/tasks/create', { ...challenge, title: `card ${at}` })).status
    const statuses: number[] = []
    for (let at = 0; at <= 500; at += 20)
      statuses.push(...(await Promise.all(Array.from({ length: 20 }, (_, more) => create(at + more)))))
    expect([statuses.filter(status => status === 200).length, statuses.at(-1)]).toEqual([500, 409])
    expect((await act(honest, 'create', { title: 'mine' })).status).toBe(200)
    const { json } = await client.get('/tasks/board')
    expect(() => wire1Routes.taskBoard.reply.parse(json)).not.toThrow()
    const drafts = (json['columns'] as { key: string; cards: unknown[] }[]).find(({ key }) => key === 'draft')
    expect(drafts?.cards.length).toBeGreaterThanOrEqual(501)
  })

  test('lets a card to which much happened go on to its end alone', async () => {
    const id = await taken('claim')
    const statuses: number[] = []
    for (let at = 0; at < 300 && statuses.at(-1) !== 409; at++)
      for (const action of ['block', 'unblock'])
        statuses.push((await act(worker, action, { card_id: id, note: 'x' })).status)
    expect(statuses.length).toBeLessThan(502)
    expect(statuses.slice(-2)).toEqual([409, 409])
    await finish(id)
    expect((await client.get(`/tasks/cards/${id}`)).json['card']).toMatchObject({ state: 'accepted' })
  })
})
