import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { fromHex } from '../../protocol/encoding/bytes.ts'
import { powBits } from '../../protocol/identity/pow.ts'
import { fixture } from '../../protocol/testing/agents.ts'
import { systemTimers } from '../../protocol/timers.ts'
import { openStore } from '../store/open.ts'
import { PowCancelled, PowSolver } from './pow.ts'

const recorded = fixture<{
  hub: string
  aid: string
  seed: string
  nonce: string
  notAfterMs: number
  bits: number
}>('pow/solutions.json')
const solution = { seed: fromHex(recorded.seed), nonce: fromHex(recorded.nonce) }
const task = { hub: recorded.hub, aid: recorded.aid, seed: solution.seed }
const never = new AbortController().signal
const at = (ms: number) => ({ now: () => ms, timers: systemTimers })
const folder = () => mkdtempSync(join(tmpdir(), 'svc-pow-'))

describe('a solution', () => {
  test('is kept over a restart until the time that the hub gave it is over', () => {
    const dir = folder()
    const first = openStore(dir)
    new PowSolver(first, at(recorded.notAfterMs - 60_000)).keep(recorded.hub, solution, recorded.notAfterMs)
    first.close()
    const store = openStore(dir)
    const kept = new PowSolver(store, at(recorded.notAfterMs - 30_000)).kept(recorded.hub)
    expect(powBits(task, kept?.nonce as Uint8Array)).toBe(recorded.bits)
    expect(new PowSolver(store, at(recorded.notAfterMs)).kept(recorded.hub)).toBeUndefined()
    expect(new PowSolver(store, at(0)).kept(recorded.hub)).toBeUndefined()
    store.close()
  })

  test('of one hub is none of another', () => {
    const store = openStore(folder())
    const solver = new PowSolver(store, at(0))
    solver.keep(recorded.hub, solution, recorded.notAfterMs)
    expect(solver.kept(recorded.aid)).toBeUndefined()
    expect(solver.kept(recorded.hub)).toEqual(solution)
    store.close()
  })

  test('is found by all threads together, and kept', async () => {
    const store = openStore(folder())
    const solver = new PowSolver(store, at(recorded.notAfterMs - 60_000))
    const challenge = { seed: task.seed, bits: 12, notAfterMs: recorded.notAfterMs }
    const found = await solver.solve(task, challenge, { signal: never, onProgress: () => {} })
    expect(powBits(task, found.nonce)).toBeGreaterThanOrEqual(12)
    expect(solver.kept(recorded.hub)).toEqual(found)
    store.close()
  })
})

describe('a search', () => {
  test('tells how far it is, and ends with all its threads when it is cancelled', async () => {
    const store = openStore(folder())
    const cancel = new AbortController()
    const shares: number[] = []
    const search = new PowSolver(store, at(recorded.notAfterMs - 60_000)).solve(
      task,
      { seed: task.seed, bits: 32, notAfterMs: recorded.notAfterMs },
      {
        signal: cancel.signal,
        onProgress: share => {
          shares.push(share)
          if (shares.length === 3) cancel.abort()
        },
      },
    )
    await expect(search).rejects.toThrow(PowCancelled)
    const told = shares.length
    await new Promise(resolve => setTimeout(resolve, 200))
    expect(shares).toHaveLength(told)
    expect(shares).toEqual([...shares].sort((a, b) => a - b))
    expect(shares.at(-1)).toBeGreaterThan(0)
    store.close()
  })

  test('of more bits than any hub needs is not begun', async () => {
    const store = openStore(folder())
    const challenge = { seed: task.seed, bits: 40, notAfterMs: recorded.notAfterMs }
    const search = new PowSolver(store, at(0)).solve(task, challenge, {
      signal: never,
      onProgress: () => {},
    })
    await expect(search).rejects.toThrow('40 bits')
    store.close()
  })
})
