/** Tasks over A2A, from a client's message to what it is told of them. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { A2aWorld, FREE, PRICED, type Told } from '../testing/a2a.ts'
import { HOUR_MS } from '../testing/node.ts'
import { PRICE } from '../testing/paying.ts'

let shared: A2aWorld
let world: A2aWorld
beforeAll(async () => {
  shared = await new A2aWorld().serve()
})
beforeEach(() => {
  world = shared
})
afterAll(() => shared[Symbol.asyncDispose]())

/** For tests that change what others see: a world of its own for each. */
function alone(): void {
  beforeEach(async () => {
    world = await new A2aWorld().serve()
  })
  afterEach(() => world[Symbol.asyncDispose]())
}

type Task = {
  id: string
  contextId: string
  status: { state: string; message?: { parts: { text: string }[] } }
}
const taskIn = ({ body }: Told) => body['task'] as Task
const get = async (id: string, query = '') => (await world.rest(`/tasks/${id}${query}`)).body as never as Task
const stateOf = async (id: string) => (await get(id)).status.state.replace('TASK_STATE_', '')

async function taken(more: object = {}): Promise<string> {
  const { id } = taskIn(await world.send('count the words', more))
  await world.settle()
  return id
}

async function answered(id: string, text = 'three'): Promise<void> {
  world.bob.node.say(id, text)
  await world.settle()
}

describe('a task', () => {
  test('is submitted until its agent has it, works until the agent answers, and then waits for the client', async () => {
    const sent = taskIn(await world.send('count the words'))
    expect(sent.status.state).toBe('TASK_STATE_SUBMITTED')
    await world.settle()
    world.pass(HOUR_MS)
    await world.alice.node.ask()
    expect(await stateOf(sent.id)).toBe('WORKING')
    await answered(sent.id)
    expect(await get(sent.id)).toMatchObject({
      id: sent.id,
      contextId: sent.contextId,
      status: { state: 'TASK_STATE_INPUT_REQUIRED', message: { parts: [{ text: 'three' }] } },
      artifacts: [{ parts: [{ text: 'three' }] }],
      history: [{ role: 'ROLE_USER' }, { role: 'ROLE_AGENT', parts: [{ text: 'three' }] }],
    })
  })

  test('works again once the client has said more', async () => {
    const id = await taken()
    await answered(id)
    const more = await world.send('and the lines', { message: { taskId: id } })
    expect(taskIn(more).id).toBe(id)
    expect(await stateOf(id)).toBe('WORKING')
    await answered(id, 'four')
    expect(await get(id)).toMatchObject({ status: { message: { parts: [{ text: 'four' }] } } })
  })

  test('that ends with its answer is completed by it, and is ended on both sides', async () => {
    const id = await taken({ message: { metadata: { 'svc.end': true } } })
    await answered(id)
    expect(await stateOf(id)).toBe('COMPLETED')
    await expect.poll(() => world.alice.node.thread(id).endBy).toBe('me')
  })

  test('that its agent ends is completed', async () => {
    const id = await taken()
    await answered(id)
    await world.end({ alice: world.alice.node, bob: world.bob.node, id })
    expect(await stateOf(id)).toBe('COMPLETED')
    const late = await world.send('one more', { message: { taskId: id } })
    expect(late.body['error']).toMatchObject({ message: expect.stringMatching(/^the task is over/) })
  })

  test('keeps the context that the client names, and takes no message of another one', async () => {
    const { contextId, id } = taskIn(await world.send('x', { message: { contextId: 'mine' } }))
    expect(contextId).toBe('mine')
    const other = await world.send('y', { message: { taskId: id, contextId: 'other' } })
    expect([other.status, other.body['error']]).toMatchObject([400, { message: /another context/ }])
    expect((await world.send('y', { message: { taskId: id, contextId: 'mine' } })).status).toBe(200)
  })

  test('is not found by another id, nor under another agent', async () => {
    const id = await taken()
    expect((await world.rest('/tasks/none')).status).toBe(404)
    expect((await world.rest(`/tasks/${id}`, { tenant: 'bob' })).status).toBe(200)
    expect((await world.rest(`/tasks/${id}`, { tenant: world.alice.node.aid })).status).toBe(200)
    const other = await world.node('carol')
    world.alice.node.ctx.contacts.add(other.aid, 'carol')
    expect((await world.rest(`/tasks/${id}`, { tenant: 'carol' })).status).toBe(404)
  })
})

describe('a message', () => {
  test('that comes again is the same task, and another one under its id is refused', async () => {
    const message = { messageId: 'm-1' }
    const first = taskIn(await world.send('once', { message }))
    expect(taskIn(await world.send('once', { message })).id).toBe(first.id)
    const both = await Promise.all([1, 2].map(() => world.send('twice', { message: { messageId: 'm-2' } })))
    expect(new Set(both.map(told => taskIn(told).id)).size).toBe(1)
    const other = await world.send('other words', { message })
    expect(other.body['error']).toMatchObject({ message: expect.stringMatching(/^this message id was used/) })
  })

  test('without words or files is none, but for one that ends', async () => {
    expect((await world.send(' ')).status).toBe(400)
    const id = await taken()
    await answered(id)
    expect((await world.send(' ', { message: { taskId: id } })).status).toBe(400)
    const ending = { taskId: id, metadata: { 'svc.end': true } }
    expect((await world.send(' ', { message: ending })).status).toBe(200)
    expect(await stateOf(id)).toBe('COMPLETED')
  })

  test('goes on with no task by the call of a capability', async () => {
    const id = await taken()
    const parts = [{ data: { capability: FREE } }]
    const told = await world.send('', { message: { taskId: id, parts } })
    expect(told.body['error']).toMatchObject({
      message: expect.stringMatching(/^a call is a task of its own/),
    })
  })

  test('with a file brings it, and the history tells its name in place of its bytes', async () => {
    const parts = [{ text: 'read' }, { raw: 'aGVsbG8=', filename: 'hello.txt', mediaType: 'text/plain' }]
    const id = taskIn(await world.send('', { message: { parts } })).id
    const { threads } = world.alice.node.ctx
    const [first] = world.alice.node.messages(id)
    expect(threads.attachmentsOf(first?.key ?? 0)).toMatchObject([{ name: 'hello.txt' }])
    expect(await get(id)).toMatchObject({
      history: [{ parts: [{ text: 'read' }, { text: '[hello.txt]', mediaType: 'text/plain' }] }],
    })
  })
})

describe('a history', () => {
  test('is as long as the client asks, the newest last; none where it asks for none', async () => {
    const id = await taken()
    await answered(id, 'one')
    await answered(id, 'two')
    const texts = async (query: string) =>
      ((await get(id, query)) as never as { history?: { parts: { text: string }[] }[] }).history?.map(
        ({ parts }) => parts[0]?.text,
      )
    expect(await texts('')).toEqual(['count the words', 'one', 'two'])
    expect(await texts('?historyLength=2')).toEqual(['one', 'two'])
    expect(await texts('?historyLength=0')).toBeUndefined()
  })
})

describe('the list', () => {
  alone()

  const listed = async (query = '', tenant?: string) =>
    (await world.rest(`/tasks${query}`, tenant === undefined ? {} : { tenant })).body as never as {
      tasks: (Task & { artifacts?: unknown; history?: unknown })[]
      nextPageToken: string
      pageSize: number
      totalSize: number
    }

  test('goes from the newest to the oldest, page by page, each task once', async () => {
    const ids: string[] = []
    for (let n = 0; n < 5; n++) {
      world.pass(1000)
      ids.unshift(taskIn(await world.send(`task ${n}`)).id)
    }
    const all = await listed()
    expect([all.tasks.map(({ id }) => id), all.nextPageToken, all.totalSize, all.pageSize]).toEqual([
      ids,
      '',
      5,
      50,
    ])
    const found: string[] = []
    let token = ''
    for (const size of [2, 2, 1]) {
      const page = await listed(`?pageSize=2&pageToken=${token}`)
      expect([page.tasks.length, page.totalSize, page.pageSize]).toEqual([size, 5, 2])
      found.push(...page.tasks.map(({ id }) => id))
      token = page.nextPageToken
    }
    expect([found, token]).toEqual([ids, ''])
    expect((await world.rest('/tasks?pageToken=page2')).body['error']).toMatchObject({
      message: expect.stringMatching(/^expected the nextPageToken/),
    })
  })

  test('holds back artifacts and history unless they are asked for', async () => {
    const id = await taken()
    await answered(id)
    await get(id)
    const [plain] = (await listed()).tasks
    expect([plain?.artifacts, plain?.history]).toEqual([undefined, undefined])
    const [whole] = (await listed('?includeArtifacts=true&historyLength=1')).tasks
    expect([whole?.artifacts, whole?.history]).toEqual([expect.anything(), expect.anything()])
  })

  test('is narrowed by agent, context, state and time', async () => {
    const first = taskIn(await world.send('a', { message: { contextId: 'one' } })).id
    world.pass(60_000)
    const since = new Date(world.clock.ms).toISOString()
    const second = await taken({ message: { contextId: 'two' } })
    await stateOf(second)
    const ids = async (query: string, tenant?: string) =>
      (await listed(query, tenant)).tasks.map(({ id }) => id)
    expect(await ids('?contextId=one')).toEqual([first])
    expect(await ids(`?statusTimestampAfter=${since}`)).toContain(second)
    expect(await ids('?status=TASK_STATE_COMPLETED')).toEqual([])
    expect(await ids('?status=TASK_STATE_UNSPECIFIED')).toHaveLength(2)
    expect(await ids('', 'bob')).toHaveLength(2)
    await world.call(FREE)
    expect(await ids('', 'bob')).toHaveLength(2)
    expect(await ids('')).toHaveLength(3)
  })
})

describe('cancelling', () => {
  alone()

  const cancel = (id: string) => world.rest(`/tasks/${id}:cancel`, { method: 'POST' })

  test('withdraws a task, again as well, and is told by its state', async () => {
    const id = await taken()
    for (let n = 0; n < 2; n++)
      expect((await cancel(id)).body).toMatchObject({ id, status: { state: 'TASK_STATE_CANCELED' } })
    expect(world.alice.node.thread(id).state).toBe('cancelled')
  })

  test('does nothing to a task that is over', async () => {
    const id = await taken({ message: { metadata: { 'svc.end': true } } })
    await answered(id)
    await get(id)
    expect((await cancel(id)).body['error']).toMatchObject({ message: 'the task is over' })
  })

  test('takes back a call that waits for its payment, and no call that runs', async () => {
    const headers = { 'A2A-Extensions': 'https://github.com/google-a2a/a2a-x402/v0.1' }
    const waiting = taskIn(await world.call(PRICED, { headers }))
    expect(waiting.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
    expect((await cancel(waiting.id)).body).toMatchObject({ status: { state: 'TASK_STATE_CANCELED' } })
    await world.calls.stop()
    const running = taskIn(await world.call(FREE))
    expect((await cancel(running.id)).body['error']).toMatchObject({
      message: 'a call that runs is not stopped',
    })
  })
})

describe('a task whose agent', () => {
  test('declines is rejected, and one that fails has failed, each with its reason', async () => {
    for (const [state, told] of [
      ['declined', 'REJECTED'],
      ['failed', 'FAILED'],
      ['cancelled', 'CANCELED'],
    ] as const) {
      const id = await taken()
      const { ctx } = world.alice.node
      world.alice.node.within(() =>
        ctx.store.run('UPDATE interactions SET state = ?, reason = ? WHERE id = ?', state, 'no time', id),
      )
      expect(await get(id)).toMatchObject({
        status: { state: `TASK_STATE_${told}`, message: { parts: [{ text: 'no time' }] } },
      })
    }
  })

  test('asks for a price waits for whoever runs the node, with the price', async () => {
    const { settings } = world.bob.node.ctx
    using _ = { [Symbol.dispose]: () => settings.change({ prices: {} }) }
    settings.change({ prices: { task: PRICE } })
    const id = await taken()
    await world.bob.calls.look()
    await world.settle()
    expect((await get(id)).status.state).toBe('TASK_STATE_WORKING')
    await world.alice.payer.look()
    const { status } = await get(id)
    expect(status.state).toBe('TASK_STATE_AUTH_REQUIRED')
    expect(status.message?.parts[0]?.text).toMatch(
      /^the agent asks for 5 credits: .*; whoever runs this node pays with: svc approve /,
    )
  })
})

test('a task pays nothing unless the client says how much it may', async () => {
  const { ctx } = world.alice.node
  const payOf = (id: string) =>
    ctx.store.all('SELECT 1 FROM quotes WHERE interaction = ?', world.alice.node.thread(id).key)
  const pays = async (credits: number) => taken({ message: { metadata: { 'svc.max_credits': credits } } })
  expect(payOf(await pays(0))).toEqual([])
  expect(payOf(await pays(1))).toHaveLength(1)
})

describe('a client that waits', () => {
  alone()

  test('is answered once the agent has answered', async () => {
    const message = { messageId: 'w', role: 'ROLE_USER', parts: [{ text: 'wait' }] }
    const told = world.rest('/message:send', { method: 'POST', body: { message }, tenant: 'bob' })
    await expect.poll(() => world.alice.node.ctx.store.get('SELECT 1 FROM a2a_tasks')).toBeDefined()
    const id = world.alice.node.ctx.store.get<{ id: string }>('SELECT id FROM a2a_tasks')?.id ?? ''
    await world.settle()
    await answered(id, 'done waiting')
    expect(taskIn(await told)).toMatchObject({
      status: { state: 'TASK_STATE_INPUT_REQUIRED', message: { parts: [{ text: 'done waiting' }] } },
    })
  })

  test('gets words without a task where the agent meant them so', async () => {
    const id = await taken({ message: { messageId: 'direct' } })
    await answered(id, JSON.stringify({ a2a: { message: { parts: [{ text: 'hi' }] } } }))
    const message = { messageId: 'direct', role: 'ROLE_USER', parts: [{ text: 'count the words' }] }
    const { body } = await world.rest('/message:send', { method: 'POST', body: { message }, tenant: 'bob' })
    expect(body).toMatchObject({ message: { role: 'ROLE_AGENT', parts: [{ text: 'hi' }] } })
    expect(body['message']).not.toHaveProperty('taskId')
  })

  test('is told that an answer in the form of A2A cannot be read', async () => {
    const id = await taken({ message: { messageId: 'broken' } })
    await answered(id, '{"a2a": {}}')
    const message = { messageId: 'broken', role: 'ROLE_USER', parts: [{ text: 'count the words' }] }
    const { status, body } = await world.rest('/message:send', {
      method: 'POST',
      body: { message },
      tenant: 'bob',
    })
    expect([status, body['error']]).toMatchObject([500, { details: [{ reason: 'INVALID_AGENT_RESPONSE' }] }])
  })
})
