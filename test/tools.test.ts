// project: programs

/** The nine tools on nodes in this process: what a model reads, and what it is told to do next. */
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openTasks } from '../cli/run/tool-calls.ts'
import { callsOf } from '../daemon/control/invoke.ts'
import type { Node } from '../daemon/node.ts'
import { instructions } from '../mcp/instructions.ts'
import { tools } from '../mcp/tools/all.ts'
import { callIn, plain, type Reply, toolsOn } from './tool-calls.ts'
import { delegated, finished, type Lab, never, openPair, stateOf, until } from './two-nodes/world.ts'

let lab: Lab
let alice: Node
let bob: Node
const { ask, refusal } = toolsOn(() => lab.folder)

beforeAll(async () => {
  ;({ lab, alice, bob } = await openPair())
  await alice.handlers.contactAdd({ aid: bob.aid, petname: 'bob' }, never)
})
afterAll(() => lab.close())

const say = (node: Node, interaction_id: string, text: string) =>
  node.handlers.message({ interaction_id, text }, never)
const UTC = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/

describe('the answer to one task', () => {
  test('is whole, with all that came since the last own words, and with what can be done next as calls', async () => {
    const id = await delegated(alice, bob, `first ${'and more '.repeat(60)}`)
    await say(bob, id, 'half of it')
    await say(bob, id, 'the other half')
    await until('both are here', async () => (await alice.handlers.results({}, never)).items[0]?.unread === 2)
    const reply = await ask(alice, 'task_results', { interaction_id: id })
    const turns = reply['answer'] as { text: string; at: string }[]
    expect(turns.map(turn => plain(turn.text))).toEqual(['half of it', 'the other half'])
    expect(turns[0]?.at).toMatch(UTC)
    expect(reply).toMatchObject({ peer: bob.aid, peer_name: 'bob', state: 'open' })
    for (const action of reply['actions'] as string[]) callIn(action)
    const thread = await ask(alice, 'task_inbox', { interaction_id: id })
    const [own] = thread['turns'] as { from: string; text: string; chars: number }[]
    expect([own?.from, own?.text.length, own?.chars]).toEqual(['me', 160, 546])
    await say(alice, id, 'thank you')
    const again = await ask(alice, 'task_results', { interaction_id: id })
    expect((again['answer'] as Reply[]).map(turn => plain(turn['text']))).toEqual([
      'half of it',
      'the other half',
    ])
  })

  test('that is not there yet names the call that waits for it', async () => {
    const id = await delegated(alice, bob, 'take your time')
    const reply = await ask(alice, 'task_results', { interaction_id: id })
    expect(reply['answer']).toEqual([])
    const [wait] = reply['actions'] as string[]
    expect(callIn(wait as string)).toEqual({
      tool: 'task_results',
      args: { interaction_id: id, wait_s: 45 },
    })
    const waiting = ask(alice, 'task_results', callIn(wait as string).args)
    expect(await Promise.race([waiting, pause(60, 'waits')])).toBe('waits')
    await say(bob, id, 'now')
    expect(plain(((await waiting)['answer'] as Reply[])[0]?.['text'])).toBe('now')
  })

  test('of 30,000 characters comes as a verified file and part by part, each fenced once', async () => {
    const long = 'line "one"\n'.repeat(2_800)
    const id = await delegated(alice, bob, 'a long one')
    const short = (): Promise<Reply> => ask(alice, 'task_results', { interaction_id: id, max_chars: 1_000 })
    const waiting = ask(alice, 'task_results', { interaction_id: id, wait_s: 20 })
    await say(bob, id, long)
    let reply = await waiting
    const [first] = reply['answer'] as { file: { path: string; bytes: number }; chars: number }[]
    expect(readFileSync(first?.file.path ?? '', 'utf8')).toBe(long)
    expect([first?.file.bytes, first?.chars]).toEqual([long.length, long.length])
    let whole = ''
    for (let calls = 1; ; calls++) {
      expect(JSON.stringify(reply).length).toBeLessThanOrEqual(4_000)
      const [turn] = reply['answer'] as { text: string; next_char?: number }[]
      expect(turn?.text.match(/<<untrusted/g)).toHaveLength(1)
      whole += plain(turn?.text)
      if (turn?.next_char === undefined) break
      expect(calls).toBeLessThan(20)
      const [next] = reply['actions'] as string[]
      reply = await ask(alice, 'task_results', callIn(next as string).args)
    }
    expect(whole).toBe(long)
    const [part] = (await short())['answer'] as { text: string; next_char: number }[]
    expect(long.startsWith(plain(part?.text))).toBe(true)
    expect(part?.next_char).toBe(plain(part?.text).length)
  })
})

describe('lists', () => {
  test('wait for what changes after new_cursor, with petnames and times as people write them', async () => {
    const id = await delegated(alice, bob, 'listed')
    const { new_cursor: cursor } = await ask(alice, 'task_results')
    const waiting = ask(alice, 'task_results', { cursor, wait_s: 20 })
    await say(bob, id, 'changed')
    const { items } = await waiting
    expect(items).toMatchObject([
      { interaction_id: id, peer: bob.aid, peer_name: 'bob', last_at: expect.stringMatching(UTC) },
    ])
  })

  test('never show the node itself among the agents', async () => {
    const { agents } = (await ask(alice, 'agents_find')) as { agents: { aid: string; contact?: string }[] }
    expect(agents.map(agent => [agent.aid, agent.contact])).toEqual([[bob.aid, 'bob']])
  })
})

describe('a result', () => {
  test('that is too long is made shorter without waiting once more', async () => {
    const carol = await lab.member('dora')
    for (let i = 0; i < 15; i++)
      await carol.handlers.delegate({ to: bob.aid, task: `${i} ${'long '.repeat(60)}` }, never)
    const started = performance.now()
    const page = await ask(carol, 'task_results', { limit: 50, wait_s: 1 })
    expect((page['items'] as unknown[]).length).toBeLessThan(15)
    expect(performance.now() - started).toBeLessThan(1_900)
  })

  test('has the beginning of long words of this side, and all that came behind them', async () => {
    const id = await delegated(alice, bob, 'much '.repeat(5_000))
    await say(bob, id, 'short')
    await until('it is here', async () => alice.ctx.threads.findById(id)?.state === 'open')
    const { turns, next_turn } = await ask(alice, 'task_inbox', { interaction_id: id })
    expect(
      (turns as { chars?: number; text: string }[]).map(turn => [plain(turn.text).length, turn.chars]),
    ).toEqual([
      [160, 25_000],
      [5, undefined],
    ])
    expect(next_turn).toBeUndefined()
    const own = await ask(alice, 'task_inbox', { interaction_id: id, from_turn: 1, from_char: 160 })
    expect((own['turns'] as { text: string }[])[0]?.text.length).toBeGreaterThan(1_000)
    await alice.handlers.cancel({ interaction_id: id }, never)
    await until('it is withdrawn', async () => (await stateOf(bob, id)) === 'cancelled')
  })
})

describe('the notice at the start', () => {
  test("counts open tasks of contacts, and no text of a stranger's", async () => {
    const count = () => openTasks(callsOf(bob))
    const before = await count()
    const id = await delegated(alice, bob, 'of a contact')
    expect(await count()).toBe(before + 1)
    const carol = await lab.member('carol')
    await delegated(carol, bob, 'of a stranger, who writes much')
    expect(await count()).toBe(before + 1)
    await alice.handlers.cancel({ interaction_id: id }, never)
    await until('it is withdrawn', async () => (await count()) === before)
    expect(instructions(tools, 3)).toContain('3 task(s) of contacts')
    expect(instructions(tools, 0)).not.toContain('task(s)')
  })
})

describe('the end of a task', () => {
  test('returns the ids of both records and a receipt whose words agree with each other', async () => {
    const id = await delegated(alice, bob, 'end it')
    await say(bob, id, 'done')
    await finished(alice, bob, id)
    const reply = await ask(alice, 'task_end', { interaction_id: id })
    expect(reply).toMatchObject({
      state: 'ended',
      signatures_valid: true,
      outcome: 'answered_in_words',
      records: [{ event_type: 'svc.result.accepted' }, { event_type: 'svc.delegation.sent' }],
    })
    const { records } = (await ask(alice, 'evidence_read', { interaction_id: id })) as { records: Reply[] }
    const ids = (reply['records'] as Reply[]).map(record => record['id'])
    expect(records.map(record => record['id'])).toEqual(ids)
  })

  test('with cancel withdraws an own task and declines one of others', async () => {
    const own = await delegated(alice, bob, 'not any more')
    expect(await ask(alice, 'task_end', { interaction_id: own, cancel: true, note: 'sorry' })).toEqual({
      state: 'cancelled',
    })
    const theirs = await delegated(alice, bob, 'please')
    await ask(bob, 'task_end', { interaction_id: theirs, cancel: true, note: 'no time' })
    await until('it is known', async () => (await stateOf(alice, theirs)) === 'declined')
    const reply = await ask(alice, 'task_results', { interaction_id: theirs })
    expect(plain(reply['reason'])).toBe('no time')
  })
})

describe('evidence', () => {
  test('is read newest first, and goes on with older records', async () => {
    const seen: number[] = []
    for (let cursor: unknown; ; ) {
      const page = await ask(alice, 'evidence_read', {
        limit: 2,
        ...(cursor === undefined ? {} : { cursor }),
      })
      seen.push(...(page['records'] as { seq: number }[]).map(record => record.seq))
      cursor = page['next_cursor']
      if (cursor === undefined) break
    }
    const { length } = alice.ctx.chain
    expect(seen).toEqual(Array.from({ length }, (_, index) => length - 1 - index))
  })
})

describe('an error', () => {
  const id = 'AAAAAAAAAAAAAAAAAAAAAA'
  test.each([
    ['an unknown argument', 'agents_find', { text: 'bob' }, 'agents_find', {}],
    ['a missing one', 'task_delegate', { task: 'x' }, 'task_delegate', { to: '<aid>', task: 'x' }],
    [
      'two that exclude each other',
      'task_delegate',
      { to: 'bob', task: 'x', capability: 'text.count' },
      'task_delegate',
      { to: 'bob', capability: 'text.count', args: {} },
    ],
    [
      'one of another type',
      'task_inbox',
      { interaction_id: id, from_turn: 'two' },
      'task_inbox',
      { interaction_id: id },
    ],
    [
      'a comment without a rating',
      'task_end',
      { interaction_id: id, comment: 'good' },
      'task_end',
      { interaction_id: id, comment: 'good', rating: '<1 to 5>' },
    ],
    [
      'nothing to send',
      'task_message',
      { interaction_id: id },
      'task_message',
      { interaction_id: id, text: '<text>' },
    ],
    [
      'a price without a limit',
      'task_delegate',
      { to: 'bob', task: 'x', pay: true },
      'task_delegate',
      undefined,
    ],
    [
      'one file in place of a list',
      'task_delegate',
      { to: 'bob', task: 'x', attach: '/f.txt' },
      'task_delegate',
      { to: 'bob', task: 'x', attach: ['/f.txt'] },
    ],
    [
      'values out of their bounds',
      'task_end',
      { interaction_id: id, rating: 9 },
      'task_end',
      { interaction_id: id, rating: '<1 to 5>' },
    ],
    [
      'an empty task',
      'task_delegate',
      { to: 'bob', task: ' \n' },
      'task_delegate',
      { to: 'bob', task: '<what to do>' },
    ],
    [
      'an empty message',
      'task_message',
      { interaction_id: id, text: '' },
      'task_message',
      { interaction_id: id, text: '<text>' },
    ],
    [
      'an id that is none',
      'task_end',
      { interaction_id: 'nope', rating: 5 },
      'task_end',
      { interaction_id: '<id>', rating: 5 },
    ],
    ['an id that is none, in a read', 'task_results', { interaction_id: 'nope' }, 'task_results', {}],
    ['a cursor of nobody', 'task_results', { cursor: 'abc' }, 'task_results', {}],
    ['a cursor of another list', 'evidence_read', { cursor: 'n1.2' }, 'evidence_read', {}],
  ])('about %s names the call that is meant, and the arguments', async (_, name, args, tool, next) => {
    const error = await refusal(alice, name, args)
    expect(error.code).toBe('bad_request')
    const call = callIn(error.next)
    expect(call.tool).toBe(tool)
    if (next !== undefined) expect(call.args).toEqual(next)
    expect(error.accepted).toEqual(Object.keys(tools.find(row => row.name === name)?.input.shape ?? {}))
  })

  test.each([
    ['task_inbox', { interaction_id: id }, 'unknown_interaction', 'task_results {}'],
    ['task_results', { interaction_id: id }, 'unknown_interaction', 'task_inbox {}'],
    ['task_delegate', { to: 'carol', task: 'x' }, 'unknown_peer', 'agents_find {"query":"carol"}'],
    ['agents_find', { query: 'bob', cursor: '!' }, 'hub_refused', 'agents_find {"query":"bob"}'],
    [
      'task_delegate',
      { to: 'bob', task: 'x', attach: ['/none'] },
      'file_unreadable',
      'task_delegate {"to":"bob","task":"x","attach":["<absolute path>"]}',
    ],
  ])('of %s %j says what to call next', async (name, args, code, next) => {
    expect(await refusal(alice, name, args)).toMatchObject({ code, next })
  })

  test('about a wrong name says which one it is, and what is missing', async () => {
    const { message } = await refusal(alice, 'task_delegate', { recipient: 'bob', task: 'x' })
    expect(message).toBe('unknown argument: recipient; to is missing')
    expect((await refusal(alice, 'node_status', { a: 1, b: 2 })).message).toBe('unknown argument: a, b')
    const inherited = JSON.parse('{"constructor": 1, "__proto__": 2, "toString": 3}') as Reply
    const { message: said, next } = await refusal(alice, 'agents_find', inherited)
    expect([said, next]).toEqual(['unknown argument: constructor, __proto__, toString', 'agents_find {}'])
  })

  test('in a state that does not allow it leads to the thread; what only a person may do is asked of the user', async () => {
    const over = await delegated(alice, bob, 'over')
    await alice.handlers.cancel({ interaction_id: over }, never)
    const error = await refusal(alice, 'task_message', { interaction_id: over, text: 'x' })
    expect(callIn(error.next)).toEqual({ tool: 'task_inbox', args: { interaction_id: over } })
    const erin = await lab.member('erin')
    const strange = await delegated(erin, bob, 'of a stranger')
    const waits = await refusal(bob, 'task_message', { interaction_id: strange, text: 'x' })
    expect(waits.next).toBe(
      `ask your user to run: /bin/svc approve ${strange} or /bin/svc decline ${strange}`,
    )
    const { actions } = await ask(bob, 'task_inbox', { interaction_id: strange })
    expect(actions).toContain(`ask your user to run: /bin/svc approve ${strange}`)
  })

  test('about a name that nobody here has repeats no word of those who call themselves so', async () => {
    const { message } = await refusal(alice, 'task_delegate', { to: 'bo', task: 'x' })
    expect(message).toBe('"bo" is neither a contact of this node nor an aid')
  })

  test('about this node itself names another one to delegate to', async () => {
    const { code, next } = await refusal(alice, 'task_delegate', { to: alice.aid, task: 'x' })
    expect([code, callIn(next)]).toEqual([
      'bad_request',
      { tool: 'task_delegate', args: { to: '<aid>', task: 'x' } },
    ])
  })

  test('about a key that was used names another key', async () => {
    const args = { to: 'bob', task: 'keyed', idempotency_key: 'k' }
    await ask(alice, 'task_delegate', args)
    const error = await refusal(alice, 'task_delegate', { ...args, task: 'other' })
    expect(callIn(error.next).args).toEqual({ to: 'bob', task: 'other', idempotency_key: 'k-2' })
  })
})

describe('a task', () => {
  test("stands in the list by its newest words: fenced where they are foreign, bare where they are this side's", async () => {
    const id = await delegated(alice, bob, 'my own words')
    const previewOf = async (node: Node, tool: string) => {
      const { items } = (await ask(node, tool, {})) as { items: Reply[] }
      return items.find(item => item['interaction_id'] === id)?.['preview']
    }
    expect(await previewOf(alice, 'task_results')).toBe('my own words')
    expect(await previewOf(bob, 'task_inbox')).toMatch(/^<<untrusted [0-9a-f]{8}>>my own words<</)
    await say(bob, id, 'foreign words')
    await until('it is here', async () => {
      const { turns } = await alice.handlers.thread({ interaction_id: id }, never)
      return turns.length === 2
    })
    expect(await previewOf(alice, 'task_results')).toMatch(/^<<untrusted [0-9a-f]{8}>>foreign words<</)
    expect(await previewOf(bob, 'task_inbox')).toBe('foreign words')
  })
})
