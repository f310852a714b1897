import { expect, test } from 'vitest'
import { datedAhead, sayClockFault } from './clocks.ts'
import { DatedAhead } from './hub.ts'

const HOUR_MS = 3_600_000
const NOW = 1_780_000_000_000
const hubAt = (apartMs: number) => ({ timeMs: NOW, knownTimeMs: NOW + apartMs, apartMs })

test('an event ahead of a hub whose clock is behind this machine says so, and advises no other identity', () => {
  const said = datedAhead(NOW, hubAt(-24 * HOUR_MS))
  expect(said).not.toBeInstanceOf(DatedAhead)
  expect(said.message).toContain('the clock of the hub is 24 hours behind the one of this machine')
  expect(said.message).not.toContain('identity')
})

test('an event ahead of two clocks that agree says when the hub takes it', () => {
  const said = datedAhead(NOW + 2 * HOUR_MS, hubAt(0))
  expect(said).toBeInstanceOf(DatedAhead)
  expect(said.message).toContain(`from ${new Date(NOW + 2 * HOUR_MS).toISOString()} on`)
})

test.each([
  [59, undefined],
  [90, '90 minutes ahead of'],
  [-180, '3 hours behind'],
])('a hub that is %i minutes ahead is told as such', (minutes, said) => {
  expect(sayClockFault({ apartMs: minutes * 60_000 })).toEqual(said && expect.stringContaining(said))
})
