/** Waiting in a thread and for a list: until the other side moves it on, and for nothing else. */
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Node } from '../../daemon/node.ts'
import { delegated, type Lab, never, openPair, stateOf, texts, thread, until } from './world.ts'

let lab: Lab
let alice: Node
let bob: Node

beforeAll(async () => {
  ;({ lab, alice, bob } = await openPair())
})
afterAll(() => lab.close())

const say = (node: Node, interaction_id: string, text: string) =>
  node.handlers.message({ interaction_id, text }, never)

test('tasks are listed by their ids, of both sides and in the form of the lists', async () => {
  const sent = await delegated(alice, bob, 'asked by alice')
  const received = await delegated(bob, alice, 'asked by bob')
  const unknown = 'A'.repeat(22)
  const { items } = await alice.handlers.interactions(
    { interaction_ids: [received, unknown, sent, sent] },
    never,
  )
  const inbox = await alice.handlers.inbox({}, never)
  const results = await alice.handlers.results({}, never)
  const listed = [...inbox.items, ...results.items]
  expect(items).toEqual([received, sent].map(id => listed.find(item => item.interaction_id === id)))
})

describe('waiting in a thread', () => {
  const waits = (id: string, wait_s = 20) => alice.handlers.thread({ interaction_id: id, wait_s }, never)
  const isPending = async (waiting: Promise<unknown>) =>
    (await Promise.race([waiting.then(() => 'over'), pause(50).then(() => 'pending')])) === 'pending'

  test('lasts until the next words of the other side, whatever becomes of the own ones meanwhile', async () => {
    const id = await delegated(alice, bob, 'think before you answer')
    const waiting = waits(id)
    expect(await isPending(waiting)).toBe(true)
    await say(bob, id, 'here it is')
    const found = await waiting
    expect(found.turns.at(-1)).toMatchObject({ mine: false, text: 'here it is' })
    const again = waits(id)
    expect(await isPending(again)).toBe(true)
    await bob.handlers.end({ interaction_id: id }, never)
    expect((await again).state).toBe('end_proposed')
  })

  test('is over at once where there is something to read, and ends with its time', async () => {
    const id = await delegated(alice, bob, 'answer at once')
    await say(bob, id, 'done')
    await until('it is here', async () => (await texts(alice, id)).includes('done'))
    const { key } = alice.ctx.threads.findById(id) as { key: number }
    alice.ctx.store.run('UPDATE interactions SET read_to = 0 WHERE key = ?', key)
    expect((await waits(id)).turns.at(-1)?.text).toBe('done')
    const from_turn = 3
    const started = performance.now()
    const late = await alice.handlers.thread({ interaction_id: id, wait_s: 1, from_turn }, never)
    expect([late.turns, performance.now() - started > 900]).toEqual([[], true])
  })

  test('steps of the protocol are never unread', async () => {
    const id = await delegated(alice, bob, 'end it')
    await say(bob, id, 'done')
    await until('it is here', async () => (await texts(alice, id)).includes('done'))
    await alice.handlers.end({ interaction_id: id }, never)
    await until('proposed', async () => (await stateOf(bob, id)) === 'end_proposed')
    await bob.handlers.end({ interaction_id: id, mode: 'accept' }, never)
    await until('both signed', async () => (await thread(alice, id)).receipt?.verified)
    const { items } = await alice.handlers.results({}, never)
    expect(items.find(item => item.interaction_id === id)?.unread).toBe(0)
  })
})

describe('a list', () => {
  const results = (query: Record<string, string> = {}) => alice.handlers.results(query, never)
  const isPending = async (waiting: Promise<unknown>) =>
    (await Promise.race([waiting.then(() => 'over'), pause(50).then(() => 'pending')])) === 'pending'

  test('waits for what changes after its cursor, and tells each change once', async () => {
    const id = await delegated(alice, bob, 'wait for it')
    const { new_cursor: cursor } = await results()
    const waiting = results({ cursor, wait_s: '20' })
    await alice.handlers.message({ interaction_id: id, text: 'and this too' }, never)
    expect(await isPending(waiting)).toBe(true)
    await say(bob, id, 'there you are')
    const changed = await waiting
    expect(changed.items.map(item => [item.interaction_id, item.preview])).toEqual([[id, 'there you are']])
    expect((await results({ cursor: changed.new_cursor })).items).toEqual([])
    const waitingInbox = async () => {
      const { new_cursor } = await bob.handlers.inbox({}, never)
      return { late: bob.handlers.inbox({ cursor: new_cursor, wait_s: 20 }, never) }
    }
    let { late } = await waitingInbox()
    // that bob's own words have arrived may be news of their own
    while (!(await isPending(late))) ({ late } = await waitingInbox())
    await alice.handlers.cancel({ interaction_id: id }, never)
    let news = await late
    // on a busy machine they arrive later than that
    while (news.items.some(item => item.state === 'open'))
      news = await bob.handlers.inbox({ cursor: news.new_cursor, wait_s: 20 }, never)
    expect(news.items.map(item => item.state)).toEqual(['cancelled'])
  })

  test('has a change in it that came while nobody waited, also more of them than its limit', async () => {
    const ids = [await delegated(alice, bob, 'one'), await delegated(alice, bob, 'two')]
    const { new_cursor: cursor } = await results()
    for (const id of ids) await say(bob, id, `answer to ${id}`)
    await until('both are here', async () => (await results({ cursor })).items.length === 2)
    const first = await results({ cursor, limit: '1', wait_s: '20' })
    const second = await results({ cursor: first.new_cursor, limit: '1', wait_s: '20' })
    expect([first, second].map(page => page.items.map(item => item.interaction_id))).toEqual(
      ids.map(id => [id]),
    )
    expect((await results({ cursor: second.new_cursor })).items).toEqual([])
  })

  test('goes on with older rows, and refuses a cursor that no reply gave', async () => {
    const first = await results({ limit: '1' })
    const older = await results({ limit: '1', cursor: first.next_cursor as string, wait_s: '20' })
    expect(older.items[0]?.last_at).toBeLessThanOrEqual(first.items[0]?.last_at as number)
    for (const cursor of ['5', 'n5', 'x1.2', '1.2.3', 'n1.2 '])
      await expect(results({ cursor })).rejects.toMatchObject({ code: 'bad_request' })
  })
})
