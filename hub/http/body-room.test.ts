/** Who gets room for a body when there is not enough for all. */
import { expect, test, vi } from 'vitest'
import { systemTimers } from '../../protocol/timers.ts'
import { BodyPool } from './body-room.ts'

/** Calls what it is given with a clock that stands where the test sets it. */
function withClock(run: (at: (ms: number) => void) => void): void {
  let nowMs = 0
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => nowMs)
  try {
    run(ms => {
      nowMs = ms
    })
  } finally {
    clock.mockRestore()
  }
}

test('of a full pool the body gives way that has held most for longest, and only to one that has held less', () => {
  withClock(at => {
    const pool = new BodyPool(100, 100, systemTimers)
    const gone: string[] = []
    const begun = (name: string, bytes: number) => {
      const room = pool.open()
      room.cover(bytes)
      room.yields(() => gone.push(name))
      return room
    }
    begun('small and old', 10)
    at(100)
    const large = begun('large', 80)
    at(200)
    begun('new', 10)
    const asking = pool.open()
    asking.cover(50)
    expect([gone, pool.held]).toEqual([['large'], 70])
    large.release()
    expect(pool.held).toBe(70)
    asking.yields(() => gone.push('asking'))
    at(10_000)
    expect(() => asking.cover(95)).toThrow('overloaded')
    expect(gone).toEqual(['large'])
  })
})

test('a body that is here, or never said that it yields, gives way to nobody', () => {
  withClock(at => {
    const pool = new BodyPool(100, 100, systemTimers)
    const gone: string[] = []
    const [envelope, complete] = [pool.open(), pool.open()]
    envelope.cover(50)
    complete.cover(50)
    complete.yields(() => gone.push('complete'))
    complete.stays()
    at(1000)
    expect(() => pool.open().cover(1)).toThrow('overloaded')
    expect([gone, pool.held]).toEqual([[], 100])
  })
})
