/** What each tool asks of the node, and what it makes of the answer. */
import { describe, expect, test } from 'vitest'
import { OperationRefused } from '../protocol/control/refusal.ts'
import type { AskUser } from './approval.ts'
import { runTool } from './run.ts'
import type { Tool, ToolContext } from './tool.ts'
import { tools } from './tools/all.ts'

const ID = 'A'.repeat(22)
const PAID = `B${'A'.repeat(21)}`
const BOB = `A${'b'.repeat(43)}`
type Answers = Record<string, (given: Record<string, unknown>) => unknown>

const thread = (more: object = {}) => ({
  interaction_id: ID,
  side: 'sent',
  peer: BOB,
  peer_name: null,
  state: 'open',
  sealed: true,
  turns: [],
  actions: [],
  ...more,
})
const turn = (n: number, text: string, mine = false) => ({
  n,
  from: BOB,
  mine,
  kind: 'message',
  at: 0,
  text,
  attachments: [],
})

/** A call of a tool at a node that answers so; what was asked of it, and what came back. */
async function called(name: string, args: object, answers: Answers = {}, more: Partial<ToolContext> = {}) {
  const asked: { name: string; given: Record<string, unknown> }[] = []
  const tool = tools.find(one => one.name === name) as Tool
  const call = async (operation: string, body?: object, query?: object) => {
    const given = { ...body, ...query }
    asked.push({ name: operation, given })
    const answer = answers[operation]
    if (answer === undefined) throw new Error(`the script has no answer for ${operation}`)
    return answer(given)
  }
  const result = await runTool(
    tool,
    args as never,
    {
      call,
      command: String,
      files: {},
      readOnly: false,
      absent: new Set(),
      asked: new Map(),
      signal: new AbortController().signal,
      ...more,
    } as never,
  )
  const said = result.structuredContent as Record<string, unknown> & {
    error?: { code: string; message: string; next: string }
  }
  return { asked, said, result, ops: asked.map(one => one.name) }
}
const saysYes = (answer: string | undefined): AskUser => ({
  put: async () => answer,
  isAnswered: () => false,
})

describe('a call', () => {
  test('with an argument that is unknown names it, and what else is wrong', async () => {
    const { said } = await called('task_message', { interaction_id: ID, words: 'x' })
    expect(said.error).toMatchObject({ code: 'bad_request', message: 'unknown argument: words' })
    const both = await called('task_message', { words: 'x' })
    expect(both.said.error?.message).toMatch(/^unknown argument: words; interaction_id/)
    const wrong = await called('task_message', { interaction_id: 'x' })
    expect(wrong.said.error?.message).toMatch(/^interaction_id: expected an interaction_id/)
    const accepted = 'Accepted: interaction_id, text, file, attach, idempotency_key.'
    expect(wrong.result.content[0]?.text).toContain(`${accepted} Next: task_message`)
    const none = await called('node_status', { x: 1 })
    expect(none.result.content[0]?.text).toContain('Accepted: no arguments. Next: node_status {}')
  })

  test('says which marker stands around words of others, where there are any', async () => {
    const words = await called(
      'task_results',
      { interaction_id: ID },
      { thread: () => thread({ turns: [turn(1, 'hi')] }) },
    )
    expect(words.result._meta).toMatchObject({
      'svc/untrusted': true,
      'svc/marker': expect.stringMatching(/^[0-9a-f]{8}$/),
    })
    const none = await called('task_results', { interaction_id: ID }, { thread: () => thread() })
    expect(none.result).not.toHaveProperty('_meta')
    expect(none.result).not.toHaveProperty('isError')
  })
})

describe('task_message', () => {
  const reply = {
    message: () => ({ message_id: 'm', turn: 3, state: 'open', delivery: { state: 'queued' } }),
  }

  test('sends words', async () => {
    const { asked, said } = await called('task_message', { interaction_id: ID, text: 'hello' }, reply)
    expect(asked).toEqual([{ name: 'message', given: { interaction_id: ID, text: 'hello' } }])
    expect(said).toEqual({ message_id: 'm', turn: 3, state: 'open', delivery: 'queued' })
  })

  test('sends nothing that is empty', async () => {
    for (const text of [undefined, '', ' \n']) {
      const { said, ops } = await called(
        'task_message',
        { interaction_id: ID, ...(text !== undefined && { text }) },
        reply,
      )
      expect([said.error?.code, ops]).toEqual(['bad_request', []])
      expect(said.error?.next).toContain('<text>')
    }
  })
})

describe('agents_find', () => {
  const home = `A${'h'.repeat(43)}`
  const bob = { aid: BOB, name: '', contact: 'bob', summary: '', caps: [], hub: home, home, quiet: false }

  test('says at which other hub an agent lives', async () => {
    const { asked, said } = await called(
      'agents_find',
      { query: BOB },
      { find: () => ({ agents: [bob], searched: 'all_hubs' }) },
    )
    expect(asked).toEqual([{ name: 'find', given: { query: BOB, limit: 10, others: true } }])
    expect(said).toMatchObject({ agents: [{ aid: BOB, contact: 'bob', home }] })
    expect(said).not.toHaveProperty('note')
  })

  test('that found nobody says who was asked, and whether one of them did not answer', async () => {
    const none = (more: object) =>
      called('agents_find', { query: BOB }, { find: () => ({ agents: [], searched: 'all_hubs', ...more }) })
    expect((await none({})).said).toEqual({ agents: [], note: expect.stringMatching(/^neither your hub/) })
    expect((await none({ partial: true })).said).toEqual({
      agents: [],
      partial: true,
      note: 'not found so far: one of the hubs did not answer; ask again later',
    })
  })
})

describe('task_delegate', () => {
  const sent = (more: object = {}) => ({ delegate: () => ({ interaction_id: ID, state: 'queued', ...more }) })

  test('hands over a task, and says how its answer is read', async () => {
    const { asked, said } = await called('task_delegate', { to: 'bob', task: 'count' }, sent())
    expect(asked).toEqual([{ name: 'delegate', given: { to: 'bob', task: 'count', pay_as: 'agent' } }])
    expect(said).toMatchObject({
      interaction_id: ID,
      state: 'queued',
      next: expect.stringContaining('wait_s'),
    })
  })

  test('waits for the answer of a task in words, and lets the node wait for that of a call', async () => {
    const answers = { ...sent(), thread: () => thread({ turns: [turn(2, 'three')] }) }
    const words = await called('task_delegate', { to: 'bob', task: 'count', wait_s: 5 }, answers)
    expect(words.ops).toEqual(['delegate', 'thread'])
    expect(words.asked[0]?.given).not.toHaveProperty('wait_s')
    expect(JSON.stringify(words.said['answer'])).toContain('three')
    const call = await called('task_delegate', { to: 'bob', capability: 'a.b', wait_s: 5 }, sent())
    expect(call.asked).toMatchObject([{ name: 'delegate', given: { wait_s: 5 } }])
    expect(call.said['next']).not.toContain('wait_s')
    const waits = await called(
      'task_delegate',
      { to: 'bob', task: 'count', wait_s: 5 },
      { ...sent({ warning: 'no hub' }) },
    )
    expect([waits.ops, waits.said['warning']]).toEqual([
      ['delegate'],
      expect.stringContaining('the task waits here: no hub'),
    ])
  })

  test('pays only with a limit, and hands over no empty task', async () => {
    const pay = await called('task_delegate', { to: 'bob', task: 'x', pay: true }, sent())
    expect(pay.said.error).toMatchObject({
      message: 'pay needs max_credits',
      next: expect.stringContaining('<limit>'),
    })
    const empty = await called('task_delegate', { to: 'bob', task: ' ' }, sent())
    expect(empty.said.error?.next).toContain('<what to do>')
    expect([pay.ops, empty.ops]).toEqual([[], []])
  })

  test('shows the effect of a call, its words cut and between markers', async () => {
    const effect = { status: 'OK', verifiable: true, message: 'y'.repeat(3000), metrics: { n: 1 } }
    const { said } = await called('task_delegate', { to: 'bob', capability: 'a.b' }, sent({ effect }))
    expect(said['effect']).toMatchObject({ status: 'OK', verifiable: true })
    expect((said['effect'] as { message: string }).message.match(/y/g)).toHaveLength(2000)
    const plain = await called(
      'task_delegate',
      { to: 'bob', capability: 'a.b' },
      sent({ effect: { status: 'FAILED' } }),
    )
    expect(plain.said['effect']).toEqual({ status: 'FAILED', verifiable: false })
  })
})

describe('a price', () => {
  const payment = { amount: 5, network: `hub:${BOB}`, state: 'open' }
  const node = (now: object = payment) => ({
    delegate: () => ({ interaction_id: ID, state: 'queued', payment }),
    thread: ({ interaction_id }: Record<string, unknown>) =>
      interaction_id === PAID
        ? thread({ interaction_id: PAID })
        : thread({ payment: now, turns: [turn(1, 'count', true)] }),
    approve: () => ({ interaction_id: PAID }),
  })
  const delegate = (answer: string | undefined, more: Partial<ToolContext> = {}, answers: Answers = node()) =>
    called('task_delegate', { to: 'bob', task: 'count' }, answers, { askUser: saysYes(answer), ...more })

  test('is paid once the user of the client says so, and the task goes on', async () => {
    const { asked, said } = await delegate('approve')
    expect(asked.find(({ name }) => name === 'approve')?.given).toEqual({ interaction_id: ID })
    expect(said['interaction_id']).toBe(PAID)
  })

  test('is not paid on another word, without a user, or where nothing may change', async () => {
    for (const { ops, said } of [
      await delegate('decline'),
      await delegate(undefined),
      await delegate('approve', { readOnly: true }),
    ]) {
      expect(ops).not.toContain('approve')
      expect(said['payment']).toMatchObject({
        amount: 5,
        state: 'open',
        next: expect.stringContaining('svc approve'),
      })
    }
    const nobody = await called('task_delegate', { to: 'bob', task: 'count' }, node())
    expect(nobody.ops).toEqual(['delegate'])
  })

  test('is not paid where it is another one than was asked about', async () => {
    let reads = 0
    const answers = { ...node(), thread: () => thread({ payment: { ...payment, amount: 5 + reads++ } }) }
    expect((await delegate('approve', {}, answers)).ops).not.toContain('approve')
  })

  test('is paid once more only where the user was told so', async () => {
    const { asked } = await delegate('approve', {}, node({ ...payment, unheld: true, lost_payments: [{}] }))
    expect(asked.find(({ name }) => name === 'approve')?.given).toEqual({
      interaction_id: ID,
      unheld: true,
      again: true,
    })
  })
})

describe('task_inbox', () => {
  test('lists what has not ended unless all is asked for', async () => {
    const inbox = () => ({ items: [], new_cursor: 'n1' })
    expect((await called('task_inbox', {}, { inbox })).asked[0]?.given).toEqual({
      unfinished: true,
      limit: 20,
    })
    const all = await called('task_inbox', { unfinished: false, limit: 3, cursor: 'c1' }, { inbox })
    expect(all.asked[0]?.given).toEqual({ unfinished: false, limit: 3, cursor: 'c1' })
  })

  test('asks the user about a task that waits, and reads it again once it is decided', async () => {
    const pending = { side: 'received', state: 'pending', turns: [turn(1, 'do it')] }
    const answers = { thread: () => thread(pending), approve: () => ({}) }
    const read = (more: Partial<ToolContext>) => called('task_inbox', { interaction_id: ID }, answers, more)
    expect((await read({ askUser: saysYes('approve') })).ops).toEqual(['thread', 'approve', 'thread'])
    expect((await read({ askUser: saysYes('later') })).ops).toEqual(['thread'])
    expect((await read({ askUser: saysYes('approve'), readOnly: true })).ops).toEqual(['thread'])
  })

  test('marks what is read unless nothing may change, and asks for own words by their beginning', async () => {
    const given = async (args: object, more: Partial<ToolContext> = {}) =>
      (await called('task_inbox', { interaction_id: ID, ...args }, { thread: () => thread() }, more)).asked[0]
        ?.given
    expect(await given({})).toMatchObject({ mark_read: true, own_chars: 160 })
    const further = await given({ from_turn: 2, from_char: 9 }, { readOnly: true })
    expect(further).toMatchObject({ mark_read: false, from_turn: 2, from_char: 9 })
    expect(further).not.toHaveProperty('own_chars')
  })
})

describe('evidence_read', () => {
  const records = (count: number) => (given: Record<string, unknown>) => ({
    head: { length: count },
    records: Array.from({ length: Math.min(count, Number(given['limit'])) }, (_, n) => ({
      seq: n,
      event_type: 'svc.x',
      timestamp: 0,
      payload: { receipt: 'r'.repeat(257), short: 's'.repeat(256) },
      id: 'i',
    })),
  })

  test('reads fifty, newest first, and says where older ones are', async () => {
    const { asked, said } = await called('evidence_read', { limit: 2 }, { evidence: records(9) })
    expect(asked[0]?.given).toEqual({ limit: 3 })
    const shown = said['records'] as { seq: number; payload: object }[]
    expect([shown.map(({ seq }) => seq), said['next_cursor']]).toEqual([[2, 1], 'b1'])
    expect(JSON.stringify(shown[0]?.payload)).toMatch(/"\(257 characters\)".*s{256}/)
    expect((await called('evidence_read', {}, { evidence: records(1) })).asked[0]?.given).toEqual({
      limit: 51,
    })
  })

  test('goes on from a cursor, takes none of another kind, and asks for no more than a thousand', async () => {
    const further = await called('evidence_read', { cursor: 'b7', limit: 1000 }, { evidence: records(1) })
    expect(further.asked[0]?.given).toEqual({ limit: 1000, before: 7 })
    expect(further.said).not.toHaveProperty('next_cursor')
    expect((await called('evidence_read', { cursor: 'n7' })).said.error?.code).toBe('bad_request')
    for (const wrong of [{ limit: 0 }, { limit: 1001 }, { since: -1 }])
      expect((await called('evidence_read', wrong)).said.error?.code).toBe('bad_request')
    expect(
      (await called('evidence_read', { since: 0, limit: 1 }, { evidence: records(1) })).said.error,
    ).toBeUndefined()
  })
})

describe('task_end', () => {
  const receipt = { id: 'r', verified: true, status: 'OK', result_cid: 'c' }
  const node = (more: Answers = {}): Answers => ({
    thread: () => thread({ receipt, state: 'ended' }),
    end: () => ({ state: 'ended', receipt }),
    review: () => ({ review_cid: 'v', uploaded: true }),
    evidence: () => ({
      records: [
        { seq: 1, event_type: 'a', id: 'x' },
        { seq: 2, event_type: 'b', id: 'y' },
      ],
    }),
    cancel: () => ({ state: 'cancelled', may_cost: 3 }),
    decline: () => ({ state: 'declined' }),
    ...more,
  })

  test('ends, rates, and names the records newest first', async () => {
    const { said, ops } = await called('task_end', { interaction_id: ID, rating: 5, comment: 'good' }, node())
    expect(said).toMatchObject({ state: 'ended', signatures_valid: true, review_cid: 'v', uploaded: true })
    expect((said['records'] as { seq: number }[]).map(({ seq }) => seq)).toEqual([2, 1])
    expect(ops).toContain('review')
    expect((await called('task_end', { interaction_id: ID }, node())).ops).not.toContain('review')
  })

  test('waits for a receipt that a rating needs, and keeps the rating where none comes', async () => {
    let reads = 0
    const end = () => ({ state: 'end_proposed', waiting_for: 'peer' })
    const soon = node({
      end,
      thread: () => thread(reads++ < 1 ? { state: 'end_proposed' } : { state: 'ended', receipt }),
    })
    const rated = await called('task_end', { interaction_id: ID, rating: 4 }, soon)
    expect(rated.said).toMatchObject({ state: 'ended', uploaded: true })
    expect(rated.said).not.toHaveProperty('waiting_for')
    const never = node({
      end,
      thread: () => thread({ review: { uploaded: false, reason: 'waits for the receipt' } }),
    })
    const kept = await called('task_end', { interaction_id: ID, rating: 4 }, never)
    expect(kept.said).toMatchObject({ state: 'end_proposed', waiting_for: 'peer', uploaded: false })
    expect(kept.ops).not.toContain('review')
  })

  test('waits for no receipt once its client is gone', async () => {
    const end = () => ({ state: 'end_proposed', waiting_for: 'peer' })
    const open = node({ end, thread: () => thread({ state: 'end_proposed' }) })
    const { ops } = await called('task_end', { interaction_id: ID, rating: 4 }, open, {
      signal: AbortSignal.abort(),
    })
    // whose task it is, and how the rating is kept
    expect(ops.filter(name => name === 'thread')).toHaveLength(2)
  })

  test('withdraws what is ours, and declines what is not, without a rating', async () => {
    const withdraw = (more: object, answers: Answers = node()) =>
      called('task_end', { interaction_id: ID, cancel: true, ...more }, answers)
    expect((await withdraw({ note: 'no' })).said).toEqual({ state: 'cancelled', may_cost: 3 })
    const theirs = node({ thread: () => thread({ side: 'received' }) })
    expect((await withdraw({}, theirs)).said).toEqual({ state: 'declined' })
    expect((await withdraw({ rating: 1 })).said.error?.message).toMatch(/gets no rating/)
    const rated = await called('task_end', { interaction_id: ID, rating: 1 }, theirs)
    expect([rated.said.error?.code, rated.ops]).toEqual(['wrong_state', ['thread']])
    const alone = await called('task_end', { interaction_id: ID, comment: 'x' }, node())
    expect(alone.said.error).toMatchObject({
      message: 'a comment goes with a rating',
      next: expect.stringContaining('<1 to 5>'),
    })
    for (const rating of [0, 6])
      expect((await called('task_end', { interaction_id: ID, rating })).said.error?.code).toBe('bad_request')
  })
})

describe('what failed', () => {
  test('is explained by its code, and a mistake of ours is not told', async () => {
    const refused = () => {
      throw new OperationRefused('wrong_state', 'the task is over')
    }
    const { said, result } = await called(
      'task_message',
      { interaction_id: ID, text: 'x' },
      { message: refused },
    )
    expect(said.error).toMatchObject({ code: 'wrong_state', message: 'the task is over' })
    expect(result).toMatchObject({ isError: true })
  })

  test('is mended with what was good', async () => {
    const { said } = await called('evidence_read', { limit: 'x', interaction_id: ID })
    expect(said.error?.next).toContain(ID)
    expect(said.error?.next).not.toContain('limit')
  })
})

test('a list of results asks by the query', async () => {
  const results = () => ({ items: [], new_cursor: 'n1' })
  const { asked } = await called('task_results', { cursor: 'c', wait_s: 2 }, { results })
  expect(asked[0]?.given).toEqual({ limit: '20', cursor: 'c', wait_s: '2' })
})
