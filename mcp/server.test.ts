/** The server as a client of each era finds it. */

import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { type Answers, type Reply, ServedNode, settled } from './testing.ts'
import { tools } from './tools/all.ts'

const ID = 'A'.repeat(22)
const BOB = `A${'b'.repeat(43)}`
const item = (more: Reply = {}): Reply => ({
  interaction_id: ID,
  side: 'received',
  peer: BOB,
  peer_name: null,
  state: 'open',
  last_at: 2,
  ...more,
})
const thread = (more: Reply = {}): Reply => ({ ...item(), sealed: true, turns: [], actions: [], ...more })
const waiting = () =>
  thread({
    state: 'pending',
    turns: [{ n: 1, mine: false, kind: 'task', at: 0, text: 'help', attachments: [] }],
  })

const membersOf = (given: Reply | undefined, name: string) => given?.[name] as Reply
const rowsOf = (given: Reply | undefined, name: string) => given?.[name] as Reply[]

let node: ServedNode
const served = (era: 'modern' | 'legacy', answers: Answers = {}, capabilities: Reply = {}, options = {}) => {
  node = new ServedNode(answers)
  return node.open({ era, capabilities }, options)
}
afterEach(async () => {
  vi.useRealTimers()
  await node.close()
})

describe('tools', () => {
  test('are listed as this server has them, and one that it lacks is named with those that there are', async () => {
    const few = tools.filter(({ name }) => name.startsWith('task_'))
    const request = await served('legacy', {}, {}, { tools: few })
    const names = few.map(({ name }) => name)
    const { result } = await request('tools/list')
    expect(rowsOf(result, 'tools').map(({ name }) => name)).toEqual(names)
    const { error } = await request('tools/call', { name: 'agents_find', arguments: {} })
    expect(error).toMatchObject({
      code: -32602,
      message: `there is no tool agents_find; expected ${names.join(', ')}`,
    })
  })

  test('say every five seconds that they wait, where the client asks for that', async () => {
    let go: (reply: unknown) => void = () => {}
    const request = await served('legacy', {
      thread: () =>
        new Promise(resolve => {
          go = resolve
        }),
    })
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const call = { name: 'task_results', arguments: { interaction_id: ID } }
    const silent = request('tools/call', call)
    await settled()
    expect(vi.getTimerCount()).toBe(0)
    go(thread())
    await silent
    const told = request('tools/call', { ...call, _meta: { progressToken: 'p' } })
    await settled()
    vi.advanceTimersByTime(4_999)
    await settled()
    const progress = () => node.lines.filter(({ method }) => method === 'notifications/progress')
    expect(progress()).toEqual([])
    vi.advanceTimersByTime(5_001)
    await settled()
    expect(progress().map(({ params }) => params?.['progress'])).toEqual([5, 10])
    go(thread())
    await told
    expect(vi.getTimerCount()).toBe(0)
  })

  test('that read only change nothing, not even what is read', async () => {
    const request = await served('legacy', { thread: () => thread() }, {}, { readOnly: true })
    await request('tools/call', { name: 'task_results', arguments: { interaction_id: ID } })
    expect(node.asked.at(-1)?.given).toMatchObject({ mark_read: false })
    await node.close()
    const usual = await served('legacy', { thread: () => thread() })
    await usual('tools/call', { name: 'task_results', arguments: { interaction_id: ID } })
    expect(node.asked.at(-1)?.given).toMatchObject({ mark_read: true })
  })
})

describe('the extension for tasks', () => {
  const extensions = async (era: 'modern' | 'legacy', options = {}) => {
    const request = await served(era, {}, {}, options)
    const method = era === 'modern' ? 'server/discover' : 'initialize'
    const params = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'x', version: '1' },
    }
    const line = await request(method, era === 'modern' ? {} : params)
    await node.close()
    return membersOf(line.result, 'capabilities')['extensions']
  }

  test('is there in the later era alone, and where this server delegates', async () => {
    expect(await extensions('modern')).toEqual({ 'io.modelcontextprotocol/tasks': {} })
    expect(await extensions('legacy')).toBeUndefined()
    const reading = tools.filter(({ name }) => name !== 'task_delegate')
    expect(await extensions('modern', { tools: reading })).toBeUndefined()
    const request = await served('modern', {}, {}, { tools: reading })
    expect((await request('tasks/get', { taskId: ID })).error).toMatchObject({ code: -32601 })
  })
})

describe('resources', () => {
  test('are the status and the tasks in which something happened last', async () => {
    const request = await served('legacy', {
      inbox: () => ({ items: [item({ last_at: 1 })] }),
      results: () => ({ items: [item({ interaction_id: 'B'.repeat(22), side: 'sent', peer_name: 'bob' })] }),
    })
    const { result } = await request('resources/list')
    expect(result?.['resources']).toMatchObject([
      { uri: 'svc://status' },
      { uri: `svc://thread/${'B'.repeat(22)}`, title: 'Task to bob, open' },
      { uri: `svc://thread/${ID}`, title: `Task from ${BOB}, open` },
    ])
  })

  test('are those of ten tasks of each side', async () => {
    const request = await served('legacy')
    await request('resources/list')
    expect(node.asked.slice(-2)).toEqual([
      { name: 'inbox', given: { limit: 10 } },
      { name: 'results', given: { limit: '10' } },
    ])
  })

  test('are read as the tools read, and mark nothing as read', async () => {
    const request = await served('legacy', { thread: () => thread() })
    const { result } = await request('resources/read', { uri: `svc://thread/${ID}` })
    expect(result?.['contents']).toMatchObject([
      { uri: `svc://thread/${ID}`, mimeType: 'application/json', text: expect.stringContaining(ID) },
    ])
    expect(node.asked.at(-1)).toMatchObject({ name: 'thread', given: { mark_read: false } })
  })

  test('that are none, and those that the node does not have, are not found', async () => {
    const request = await served('legacy', { thread: () => Promise.reject(new Error('gone')) })
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const missing = await request('resources/read', { uri: 'svc://nothing' })
    expect(missing.error).toMatchObject({ code: -32602, message: 'there is no resource svc://nothing' })
    const gone = await request('resources/read', { uri: `svc://thread/${ID}` })
    expect(gone.error).toMatchObject({ code: -32602, data: { uri: `svc://thread/${ID}` } })
    vi.restoreAllMocks()
  })

  test('tell those that subscribed when they change, and nobody once they left', async () => {
    const request = await served('legacy')
    const told = () =>
      node.lines.flatMap(({ method, params }) =>
        method === 'notifications/resources/updated' ? [params?.['uri']] : [],
      )
    await node.says('hub')
    expect(told()).toEqual([])
    await request('resources/subscribe', { uri: 'svc://status' })
    await node.says('hub')
    expect(told()).toEqual(['svc://status'])
    await request('resources/unsubscribe', { uri: 'svc://status' })
    await node.says('hub')
    expect(told()).toHaveLength(1)
    expect((await request('resources/subscribe', { uri: 'svc://nothing' })).error).toBeDefined()
  })

  test('have a thousand subscriptions of one client at most', async () => {
    const request = await served('legacy')
    const subscribe = (n: number) => request('resources/subscribe', { uri: `svc://thread/${n}` })
    for (let n = 0; n < 1_000; n++) if ((await subscribe(n)).error !== undefined) throw new Error(`${n}`)
    expect((await subscribe(1_000)).error).toMatchObject({ message: 'at most 1000 subscriptions are kept' })
  })

  test('need no subscription of a client of the later era, which the SDK keeps', async () => {
    const request = await served('modern')
    await request('tools/list')
    expect((await request('resources/subscribe', { uri: 'svc://status' })).error).toMatchObject({
      code: -32601,
    })
  })
})

describe('the log', () => {
  const levels = () =>
    node.lines.flatMap(({ method, params }) =>
      method === 'notifications/message' ? [[params?.['level'], params?.['data']]] : [],
    )

  test('says in the earlier era that the node is gone, and that it is there again', async () => {
    await served('legacy')
    await node.says('shutdown')
    await node.says('reset')
    expect(levels()).toEqual([
      ['warning', 'the node does not answer'],
      ['info', 'the node answers again'],
    ])
  })

  test('says nothing unasked in the later era', async () => {
    const request = await served('modern')
    await request('tools/list')
    await node.says('shutdown')
    expect(levels()).toEqual([])
  })
})

describe('prompts', () => {
  test('are offered where all the tools that they name are there', async () => {
    const names = async (options = {}) => {
      const request = await served('legacy', {}, {}, options)
      const { result } = await request('prompts/list')
      await node.close()
      return rowsOf(result, 'prompts').map(({ name }) => name)
    }
    expect(await names()).toEqual(['triage', 'delegate'])
    expect(await names({ tools: tools.filter(({ name }) => name !== 'task_end') })).toEqual(['triage'])
  })

  test('take what they need, and say what is missing', async () => {
    const request = await served('legacy')
    const textOf = async (args: Reply) => {
      const { result } = await request('prompts/get', { name: 'delegate', arguments: args })
      return membersOf(rowsOf(result, 'messages')[0], 'content')['text']
    }
    expect(await textOf({ task: 'count' })).toMatch(/^Delegate this task: count\n\nLook for an agent/)
    expect(await textOf({ task: 'count', to: 'bob' })).toContain('To: bob')
    for (const args of [{}, { task: '' }])
      expect((await request('prompts/get', { name: 'delegate', arguments: args })).error).toMatchObject({
        code: -32602,
        message: 'task is missing: what is to be done',
      })
    expect((await request('prompts/get', { name: 'x' })).error).toMatchObject({
      message: 'there is no prompt x',
    })
  })

  test('say which of their arguments are required', async () => {
    const request = await served('legacy')
    const { result } = await request('prompts/list')
    expect(rowsOf(result, 'prompts')[1]).toMatchObject({
      arguments: [
        { name: 'task', required: true },
        { name: 'to', required: false },
      ],
    })
  })
})

describe('a question to the user', () => {
  const stranger = { thread: waiting, approve: () => ({ interaction_id: ID }), decline: () => ({}) }
  const reading = { name: 'task_inbox', arguments: { interaction_id: ID } }
  const decides = (decision: unknown, action = 'accept') => ({ action, content: { decision } })

  test('is put while the call runs in the earlier era', async () => {
    const request = await served('legacy', stranger, { elicitation: {} })
    const call = request('tools/call', reading)
    await settled()
    const question = node.lines.find(({ method }) => method === 'elicitation/create')
    expect(question?.params).toMatchObject({ message: expect.stringContaining('“help”') })
    expect(node.operations).not.toContain('approve')
    await node.answers(question?.id, decides('approve'))
    await call
    expect(node.operations).toContain('approve')
  })

  test('goes back as the result of the call in the later era, and the same call brings the answer', async () => {
    const request = await served('modern', stranger, { elicitation: { form: {} } })
    const { result: asked } = await request('tools/call', reading)
    expect(asked).toMatchObject({
      resultType: 'input_required',
      inputRequests: { answer: { method: 'elicitation/create' } },
    })
    const answered = { requestState: asked?.['requestState'], inputResponses: { answer: decides('decline') } }
    const { result } = await request('tools/call', { ...reading, ...answered })
    expect(result).toMatchObject({ resultType: 'complete' })
    expect(node.operations).toContain('decline')
  })

  test.each([{ elicitation: {} }, { elicitation: { form: {}, url: {} } }])(
    'is put to a client that says no mode, or this one: %j',
    async capabilities => {
      const request = await served('modern', stranger, capabilities)
      expect((await request('tools/call', reading)).result).toMatchObject({ resultType: 'input_required' })
    },
  )

  test.each([{}, { elicitation: { url: {} } }])(
    'is put to no client that shows no form: %j',
    async capabilities => {
      const request = await served('modern', stranger, capabilities)
      expect((await request('tools/call', reading)).result).toMatchObject({ resultType: 'complete' })
    },
  )

  test.each([
    decides('approve', 'decline'),
    decides('approve', 'cancel'),
    decides('take it'),
    decides('toString'),
    decides(1),
    { action: 'accept' },
    {},
  ])('is decided by nothing but an answer that was offered: %j', async answer => {
    const request = await served('modern', stranger, { elicitation: {} })
    const { result: asked } = await request('tools/call', reading)
    const given = { requestState: asked?.['requestState'], inputResponses: { answer } }
    await request('tools/call', { ...reading, ...given })
    expect(node.operations).not.toContain('approve')
    expect(node.operations).not.toContain('decline')
  })
})

describe('files', () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'svc-roots-')))
  mkdirSync(join(folder, 'data'))
  const [open, shut] = ['open', 'shut'].map(name => {
    mkdirSync(join(folder, name))
    writeFileSync(join(folder, name, 'notes.md'), 'words')
    return join(folder, name)
  }) as [string, string]
  const answers = {
    status: () => ({ data_dir: join(folder, 'data') }),
    delegate: () => ({ interaction_id: ID, state: 'queued' }),
  }
  const attaching = (path: string) => ({
    name: 'task_delegate',
    arguments: { to: 'bob', task: 'read it', attach: [join(path, 'notes.md')] },
  })
  const roots = { roots: [{ uri: pathToFileURL(open).href }, { uri: 5 }, null] }

  test('are sent out of the folders that the client opened, which it is asked between two rounds', async () => {
    const request = await served('modern', answers, { roots: {} })
    const sends = async (path: string, given: unknown) => {
      const { result } = await request('tools/call', attaching(path))
      expect(result?.['inputRequests']).toEqual({ answer: { method: 'roots/list', params: {} } })
      const again = { requestState: result?.['requestState'], inputResponses: { answer: given } }
      return (await request('tools/call', { ...attaching(path), ...again })).result?.['isError']
    }
    expect(await sends(open, roots)).toBeUndefined()
    expect(await sends(shut, roots)).toBe(true)
    expect(await sends(open, { roots: 'x' })).toBe(true)
  })

  test('are sent out of those that it names while the call runs, asked once until it says that they changed', async () => {
    const request = await served('legacy', answers, { roots: { listChanged: true } })
    const questions = () => node.lines.filter(({ method }) => method === 'roots/list')
    const call = request('tools/call', attaching(open))
    await vi.waitFor(() => expect(questions()).toHaveLength(1))
    await node.answers(questions()[0]?.id, { roots: [{ uri: pathToFileURL(open).href }] })
    expect((await call).result).not.toHaveProperty('isError')
    expect((await request('tools/call', attaching(shut))).result).toMatchObject({ isError: true })
    expect(questions()).toHaveLength(1)
    await node.notify('notifications/roots/list_changed')
    const again = request('tools/call', attaching(shut))
    await vi.waitFor(() => expect(questions()).toHaveLength(2))
    await node.answers(questions()[1]?.id, { roots: [{ uri: pathToFileURL(shut).href }] })
    expect((await again).result).not.toHaveProperty('isError')
  })

  test('are sent out of the folder where the server started, for a client that has none', async () => {
    for (const era of ['modern', 'legacy'] as const) {
      const request = await served(era, answers, {}, { cwd: open })
      expect((await request('tools/call', attaching(open))).result).not.toHaveProperty('isError')
      expect((await request('tools/call', attaching(shut))).result).toMatchObject({ isError: true })
      await node.close()
    }
  })
})
