// project: programs

/** The tools in the protocol's later era (MCP 2026-07-28): its own client, and lines as they stand on the wire, against the built programs. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { World } from '../cli/demo/world.ts'

const root = new URL('..', import.meta.url).pathname
const programs = { svc: join(root, 'dist', 'svc.js'), hub: join(root, 'hub', 'dist', 'svc-hub.js') }
const VERSION = '2026-07-28'
const TASKS = 'io.modelcontextprotocol/tasks'
const LOOK_MS = 50
const LOOKS_MAX = 400

type Reply = Record<string, unknown>
type Result = { content: { text: string }[]; structuredContent?: Reply; isError?: boolean }

let world: World
let bob: string
let client: Client
const clients: Client[] = []

beforeAll(async () => {
  world = new World(programs)
  const { url } = await world.startHub()
  const [alice, other] = await Promise.all([world.startNode('alice'), world.startNode('bob')])
  bob = String(other['aid'])
  for (const aid of [String(alice['aid']), bob]) await world.hub('admit', aid)
  await world.svc('alice', 'hub-register', url, '--name', 'alice')
  await world.svc('bob', 'hub-register', url, '--name', 'bob', '--guest-messages', '50')
  await world.svc('alice', 'contact', 'add', bob, 'bob')
  await world.svc('bob', 'contact', 'add', String(alice['aid']), 'alice')
  client = await clientOf('alice')
})
afterAll(async () => {
  for (const each of clients) await each.close()
  await world?.[Symbol.asyncDispose]()
})

/** A client, of the later era alone unless told otherwise; its user gives these answers, one a question. */
async function clientOf(
  name: 'alice' | 'bob',
  answers?: string[],
  questions: string[] = [],
  mode: 'legacy' | { pin: string } = { pin: VERSION },
): Promise<Client> {
  const capabilities = answers === undefined ? {} : { elicitation: { form: {} } }
  const made = new Client({ name: 'test', version: '1' }, { capabilities, versionNegotiation: { mode } })
  if (answers !== undefined)
    made.setRequestHandler('elicitation/create', ({ params }) => {
      questions.push(params.message)
      return { action: 'accept', content: { decision: answers.shift() ?? 'later' } }
    })
  return connected(made, name)
}

async function connected(made: Client, name: 'alice' | 'bob'): Promise<Client> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [programs.svc, 'mcp', '--start'],
    env: world.env(name),
  })
  await made.connect(transport)
  clients.push(made)
  return made
}

async function ask(of: Client, name: string, args: Reply = {}): Promise<Reply> {
  const result = (await of.callTool({ name, arguments: args })) as Result
  expect(result.isError, result.content[0]?.text).toBeFalsy()
  return result.structuredContent as Reply
}

async function until<T>(look: () => Promise<T | undefined>): Promise<T> {
  for (let i = 0; i < LOOKS_MAX; i++) {
    const found = await look()
    if (found !== undefined) return found
    await pause(LOOK_MS)
  }
  throw new Error('it did not happen')
}

const arrived = (id: string) =>
  until(async () => {
    const { items } = await world.svc('bob', 'inbox')
    return (items as { interaction_id: string }[]).find(item => item.interaction_id === id)
  })

describe('a client of the later era', () => {
  test('is served without a handshake, and discovers what there is', async () => {
    expect(client.getNegotiatedProtocolVersion()).toBe(VERSION)
    expect(client.getServerCapabilities()?.extensions).toEqual({ [TASKS]: {} })
    expect(client.getInstructions()).toMatch(/agents_find, task_delegate with wait_s/)
    expect((await client.listTools()).tools).toHaveLength(9)
    expect((await client.listPrompts()).prompts).toHaveLength(2)
    expect(await ask(client, 'node_status')).toMatchObject({ policies: { accept_delegations: true } })
  })

  test('hears of the resources that it listens to, and of no other', async () => {
    const id = String((await ask(client, 'task_delegate', { to: bob, task: 'watch' }))['interaction_id'])
    const heard: string[] = []
    client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
      heard.push(params.uri)
    })
    const listening = await client.listen({ resourceSubscriptions: [`svc://thread/${id}`] })
    await arrived(id)
    await world.svc('bob', 'message', id, 'seen')
    await until(async () => heard[0])
    expect(new Set(heard)).toEqual(new Set([`svc://thread/${id}`]))
    await listening.close()
  })

  test('has a task of a stranger approved or declined by its user, between the rounds of one call', async () => {
    await world.svc('bob', 'contact', 'rm', 'alice')
    const questions: string[] = []
    const user = await clientOf('bob', ['approve', 'decline', 'later', 'later'], questions)
    const ids: string[] = []
    for (const task of ['take this', 'or this', 'or that'])
      ids.push(String((await ask(client, 'task_delegate', { to: bob, task }))['interaction_id']))
    for (const id of ids) await arrived(id)
    const states = []
    for (const interaction_id of ids)
      states.push((await ask(user, 'task_inbox', { interaction_id }))['state'])
    expect(states).toEqual(['open', 'declined', 'pending'])
    expect(questions[0]).toContain('“take this”')
    await ask(user, 'task_inbox', { interaction_id: ids[2] as string })
    expect(questions).toHaveLength(3)
  })
})

describe('a price', () => {
  test.each([
    ['earlier', 'legacy'],
    ['later', { pin: VERSION }],
  ] as const)(
    'is paid or refused by the user of a client of the %s era, and the task is sent once',
    async (_, mode) => {
      await world.svc('bob', 'price', 'set', 'task', '3')
      const questions: string[] = []
      const user = await clientOf('alice', ['decline', 'approve'], questions, mode)
      const sent = async () => ((await ask(user, 'task_results', { limit: 50 }))['items'] as Reply[]).length
      const before = await sent()
      const priced = { to: bob, task: 'a poem', pay: true, max_credits: 50, wait_s: 30 }
      const paymentOf = async (reply: Reply) =>
        (await world.svc('alice', 'thread', String(reply['interaction_id'])))['payment']
      const refused = await ask(user, 'task_delegate', priced)
      expect(questions).toEqual([expect.stringMatching(/^bob asks 3 credits of .* “a poem”/)])
      expect(await paymentOf(refused)).toMatchObject({ state: 'open' })
      const paid = await ask(user, 'task_delegate', { ...priced, task: 'an ode' })
      expect(questions).toHaveLength(2)
      expect(await paymentOf(paid)).toMatchObject({ state: expect.stringMatching(/^(authorized|held)$/) })
      // the one whose price was refused, the one that asked for it, and the one that goes on with the payment
      expect(await sent()).toBe(before + 3)
      await world.svc('bob', 'price', 'rm', 'task')
    },
  )
})

test('a price that was paid by hand while its question stood is not paid again', async () => {
  await world.svc('bob', 'price', 'set', 'task', '3')
  const user = await clientOf('alice', [])
  const sent = async () =>
    (await world.svc('alice', 'results', '--all'))['items'] as { interaction_id: string }[]
  const before = (await sent()).length
  user.setRequestHandler('elicitation/create', async () => {
    const [newest] = await sent()
    await world.svc('alice', 'approve', String(newest?.interaction_id))
    return { action: 'accept', content: { decision: 'approve' } }
  })
  const priced = { to: bob, task: 'a ballad', pay: true, max_credits: 50, wait_s: 10 }
  await user.callTool({ name: 'task_delegate', arguments: priced })
  // the one that asked for the price, and the one that goes on with the payment
  expect(await sent()).toHaveLength(before + 2)
  await world.svc('bob', 'price', 'rm', 'task')
})

test('a client of the later era is asked for its folders between the rounds, and files of no other are sent', async () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'svc-roots-')))
  const [open, shut] = ['open', 'shut'].map(name => {
    mkdirSync(join(folder, name))
    writeFileSync(join(folder, name, 'notes.md'), 'words')
    return join(folder, name)
  }) as [string, string]
  const made = new Client(
    { name: 'test', version: '1' },
    { capabilities: { roots: {} }, versionNegotiation: { mode: { pin: VERSION } } },
  )
  let asked = 0
  made.setRequestHandler('roots/list', () => {
    asked += 1
    return { roots: [{ uri: pathToFileURL(open).href }] }
  })
  const user = await connected(made, 'alice')
  const attaching = (path: string) =>
    user.callTool({ name: 'task_delegate', arguments: { to: bob, task: 'read it', attach: [path] } })
  const refused = (await attaching(join(shut, 'notes.md'))) as Result
  expect([refused.isError, refused.content[0]?.text]).toEqual([true, expect.stringContaining('is not open')])
  const sent = (await attaching(join(open, 'notes.md'))) as Result
  expect([sent.isError, asked]).toEqual([undefined, 2])
})

/** A server whose lines are read and written as they are. */
function wire(name: 'alice' | 'bob') {
  const child: ChildProcessWithoutNullStreams = spawn(process.execPath, [programs.svc, 'mcp', '--start'], {
    env: world.env(name),
  })
  const lines: { id?: number; method?: string; result?: Reply; error?: Reply; params?: Reply }[] = []
  createInterface({ input: child.stdout }).on('line', line => lines.push(JSON.parse(line)))
  let last = 0
  const send = (message: Reply) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  const request = async (method: string, params: Reply, capabilities: Reply = {}) => {
    last += 1
    const id = last
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': VERSION,
      'io.modelcontextprotocol/clientCapabilities': capabilities,
    }
    send({ id, method, params: { ...params, _meta } })
    return until(async () => lines.find(line => line.id === id))
  }
  return { request, send, lines, end: () => child.stdin.end() }
}

describe('on the wire', () => {
  const knows = { extensions: { [TASKS]: {} } }
  const delegation = (task: string, more: Reply = {}) => ({
    name: 'task_delegate',
    arguments: { to: bob, task, ...more },
  })

  test('each request stands for itself: the first one may call a tool, and says which version it is of', async () => {
    const { request, end } = wire('alice')
    const called = await request('tools/call', { name: 'node_status', arguments: {} })
    expect(called.result).toMatchObject({ resultType: 'complete', structuredContent: { node: {} } })
    expect((await request('server/discover', {})).result).toMatchObject({ supportedVersions: [VERSION] })
    expect((await request('resources/subscribe', { uri: 'svc://status' })).error?.['code']).toBe(-32601)
    end()
  })

  test('one of another version is told which there are, and one without any opens the earlier era', async () => {
    const { send, lines, end } = wire('alice')
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2031-01-01',
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    send({ id: 1, method: 'server/discover', params: { _meta } })
    const refused = await until(async () => lines.find(line => line.id === 1))
    expect(refused.error).toMatchObject({ code: -32022, data: { supported: [VERSION] } })
    const params = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'x', version: '1' },
    }
    send({ id: 2, method: 'initialize', params })
    const opened = await until(async () => lines.find(line => line.id === 2))
    expect(opened.result).toMatchObject({ protocolVersion: '2025-11-25' })
    expect(opened.result).not.toHaveProperty('resultType')
    end()
  })

  test('a delegation is a task for a client that knows them: it ends with the answer, also after a restart of the server', async () => {
    const first = wire('alice')
    const made = await first.request('tools/call', delegation('Sum 2 and 2', { wait_s: 45 }), knows)
    expect(made.result).toMatchObject({ resultType: 'task', status: 'working', ttlMs: null })
    const taskId = String(made.result?.['taskId'])
    await arrived(taskId)
    expect((await first.request('tasks/get', { taskId }, knows)).result).toMatchObject({
      status: 'working',
      pollIntervalMs: expect.any(Number),
    })
    first.end()
    await world.svc('bob', 'approve', taskId)
    await world.svc('bob', 'message', taskId, 'It is 4.')
    const second = wire('alice')
    const done = await until(async () => {
      const { result } = await second.request('tasks/get', { taskId }, knows)
      return result?.['status'] === 'completed' ? result : undefined
    })
    const { structuredContent } = done['result'] as { structuredContent: { answer: { text: string }[] } }
    expect(structuredContent.answer[0]?.text).toMatch(/^<<untrusted [0-9a-f]{8}>>It is 4\.<<\/untrusted/)
    second.end()
  })

  test('a client that knows none gets a result, and none of the tasks of others', async () => {
    const { request, end } = wire('alice')
    const made = await request('tools/call', delegation('plain'))
    expect(made.result).toMatchObject({ resultType: 'complete' })
    const { interaction_id } = Object(made.result?.['structuredContent']) as { interaction_id: string }
    const refused = await request('tasks/get', { taskId: interaction_id })
    expect(refused.error).toMatchObject({ code: -32021, data: { requiredCapabilities: knows } })
    for (const taskId of ['nonsense', 'AAAAAAAAAAAAAAAAAAAAAA'])
      for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
        const { error } = await request(method, { taskId, inputResponses: {} }, knows)
        expect([method, error?.['code']]).toEqual([method, -32602])
      }
    end()
  })

  test('a task that is cancelled is withdrawn at the other side', async () => {
    const { request, end } = wire('alice')
    const made = await request('tools/call', delegation('never mind'), knows)
    const taskId = String(made.result?.['taskId'])
    await arrived(taskId)
    for (let twice = 0; twice < 2; twice++)
      expect((await request('tasks/cancel', { taskId }, knows)).result).toMatchObject({
        resultType: 'complete',
      })
    expect((await request('tasks/get', { taskId }, knows)).result).toMatchObject({ status: 'cancelled' })
    await until(async () => (await world.svc('bob', 'thread', taskId))['state'] === 'cancelled' || undefined)
    end()
  })

  test('a task whose price waits for a person asks for it, and goes on under its own id once it is paid', async () => {
    await world.svc('bob', 'contact', 'add', String((await world.svc('alice', 'status'))['aid']), 'alice')
    await world.svc('bob', 'price', 'set', 'task', '3')
    const { request, end } = wire('alice')
    const asks = { ...knows, elicitation: { form: {} } }
    const priced = delegation('a sonnet', { pay: true, max_credits: 50 })
    const made = await request('tools/call', priced, asks)
    const taskId = String(made.result?.['taskId'])
    const get = async () => (await request('tasks/get', { taskId }, asks)).result ?? {}
    const asking = await until(async () => {
      const task = await get()
      return task['status'] === 'input_required' ? task : undefined
    })
    const [key = ''] = Object.keys(asking['inputRequests'] as Reply)
    expect((asking['inputRequests'] as Reply)[key]).toMatchObject({
      params: { message: expect.stringMatching(/^bob asks 3 credits/) },
    })
    const pay = { action: 'accept', content: { decision: 'approve' } }
    await request('tasks/update', { taskId, inputResponses: { other: pay } }, asks)
    expect((await get())['status']).toBe('input_required')
    await request('tasks/update', { taskId, inputResponses: { [key]: pay } }, asks)
    expect(await get()).toMatchObject({ status: 'working' })
    const paid = await until(async () => {
      const { items } = (await world.svc('bob', 'inbox')) as {
        items: { interaction_id: string; preview: string }[]
      }
      return items.find(item => item.preview === 'a sonnet' && item.interaction_id !== taskId)
    })
    await world.svc('bob', 'message', paid.interaction_id, 'Shall I compare thee')
    await until(async () => (await get())['status'] === 'completed' || undefined)
    await world.svc('bob', 'price', 'rm', 'task')
    end()
  })

  test('an answer to a question is taken once, and for the call that asked it', async () => {
    const { request, end } = wire('bob')
    await world.svc('bob', 'contact', 'rm', 'alice')
    const first = String((await ask(client, 'task_delegate', { to: bob, task: 'one' }))['interaction_id'])
    const other = String((await ask(client, 'task_delegate', { to: bob, task: 'two' }))['interaction_id'])
    for (const id of [first, other]) await arrived(id)
    const user = { elicitation: {} }
    const reading = (interaction_id: string) => ({ name: 'task_inbox', arguments: { interaction_id } })
    const asked = (await request('tools/call', reading(first), user)).result ?? {}
    expect(asked).toMatchObject({ resultType: 'input_required', requestState: expect.any(String) })
    const { requestState } = asked
    const approve = { action: 'accept', content: { decision: 'approve' } }
    const answered = { requestState, inputResponses: { answer: approve } }
    const state = async (id: string) => (await world.svc('bob', 'thread', id))['state']
    await request('tools/call', { ...reading(other), ...answered }, user)
    expect([await state(first), await state(other)]).toEqual(['pending', 'pending'])
    const invented = { requestState: 'invented', inputResponses: { answer: approve } }
    await request('tools/call', { ...reading(other), ...invented }, user)
    expect(await state(other)).toBe('pending')
    const { result } = await request('tools/call', { ...reading(first), ...answered }, user)
    expect(result).toMatchObject({ resultType: 'complete', structuredContent: { state: 'open' } })
    end()
  })
})
