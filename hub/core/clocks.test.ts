/** Times of signed requests: each is accepted once, also over a restart. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openCore, refusedWith, type TestCore } from '../testing/core.ts'
import { random } from '../testing/hub.ts'
import { lastStoredMs, SignerClocks } from './clocks.ts'
import { memoryInProcess } from './in-process/memory.ts'

const START_MS = 1_800_000_000_000
const FLOOR_MS = START_MS + 2000
const WINDOW_MS = 300_000
const NOW_MS = START_MS + 1_000_000

let core: TestCore
let clocks: SignerClocks
let number = 0
beforeEach(async () => {
  core = await openCore(START_MS)
  clocks = await start()
})
afterEach(() => core.close())

async function start(): Promise<SignerClocks> {
  const { store } = core.context
  const lastMs = await lastStoredMs(store)
  return new SignerClocks({ store, memory: memoryInProcess({ store, random, nowMs: START_MS, lastMs }) })
}

const accept = (tsMs: number, nowMs = NOW_MS, aid = 'A-one', of = clocks) => {
  number += 1
  const signature = new Uint8Array(64).fill(number)
  return refusedWith(() => of.accept({ aid, tsMs, signature }, nowMs))
}

test('a start refuses every time up to two seconds after it', async () => {
  expect(await accept(FLOOR_MS, START_MS)).toBe('timeStale')
  expect(await accept(FLOOR_MS + 1, START_MS)).toBeUndefined()
})

test('the times of one signer rise strictly; another signer has its own', async () => {
  expect(await accept(NOW_MS)).toBeUndefined()
  expect([await accept(NOW_MS), await accept(NOW_MS - 1)]).toEqual(['timeStale', 'timeStale'])
  expect([await accept(NOW_MS, NOW_MS, 'A-two'), await accept(NOW_MS + 1)]).toEqual([undefined, undefined])
})

test('a time lies within five minutes of the clock, the edges included', async () => {
  expect(await accept(NOW_MS - WINDOW_MS - 1)).toBe('timeStale')
  expect(await accept(NOW_MS - WINDOW_MS)).toBeUndefined()
  expect(await accept(NOW_MS + WINDOW_MS + 1)).toBe('signatureInvalid')
  expect(await accept(NOW_MS + WINDOW_MS)).toBeUndefined()
})

test('a time ahead of the clock is stored, but not of what changes nothing', async () => {
  const floorOf = async (aid: string) => (await core.context.store.account(aid)).floorMs
  const given = (aid: string) => ({ aid, tsMs: NOW_MS + WINDOW_MS, signature: random(64) })
  await clocks.accept(given('A-one'), NOW_MS)
  await clocks.accept(given('A-two'), NOW_MS, { changesNothing: true })
  expect([await floorOf('A-one'), await floorOf('A-two')]).toEqual([NOW_MS + WINDOW_MS, 0])
  expect(await accept(NOW_MS + WINDOW_MS, NOW_MS, 'A-two')).toBe('timeStale')
})

test('the very same signature is told to be a repeat', async () => {
  const signature = new Uint8Array(64)
  const again = () => refusedWith(() => clocks.accept({ aid: 'A-one', tsMs: NOW_MS, signature }, NOW_MS))
  expect([await again(), await again()]).toEqual([undefined, 'replayed'])
})

test('a floor says how late a stale request has to be', async () => {
  const floorOf = async (tsMs: number, aid: string) =>
    await clocks
      .accept({ aid, tsMs, signature: new Uint8Array(64).fill(200) }, NOW_MS)
      .catch(error => error.facts.floorMs)
  expect(await floorOf(NOW_MS - WINDOW_MS - 1, 'A-new')).toBe(NOW_MS)
  await accept(NOW_MS + 50, NOW_MS, 'A-new')
  expect(await floorOf(NOW_MS, 'A-new')).toBe(NOW_MS + 50)
})

test('what was accepted far ahead of the clock is stored first, and holds after a restart', async () => {
  expect(await accept(NOW_MS + 2000, NOW_MS, 'A-near')).toBeUndefined()
  expect(await accept(NOW_MS + 2001, NOW_MS, 'A-far')).toBeUndefined()
  const { store } = core.context
  expect([(await store.account('A-near')).floorMs, (await store.account('A-far')).floorMs]).toEqual([
    0,
    NOW_MS + 2001,
  ])
  const after = await start()
  expect(await accept(NOW_MS + 2001, NOW_MS, 'A-far', after)).toBe('timeStale')
  expect(await accept(NOW_MS + 2002, NOW_MS, 'A-far', after)).toBeUndefined()
})

test('a clock that went back does not reopen times of before', async () => {
  await accept(NOW_MS)
  await expect.poll(() => core.context.store.setting('clock')).toBe(String(NOW_MS))
  const after = await start()
  expect(await accept(NOW_MS + 2000, NOW_MS, 'A-one', after)).toBe('timeStale')
  expect(await accept(NOW_MS + 2001, NOW_MS, 'A-one', after)).toBeUndefined()
})
