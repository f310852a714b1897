/** A backup beside the running node: copying and encrypting a store takes longer than a node may stand still. */
import { Worker } from 'node:worker_threads'
import type { Saved, SaveOptions } from './save.ts'
import { ArchiveRefused } from './sealed.ts'

const WORKER_FILE = new URL(
  import.meta.url.endsWith('.ts') ? './backup-worker.ts' : './backup-worker.js',
  import.meta.url,
)

export type BackupOrder = Omit<SaveOptions, 'now' | 'random'> & { nowMs: number }
export type BackupDone = { saved: Saved } | { says: string; isRefused: boolean }

/** Throws {@link ArchiveRefused} with the sentence of the one who wrote it. */
export function backupApart(order: BackupOrder): Promise<Saved> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(WORKER_FILE, { workerData: order })
    worker.once('message', (done: BackupDone) => {
      if ('saved' in done) resolve(done.saved)
      else reject(done.isRefused ? new ArchiveRefused(done.says) : new Error(done.says))
    })
    worker.once('error', reject)
    worker.once('exit', () => reject(new Error('the backup ended without a word')))
  })
}
