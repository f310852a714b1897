/** Times of signers keep their contract in one process, and the contract refuses forms that were made wrong. */
import { alone, apart, NOW_MS, portContract, refuses } from '../../testing/ports/contract.ts'
import { replayRules } from '../../testing/ports/replay-rules.ts'
import type { Replay, SignedTime, TimeTaken } from '../ports/replay.ts'
import { ReplayInProcess } from './replay.ts'

const account = { admitted: false, blocked: false, floorMs: 0, quota: {} }
const make = (): Replay =>
  new ReplayInProcess({ store: { account: async () => account }, nowMs: NOW_MS - 3_600_000, lastMs: 0 })

const taken: TimeTaken = { outcome: 'taken' }
type Take = (request: SignedTime) => Promise<TimeTaken>
const instead = (changed: (take: Take) => Take): Replay => {
  const held = make()
  return { take: changed(request => held.take(request)), floor: aid => held.floor(aid) }
}

portContract('replay', replayRules, () => alone(make()))

refuses<Replay>('replay', replayRules, [
  ['that each process keeps for itself', apart(make), 'takes times of a signer that rise'],
  [
    'that has one clock for all signers',
    () => alone(instead(take => request => take({ ...request, aid: '' }))),
    'keeps the times of each signer',
  ],
  [
    'that compares times and no signatures',
    () =>
      alone(
        instead(take => request => take({ ...request, mark: crypto.getRandomValues(new Uint8Array(16)) })),
      ),
    'tells the very same request',
  ],
  [
    'that forgets the floor that a head met',
    () =>
      alone(
        instead(
          take =>
            ({ floorMs: _, ...request }) =>
              take(request),
        ),
      ),
    'takes a time above the floor',
  ],
  [
    'that takes whatever lies above the floor of a head',
    () =>
      alone(instead(take => async request => (request.floorMs === undefined ? await take(request) : taken))),
    'takes a time above the floor',
  ],
  ['that looks first and writes later', () => alone(instead(late)), 'takes one of all that come at once'],
  [
    'that takes any time',
    () => alone(instead(take => request => take({ ...request, nowMs: request.tsMs }))),
    'takes what lies within the window',
  ],
])

/** Between the look and the write others look. */
function late(take: Take): Take {
  const newest = new Map<string, number>()
  return async request => {
    if (request.floorMs !== undefined) return await take(request)
    const { aid, tsMs } = request
    const isNew = tsMs > (newest.get(aid) ?? 0)
    await new Promise(resolve => setImmediate(resolve))
    const verdict = await take(request)
    if (verdict.outcome === 'taken') newest.set(aid, tsMs)
    return isNew && verdict.outcome === 'stale' && Math.abs(tsMs - request.nowMs) <= request.windowMs
      ? { outcome: 'taken' }
      : verdict
  }
}
