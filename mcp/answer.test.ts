/** The answer of a task as a model reads it. */
import { describe, expect, test } from 'vitest'
import { answerOf, isAnswered, readAnswer } from './answer.ts'
import { askAbout } from './approval.ts'
import { fenceWith } from './fence.ts'
import type { ToolContext } from './tool.ts'
import type { Thread } from './turns.ts'

const BOB = `A${'b'.repeat(43)}`
const turn = (n: number, more: object = {}) => ({
  n,
  from: BOB,
  mine: false,
  kind: 'message',
  at: 0,
  text: `words ${n}`,
  attachments: [],
  ...more,
})
const thread = (more: object = {}) =>
  ({
    interaction_id: 'i'.repeat(22),
    side: 'sent',
    peer: BOB,
    peer_name: 'bob',
    state: 'open',
    sealed: true,
    turns: [],
    actions: [],
    ...more,
  }) as unknown as Thread
const context = (more: object = {}) =>
  ({
    fence: fenceWith('00'),
    command: String,
    absent: new Set(),
    asked: new Map(),
    readOnly: false,
    files: {},
    ...more,
  }) as unknown as ToolContext
const actionsOf = (given: Thread, args = {}) => JSON.stringify(answerOf(given, args, context())['actions'])

describe('a task', () => {
  test('is answered by words or files of the other side, and once it is over', () => {
    expect(isAnswered(thread())).toBe(false)
    expect(isAnswered(thread({ turns: [turn(1, { mine: true })] }))).toBe(false)
    expect(isAnswered(thread({ turns: [turn(1, { text: '' })] }))).toBe(false)
    expect(isAnswered(thread({ turns: [turn(1, { text: '', attachments: [{}] })] }))).toBe(true)
    expect(isAnswered(thread({ turns: [turn(1)] }))).toBe(true)
    for (const state of ['ended', 'declined', 'cancelled', 'failed', 'expired'])
      expect(isAnswered(thread({ state }))).toBe(true)
  })

  test('without an answer is waited for, one that is over is not, and a long one goes on', () => {
    expect(actionsOf(thread())).toContain('wait_s')
    expect(actionsOf(thread({ state: 'ended' }))).not.toContain('wait_s')
    expect(actionsOf(thread({ turns: [turn(1)] }))).not.toContain('wait_s')
    const long = thread({ turns: [turn(1, { text: 'x'.repeat(9000) })] })
    expect(actionsOf(long)).toMatch(/from_char/)
    expect(JSON.stringify(answerOf(long, {}, context())).length).toBeLessThan(4_200)
    expect(JSON.stringify(answerOf(long, { max_chars: 8000 }, context())).length).toBeGreaterThan(6_000)
  })

  test('names the other side, and shows its words between markers', () => {
    const answer = answerOf(thread({ turns: [turn(1), turn(2, { mine: true })] }), {}, context())
    expect(answer).toMatchObject({ peer: BOB, state: 'open', answer: [{ n: 1, from: BOB }] })
    expect(JSON.stringify(answer)).toContain('<<untrusted 00>>words 1')
  })
})

test('an answer is read with what the client asked for, and marked as read unless nothing may change', async () => {
  const asked: object[] = []
  const call = async (_: string, body: object) => {
    asked.push(body)
    return thread()
  }
  await readAnswer('i', { wait_s: 5 }, context({ call }))
  await readAnswer('i', { from_turn: 2, from_char: 3 }, context({ call, readOnly: true }))
  expect(asked).toMatchObject([
    { interaction_id: 'i', answer: true, mark_read: true, wait_s: 5 },
    { mark_read: false, from_turn: 2, from_char: 3 },
  ])
  expect(await askAbout({ interaction_id: 'i', peer: BOB, turns: [] }, context({ call }))).toBe(false)
})
