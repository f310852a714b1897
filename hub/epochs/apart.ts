/** Epochs on a thread of their own with its own reader: a hundred thousand accounts hold up no send. */
import { Worker } from 'node:worker_threads'
import type { EpochMaker, MadeEpoch } from '../core/supply/epochs.ts'
import type { EpochGiven } from './worker.ts'

const WORKER_FILE = new URL(
  import.meta.url.endsWith('.ts') ? './worker.ts' : './epoch-worker.js',
  import.meta.url,
)

/** Makes the epochs of the store whose rows lie at `path`. */
export function epochsApart(path: string): EpochMaker {
  return async of => {
    const workerData: EpochGiven = { path, of }
    const worker = new Worker(WORKER_FILE, { name: 'svc-hub-epoch', workerData })
    const { promise, resolve, reject } = Promise.withResolvers<MadeEpoch>()
    worker.once('message', resolve)
    worker.once('error', reject)
    worker.once('exit', () => reject(new Error('the thread that makes epochs ended')))
    return await promise
  }
}
