import { describe, expect, test } from 'vitest'
import { TwinWatch } from './twin-watch.ts'

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
    expect(verdicts(times(5, ended)).at(-1)).toBe('alone')
  })

  test('after one that was held in peace: the other came later', () => {
    expect(verdicts([peaceful, ...times(8, ended)]).at(-1)).toBe('alone')
    expect(verdicts([peaceful, ...times(9, ended)]).at(-1)).toBe('was_first')
    const cutWhileHeld = { ...ended, heldMs: 20_000 }
    expect(verdicts([cutWhileHeld, ...times(8, ended)]).at(-1)).toBe('was_first')
  })

  test('mail and polls that last show nothing, however many come', () => {
    expect(new Set(verdicts(times(50, mail)))).toEqual(new Set(['alone']))
    expect(new Set(verdicts(times(50, peaceful)))).toEqual(new Set(['alone']))
    expect(verdicts([...times(5, ended), mail, ...times(5, ended)]).at(-1)).toBe('alone')
  })

  test('once the other is gone nothing is left of it', () => {
    expect(verdicts([peaceful, ...times(20, ended), peaceful]).at(-1)).toBe('alone')
  })
})
