/** Turns in the budget of a result. */
import { describe, expect, test } from 'vitest'
import type { Turn } from '../protocol/control/shapes.ts'
import { size } from './budget.ts'
import { fenced, fenceWith } from './fence.ts'
import type { ToolContext } from './tool.ts'
import { shownTurns, type Thread } from './turns.ts'

const fence = fenceWith('00c0ffee')
const context = { fence } as unknown as ToolContext
const AID = `A${'b'.repeat(43)}`
const turn = (n: number, text: string, more: Partial<Turn> = {}): Turn => ({
  n,
  from: AID,
  mine: false,
  kind: 'message',
  at: 1_780_000_000_000,
  text,
  attachments: [],
  ...more,
})
function shown(
  turns: readonly Turn[],
  options: { budget?: number; fromChar?: number; next_turn?: number } = {},
) {
  const { budget = 3_000, fromChar, next_turn } = options
  const result = shownTurns({ next_turn } as Thread, turns, { budget, fromChar }, context)
  return { turns: fenced(result.turns, fence) as Record<string, unknown>[], rest: result.rest }
}

describe('turns', () => {
  test('of both sides stand in their order, with times of ISO 8601, those of others between markers', () => {
    const { turns, rest } = shown([turn(1, 'ask', { mine: true }), turn(2, 'answer')])
    expect(turns).toEqual([
      { n: 1, from: 'me', kind: 'message', at: '2026-05-28T20:26:40Z', text: 'ask' },
      { n: 2, from: AID, kind: 'message', at: '2026-05-28T20:26:40Z', text: fence('answer') },
    ])
    expect(rest).toBeUndefined()
  })

  test('of this side are shown by their beginning, unless they are what is read on', () => {
    const own = turn(1, 'x'.repeat(500), { mine: true })
    expect(shown([own]).turns[0]).toMatchObject({ text: 'x'.repeat(160), chars: 500 })
    expect(shown([own]).turns[0]).not.toHaveProperty('next_char')
    expect(shown([own], { fromChar: 0 }).turns[0]).toMatchObject({ text: 'x'.repeat(500) })
    const cut = turn(1, 'x'.repeat(160), { mine: true, truncated: true, chars: 900, next_char: 160 })
    expect(shown([cut]).turns[0]).toMatchObject({ chars: 900 })
  })

  test('what a program of this side said stands between markers: it names what was asked for', () => {
    for (const kind of ['result', 'quote'])
      expect(shown([turn(1, 'this node does not serve a.b', { mine: true, kind })]).turns[0]).toMatchObject({
        text: fence('this node does not serve a.b'),
      })
  })

  test('that auto-reply wrote may hold words of others, so they stand between markers', () => {
    expect(shown([turn(1, 'x', { mine: true, auto: true })]).turns[0]).toMatchObject({ text: fence('x') })
  })

  test('that are too long are cut to the room, and say where to go on', () => {
    const text = 'line "1"\n'.repeat(1_000)
    const first = shown([turn(4, text), turn(5, 'next')])
    const [row] = first.turns as { text: string; chars: number; next_char: number }[]
    expect(row?.chars).toBe(9_000)
    expect(size(row)).toBeLessThanOrEqual(3_000)
    expect(size(row)).toBeGreaterThan(2_900)
    expect(row?.text).toBe(fence(text.slice(0, row?.next_char)))
    expect(first.rest).toEqual({ from_turn: 4, from_char: row?.next_char })
    const from = row?.next_char ?? 0
    const part = turn(4, text.slice(from, from + 50), { truncated: true, chars: 9_000, next_char: from + 50 })
    const second = shown([part], { fromChar: from })
    expect(second.turns[0]).toMatchObject({ chars: 9_000, next_char: from + 50 })
    const end = turn(4, text.slice(-50), { truncated: true, chars: 9_000 })
    const last = shown([end, turn(5, 'next')], { fromChar: 8_950 })
    expect(last.turns[0]).not.toHaveProperty('next_char')
    expect(last.turns).toHaveLength(2)
  })

  test('come at least in part, however little room there is', () => {
    const text_file = { path: `/data/${'x'.repeat(300)}`, bytes: 3_000, cid: 'bafy' }
    const emoji = `x${'\u{1f600}'.repeat(1_000)}`
    const { turns, rest } = shown([turn(1, emoji, { text_file })], { budget: 300 })
    expect(turns).toMatchObject([{ n: 1, text: fence(emoji.slice(0, 199)), next_char: 199 }])
    expect(rest).toEqual({ from_turn: 1, from_char: 199 })
  })

  test('that do not fit any more are left for the next call; the first one never is', () => {
    const turns = [turn(1, 'a'.repeat(1_000)), turn(2, 'b'.repeat(1_000)), turn(3, 'c'.repeat(1_000))]
    const page = shown(turns)
    expect(page.turns.map(row => row['n'])).toEqual([1, 2, 3])
    expect(page.rest).toEqual({ from_turn: 3, from_char: expect.any(Number) })
    const tight = shown([turn(1, 'a'.repeat(2_700)), turn(2, 'b'.repeat(1_000))])
    expect([tight.turns.length, tight.rest]).toEqual([1, { from_turn: 2 }])
    expect(shown([turn(1, 'x')], { next_turn: 2 }).rest).toEqual({ from_turn: 2 })
  })

  test('with attachments and files name the files of this machine', () => {
    const text_file = { path: '/data/texts/b.txt', bytes: 9, cid: 'bafy' }
    const attachment = {
      name: `${'a\u202e'.repeat(300)}” (1 kB), “b.md`,
      media_type: 'text/markdown',
      bytes: 5,
      cid: 'bafk',
      path: '/data/a',
    }
    const [row] = shown([turn(1, 'words', { text_file, attachments: [attachment] })]).turns
    expect(row).toMatchObject({
      file: text_file,
      attachments: [{ name: fence(`${'a'.repeat(76)}….md`), path: '/data/a', bytes: 5, cid: 'bafk' }],
    })
  })
})
