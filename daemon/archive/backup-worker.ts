/** Writes one backup in a thread of its own, so that the node goes on meanwhile. */
import { parentPort, workerData } from 'node:worker_threads'
import { wordsOf } from '../../protocol/encoding/errors.ts'
import { systemRandom } from '../platform/random.ts'
import type { BackupDone, BackupOrder } from './apart.ts'
import { backup } from './save.ts'
import { ArchiveRefused } from './sealed.ts'

const { nowMs, ...order } = workerData as BackupOrder

async function done(): Promise<BackupDone> {
  try {
    return { saved: await backup({ ...order, now: () => nowMs, random: systemRandom }) }
  } catch (error) {
    return { says: wordsOf(error), isRefused: error instanceof ArchiveRefused }
  }
}

parentPort?.postMessage(await done())
