// project: programs

/** Who may call the A2A interface, what it refuses and how, and that nothing is done twice or lost. */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import * as http from 'node:http'
import * as net from 'node:net'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runIn } from '../../cli/testing.ts'
import { methods } from '../../daemon/a2a/methods.ts'
import { keyOf } from '../../daemon/a2a/sending.ts'
import { inboxIds, never, until } from '../two-nodes/world.ts'
import { type A2aLab, openA2aLab } from './world.ts'

let world: A2aLab
beforeAll(async () => {
  world = await openA2aLab()
})
afterAll(() => world.lab.close())

type Asked = { method?: string; path?: string; headers?: http.OutgoingHttpHeaders; body?: string }
/** A request as it stands, without a header of anybody's own. */
function raw({ method = 'POST', path = '/bob', headers = {}, body = '' }: Asked) {
  const given = {
    'Content-Type': 'application/json',
    Authorization: `Bearer ${world.token}`,
    'A2A-Version': '1.0',
  }
  const { promise, resolve, reject } = Promise.withResolvers<{
    status: number
    headers: http.IncomingHttpHeaders
    body: string
  }>()
  const merged = Object.fromEntries(
    Object.entries({ ...given, ...headers }).filter(([, value]) => value !== undefined),
  )
  const call = http.request(new URL(path, world.url), { method, headers: merged }, async response => {
    let text = ''
    for await (const part of response) text += part
    resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text })
  })
  call.once('error', reject)
  call.end(body)
  return promise
}
const rpc = async (method: string, params: unknown, more: Asked = {}) =>
  JSON.parse((await raw({ body: JSON.stringify({ jsonrpc: '2.0', id: 7, method, params }), ...more })).body)
const message = (text: string, messageId = randomUUID() as string) => ({
  message: { messageId, role: 'ROLE_USER', parts: [{ text }] },
  configuration: { returnImmediately: true },
})

test.each([
  ['svc.max_credits', '5'],
  ['svc.max_credits', -1],
  ['svc.max_credits', 1.5],
  ['svc.max_credits', null],
  ['svc.end', 'yes'],
  ['svc.end', null],
])('metadata of ours of the wrong type is refused by its name: %s %j', async (name, value) => {
  const given = message('x')
  const body = JSON.stringify({ ...given, message: { ...given.message, metadata: { [name]: value } } })
  const { status, body: refused } = await raw({ path: '/bob/message:send', body })
  expect(status).toBe(400)
  expect(JSON.parse(refused)).toMatchObject({
    error: {
      status: 'INVALID_ARGUMENT',
      details: [{ fieldViolations: [{ field: `message.metadata.${name}` }] }],
    },
  })
})

const openConnections = (server: http.Server): Promise<number> =>
  new Promise((resolve, reject) =>
    server.getConnections((error, n) => (error === null ? resolve(n) : reject(error))),
  )

describe('the door', () => {
  /** Tasks that bob has. */
  let taken = 0

  test('opens to the token alone, which no other user can read', async () => {
    expect(statSync(join(world.lab.folder, 'alice', 'a2a_token.txt')).mode & 0o777).toBe(0o600)
    for (const Authorization of [undefined, 'Bearer wrong', `Basic ${world.token}`]) {
      const { status, headers } = await raw({ headers: { Authorization } })
      expect([status, headers['www-authenticate']]).toEqual([401, 'Bearer realm="a2a"'])
    }
  })

  test('is closed to other hosts and to pages of others', async () => {
    const elsewhere = await raw({ headers: { Host: 'evil.example' } })
    expect(elsewhere.status).toBe(403)
    expect(elsewhere.body).toContain('svc a2a on --host <name>')
    expect((await raw({ headers: { Origin: 'https://evil.example' } })).status).toBe(403)
  })

  test("shows the node's own card to everybody, those of its agents with the token alone", async () => {
    const none = { method: 'GET', headers: { Authorization: undefined } }
    const card = await raw({ ...none, path: '/.well-known/agent-card.json' })
    expect([card.status, JSON.parse(card.body).supportedInterfaces[0].url]).toEqual([200, world.url])
    expect(card.body).not.toContain(world.bob.aid)
    const etag = {
      method: 'GET',
      path: '/.well-known/agent-card.json',
      headers: { 'If-None-Match': card.headers.etag },
    }
    expect((await raw(etag)).status).toBe(304)
    expect((await raw({ ...none, path: '/bob/.well-known/agent-card.json' })).status).toBe(401)
  })

  test.each(['/bob', '/bob/message:send'])(
    'a new token ends a call to %s that waits for its answer',
    async path => {
      const { configuration: _, ...given } = message('waits')
      const rpcCall = { jsonrpc: '2.0', id: 7, method: 'SendMessage', params: given }
      const waiting = raw({ path, body: JSON.stringify(path === '/bob' ? rpcCall : given) })
      await until('the task arrives', async () => (await inboxIds(world.bob)).length > taken)
      taken += 1
      world.token = (await world.alice.handlers.a2aToken({ renew: true }, never)).token
      const { status, body } = await waiting
      expect([status, JSON.parse(body).error.message]).toEqual([
        401,
        expect.stringContaining('svc a2a token'),
      ])
    },
  )

  test.each(['/bob', '/bob/message:stream'])('a new token ends a stream of %s', async path => {
    const { configuration: _, ...given } = message('streams')
    const rpcCall = { jsonrpc: '2.0', id: 7, method: 'SendStreamingMessage', params: given }
    const stream = raw({ path, body: JSON.stringify(path === '/bob' ? rpcCall : given) })
    await until('the task arrives', async () => (await inboxIds(world.bob)).length > taken)
    taken += 1
    world.token = (await world.alice.handlers.a2aToken({ renew: true }, never)).token
    const frames = (await stream).body.trim().split('\n\n')
    expect(JSON.parse(frames.at(-1)?.replace(/^data: /, '') ?? '')).toMatchObject({
      error: { code: path === '/bob' ? -32000 : 401, message: expect.stringContaining('was replaced') },
    })
  })

  test('a new token ends pushes, and calls that are under way', async () => {
    const { alice, bob } = world
    const called: string[] = []
    const target = http.createServer(request => called.push(request.url ?? '')).listen(0, '127.0.0.1')
    await once(target, 'listening')
    const { port } = target.address() as net.AddressInfo
    await alice.handlers.a2aSet({ on: true, push_hosts: [`127.0.0.1:${port}`] }, never)
    const { result } = await rpc('SendMessage', message('pushed'))
    const { id } = result.task
    taken += 1
    const url = `http://127.0.0.1:${port}/thief`
    await rpc('CreateTaskPushNotificationConfig', { taskId: id, url })
    await until('the task arrives', async () => (await inboxIds(bob)).includes(id))
    await bob.handlers.message({ interaction_id: id, text: 'first' }, never)
    await until('the address is called', () => called.length > 0)
    const { token, dropped_pushes } = await alice.handlers.a2aToken({ renew: true }, never)
    world.token = token
    expect(dropped_pushes).toBe(1)
    // what was under way has ended: the server has no connection left
    await until('the call has ended', () => openConnections(target).then(n => n === 0))
    const before = called.length
    await bob.handlers.message({ interaction_id: id, text: 'SECRET' }, never)
    await until('the answer is told', async () =>
      JSON.stringify((await rpc('GetTask', { id })).result).includes('SECRET'),
    )
    expect((await rpc('ListTaskPushNotificationConfigs', { taskId: id })).result.configs).toEqual([])
    expect(called.length).toBe(before)
    target.close()
  })

  test('a new token ends what the one before opened', async () => {
    const { token } = await world.alice.handlers.a2aToken({ renew: true }, never)
    expect((await raw({ method: 'GET', path: '/tasks' })).status).toBe(401)
    world.token = token
    expect((await raw({ method: 'GET', path: '/tasks' })).status).toBe(200)
  })

  test('a body without end is refused', async () => {
    const { status } = await raw({ body: `"${'x'.repeat(9 * 1024 * 1024)}"`, path: '/bob/message:send' })
    expect(status).toBe(400)
  })

  test('a port that was chosen and is in use is refused, and the interface stays as it was', async () => {
    const { alice } = world
    const taken = net.createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as net.AddressInfo
    const before = alice.ctx.settings.current.a2a
    await expect(alice.handlers.a2aSet({ on: true, addr: `127.0.0.1:${port}` }, never)).rejects.toThrow(
      /cannot listen on .*in use.*svc a2a on --addr/,
    )
    taken.close()
    expect(alice.ctx.settings.current.a2a).toEqual(before)
    const { url, warning } = await alice.handlers.a2a(undefined, never)
    expect(warning).toBeUndefined()
    world.url = url as string
    expect((await raw({ method: 'GET', path: '/tasks' })).status).toBe(200)
  })

  test('keeps the first address that it found free, where nobody chose one', async () => {
    const { bob } = world
    const { url, addr, warning } = await bob.handlers.a2aSet({ on: true }, never)
    expect([url, warning]).toEqual([`http://${addr}`, undefined])
    expect(Number(addr?.split(':')[1])).toBeGreaterThanOrEqual(41_241)
    await bob.handlers.a2aSet({ on: false }, never)
  })

  test('stays off where its address was taken while the node was away, and says so', async () => {
    const { lab } = world
    const { addr = '' } = await world.bob.handlers.a2aSet({ on: true }, never)
    await world.bob.stop()
    const taker = net.createServer().listen(Number(addr.split(':')[1]), '127.0.0.1')
    await once(taker, 'listening')
    const bob = await lab.start('bob')
    world.bob = bob
    const { on, url, warning } = await bob.handlers.a2a(undefined, never)
    expect([on, url, warning]).toEqual([true, undefined, expect.stringMatching(/is off.*in use by another/)])
    expect((await bob.handlers.status(undefined, never)).warnings).toContain(warning)
    await expect(bob.handlers.a2aSet({ on: true }, never)).rejects.toThrow(`cannot listen on ${addr}`)
    taker.close()
    await once(taker, 'close')
    expect((await bob.handlers.a2aSet({ on: true }, never)).url).toBe(`http://${addr}`)
    expect((await bob.handlers.status(undefined, never)).warnings.join()).not.toContain('A2A')
    await bob.handlers.a2aSet({ on: false }, never)
  })

  test('stays off where another program has its port at the other loopback address', async () => {
    const thief = net.createServer().listen({ host: '::1', port: 0, ipv6Only: true })
    await once(thief, 'listening')
    const { port } = thief.address() as net.AddressInfo
    const asked = world.bob.handlers.a2aSet({ on: true, addr: `127.0.0.1:${port}` }, never)
    await expect(asked).rejects.toThrow('another program has its port at the other loopback address')
    thief.close()
    await world.bob.handlers.a2aSet({ on: false }, never)
  })

  test('the command line turns it on and off, and prints the token alone', async () => {
    const { alice, lab } = world
    const env = { SVC_HOME: join(lab.folder, 'alice'), SVC_RUNTIME_DIR: join(lab.folder, 'run-alice') }
    const run = (...words: string[]) => runIn(lab.folder, words, env)
    expect((await run('a2a', 'token')).out).toBe(`${world.token}\n`)
    expect(JSON.parse((await run('a2a', 'off')).out)).toMatchObject({ on: false })
    await expect(raw({})).rejects.toThrow(/ECONNREFUSED/)
    expect(JSON.parse((await run('a2a')).out)).toMatchObject({ on: false })
    const on = JSON.parse((await run('a2a', 'on')).out) as { url: string }
    expect(on.url).toBe((await alice.handlers.a2a(undefined, never)).url)
    world.url = on.url
  })
})

describe('a refusal', () => {
  test.each([
    [-32700, { body: '{' }],
    [-32600, { body: '{"method":"GetTask"}' }],
    [-32601, { body: '{"jsonrpc":"2.0","id":1,"method":"message/send"}' }],
    [-32602, { body: '{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{}}' }],
    [-32001, { body: '{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"x"}}' }],
    [-32005, { body: '{}', headers: { 'Content-Type': 'text/plain' } }],
    [
      -32009,
      { body: '{"jsonrpc":"2.0","id":1,"method":"ListTasks"}', headers: { 'A2A-Version': undefined } },
    ],
    [-32009, { body: '{"jsonrpc":"2.0","id":1,"method":"ListTasks"}', headers: { 'A2A-Version': '0.3' } }],
  ])('has the code %i in JSON-RPC', async (code, asked: Asked) => {
    const { status, body } = await raw(asked)
    expect([status, JSON.parse(body).error.code]).toEqual([200, code])
  })

  test.each([
    [404, 'TASK_NOT_FOUND', { method: 'GET', path: '/bob/tasks/x' }],
    [400, 'VERSION_NOT_SUPPORTED', { method: 'GET', path: '/tasks', headers: { 'A2A-Version': '2.0' } }],
    [
      400,
      'CONTENT_TYPE_NOT_SUPPORTED',
      { path: '/bob/message:send', headers: { 'Content-Type': 'text/plain' }, body: '{}' },
    ],
    [400, 'UNSUPPORTED_OPERATION', { path: '/message:send', body: JSON.stringify(message('hello')) }],
  ])('has the status %i and the reason %s in HTTP+JSON', async (code, reason, asked: Asked) => {
    const { status, body } = await raw(asked)
    expect([status, JSON.parse(body).error]).toMatchObject([
      code,
      {
        code,
        details: [
          { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain: 'a2a-protocol.org' },
        ],
      },
    ])
  })

  test('says which parameter is wrong', async () => {
    const { error } = await rpc('SendMessage', { message: { messageId: 'm', role: 'ROLE_USER', parts: [] } })
    expect(error).toMatchObject({ code: -32602, data: [{ fieldViolations: [{ field: 'message.parts' }] }] })
  })

  test('of a verb names those that fit; nothing else is at other paths', async () => {
    const { status, headers } = await raw({ method: 'DELETE', path: '/bob/tasks' })
    expect([status, headers.allow]).toEqual([405, 'GET'])
    expect((await raw({ method: 'GET', path: '/bob/anything' })).status).toBe(404)
    expect((await raw({ method: 'GET', path: '/%E0%A4%A/tasks' })).status).toBe(400)
  })

  test('an agent that nobody knows is named in it', async () => {
    const { error } = await rpc('SendMessage', message('hi'), { path: '/carol' })
    expect(error.message).toMatch(/"carol" is no AID and no contact/)
    const two = await rpc('SendMessage', { ...message('hi'), tenant: world.alice.aid })
    expect(two.error.message).toMatch(/another agent than the tenant/)
  })

  test.each([
    'http://93.184.216.34/',
    'https://127.0.0.1/',
    'https://[::1]/',
    'https://[::ffff:10.0.0.1]/',
    'https://10.1.2.3/',
    'https://169.254.169.254/latest',
    'https://u:p@example.com/',
    'file:///etc/passwd',
  ])('no push goes to %s', async url => {
    const { result } = await rpc('SendMessage', message('pushed'))
    const { error } = await rpc('CreateTaskPushNotificationConfig', { taskId: result.task.id, url })
    expect(error).toMatchObject({ code: -32602 })
  })
})

test('whatever the parameters are, no method fails', async () => {
  const members = [
    'message',
    'configuration',
    'id',
    'taskId',
    'pageToken',
    'pageSize',
    'contextId',
    'url',
    'parts',
  ]
  const some = fc.dictionary(
    fc.constantFrom(...members, 'messageId', 'role', 'tenant', '__proto__'),
    fc.jsonValue(),
  )
  const messages = fc.record({
    messageId: fc.string({ maxLength: 8 }),
    role: fc.constantFrom('ROLE_USER', 'ROLE_AGENT'),
    parts: fc.array(
      fc.dictionary(fc.constantFrom('text', 'raw', 'url', 'data', 'mediaType', 'filename'), fc.jsonValue()),
    ),
    // none of them begins a task, whose answer would be waited for
    taskId: fc.constant('none'),
  })
  const params = fc.oneof(fc.jsonValue(), some, fc.record({ message: messages }))
  const asked = fc.tuple(fc.constantFrom(...Object.keys(methods)), params)
  await fc.assert(
    fc.asyncProperty(asked, async ([method, given]) => {
      const { body } = await raw({ body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: given }) })
      if (body.startsWith('{')) expect(JSON.parse(body).error?.code).not.toBe(-32603)
    }),
    { numRuns: 300 },
  )
})

describe('the media type', () => {
  test('is application/json unless application/a2a+json is asked for', async () => {
    const type = async (Accept: string) =>
      (await raw({ method: 'GET', path: '/bob/tasks', headers: { Accept } })).headers['content-type']
    expect(await type('*/*')).toBe('application/json')
    expect(await type('application/a2a+json, application/json')).toBe('application/a2a+json')
  })

  test('members may have the names of the proto, and numbers may be texts', async () => {
    const params = { page_size: '1', context_id: 'none', include_artifacts: 'true' }
    expect((await rpc('ListTasks', params)).result).toMatchObject({
      tasks: [],
      pageSize: 1,
      nextPageToken: '',
    })
  })
})

describe('a message id', () => {
  test('counts once, also for requests at the same moment and after a restart', async () => {
    const given = message('once')
    const answers = await Promise.all(Array.from({ length: 5 }, () => rpc('SendMessage', given)))
    const ids = new Set(answers.map(({ result }) => result.task.id))
    expect(ids.size).toBe(1)
    await world.alice.stop()
    world.alice = await world.lab.start('alice')
    world.url = (await world.alice.handlers.a2a(undefined, never)).url as string
    expect((await rpc('SendMessage', given)).result.task.id).toBe([...ids][0])
    await until('the task arrives', async () => (await inboxIds(world.bob)).includes([...ids][0] as string))
    const other = await rpc('SendMessage', message('twice', given.message.messageId))
    expect(other.error).toMatchObject({
      code: -32602,
      message: expect.stringContaining('used for another message'),
    })
  })
})

test('a message that a crash cut short after its delegation is the task that was delegated', async () => {
  const given = message('cut short')
  const { interaction_id } = await world.alice.handlers.delegate(
    { to: world.bob.aid, task: 'cut short', idempotency_key: keyOf(world.bob.aid, given.message.messageId) },
    never,
  )
  expect((await rpc('SendMessage', given)).result.task.id).toBe(interaction_id)
})

describe('a stream', () => {
  test('goes on after the event that the client has, also once the task is over', async () => {
    const { result } = await rpc('SendMessage', message('stream'))
    const { id } = result.task
    await until('the task arrives', async () => (await inboxIds(world.bob)).includes(id))
    await world.bob.handlers.message({ interaction_id: id, text: 'first' }, never)
    await world.bob.handlers.end({ interaction_id: id }, never)
    await until('it is complete', async () => {
      const { body } = await raw({ method: 'GET', path: `/bob/tasks/${id}` })
      return JSON.parse(body).status.state === 'TASK_STATE_COMPLETED'
    })
    const streamed = async (after: string) =>
      (await raw({ method: 'GET', path: `/bob/tasks/${id}:subscribe`, headers: { 'Last-Event-ID': after } }))
        .body
    const whole = [...(await streamed('0')).matchAll(/^id: (\d+)$/gm)].map(([, n]) => Number(n))
    expect(whole).toEqual(Array.from({ length: whole.length }, (_, n) => n))
    const rest = [...(await streamed('1')).matchAll(/^id: (\d+)$/gm)].map(([, n]) => Number(n))
    expect(rest).toEqual(whole.slice(1))
    expect((await raw({ path: `/bob/tasks/${id}:subscribe` })).status).toBe(400)
  })
})
