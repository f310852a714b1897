/** One line when mail begins to be refused for want of room, and one when that has ended. */
import { afterEach, expect, test } from 'vitest'
import { systemTimers } from '../../protocol/timers.ts'
import { RoomWatch } from './room-watch.ts'

const MINUTE_MS = 60_000
const alerts: string[] = []
let nowMs = 0
let room: boolean | Error = false
const watch = new RoomWatch({
  alert: (event, facts) => void alerts.push(`${event} ${JSON.stringify(facts)}`),
  now: () => nowMs,
  timers: systemTimers,
  hasRoom: async () => {
    if (room instanceof Error) throw room
    return room
  },
  facts: async () => {
    if (room instanceof Error) throw room
    return { free_bytes: 7 }
  },
})
afterEach(() => {
  watch.close()
  alerts.length = 0
  room = false
})

test('refusals are told once, and their end with their number a minute after the last', async () => {
  for (let n = 0; n < 3; n++) await watch.refused()
  expect(alerts).toEqual(['mail is refused: no room on the disk or in the store {"free_bytes":7}'])
  expect(watch.isShort).toBe(true)
  nowMs += MINUTE_MS - 1
  watch.taken()
  expect([alerts.length, watch.isShort]).toEqual([1, true])
  nowMs += 1
  watch.taken()
  expect(alerts.slice(1)).toEqual(['there is room for mail again {"refused":3}'])
  expect(watch.isShort).toBe(false)
  watch.taken()
  expect(alerts).toHaveLength(2)
})

test('where no mail comes the end is found by looking, once there is room', async () => {
  await watch.refused()
  room = true
  await watch.look()
  expect(watch.isShort).toBe(true)
  nowMs += MINUTE_MS
  for (const none of [false, new Error('no figures')]) {
    room = none
    await watch.look()
    expect(watch.isShort).toBe(true)
  }
  room = true
  await watch.look()
  expect([watch.isShort, alerts.at(-1)]).toEqual([false, 'there is room for mail again {"refused":1}'])
})

test('each time is counted for itself, and nothing is said where nothing was refused', async () => {
  room = true
  watch.taken()
  await watch.look()
  expect(alerts).toEqual([])
  await watch.refused()
  nowMs += MINUTE_MS
  watch.taken()
  expect(alerts.at(-1)).toBe('there is room for mail again {"refused":1}')
})

test('a disk that cannot be asked for its room keeps nothing from being told', async () => {
  room = new Error('no figures')
  await watch.refused()
  expect(alerts).toEqual(['mail is refused: no room on the disk or in the store {}'])
})
