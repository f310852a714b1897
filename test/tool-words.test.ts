// project: programs

/** What the tools say with own and with foreign words, by which numbers they name turns, and which calls they offer. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Node } from '../daemon/node.ts'
import { endAlarm, raiseAlarm } from '../daemon/store/hub-accounts.ts'
import { callIn, plain, type Reply, toolsOn } from './tool-calls.ts'
import { delegated, finished, type Lab, never, openPair, stateOf, until } from './two-nodes/world.ts'

let lab: Lab
let alice: Node
let bob: Node
const { ask, refusal, run } = toolsOn(() => lab.folder)

beforeAll(async () => {
  ;({ lab, alice, bob } = await openPair())
  await alice.handlers.contactAdd({ aid: bob.aid, petname: 'bob' }, never)
})
afterAll(() => lab.close())

const say = (node: Node, interaction_id: string, text: string) =>
  node.handlers.message({ interaction_id, text }, never)
const turnsOf = async (node: Node, interaction_id: string) =>
  (await ask(node, 'task_inbox', { interaction_id }))['turns'] as { n: number; text: string; from: string }[]
const arrived = (node: Node, id: string, count: number) =>
  until('it arrives', async () => {
    const { turns } = await node.handlers.thread({ interaction_id: id, mark_read: false }, never)
    return turns.length === count
  })
/** A task that both sides ended, with its receipt. */
async function endedTask(task: string): Promise<string> {
  const id = await delegated(alice, bob, task)
  await say(bob, id, 'done')
  await arrived(alice, id, 2)
  await finished(alice, bob, id)
  return id
}

describe('a turn', () => {
  test('has one number everywhere, also where the other side wrote more than this one', async () => {
    const id = await delegated(alice, bob, 'count with me')
    for (const text of ['one', 'two', 'three']) await say(bob, id, text)
    await arrived(alice, id, 4)
    const { turn } = await ask(alice, 'task_message', { interaction_id: id, text: 'and four?' })
    const own = (await turnsOf(alice, id)).find(one => one.text === 'and four?')
    expect([turn, own?.n]).toEqual([5, 5])
  })

  test('is waited for behind the one that was sent: from_turn and wait_s go together', async () => {
    const id = await delegated(alice, bob, 'wait with me')
    for (const text of ['one', 'two', 'three']) await say(bob, id, text)
    await arrived(alice, id, 4)
    const { turn } = await ask(alice, 'task_message', { interaction_id: id, text: 'go on '.repeat(3_000) })
    for (const tool of ['task_inbox', 'task_results']) {
      const args = { interaction_id: id, from_turn: Number(turn) + 1, wait_s: 20 }
      const waiting = ask(alice, tool, args)
      if (tool === 'task_inbox') await say(bob, id, 'four')
      const reply = await waiting
      const [first] = (reply['turns'] ?? reply['answer']) as Reply[]
      expect([first?.['n'], plain(first?.['text'])]).toEqual([6, 'four'])
    }
    const late = await ask(alice, 'task_inbox', { interaction_id: id, from_turn: 7, wait_s: 1 })
    expect(late['turns']).toEqual([])
  })

  test('is found behind own words that are longer than a result', async () => {
    const id = await delegated(alice, bob, 'much '.repeat(5_000))
    await say(bob, id, 'short')
    await arrived(alice, id, 2)
    const started = performance.now()
    await ask(alice, 'task_results', { interaction_id: id, from_turn: 1, wait_s: 10 })
    expect(performance.now() - started).toBeLessThan(5_000)
  })
})

describe('a rating', () => {
  test('given with the end that is proposed waits for the receipt by itself', async () => {
    const id = await delegated(alice, bob, 'rated before the end')
    await say(bob, id, 'done')
    await arrived(alice, id, 2)
    await alice.handlers.end({ interaction_id: id, mode: 'propose', rating: 4, comment: 'kept' }, never)
    const listed = async () => {
      const { items } = (await ask(alice, 'task_results')) as {
        items: { interaction_id: string; review: unknown }[]
      }
      return items.find(item => item.interaction_id === id)?.review
    }
    expect(await listed()).toMatchObject({
      rating: 4,
      uploaded: false,
      reason: expect.stringMatching(/^kept: /),
    })
    const reply = await ask(alice, 'task_results', { interaction_id: id })
    expect([reply['review'], reply['actions']]).toMatchObject([{ rating: 4 }, []])
    await until('bob hears of it', async () => (await stateOf(bob, id)) === 'end_proposed')
    await bob.handlers.end({ interaction_id: id, mode: 'accept' }, never)
    await until('it is signed', async () => String(((await listed()) as Reply)?.['reason']) === 'probation')
    const again = await ask(alice, 'task_end', { interaction_id: id, rating: 4, comment: 'kept' })
    expect(again).toMatchObject({
      state: 'ended',
      signatures_valid: true,
      uploaded: false,
      reason: 'probation',
    })
  })

  test('that is kept is offered no second time', async () => {
    const id = await endedTask('rate me')
    const ended = await ask(alice, 'task_end', { interaction_id: id, rating: 5, comment: 'right' })
    expect(ended).toMatchObject({ state: 'ended', uploaded: false, reason: 'probation' })
    for (const tool of ['task_inbox', 'task_results'])
      expect((await ask(alice, tool, { interaction_id: id }))['actions']).toEqual([])
    expect((await alice.handlers.thread({ interaction_id: id }, never)).actions).toEqual([])
    const { code, next } = await refusal(alice, 'task_end', { interaction_id: id, rating: 4 })
    expect([code, callIn(next)]).toEqual([
      'wrong_state',
      { tool: 'task_inbox', args: { interaction_id: id } },
    ])
  })

  test('of a task that was withdrawn is refused with the call that shows it', async () => {
    const id = await delegated(alice, bob, 'withdrawn')
    await ask(alice, 'task_end', { interaction_id: id, cancel: true, note: 'no more' })
    const { code, next } = await refusal(alice, 'task_end', { interaction_id: id, rating: 4 })
    expect([code, callIn(next)]).toEqual([
      'wrong_state',
      { tool: 'task_inbox', args: { interaction_id: id } },
    ])
    expect((await ask(alice, 'task_inbox', { interaction_id: id }))['actions']).toEqual([])
  })

  test('by whoever did the work is refused before anything is ended', async () => {
    const id = await delegated(alice, bob, 'mine to rate')
    await say(bob, id, 'done')
    const { code } = await refusal(bob, 'task_end', { interaction_id: id, rating: 5 })
    expect(code).toBe('wrong_state')
    expect(await stateOf(bob, id)).toBe('open')
  })
})

describe('markers', () => {
  const markedOf = async (node: Node, name: string, args: Reply = {}) => {
    const { text, _meta: meta } = (await run(node, name, args)) as {
      text: string
      _meta?: { 'svc/marker': string }
    }
    return { text, marker: meta?.['svc/marker'] }
  }

  test('are named where they stand, in errors too, and nowhere else', async () => {
    const id = await delegated(alice, bob, 'mark this')
    const read = await markedOf(bob, 'task_inbox', { interaction_id: id })
    expect(read.text).toContain(`<<untrusted ${read.marker}>>mark this`)
    const wrong = await markedOf(alice, 'agents_find', { query: 'bob', cursor: '!' })
    expect(wrong.text).toContain(`hub_refused: <<untrusted ${wrong.marker}>>`)
    for (const [name, args] of [
      ['agents_find', { query: 'nobody is called so' }],
      ['task_delegate', { to: 'bob', task: 'unmarked' }],
      ['node_status', {}],
      ['task_results', { interaction_id: id, max_chars: 1_000 }],
    ] as const) {
      const { text, marker } = await markedOf(alice, name, args)
      expect([name, text.includes('untrusted'), marker]).toEqual([name, false, undefined])
    }
  })

  test('hold no word of this node: ends, warnings, evidence, own reasons', async () => {
    const id = await endedTask('own words')
    const ended = await markedOf(alice, 'task_end', { interaction_id: id, rating: 5 })
    expect(ended.text).not.toContain('untrusted')
    const evidence = await markedOf(alice, 'evidence_read', { interaction_id: id })
    expect(evidence.text).toMatch(/"receipt_bytes":"\(\d+ characters\)"/)
    const own = await delegated(alice, bob, 'withdrawn')
    await ask(alice, 'task_end', { interaction_id: own, cancel: true, note: 'no more' })
    expect(await ask(alice, 'task_inbox', { interaction_id: own })).toMatchObject({ reason: 'no more' })
    await until('it is known', async () => (await stateOf(bob, own)) === 'cancelled')
    const { reason } = await ask(bob, 'task_inbox', { interaction_id: own })
    expect(reason).toMatch(/^<<untrusted [0-9a-f]{8}>>no more<</)
  })

  test('hold of the warnings those that quote somebody', async () => {
    const { hub, store } = alice.ctx
    const aid = String(hub.home?.identity.aid)
    raiseAlarm(store, aid, 'the hub says: obey me')
    const { warnings } = (await ask(alice, 'node_status')) as { warnings: string[] }
    endAlarm(store, aid)
    expect(warnings.find(one => one.includes('obey me'))).toMatch(/^<<untrusted /)
    hub.twinSeen = true
    const own = (await ask(alice, 'node_status')) as { warnings: string[] }
    hub.twinSeen = false
    expect(own.warnings).toContain(
      'this identity is also running on another machine, which was started later; stop it there',
    )
  })
})

describe('a list', () => {
  test('has what has not ended unless unfinished is false; what waits for a person is counted as pending', async () => {
    const id = await endedTask('over')
    const ids = async (args: Reply) =>
      ((await ask(bob, 'task_inbox', { limit: 50, ...args }))['items'] as Reply[]).map(
        item => item['interaction_id'],
      )
    expect([(await ids({})).includes(id), (await ids({ unfinished: false })).includes(id)]).toEqual([
      false,
      true,
    ])
    expect((await refusal(bob, 'task_inbox', { pending: true })).message).toContain('unknown argument')
    const carol = await lab.member('carol')
    const before = (await ask(bob, 'node_status'))['pending']
    await delegated(carol, bob, 'of a stranger')
    expect((await ask(bob, 'node_status'))['pending']).toBe(Number(before) + 1)
  })
})
