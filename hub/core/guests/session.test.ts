/** The steps of a guest's session: what was said, what came, in which turn, and what ends it. */
import { describe, expect, it, test } from 'vitest'
import type { GuestEnd, GuestSession } from '../ports/guests.ts'
import {
  ending,
  fateOf,
  heard,
  left,
  missingOf,
  notEnded,
  notSent,
  opened,
  sending,
  without,
} from './session.ts'

const KIB = 1024
const start = opened({
  ...{ id: 'secret', handler: 'A-one', task: 'task', owner: undefined, remaining: 5, seenMs: 1 },
})
const said = (session: GuestSession, name?: string) => sending(session, name, 1)
const word = (body: string, end: GuestEnd = '') => ({ body, system: end !== '', end })
const bodies = ({ waiting }: GuestSession) => waiting.map(({ body }) => body)
const after = (...numbers: number[]): GuestSession =>
  numbers.reduce((session, number) => heard(session, number, word(`${number}`)), start)

describe('what the visitor sends', () => {
  it('takes one of those that are left, and the next number', () => {
    const sent = said(said(start))
    expect([sent.remaining, sent.sent]).toEqual([3, 2])
    expect(start.remaining).toBe(5)
  })

  it('is given back where it did not leave, and its number where none came after it', () => {
    const [one, two] = [said(start), said(said(start))]
    expect(notSent(one, 1)).toEqual(start)
    expect(notSent(two, 1)).toMatchObject({ remaining: 4, sent: 2 })
  })

  it('is the last one where it has its name, for as long as that may be under way and once it has left', () => {
    const one = said(start, 'a')
    expect([fateOf(one, 'a', 2), fateOf(one, 'b', 2), fateOf(one, undefined, 2)]).toEqual([
      'underWay',
      'leaves',
      'leaves',
    ])
    expect(fateOf(one, 'a', 60_001)).toBe('leaves')
    expect(fateOf(left(one, 'a'), 'a', 60_001)).toBe('repeated')
    expect(notSent(one, 1, 'a')).toEqual(start)
  })

  it('ends with a message of its own once something was said, and goes on where that did not leave', () => {
    expect(ending(start)).toMatchObject({ state: 'ended', sent: 0 })
    const talking = said(start)
    const ended = ending(talking)
    expect(ended).toMatchObject({ state: 'ended', sent: 2 })
    expect(notEnded(ended, talking)).toEqual(talking)
    expect(notEnded({ ...ended, sent: 3 }, talking)).toMatchObject({ state: 'open', sent: 3 })
  })
})

describe('what the handler says', () => {
  it('waits in its order, each message once, whatever turn it came in', () => {
    expect(bodies(after(2, 1, 1, 2, 3))).toEqual(['2', '1', '3'])
    const same = after(1, 3)
    expect(heard(same, 1, word('again'))).toBe(same)
    expect(heard(same, 3, word('again'))).toBe(same)
    expect(heard(same, 0, undefined)).toEqual(same)
  })

  it('is known up to a number, and beyond it what is missing', () => {
    expect(missingOf(start)).toEqual({ peerHighest: 0, missing: [] })
    expect(missingOf(after(1, 2))).toEqual({ peerHighest: 2, missing: [] })
    expect(missingOf(after(5, 1, 3))).toEqual({ peerHighest: 5, missing: [2, 4] })
    expect(after(5, 1, 3)).toMatchObject({ heardUpTo: 1, heardBeyond: [5, 3] })
    expect(after(5, 1, 3, 2)).toMatchObject({ heardUpTo: 3, heardBeyond: [5] })
  })

  it('has room for 200 words and 1 MiB until they are fetched', () => {
    const many = after(...Array.from({ length: 200 }, (_, at) => at + 1))
    expect(() => heard(many, 201, word('x'))).toThrow()
    expect(bodies(heard(without(many, 1), 201, word('x'))).length).toBe(200)
    // a word weighs 64 bytes beside its text, which is counted as UTF-8
    const half = (more: number) => word('é'.repeat(256 * KIB - 32 + more))
    const one = heard(start, 1, half(0))
    expect(one.waitingBytes).toBe(512 * KIB)
    expect(heard(one, 2, half(0)).waitingBytes).toBe(1024 * KIB)
    expect(() => heard(one, 2, half(1))).toThrow()
    expect(heard(one, 2, undefined).heardUpTo).toBe(2)
  })

  it('ends it, or asks for the end once', () => {
    const asked = heard(start, 1, word('', 'requested'))
    expect(asked).toMatchObject({ state: 'endRequested', endNumber: 1 })
    expect(heard(asked, 2, word('', 'requested'))).toMatchObject({ state: 'endRequested', endNumber: 1 })
    expect(heard(start, 1, word('hello'))).toMatchObject({ state: 'open', endNumber: undefined })
    expect(heard(asked, 2, word('', 'accepted')).state).toBe('ended')
    expect(heard(ending(start), 1, word('', 'requested'))).toMatchObject({
      ...{ state: 'ended', endNumber: undefined },
    })
  })
})

test('a visitor drops the words that it has, and none that it has not', () => {
  const three = after(1, 2, 3)
  expect(without(three, 0)).toEqual(three)
  const two = without(three, 1)
  expect([bodies(two), two.fetched, two.waitingBytes]).toEqual([['2', '3'], 1, 2 * 65])
  expect(bodies(without(two, 0))).toEqual(['2', '3'])
  expect(bodies(without(two, 2))).toEqual(['3'])
  expect(without(two, 9)).toMatchObject({ waiting: [], waitingBytes: 0, fetched: 3 })
})
