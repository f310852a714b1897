import { afterEach, expect, test } from 'vitest'
import { systemTimers } from '../../protocol/timers.ts'
import { ClockWatch } from './clock-watch.ts'

let watch: ClockWatch | undefined
afterEach(() => watch?.close())

function watched(startMs: number, knownMs: number) {
  const said: string[] = []
  const clock = { ms: startMs }
  watch = new ClockWatch({ now: () => clock.ms, timers: systemTimers }, knownMs, event => said.push(event))
  return { clock, said, watch }
}

test('a clock that goes on is behind nothing and says nothing', () => {
  const { clock, said, watch } = watched(10_000, 9_000)
  clock.ms = 20_000
  watch.look()
  expect([watch.behindMs, said]).toEqual([0, []])
})

test('a clock set back is told once, and again when it has caught up', () => {
  const { clock, said, watch } = watched(10_000, 0)
  clock.ms = 7_999
  watch.look()
  watch.look()
  expect(watch.behindMs).toBe(2_001)
  expect(said).toEqual(['the clock was set back'])
  clock.ms = 8_000
  watch.look()
  expect(watch.behindMs).toBe(0)
  expect(said).toEqual(['the clock was set back', 'the clock has caught up'])
})

test('what is told of a clock that was set back says what to do', () => {
  const facts: unknown[] = []
  const now = () => 10_000
  const alert = (_: string, given: unknown) => void facts.push(given)
  watch = new ClockWatch({ now, timers: systemTimers }, 20_000, alert)
  expect(facts).toEqual([{ behind_ms: 10_000, mend: expect.stringMatching(/^set the clock: timedatectl/) }])
})

test('a start before the latest time that the hub stored is told at once', () => {
  const { said, watch } = watched(10_000, 3_610_000)
  expect(watch.behindMs).toBe(3_600_000)
  expect(said).toEqual(['the clock was set back'])
})
