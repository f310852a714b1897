/**
 * Solving proof of work on all cores: workers search disjoint ranges, the first hit ends them all. The solution is
 * kept until the hub took it, so that a restart within its life does not search again.
 */

import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { Refused } from '../../protocol/contract/client.ts'
import { fromBase64url } from '../../protocol/encoding/bytes.ts'
import { Failure } from '../../protocol/encoding/errors.ts'
import type { PowTask } from '../../protocol/identity/pow.ts'
import type { Timers } from '../../protocol/timers.ts'
import type { Store } from '../store/open.ts'
import { dropSolution, keepSolution, solutionFor } from '../store/pow-solutions.ts'
import { HubStopped, type PowChallenge, type PowSolution } from './hub.ts'
import type { PowMessage, PowOrder } from './pow-worker.ts'

const BITS_ACCEPTED_MAX = 32
const SAFETY_MS = 5000

export class PowCancelled extends Failure {
  override name = 'PowCancelled'
}

export class PowSolver {
  #store: Store
  #now: () => number
  readonly #timers: Timers

  constructor(store: Store, { now, timers }: { now: () => number; timers: Timers }) {
    this.#store = store
    this.#now = now
    this.#timers = timers
  }

  /** A solution found earlier that the hub still takes. */
  kept(hub: string): PowSolution | undefined {
    const stored = solutionFor(this.#store, hub)
    if (stored === undefined) return undefined
    const { seed, nonce, notAfter } = stored
    if (this.#now() + SAFETY_MS < notAfter) return { seed, nonce }
    this.forget(hub)
    return undefined
  }

  /** Keeps a solution until the hub took it or its time is over. */
  keep(hub: string, { seed, nonce }: PowSolution, notAfterMs: number): void {
    keepSolution(this.#store, hub, { seed, nonce, notAfter: notAfterMs })
  }

  forget(hub: string): void {
    dropSolution(this.#store, hub)
  }

  /** Searches until found, cancelled, or past the challenge's life. */
  async solve(
    task: PowTask,
    challenge: PowChallenge,
    options: { signal: AbortSignal; onProgress: (share: number) => void },
  ): Promise<PowSolution> {
    if (challenge.bits > BITS_ACCEPTED_MAX)
      throw new PowCancelled(`the hub asks for ${challenge.bits} bits of work, more than this node does`)
    const life = this.#timers.deadline(Math.max(challenge.notAfterMs - this.#now() - SAFETY_MS, 1))
    const nonce = await search(
      task,
      challenge.bits,
      AbortSignal.any([options.signal, life]),
      options.onProgress,
    )
    const solution = { seed: challenge.seed, nonce }
    this.keep(task.hub, solution, challenge.notAfterMs)
    return solution
  }
}

const workerFile = () =>
  new URL(import.meta.url.endsWith('.ts') ? './pow-worker.ts' : './pow-worker.js', import.meta.url)

function search(
  task: PowTask,
  bits: number,
  signal: AbortSignal,
  onProgress: (share: number) => void,
): Promise<Uint8Array> {
  const threads = availableParallelism()
  const expected = 2 ** bits
  let tried = 0
  return new Promise((resolve, reject) => {
    const workers = Array.from({ length: threads }, (_, lane): Worker => {
      const order: PowOrder = { task, bits, lane, lanes: threads }
      return new Worker(workerFile(), { workerData: order })
    })
    // Settles once every thread is gone, so that nothing of a search outlives it.
    const finish = (settle: () => void) => {
      signal.removeEventListener('abort', onAbort)
      void Promise.all(workers.map(worker => worker.terminate())).then(settle)
    }
    const onAbort = () => finish(() => reject(new PowCancelled('the search for the proof of work was ended')))
    signal.addEventListener('abort', onAbort)
    if (signal.aborted) onAbort()
    for (const worker of workers) {
      worker.on('error', error => finish(() => reject(error)))
      worker.on('message', (message: PowMessage) => {
        if ('nonce' in message) return finish(() => resolve(message.nonce))
        tried += message.tried
        // The search has no memory: this is the chance to have finished by now.
        onProgress(1 - Math.exp(-tried / expected))
      })
    }
  })
}

/** The challenge of a refusal that asks for proof of work. */
export function powChallenge(error: Refused): PowChallenge {
  const { seed, bits, not_after } = (error.members['challenge'] ?? {}) as Record<string, unknown>
  if (typeof seed !== 'string' || typeof bits !== 'number' || typeof not_after !== 'number')
    throw new HubStopped('the hub asks for proof of work without a challenge; update it')
  return { seed: fromBase64url(seed), bits, notAfterMs: not_after }
}
