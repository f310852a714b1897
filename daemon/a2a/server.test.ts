/** The A2A interface as HTTP: who is let in, what is refused and how, and what streams tell. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { systemTimers } from '../../protocol/timers.ts'
import { A2aWorld, FREE, PRICED } from '../testing/a2a.ts'
import { send } from '../testing/page.ts'
import { openStream } from './reply.ts'

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

const CARD = '/.well-known/agent-card.json'
const error = ({ body }: { body: unknown }) =>
  (body as { error: { code: number; status?: string; message: string; data?: object[]; details?: object[] } })
    .error

async function taken(): Promise<string> {
  const { body } = await world.send('count the words')
  await world.settle()
  return (body['task'] as { id: string }).id
}

async function answered(id: string, text: string): Promise<void> {
  world.bob.node.say(id, text)
  await world.settle()
}

describe('the token', () => {
  test.each([undefined, 'Bearer wrong', 'Basic a-token-of-the-tests'])(
    '%s opens nothing but the own card',
    async given => {
      const headers = { Authorization: given ?? '' }
      for (const path of ['/tasks', '/', '/extendedAgentCard', `/bob${CARD}`]) {
        const answer = await world.rest(path, { headers })
        expect([answer.status, error(answer).status]).toEqual([401, 'UNAUTHENTICATED'])
        expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="a2a"')
      }
      expect((await world.rest(CARD, { headers })).status).toBe(200)
    },
  )

  describe('that is replaced', () => {
    alone()

    test('ends what it opened', async () => {
      const waiting = { message: { messageId: 'w', role: 'ROLE_USER', parts: [{ text: 'wait' }] } }
      const told = world.rest('/message:send', { method: 'POST', body: waiting, tenant: 'bob' })
      const rpc = world.rpc(
        'SendMessage',
        { ...waiting, message: { ...waiting.message, messageId: 'r' } },
        { tenant: 'bob' },
      )
      const id = await taken()
      const stream = await world.fetch(`/tasks/${id}:subscribe`)
      await expect.poll(() => world.alice.node.ctx.store.all('SELECT 1 FROM a2a_tasks').length).toBe(3)
      world.server.tokenReplaced()
      for (const answer of [await told, await rpc])
        expect([answer.status, error(answer).message]).toEqual([
          401,
          expect.stringMatching(/^the bearer token was replaced/),
        ])
      expect(await stream.text()).toContain('"UNAUTHENTICATED"')
      expect((await world.rest('/tasks')).status).toBe(200)
    })
  })
})

test('a page of another origin and a name that is not ours are refused', async () => {
  const page = await world.rest(CARD, { headers: { Origin: 'https://evil.test' } })
  expect([page.status, error(page).status]).toEqual([403, 'PERMISSION_DENIED'])
  const port = world.host.split(':')[1]
  expect((await send(`evil.test:${port}`, CARD)).status).toBe(403)
  expect((await send(`127.0.0.1:${port}`, CARD)).status).toBe(200)
})

describe('a card', () => {
  alone()

  test('of the node is public, is the same under its tag, and is read by GET and HEAD alone', async () => {
    const first = await world.rest(CARD, { headers: { Authorization: '' } })
    const etag = first.headers.get('etag') ?? ''
    expect(first.headers.get('cache-control')).toBe('public, max-age=60')
    expect((await world.fetch(CARD, { headers: { 'If-None-Match': etag } })).status).toBe(304)
    expect((await world.fetch(CARD, { headers: { 'If-None-Match': '"other"' } })).status).toBe(200)
    expect((await world.fetch(CARD, { method: 'HEAD' })).status).toBe(200)
    expect((await world.rest(CARD, { method: 'POST', body: {} })).status).toBe(404)
    const again = await world.rest(CARD)
    expect(again.headers.get('last-modified')).toBe(first.headers.get('last-modified'))
  })

  test('of the node shows the capabilities that are published, with its name and address', async () => {
    world.alice.node.ctx.settings.change({ name: 'Alice', summary: 'sums' })
    const { body } = await world.rest(CARD)
    expect(body).toMatchObject({
      name: 'Alice',
      description: 'sums',
      supportedInterfaces: [{ url: `http://${world.host}` }, { url: `http://${world.host}` }],
    })
    expect((body['skills'] as never as { id: string }[]).map(({ id }) => id)).toEqual([FREE, 'svc.forward'])
    const secure = await world.rest(CARD, { headers: { 'X-Forwarded-Proto': 'https' } })
    expect(secure.body).toMatchObject({ supportedInterfaces: [{ url: `https://${world.host}` }, {}] })
  })

  test('without a name is called by its AID', async () => {
    world.alice.node.ctx.settings.change({ name: '', summary: '' })
    const { aid } = world.alice.node
    expect((await world.rest(CARD)).body).toMatchObject({ name: aid, description: `${aid}, a node of svc.` })
  })

  test('for who has the token shows all capabilities, prices and contacts that are not blocked', async () => {
    const { contacts } = world.alice.node.ctx
    const carol = await world.node('carol')
    contacts.add(carol.aid, 'carol')
    world.alice.node.within(() => contacts.block(carol.aid, true))
    const { body } = await world.rest('/extendedAgentCard')
    expect(body['skills']).toMatchObject([
      { id: FREE, description: 'counts words', tags: ['capability'] },
      { id: PRICED, description: `The capability ${PRICED}.`, tags: ['capability', 'priced'] },
      { id: 'svc.forward' },
    ])
    const { extensions } = body['capabilities'] as never as { extensions: { params: unknown }[] }
    expect(extensions).toHaveLength(3)
    expect(extensions[0]?.params).toEqual({
      aid: world.alice.node.aid,
      agents: [{ aid: world.bob.node.aid, name: 'bob' }],
    })
  })

  test('of an agent is private, has the address below its name, and no prices', async () => {
    const { headers, body } = await world.rest(CARD, { tenant: 'bob' })
    expect(headers.get('cache-control')).toBe('private, max-age=60')
    expect(body).toMatchObject({
      name: 'bob',
      supportedInterfaces: [{ url: `http://${world.host}/bob` }, {}],
    })
    expect((body['capabilities'] as never as { extensions: object[] }).extensions).toHaveLength(1)
    expect((await world.rest(CARD, { tenant: 'nobody' })).status).toBe(400)
  })
})

describe('HTTP+JSON', () => {
  test('says which verbs a path takes, and where nothing is', async () => {
    const other = await world.rest('/tasks', { method: 'DELETE' })
    expect([other.status, other.headers.get('allow')]).toEqual([405, 'GET'])
    expect((await world.rest('/nothing/here/at/all')).status).toBe(404)
    expect((await world.rest('/tasks/%ZZ')).status).toBe(400)
  })

  test('takes a body of JSON that is an object, and answers in the type that was asked for', async () => {
    const post = { method: 'POST', tenant: 'bob' }
    for (const body of ['[1]', 'null', '"x"', '{'])
      expect(error(await world.rest('/message:send', { ...post, body })).message).toMatch(/JSON/)
    const text = await world.rest('/message:send', {
      ...post,
      body: '{}',
      headers: { 'Content-Type': 'text/plain' },
    })
    expect(error(text).message).toMatch(/^send the body as/)
    const typed = await world.rest('/tasks', { headers: { Accept: 'application/a2a+json' } })
    expect(typed.headers.get('content-type')).toBe('application/a2a+json')
    expect((await world.rest('/tasks')).headers.get('content-type')).toBe('application/json')
  })

  test('takes 20,000 values in a body, and no more', async () => {
    const body = (values: number) => ({ configuration: { acceptedOutputModes: Array(values).fill('a') } })
    const told = async (values: number) =>
      error(await world.rest('/message:send', { method: 'POST', body: body(values), tenant: 'bob' })).message
    expect([await told(20_000 - 5), await told(20_000 - 4)]).toEqual([
      expect.not.stringMatching(/JSON/),
      expect.stringMatching(/^the body is not JSON/),
    ])
  })

  test('names the member that is wrong', async () => {
    const told = await world.rest('/tasks?pageSize=0')
    expect(error(told)).toMatchObject({
      code: 400,
      status: 'INVALID_ARGUMENT',
      details: [{ fieldViolations: [{ field: 'pageSize' }] }],
    })
  })

  test.each(['', '0.3', '1', '2.0', '1.01'])('speaks no version "%s"', async version => {
    const told = await world.rest('/tasks', { headers: { 'A2A-Version': version } })
    expect(error(told)).toMatchObject({ code: 400, details: [{ reason: 'VERSION_NOT_SUPPORTED' }] })
  })

  test('takes the version from the address as well, and any patch of it', async () => {
    const { host } = world
    const headers = { Authorization: 'Bearer a-token-of-the-tests' }
    expect((await send(host, '/tasks?A2A-Version=1.0', { headers })).status).toBe(200)
    expect((await send(host, '/tasks', { headers })).status).toBe(400)
    expect((await world.rest('/tasks', { headers: { 'A2A-Version': '1.0.1' } })).status).toBe(200)
  })
})

describe('JSON-RPC', () => {
  test('answers under the id of the call, by POST alone', async () => {
    const { body } = await world.rpc('ListTasks')
    expect(body).toMatchObject({ jsonrpc: '2.0', id: 7, result: { tasks: expect.any(Array) } })
    expect((await world.rest('/')).status).toBe(404)
  })

  test.each([
    ['{', -32700, null],
    ['[]', -32600, null],
    [{ id: 'a', method: 'ListTasks' }, -32600, 'a'],
    [{ jsonrpc: '1.0', id: 1, method: 'ListTasks' }, -32600, 1],
    [{ jsonrpc: '2.0', id: {}, method: 7 }, -32600, null],
    [{ jsonrpc: '2.0', id: 2, method: 'toString' }, -32601, 2],
    [{ jsonrpc: '2.0', id: 2, method: 'ListTasks', params: [] }, -32602, 2],
    [{ jsonrpc: '2.0', id: 2, method: 'GetTask', params: { id: 'none' } }, -32001, 2],
  ])('refuses %j by %i', async (body, code, id) => {
    const told = await world.rest('/', { method: 'POST', body })
    expect([told.status, told.body]).toMatchObject([200, { jsonrpc: '2.0', id, error: { code } }])
  })

  test('says of its own errors which they are, and of parameters which one', async () => {
    const lost = error(await world.rpc('GetTask', { id: 'none' }))
    expect(lost.data).toMatchObject([{ reason: 'TASK_NOT_FOUND', domain: 'a2a-protocol.org' }])
    const wrong = error(await world.rpc('GetTask', {}))
    expect(wrong.data).toMatchObject([{ fieldViolations: [{ field: 'id' }] }])
    expect(error(await world.rpc('None')).data).toEqual([])
  })

  test('takes the names of the proto, and leaves the content of the client as it is', async () => {
    const message = { message_id: 'm', role: 'ROLE_USER', parts: [{ data: { snake_case: 1 } }] }
    const told = await world.rpc(
      'SendMessage',
      { message, configuration: { return_immediately: true } },
      { tenant: 'bob' },
    )
    expect(told.body).toMatchObject({
      result: { task: { history: [{ parts: [{ data: { snake_case: 1 } }] }] } },
    })
  })

  test('the agent is that of the address or of the parameters, and both are the same', async () => {
    const message = { messageId: 'by-tenant', role: 'ROLE_USER', parts: [{ text: 'x' }] }
    const configuration = { returnImmediately: true }
    const told = await world.rpc('SendMessage', { tenant: 'bob', message, configuration })
    expect(told.body).toMatchObject({ result: { task: {} } })
    const both = await world.rpc('ListTasks', { tenant: world.alice.node.aid }, { tenant: 'bob' })
    expect(error(both).message).toBe('the address names another agent than the tenant')
    expect((await world.rpc('ListTasks', { tenant: 'bob' }, { tenant: 'bob' })).body).toHaveProperty('result')
    expect((await world.rpc('ListTasks', { tenant: '' }, { tenant: 'bob' })).body).toHaveProperty('result')
    expect(error(await world.rpc('ListTasks', { tenant: 'nobody' })).code).toBe(-32602)
  })
})

describe('a stream', () => {
  alone()

  type Event = { id: number; data: Record<string, Record<string, unknown>> }
  async function* events(answer: Response): AsyncGenerator<Event> {
    let text = ''
    for await (const part of answer.body ?? []) {
      text += Buffer.from(part).toString()
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const [, id = '', data = ''] = /^id: (\d+)\ndata: (.*)$/.exec(text.slice(0, end)) ?? []
        text = text.slice(end + 2)
        if (data !== '') yield { id: Number(id), data: JSON.parse(data) }
      }
    }
  }
  const kindsOf = (told: Event[]) =>
    told.map(({ data }) => {
      const status = data['statusUpdate']?.['status'] as { state: string } | undefined
      return status?.state.replace('TASK_STATE_', '') ?? Object.keys(data)[0]
    })
  const body = (messageId: string) => ({
    message: { messageId, role: 'ROLE_USER', parts: [{ text: 'count' }] },
  })

  test('tells the task, then each event, and ends where the client has to say something', async () => {
    const answer = await world.fetch('/message:stream', { method: 'POST', body: body('s'), tenant: 'bob' })
    expect(answer.headers.get('content-type')).toBe('text/event-stream')
    const told: Event[] = []
    for await (const event of events(answer)) {
      told.push(event)
      if (told.length > 1) continue
      await world.settle()
      await answered((event.data['task'] as { id: string }).id, 'three')
    }
    expect(kindsOf(told)).toEqual(['task', 'WORKING', 'artifactUpdate', 'INPUT_REQUIRED'])
    const ids = told.map(({ id }) => id)
    expect(ids).toEqual([...ids].sort((a, b) => a - b))
  })

  test('of a task that is followed goes on after what the client has, past an answer', async () => {
    const id = await taken()
    await answered(id, 'three')
    await world.rest(`/tasks/${id}`)
    const stream = events(await world.fetch(`/tasks/${id}:subscribe`, { headers: { 'Last-Event-ID': '1' } }))
    const told: Event[] = []
    const next = async () => told.push((await stream.next()).value as Event)
    for (let n = 0; n < 3; n++) await next()
    await world.send('more', { message: { taskId: id } })
    await world.settle()
    await next()
    expect(kindsOf(told)).toEqual(['task', 'artifactUpdate', 'INPUT_REQUIRED', 'WORKING'])
    await stream.return(undefined)
  })

  test('goes on after no event that has not been', async () => {
    const id = await taken()
    for (const last of ['99', 'x', '-1']) {
      const told = await world.rest(`/tasks/${id}:subscribe`, { headers: { 'Last-Event-ID': last } })
      expect(error(told).message).toBe('there is no event of this id')
    }
  })

  test('of a task that is over is refused, but for what was missed of it', async () => {
    const id = await taken()
    await answered(id, JSON.stringify({ a2a: { task: { status: { state: 'TASK_STATE_COMPLETED' } } } }))
    await world.rest(`/tasks/${id}`)
    expect(error(await world.rest(`/tasks/${id}:subscribe`)).message).toMatch(/^the task is over/)
    const told: Event[] = []
    const missed = await world.fetch(`/tasks/${id}:subscribe`, { headers: { 'Last-Event-ID': '0' } })
    for await (const event of events(missed)) told.push(event)
    expect(kindsOf(told)).toEqual(['task', 'COMPLETED'])
  })

  test('to a reader that takes nothing ends once a MiB waits for it', () => {
    const written: string[] = []
    let isDestroyed = false
    const response = {
      writeHead() {},
      flushHeaders() {},
      on() {},
      write: (text: string) => written.push(text),
      writableLength: 1024 * 1024,
      get destroyed() {
        return isDestroyed
      },
      destroy() {
        isDestroyed = true
      },
    }
    const sink = openStream(response as never, systemTimers, item => item)
    const item = { message: {} } as never
    expect([sink.write(item, '1'), isDestroyed]).toEqual([true, false])
    response.writableLength++
    expect([sink.write(item, '2'), isDestroyed]).toEqual([false, true])
    response.writableLength = 0
    expect([sink.write(item, '3'), written.length]).toEqual([false, 1])
    clearInterval((sink as unknown as { heartbeat?: NodeJS.Timeout }).heartbeat)
  })

  test('ends when the interface closes', async () => {
    const id = await taken()
    const stream = await world.fetch(`/tasks/${id}:subscribe`)
    await world.server.close()
    expect(await stream.text()).toContain(id)
  })
})
