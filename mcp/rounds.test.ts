/** The rounds of one call: an answer counts once, and for the call that asked for it. */
import { expect, test } from 'vitest'
import { InputNeeded, Rounds } from './rounds.ts'

const needed = (question = 'q') => new InputNeeded(question, { method: 'roots/list', params: {} } as never)
/** The state that a client brings back with its answer. */
const asked = (rounds: Rounds, call = 'a') => rounds.ask(needed(), rounds.of(call, undefined)).requestState
const answer = { answer: 'yes' }

test('an answer reaches the call that asked, which keeps its key', () => {
  const rounds = new Rounds()
  const first = rounds.of('a', undefined)
  const { requestState } = rounds.ask(needed('one'), first)
  const second = rounds.of('a', requestState, answer)
  expect([second.key, [...second.answers]]).toEqual([first.key, [['one', 'yes']]])
  const third = rounds.of('a', rounds.ask(needed('two'), second).requestState, { answer: 'no' })
  expect([...third.answers]).toEqual([
    ['one', 'yes'],
    ['two', 'no'],
  ])
})

test('an answer is taken once', () => {
  const rounds = new Rounds()
  const state = asked(rounds)
  rounds.of('a', state, answer)
  expect(rounds.of('a', state, answer).answers.size).toBe(0)
})

test.each([
  ['another call', 'b', undefined],
  ['no state', 'a', 5],
  ['a state that nobody gave', 'a', 'invented'],
])('an answer of %s is none, and leaves the question open', (_, call, other) => {
  const rounds = new Rounds()
  const state = asked(rounds)
  expect(rounds.of(call, other ?? state, answer).answers.size).toBe(0)
  expect(rounds.of('a', state, answer).answers.size).toBe(1)
})

test('of more than a thousand open questions the oldest is forgotten', () => {
  const rounds = new Rounds()
  const oldest = asked(rounds)
  const second = asked(rounds)
  for (let n = 2; n < 1_000; n++) asked(rounds)
  const last = asked(rounds)
  const isOpen = (state: string | undefined) => rounds.of('a', state, answer).answers.size === 1
  expect([oldest, second, last].map(isOpen)).toEqual([false, true, true])
})
