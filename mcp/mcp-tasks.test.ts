/** A delegation as a task of the protocol, as a client finds it that knows tasks. */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { OperationRefused } from '../protocol/control/refusal.ts'
import { type Answers, type Reply, ServedNode } from './testing.ts'

const idOf = (n: number) => `${n}`.padEnd(22, 'A')
const ID = idOf(0)
const BOB = `A${'b'.repeat(43)}`
const AT = Date.UTC(2026, 10, 26)
const knows = { extensions: { 'io.modelcontextprotocol/tasks': {} } }
const asks = { ...knows, elicitation: { form: {} } }
const summary = (more: Reply = {}): Reply => ({
  interaction_id: ID,
  side: 'sent',
  peer: BOB,
  peer_name: 'bob',
  created_at: AT,
  last_at: AT + 5_000,
  state: 'open',
  ...more,
})
const thread = (more: Reply = {}): Reply => ({ ...summary(), sealed: true, turns: [], actions: [], ...more })
const said = { n: 2, from: BOB, mine: false, kind: 'message', at: AT, text: 'four', attachments: [] }
const price = { state: 'open', amount: 3, network: 'svc:hub' }

let node: ServedNode
function served(answers: Answers = {}, capabilities: Reply = knows) {
  node = new ServedNode({
    interactions: () => ({ items: [summary()] }),
    thread: () => thread(),
    delegate: () => ({ interaction_id: ID, state: 'queued' }),
    ...answers,
  })
  return node.open({ era: 'modern', capabilities })
}
afterEach(() => node.close())
const delegate = (more: Reply = {}) => ({
  name: 'task_delegate',
  arguments: { to: 'bob', task: 'Sum 2 and 2', ...more },
})

describe('a delegation', () => {
  test('is a task, whose id is that of the interaction, and waits for nothing', async () => {
    const request = await served()
    const { result } = await request('tools/call', delegate({ wait_s: 45 }))
    expect(result).toMatchObject({
      resultType: 'task',
      taskId: ID,
      status: 'working',
      createdAt: '2026-11-26T00:00:00Z',
      lastUpdatedAt: '2026-11-26T00:00:05Z',
      ttlMs: null,
      pollIntervalMs: 2_000,
    })
    expect(node.operations).toEqual(['delegate', 'interactions'])
  })

  test.each([
    ['that was answered at once', { effect: { status: 'OK' } }],
    ['whose price is not paid', { payment_required: { amount: 3 } }],
    ['that has not left', { warning: 'the hub is away' }],
  ])('%s is no task but its result', async (_, more) => {
    const request = await served({ delegate: () => ({ interaction_id: ID, state: 'open', ...more }) })
    expect((await request('tools/call', delegate())).result).toMatchObject({ resultType: 'complete' })
    expect(node.operations).not.toContain('interactions')
  })

  test('that is refused is no task, also for a wait that is none', async () => {
    const request = await served({
      delegate: () => Promise.reject(new OperationRefused('bad_request', 'no')),
    })
    expect((await request('tools/call', delegate())).result).toMatchObject({ isError: true })
    const refused = (await request('tools/call', delegate({ wait_s: -1 }))).result
    expect(refused).toMatchObject({
      isError: true,
      structuredContent: { error: { message: expect.stringContaining('wait_s') } },
    })
    expect(node.operations).toEqual(['delegate'])
  })

  test('is a result for a client that knows no tasks, and so is any other tool', async () => {
    const request = await served({}, {})
    expect((await request('tools/call', delegate())).result).toMatchObject({ resultType: 'complete' })
    await node.close()
    const other = await served()
    const results = { name: 'task_results', arguments: { interaction_id: ID } }
    expect((await other('tools/call', results)).result).toMatchObject({ resultType: 'complete' })
  })
})

describe('a task', () => {
  const get = async (answers: Answers, capabilities = knows) => {
    const request = await served(answers, capabilities)
    return (await request('tasks/get', { taskId: ID })).result
  }

  test('works until the other side has answered, and ends with its words', async () => {
    const working = await get({ thread: () => thread({ state: 'queued' }) })
    expect(working).toMatchObject({ status: 'working', statusMessage: 'queued' })
    expect(node.asked.find(({ name }) => name === 'thread')?.given).toMatchObject({ from_turn: 2, wait_s: 0 })
    await node.close()
    expect(await get({ thread: () => thread({ turns: [said] }) })).toMatchObject({
      status: 'completed',
      result: {
        resultType: 'complete',
        structuredContent: { answer: [{ text: expect.stringContaining('four') }] },
      },
    })
  })

  test('is cancelled once it was withdrawn, whatever was said before', async () => {
    expect(await get({ thread: () => thread({ state: 'cancelled', turns: [said] }) })).toMatchObject({
      status: 'cancelled',
    })
  })

  test('works on while the node does not say how it stands', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    expect(await get({ thread: () => Promise.reject(new Error('away')) })).toMatchObject({
      status: 'working',
    })
    vi.restoreAllMocks()
  })

  test('is followed to the one that pays for it, or was delegated anew, up to seven times', async () => {
    const chain = (steps: number): Answers => ({
      interactions: ({ interaction_ids }) => {
        const [id = ''] = interaction_ids as string[]
        const n = Number(id.replaceAll('A', ''))
        const next = n % 2 === 0 ? { payment: { paid_as: idOf(n + 1) } } : { anew_as: idOf(n + 1) }
        const more = { created_at: AT + n * 1_000, last_at: AT + 60_000 * n, ...(n < steps && next) }
        return { items: [summary({ interaction_id: id, ...more })] }
      },
    })
    expect(await get(chain(7))).toMatchObject({
      taskId: ID,
      createdAt: '2026-11-26T00:00:00Z',
      lastUpdatedAt: '2026-11-26T00:07:00Z',
    })
    expect(node.asked.find(({ name }) => name === 'thread')?.given).toMatchObject({ interaction_id: idOf(7) })
    await node.close()
    const request = await served(chain(8))
    expect((await request('tasks/get', { taskId: ID })).error).toMatchObject({ code: -32603 })
  })

  test.each([
    ['that is no id', 'x y', {}],
    ['that the node does not know', ID, { interactions: () => ({ items: [] }) }],
    [
      'that came from somebody else',
      ID,
      { interactions: () => ({ items: [summary({ side: 'received' })] }) },
    ],
  ])('%s is none', async (_, taskId, answers) => {
    const request = await served(answers)
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel'])
      expect((await request(method, { taskId, inputResponses: {} })).error).toMatchObject({
        code: -32602,
        message: `there is no task ${taskId}`,
      })
    if (taskId !== ID) expect(node.operations).toEqual([])
  })

  test.each([
    [300, 'x'.repeat(300)],
    [301, `${'x'.repeat(299)}…`],
  ])('whose id has %i letters is named in 300', async (length, shown) => {
    const request = await served()
    const { error } = await request('tasks/get', { taskId: 'x'.repeat(length) })
    expect(error).toMatchObject({ message: `there is no task ${shown}` })
  })

  test('is none of a client that does not say that it knows tasks', async () => {
    const request = await served({}, {})
    expect((await request('tasks/get', { taskId: ID })).error).toMatchObject({
      code: -32021,
      data: { requiredCapabilities: knows },
    })
  })
})

describe('a task that is cancelled', () => {
  const cancel = async (answer: () => unknown) => {
    const request = await served({ cancel: answer })
    const line = await request('tasks/cancel', { taskId: ID })
    expect(node.asked).toContainEqual({ name: 'cancel', given: { interaction_id: ID } })
    return line
  }
  const refused = (code: 'wrong_state' | 'not_found') => () =>
    Promise.reject(new OperationRefused(code, 'no'))

  test('is withdrawn, and one that has ended stays as it is', async () => {
    expect((await cancel(() => ({}))).result).toBeDefined()
    await node.close()
    expect((await cancel(refused('wrong_state'))).result).toBeDefined()
  })

  test('says so where it cannot be withdrawn', async () => {
    expect((await cancel(refused('not_found'))).error).toBeDefined()
    await node.close()
    expect((await cancel(() => Promise.reject(new Error('away')))).error).toBeDefined()
  })
})

describe('a task whose price waits for a person', () => {
  const priced = () => thread({ payment: price, turns: [{ ...said, mine: true, text: 'a poem' }] })
  const paid = { thread: priced, approve: () => ({ interaction_id: idOf(1) }) }
  const decides = (decision: string) => ({ action: 'accept', content: { decision } })
  const keyOf = (result: Reply | undefined) => Object.keys(Object(result?.['inputRequests']))[0] ?? ''

  test('asks for it where the client can put a question', async () => {
    const request = await served(paid, asks)
    const { result } = await request('tasks/get', { taskId: ID })
    expect(result).toMatchObject({ status: 'input_required' })
    expect(Object(result?.['inputRequests'])[keyOf(result)]).toMatchObject({
      method: 'elicitation/create',
      params: { message: 'bob asks 3 credits of svc:hub for this task of your agent: “a poem”.' },
    })
    await node.close()
    const silent = await served(paid)
    expect((await silent('tasks/get', { taskId: ID })).result).toMatchObject({ status: 'working' })
  })

  test('is paid by a yes to that question, once, and asks no more', async () => {
    const request = await served(paid, asks)
    const key = keyOf((await request('tasks/get', { taskId: ID })).result)
    const answers = (name: string, decision = 'approve') =>
      request('tasks/update', { taskId: ID, inputResponses: { [name]: decides(decision) } })
    await answers('other')
    expect(node.operations).not.toContain('approve')
    expect((await request('tasks/get', { taskId: ID })).result).toMatchObject({ status: 'input_required' })
    await answers(key)
    await answers(key)
    expect(node.asked.filter(({ name }) => name === 'approve')).toEqual([
      { name: 'approve', given: { interaction_id: ID } },
    ])
    expect((await request('tasks/get', { taskId: ID })).result).toMatchObject({ status: 'working' })
  })

  test('is not paid by a no, which is the last word of this session', async () => {
    const request = await served(paid, asks)
    const key = keyOf((await request('tasks/get', { taskId: ID })).result)
    await request('tasks/update', { taskId: ID, inputResponses: { [key]: decides('decline') } })
    expect(node.operations).not.toContain('approve')
    expect((await request('tasks/get', { taskId: ID })).result).toMatchObject({ status: 'working' })
  })

  test('takes no answer where nothing is asked', async () => {
    const request = await served({ approve: () => ({}) }, asks)
    await request('tasks/update', { taskId: ID, inputResponses: { undefined: decides('approve') } })
    expect(node.operations).not.toContain('approve')
  })
})
