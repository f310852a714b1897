import pino from 'pino'
import { afterEach, expect, test } from 'vitest'
import { systemTimers } from '../../protocol/timers.ts'
import { attemptEach, Loop, type LoopOptions } from './loop.ts'
import { Waker } from './waker.ts'

const loops: Loop[] = []
afterEach(async () => {
  for (const loop of loops.splice(0)) await loop.stop()
})

function started(turn: LoopOptions['turn'], given: Partial<LoopOptions> = {}) {
  const said: string[] = []
  const log = pino({}, { write: line => said.push(JSON.parse(line).msg) })
  const waker = new Waker(systemTimers)
  const loop = new Loop({ name: 'test', waker, log, restFirstMs: 40, turn, ...given })
  loops.push(loop)
  // a turn may name the loop that is returned here
  queueMicrotask(() => loop.start())
  return { loop, waker, said }
}
const aWhile = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))
const full = () => Object.assign(new Error('database or disk is full'), { code: 'ERR_SQLITE_ERROR' })

test('a loop turns once, and again when it is woken', async () => {
  let turns = 0
  const { waker } = started(() => {
    turns += 1
    return 60_000
  })
  await aWhile(20)
  expect(turns).toBe(1)
  waker.wake()
  await expect.poll(() => turns).toBe(2)
})

test('a turn that throws is said once, waited out twice as long each time, and no wake cuts that short', async () => {
  let turns = 0
  const { waker, said } = started(() => {
    turns += 1
    throw full()
  })
  const waking = setInterval(() => waker.wake(), 1)
  await aWhile(150)
  clearInterval(waking)
  expect(turns).toBeGreaterThanOrEqual(2)
  expect(turns).toBeLessThanOrEqual(3)
  expect(said).toEqual(['a turn failed; it is tried again'])
})

test('work that a turn began and that fails counts like the turn, however often it wakes the loop', async () => {
  let turns = 0
  const { loop, said } = started(() => {
    turns += 1
    loop.follow(Promise.reject(full()))
    loop.follow(Promise.reject(full()))
    return 0
  })
  await aWhile(150)
  expect(turns).toBeLessThanOrEqual(3)
  expect(said).toEqual(['a turn failed; it is tried again'])
})

test('once a turn succeeds the loop says so, and the next failure is said anew', async () => {
  const fails = [true, false, true, false]
  const { waker, said } = started(
    () => {
      if (fails.shift()) throw full()
      return 60_000
    },
    { restFirstMs: 1 },
  )
  await expect.poll(() => said.length).toBe(2)
  waker.wake()
  await expect
    .poll(() => said)
    .toEqual([
      'a turn failed; it is tried again',
      'the turns succeed again',
      'a turn failed; it is tried again',
      'the turns succeed again',
    ])
})

test('a loop that may not run sleeps until it is woken and may', async () => {
  let [turns, mayRun] = [0, false]
  const turn = () => {
    turns += 1
    return 60_000
  }
  const { waker } = started(turn, { mayRun: () => mayRun })
  waker.wake()
  await aWhile(20)
  expect(turns).toBe(0)
  mayRun = true
  waker.wake()
  await expect.poll(() => turns).toBe(1)
})

test('a stop ends a rest at once and waits for the work under way', async () => {
  let isDone = false
  const work = async () => {
    await aWhile(30)
    isDone = true
  }
  const { loop } = started(
    () => {
      loop.follow(work())
      throw full()
    },
    { restFirstMs: 60_000 },
  )
  await aWhile(5)
  await loop.stop()
  expect(isDone).toBe(true)
})

test('a wake that comes before a turn makes no second one, one that comes while it lasts does', async () => {
  let turns = 0
  const { waker } = started(async () => {
    turns += 1
    await aWhile(20)
    return 60_000
  })
  waker.wake()
  await aWhile(60)
  expect(turns).toBe(1)
  waker.wake()
  await aWhile(5)
  waker.wake()
  await aWhile(80)
  expect(turns).toBe(3)
})

test('a wake for something that the turn under way has done makes no second turn', async () => {
  let [turns, isOpen] = [0, true]
  const { waker } = started(async () => {
    turns += 1
    await aWhile(20)
    isOpen = false
    return 60_000
  })
  await aWhile(5)
  waker.wake(() => isOpen)
  await aWhile(60)
  expect(turns).toBe(1)
  isOpen = true
  waker.wake(() => isOpen)
  await expect.poll(() => turns).toBe(2)
})

test('work under a name is done once at a time, makes no turn when it ends, and one where it was asked for again', async () => {
  const ends: (() => void)[] = []
  let turns = 0
  const { loop, waker } = started(() => {
    turns += 1
    loop.followAlone('hub', () => new Promise<void>(end => ends.push(end)))
    return 60_000
  })
  await expect.poll(() => ends.length).toBe(1)
  ends.shift()?.()
  await aWhile(10)
  expect([turns, ends.length]).toEqual([1, 0])
  waker.wake()
  await expect.poll(() => ends.length).toBe(1)
  waker.wake()
  await expect.poll(() => turns).toBe(3)
  expect(ends.length).toBe(1)
  ends.shift()?.()
  await expect.poll(() => [turns, ends.length]).toEqual([4, 1])
  ends.shift()?.()
})

test('work that succeeds beside work that fails ends no rest and repeats no sentence', async () => {
  let turns = 0
  const { loop, said } = started(() => {
    turns += 1
    loop.followAlone('one', () => aWhile(1).then(() => Promise.reject(full())))
    loop.followAlone('two', () => Promise.resolve())
    return 60_000
  })
  await aWhile(200)
  expect(turns).toBeGreaterThanOrEqual(2)
  expect(turns).toBeLessThanOrEqual(3)
  expect(said).toEqual(['a turn failed; it is tried again'])
})

test('of several things one that fails holds up no other', () => {
  const done: number[] = []
  const work = (n: number) => {
    if (n === 2) throw full()
    done.push(n)
  }
  expect(() => attemptEach([1, 2, 3], work)).toThrow('database or disk is full')
  expect(done).toEqual([1, 3])
})
