/** What a terminal shows while a command waits. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Io } from './io.ts'
import { sayWhileWaiting } from './waiting.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function terminal(env: Record<string, string>, onTerminal = true) {
  const said: string[] = []
  const io = {
    env,
    onTerminal,
    columns: 80,
    err: (text: string) => said.push(text),
    asCalled: (text: string) => text,
  }
  return { io: io as unknown as Io, said }
}

describe('waiting', () => {
  test('of less than a second says nothing', async () => {
    const { io, said } = terminal({ TERM: 'xterm' })
    const answered = sayWhileWaiting(io, 'the hub')
    await vi.advanceTimersByTimeAsync(900)
    answered()
    await vi.advanceTimersByTimeAsync(5_000)
    expect(said).toEqual([])
  })

  test('is counted by the second in one line, with how far it is, which is gone at the end', async () => {
    const { io, said } = terminal({ TERM: 'xterm' })
    const answered = sayWhileWaiting(io, 'the hub', async () => 'proof of work, 40 % of what is expected')
    await vi.advanceTimersByTimeAsync(2_100)
    answered()
    await vi.advanceTimersByTimeAsync(5_000)
    expect(said).toEqual([
      '\r\u001b[Ksvc: waiting for the hub, 1 s …',
      '\r\u001b[Ksvc: waiting for the hub: proof of work, 40 % of what is expected, 2 s …',
      '\r\u001b[K',
    ])
  })

  test('is said once to whoever wants no motion', async () => {
    const { io, said } = terminal({ TERM: 'xterm', NO_MOTION: '1' })
    const answered = sayWhileWaiting(io, 'mail')
    await vi.advanceTimersByTimeAsync(5_000)
    answered()
    expect(said).toEqual(['svc: waiting for mail …\n'])
  })

  test('is said once where a line cannot be taken back, and never in a pipe', async () => {
    const [dumb, pipe] = [terminal({ TERM: 'dumb' }), terminal({ TERM: 'xterm' }, false)]
    const ends = [dumb, pipe].map(({ io }) => sayWhileWaiting(io, 'mail'))
    await vi.advanceTimersByTimeAsync(5_000)
    for (const end of ends) end()
    expect([dumb.said, pipe.said]).toEqual([['svc: waiting for mail …\n'], []])
  })
})
