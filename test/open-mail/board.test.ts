/** The task board of a hub of wire 1 as the node uses it: an order is signed once, and its refusals have names. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { OrderUnanswered, type TaskBoard } from '../../daemon/hubs/board.ts'
import { BoardOrders } from '../../daemon/hubs/board-orders.ts'
import { HubUnreachable } from '../../daemon/hubs/hub.ts'
import { Wire1Board } from '../../daemon/hubs/wire1/board.ts'
import { Wire1Calls } from '../../daemon/hubs/wire1/calls.ts'
import { startTestHub, type TestHub } from '../../hub/testing/hub.ts'
import type { Send } from '../../protocol/contract/client.ts'
import { systemTimers } from '../../protocol/timers.ts'
import { never, type OpenNode, openNode } from './node.ts'

let hub: TestHub
let alice: OpenNode
let bob: OpenNode
const boardOf = (node: OpenNode): TaskBoard => node.hub.board as TaskBoard

beforeAll(async () => {
  hub = await startTestHub({ wires: [1] })
  alice = await openNode(hub)
  bob = await openNode(hub)
})
afterAll(async () => {
  await alice.close()
  await bob.close()
  await hub.close()
})
afterEach(() => {
  for (const undo of undone.splice(0).reverse()) undo()
})

const undone: (() => void)[] = []
type Sent = { url: string; body: Record<string, unknown> }

/** Puts something between a node and the hub; gives what was sent. */
function between(node: OpenNode, change: (send: Send, nth: number) => Send): Sent[] {
  const { connections } = node.inputs
  const send = connections.signed
  const sent: Sent[] = []
  const over: Send = request => {
    const text = new TextDecoder().decode(request.body as Uint8Array | undefined)
    sent.push({ url: request.url, body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>) })
    return change(send, sent.length)(request)
  }
  Object.assign(connections, { signed: over })
  undone.push(() => Object.assign(connections, { signed: send }))
  return sent
}

/** The hub does what it is told, and its answer never comes. */
const lost =
  (send: Send): Send =>
  async request => {
    await send(request)
    throw new HubUnreachable(request.url, { cause: Object.assign(new Error('cut'), { code: 'ECONNRESET' }) })
  }
const answered = (status: number, type: string, text: string): Send => {
  return async () => new Response(text, { status, headers: { 'Content-Type': type, 'X-Svc-Wire': '1' } })
}
const titles = async () => (await boardOf(alice).cards(never)).map(({ title }) => title)
const ready = (title: string) => boardOf(alice).create({ title, column: 'ready' })

describe('a card', () => {
  test('goes from draft to done between two nodes, and its history names who did what', async () => {
    const { id } = await boardOf(alice).create({ title: 'count the orders', taskdoc: 'bafkrei' })
    await boardOf(alice).act('move', { card: id, column: 'ready' })
    await boardOf(bob).act('claim', { card: id })
    await boardOf(bob).act('submit', { card: id, note: '412\norders' })
    expect(await boardOf(alice).act('accept', { card: id })).toMatchObject({
      ...{ id, title: 'count the orders', taskdoc: 'bafkrei', column: 'done', state: 'accepted' },
      ...{ creator: alice.aid, assignee: bob.aid },
    })
    const { events } = await boardOf(bob).card(id, never)
    expect(events.map(({ actor, action, detail }) => [actor, action, detail])).toEqual([
      [alice.aid, 'create', 'draft'],
      [alice.aid, 'move', 'ready'],
      [bob.aid, 'claim', 'in_progress'],
      [bob.aid, 'submit', '412\norders'],
      [alice.aid, 'accept', 'done'],
    ])
  })

  test('of the same words twice is two cards, also within one millisecond', async () => {
    const made = await Promise.all([ready('twice'), ready('twice')])
    expect(new Set(made.map(({ id }) => id)).size).toBe(2)
  })

  test.each([
    ['claim', 'nowhere', 'unknown_card'],
    ['submit', undefined, 'forbidden'],
    ['accept', undefined, 'conflict'],
  ] as const)('that is not for it, %s %s, is refused by name', async (action, card, code) => {
    const { id } = await ready(`refused ${action}`)
    await expect(boardOf(alice).act(action, { card: card ?? id })).rejects.toMatchObject({
      ...{ name: 'BoardRefused', code },
    })
  })

  test('whose answer is of another one is not believed', async () => {
    const { id } = await ready('mine')
    const other = await ready('other')
    const text = JSON.stringify({ card: wireCard({ id: other.id }), events: [] })
    between(alice, () => answered(200, 'application/json', text))
    await expect(boardOf(alice).card(id, never)).rejects.toMatchObject({ name: 'ForeignAnswer' })
    await expect(boardOf(alice).act('claim', { card: id })).rejects.toMatchObject({ name: 'ForeignAnswer' })
    await expect(boardOf(alice).create({ title: 'mine' })).rejects.toMatchObject({ name: 'ForeignAnswer' })
  })
})

const wireCard = (more: object) => ({
  ...{ id: 'x', title: 'a', taskdoc_cid: '', state: 'open', column: 'ready', creator_aid: bob.aid },
  ...{ created_at: 1, updated_at: 1, ...more },
})

describe('an order whose answer is lost', () => {
  test('is shown again as it was signed, and makes one card', async () => {
    const sent = between(alice, (send, nth) => (nth === 1 ? lost(send) : send))
    await ready('once')
    expect(sent).toHaveLength(2)
    expect(sent[1]).toEqual(sent[0])
    expect((await titles()).filter(title => title === 'once')).toHaveLength(1)
  })

  test('is given up after three tries, and is the same one when it is given again', async () => {
    const sent = between(alice, (send, nth) => (nth <= 3 ? lost(send) : send))
    await expect(ready('later')).rejects.toBeInstanceOf(OrderUnanswered)
    expect(sent).toHaveLength(3)
    await ready('later')
    expect(new Set(sent.map(({ body }) => body['sig'])).size).toBe(1)
    expect((await titles()).filter(title => title === 'later')).toHaveLength(1)
    await ready('later')
    expect((await titles()).filter(title => title === 'later')).toHaveLength(2)
  })

  test('is not shown again for the same words after another order for the card was done', async () => {
    const { id } = await ready('handed in twice')
    await boardOf(bob).act('claim', { card: id })
    between(bob, (send, nth) => (nth <= 3 ? lost(send) : send))
    await expect(boardOf(bob).act('submit', { card: id })).rejects.toBeInstanceOf(OrderUnanswered)
    await boardOf(alice).act('reject', { card: id, note: 'June is in it too' })
    // Bob has done June as well, and hands in once more
    expect(await boardOf(bob).act('submit', { card: id })).toMatchObject({ column: 'in_review' })
  })

  test('of a move does not swallow the same move later', async () => {
    const { id } = await ready('moved to and fro')
    between(alice, (send, nth) => (nth <= 3 ? lost(send) : send))
    await expect(boardOf(alice).act('move', { card: id, column: 'backlog' })).rejects.toBeInstanceOf(
      OrderUnanswered,
    )
    await boardOf(alice).act('move', { card: id, column: 'ready' })
    expect(await boardOf(alice).act('move', { card: id, column: 'backlog' })).toMatchObject({
      column: 'backlog',
    })
  })

  test('is the same one after the hub failed at its repeat', async () => {
    const failing = answered(500, 'application/json', '{"error":"too much to do"}')
    const sent = between(alice, (send, nth) => (nth === 1 ? lost(send) : nth === 2 ? failing : send))
    await expect(ready('busy')).rejects.toMatchObject({ status: 500 })
    await ready('busy')
    expect(new Set(sent.map(({ body }) => body['sig'])).size).toBe(1)
    expect((await titles()).filter(title => title === 'busy')).toHaveLength(1)
  })

  test('is not known to be done or not, also where the hub is gone after it; one that never left is no such', async () => {
    const cause = Object.assign(new Error('none'), { code: 'ECONNREFUSED' })
    const gone: Send = request => Promise.reject(new HubUnreachable(request.url, { cause }))
    between(alice, (send, nth) => (nth === 1 ? lost(send) : gone))
    await expect(ready('gone')).rejects.toMatchObject({ name: 'OrderUnanswered' })
    between(alice, () => gone)
    await expect(ready('never left')).rejects.toMatchObject({ name: 'HubUnreachable' })
  })

  describe('and that is refused at its repeat', () => {
    const stale: Send = async () =>
      new Response('{"error":"stale or future-dated challenge"}', {
        status: 400,
        headers: {
          'Content-Type': 'application/json',
          'X-Svc-Wire': '1',
          Date: new Date(hub.clock.now() + 3_600_000).toUTCString(),
        },
      })

    test('is never signed anew by a clock that the answer tells', async () => {
      const carol = await openNode(hub)
      const sent = between(carol, (send, nth) => (nth === 1 ? lost(send) : stale))
      await expect(boardOf(carol).create({ title: 'stale' })).rejects.toMatchObject({ code: 'malformed' })
      await carol.close()
      expect(new Set(sent.flatMap(({ body }) => body['sig'] ?? [])).size).toBe(1)
      expect((await titles()).filter(title => title === 'stale')).toHaveLength(1)
    })

    test('is looked for, and its card is the answer', async () => {
      const carol = await openNode(hub)
      between(carol, (send, nth) => (nth === 1 ? lost(send) : nth === 2 ? stale : send))
      expect(await boardOf(carol).create({ title: 'made' })).toMatchObject({ title: 'made', column: 'draft' })
      await carol.close()
    })
  })

  describe('is one that its node knows again', () => {
    /** The boards of a node that was started anew each time, over one clock and one key state. */
    function restarts() {
      const { identity } = alice.inputs
      const at = { ms: Date.now(), seq: identity.log.seq }
      const log = Object.create(identity.log, { seq: { get: () => at.seq } }) as typeof identity.log
      const own = Object.create(identity, {
        ...{ log: { value: log }, aid: { value: alice.aid } },
      }) as typeof identity
      const after = (_: number, work: () => void) => systemTimers.after(0, work)
      const now = () => at.ms
      const started = () =>
        new Wire1Board(hub.url, new Wire1Calls(hub.url, alice.inputs), {
          ...{ identity: own, timers: { ...systemTimers, after }, now },
          orders: new BoardOrders(alice.ground.store, now),
        })
      return { at, started }
    }
    const hanging =
      (send: Send): Send =>
      async request => {
        await send(request)
        return await new Promise(() => undefined)
      }
    const signatures = (sent: Sent[]) => new Set(sent.flatMap(({ body }) => body['sig'] ?? []))
    const made = async (title: string) => (await titles()).filter(one => one === title)

    test('by what it kept before it left, also after a start', async () => {
      const { at, started } = restarts()
      const sent = between(alice, (send, nth) => (nth <= 3 ? lost(send) : send))
      await expect(started().create({ title: 'kept' })).rejects.toBeInstanceOf(OrderUnanswered)
      at.ms += 239_999
      await started().create({ title: 'kept' })
      expect([signatures(sent).size, await made('kept')]).toEqual([1, ['kept']])
      await started().create({ title: 'kept' })
      expect(await made('kept')).toEqual(['kept', 'kept'])
    })

    test.each([
      ['that was killed while it asked', 0, 0],
      ['four minutes later', 240_000, 0],
      ['after its clock was set back', -1, 0],
      ['under another key', 0, 1],
    ])('by the id of its card, %s', async (title, laterMs, rotations) => {
      const { at, started } = restarts()
      const sent = between(alice, (send, nth) => (nth === 1 ? hanging(send) : send))
      void started().create({ title })
      await expect.poll(() => made(title)).toEqual([title])
      at.ms += laterMs
      at.seq += rotations
      const card = await started().create({ title })
      expect([card.title, signatures(sent).size, await made(title)]).toEqual([title, 1, [title]])
    })

    test('and signs anew where it made no card', async () => {
      const { at, started } = restarts()
      const cut: Send = async () => {
        throw new HubUnreachable(hub.url, { cause: Object.assign(new Error('cut'), { code: 'ECONNRESET' }) })
      }
      const sent = between(alice, (send, nth) => (nth <= 3 ? cut : send))
      await expect(started().create({ title: 'anew' })).rejects.toBeInstanceOf(OrderUnanswered)
      at.seq++
      await started().create({ title: 'anew' })
      expect([signatures(sent).size, await made('anew')]).toEqual([2, ['anew']])
    })

    test('and goes on being one while nobody can be asked', async () => {
      const { at, started } = restarts()
      between(alice, (send, nth) => (nth <= 4 ? lost(send) : send))
      await expect(started().create({ title: 'away' })).rejects.toBeInstanceOf(OrderUnanswered)
      at.seq++
      await expect(started().create({ title: 'away' })).rejects.toBeInstanceOf(OrderUnanswered)
      await started().create({ title: 'away' })
      expect(await made('away')).toEqual(['away'])
    })

    test('for a day', async () => {
      const { at, started } = restarts()
      between(alice, (send, nth) => (nth <= 3 ? lost(send) : send))
      await expect(started().create({ title: 'daily' })).rejects.toBeInstanceOf(OrderUnanswered)
      at.ms += 24 * 3_600_000
      await started().create({ title: 'daily' })
      expect(await made('daily')).toEqual(['daily', 'daily'])
    })
  })

  test('is dated after the one before, and follows a clock that was set back', async () => {
    const calls = new Wire1Calls(hub.url, alice.inputs)
    const board = new Wire1Board(hub.url, calls, {
      ...alice.inputs,
      orders: new BoardOrders(alice.ground.store, alice.inputs.now),
    })
    const sent = between(alice, send => send)
    const times = async () => {
      sent.length = 0
      await Promise.all([board.create({ title: 'dated' }), board.create({ title: 'dated' })])
      return sent.map(({ body }) => Number(body['ts']))
    }
    const [first = 0, second] = await times()
    expect(second).toBeGreaterThan(first)
    hub.clock.advance(-120_000)
    const [back = 0] = await times()
    expect(back).toBeLessThan(first)
    hub.clock.advance(120_000)
  })

  test('is not repeated where the hub refuses it', async () => {
    const { id } = await ready('claimed once')
    const sent = between(bob, (send, nth) => (nth === 1 ? lost(send) : send))
    expect(await boardOf(bob).act('claim', { card: id })).toMatchObject({ assignee: bob.aid })
    await expect(boardOf(bob).act('claim', { card: id })).rejects.toMatchObject({ code: 'conflict' })
    expect(sent).toHaveLength(3)
    await boardOf(bob).act('submit', { card: id })
  })
})

test('a hub without a board is told by name, whatever is asked of it', async () => {
  for (const [type, text] of [
    ['application/json', '{"error":"not here"}'],
    ['text/html', '<p>not here'],
  ] as const) {
    between(alice, () => answered(404, type, text))
    const board = boardOf(alice)
    for (const asked of [board.cards(never), board.card('x', never), board.act('claim', { card: 'x' })])
      await expect(asked).rejects.toMatchObject({ name: 'BoardRefused', code: 'no_board' })
  }
})

describe('words of a hub', () => {
  const boardWith = (card: object) =>
    answered(
      200,
      'application/json',
      JSON.stringify({ columns: [{ key: 'ready', name: '', cards: [card] }] }),
    )

  test('are one short line that no terminal obeys', async () => {
    const title = `a\u001b[2J\r\nb\u202ec${'x'.repeat(5000)}`
    between(alice, () => boardWith(wireCard({ title, taskdoc_cid: title })))
    const [card] = await boardOf(alice).cards(never)
    for (const text of [card?.title ?? '', card?.taskdoc ?? '']) {
      expect(text).toMatch(/^a\[2J bcx+…$/)
      expect(text).toHaveLength(256)
    }
  })

  test('whose id cannot be copied are no board', async () => {
    for (const id of ['', 'a b', 'a\nb', 'x'.repeat(65)]) {
      between(alice, () => boardWith(wireCard({ id })))
      await expect(boardOf(alice).cards(never)).rejects.toMatchObject({ name: 'ForeignAnswer' })
    }
  })
})
