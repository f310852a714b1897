import { describe, expect, test } from 'vitest'
import { COPY_ENDED_MAX, TwinWatch } from './twin-watch.ts'

const ended = { askedMs: 50_000, heldMs: 3, mail: false }
const peaceful = { askedMs: 50_000, heldMs: 50_000, mail: false }
const mail = { askedMs: 50_000, heldMs: 3, mail: true }
const verdicts = (polls: (typeof ended)[]) => {
  const watch = new TwinWatch(10_000)
  return polls.map(poll => watch.note(poll))
}
const times = (n: number, poll: typeof ended) => Array.from({ length: n }, () => poll)

describe('polls that somebody else ends', () => {
  test('from the start on: this node came second', () => {
    expect(verdicts(times(6, ended)).at(-1)).toBe('came_second')
    expect(verdicts(times(5, ended)).at(-1)).not.toBe('came_second')
  })

  test('after one that was held in peace: the other came later', () => {
    expect(verdicts([peaceful, ...times(3, ended)]).at(-1)).toBe('alone')
    expect(verdicts([peaceful, ...times(4, ended)]).at(-1)).toBe('was_first')
    const cutWhileHeld = { ...ended, heldMs: 20_000 }
    expect(verdicts([cutWhileHeld, ...times(3, ended)]).at(-1)).toBe('was_first')
  })

  test('after some that only mail ended: the other came later, too', () => {
    const busy = { askedMs: 50_000, heldMs: 3000, mail: true }
    expect(verdicts([...times(4, busy), ...times(9, ended)]).at(-1)).toBe('was_first')
    expect(verdicts([...times(3, busy), ...times(6, ended)]).at(-1)).toBe('came_second')
    const cutShort = { ...ended, heldMs: 3000 }
    const both = [...times(8, busy).flatMap(poll => [cutShort, poll]), ...times(6, ended)]
    expect(verdicts(both).at(-1)).toBe('came_second')
  })

  test('mail and polls that last show nothing, however many come', () => {
    expect(new Set(verdicts(times(50, mail)))).toEqual(new Set(['alone']))
    expect(new Set(verdicts(times(50, peaceful)))).toEqual(new Set(['alone']))
    expect(verdicts([...times(3, ended), mail, ...times(3, ended)]).at(-1)).toBe('alone')
  })

  test('a copy that looks before it starts gives way to a node that had no peace yet', () => {
    const polls = verdicts([...times(20, mail), ...times(COPY_ENDED_MAX + 1, ended)])
    expect(polls).not.toContain('came_second')
    expect(polls.at(-1)).toBe('was_first')
  })

  test('from the start on, of a node that took over as its owner said: the other gives way', () => {
    const watch = new TwinWatch(10_000, true)
    expect(times(9, ended).map(poll => watch.note(poll))).not.toContain('came_second')
  })

  test('as the hub says it: a poll that lasted was ended by a newer one, too', () => {
    const overtaken = { ...peaceful, others: { older: false, newer: true } }
    expect(verdicts(times(4, overtaken)).at(-1)).toBe('was_first')
  })

  test('as the hub says it: nobody was first for having waited after an older poll', () => {
    const overtook = { askedMs: 50_000, heldMs: 20_000, mail: false, others: { older: true, newer: true } }
    expect(verdicts(times(6, overtook)).at(-1)).toBe('came_second')
  })

  test('once the other is gone nothing is left of it', () => {
    expect(verdicts([peaceful, ...times(20, ended), peaceful]).at(-1)).toBe('alone')
  })
})
