import { expect, test } from 'vitest'
import { TestTimers } from './testing/timers.ts'
import { nextTurn, sleep, soon, systemTimers, type Timers } from './timers.ts'

const DAYS_60_MS = 60 * 24 * 3_600_000

/** Each kind of timers, and how a test lets time pass under it. */
const kinds: [string, () => { timers: Timers; pass: (ms: number) => Promise<void> }][] = [
  [
    'of the machine',
    () => ({
      timers: systemTimers,
      pass: async ms => {
        const end = performance.now() + ms
        while (performance.now() < end) await new Promise(resolve => setTimeout(resolve, 1))
      },
    }),
  ],
  [
    'of a test',
    () => {
      const timers = new TestTimers()
      return { timers, pass: ms => timers.pass(ms) }
    },
  ],
]

test.each(kinds)(
  'timers %s come in their order, again and again where that was asked, until they are ended',
  async (_, open) => {
    const { timers, pass } = open()
    const came: string[] = []
    timers.after(30, () => came.push('late'))
    timers.after(10, () => came.push('early')).unref()
    timers.clear(timers.after(10, () => came.push('never')))
    const often = timers.every(25, () => came.push('often'))
    timers.clear(undefined)
    const began = timers.monotonic()
    await pass(35)
    const [first, second, third, ...more] = came
    expect([first, second, third]).toEqual(['early', 'often', 'late'])
    expect(timers.monotonic() - began).toBeGreaterThanOrEqual(35)
    // the next one is due 25 ms after the last, however late a busy machine was with that
    await pass(30)
    timers.clear(often)
    const again = came.slice(3)
    expect(again.length).toBeGreaterThan(more.length)
    expect(new Set(again)).toEqual(new Set(['often']))
    // the runtime counts from the moment at which it last looked at its clock
    expect(1 + again.length).toBeLessThanOrEqual(Math.floor((timers.monotonic() - began + 5) / 25))
    await pass(60)
    expect(came.slice(3)).toEqual(again)
  },
)

test.each(kinds)('a deadline %s aborts as one that is over', async (_, open) => {
  const { timers, pass } = open()
  const signal = timers.deadline(10)
  expect(signal.aborted).toBe(false)
  await pass(30)
  expect([signal.aborted, (signal.reason as Error).name]).toEqual([true, 'TimeoutError'])
})

test.each(kinds)(
  'a pause %s ends at its time, or with the reason of its signal, and leaves no timer',
  async (_, open) => {
    const { timers, pass } = open()
    const ended = new AbortController()
    const told: unknown[] = []
    const slept = sleep(timers, 10).then(() => told.push('slept'))
    const cut = sleep(timers, 60_000, ended.signal).catch(error => told.push(error))
    await pass(20)
    await slept
    ended.abort('no more')
    await cut
    expect(told).toEqual(['slept', 'no more'])
    await expect(sleep(timers, 10, ended.signal)).rejects.toBe('no more')
    if (timers instanceof TestTimers) expect(timers.count).toBe(0)
  },
)

test('what was put off comes after what is ready now', async () => {
  const came: string[] = []
  soon(() => came.push('soon'))
  await Promise.resolve()
  came.push('ready')
  await nextTurn()
  expect(came).toEqual(['ready', 'soon'])
})

test('under the clock of a test an hour passes at once, and what a timer begins may set others', async () => {
  const timers = new TestTimers(1000)
  const at: number[] = []
  const again = async (): Promise<void> => {
    at.push(timers.now())
    await Promise.resolve()
    timers.after(20 * 60_000, () => void again())
  }
  void again()
  await timers.pass(3_600_000)
  expect(at).toEqual([1000, 1_201_000, 2_401_000, 3_601_000])
})

test('a timer of sixty days does not end at once', async () => {
  let ended = 0
  const once = systemTimers.after(DAYS_60_MS, () => {
    ended += 1
  })
  const again = systemTimers.every(DAYS_60_MS, () => {
    ended += 1
  })
  await sleep(systemTimers, 30)
  for (const timer of [once, again]) systemTimers.clear(timer)
  expect(ended).toBe(0)
})
