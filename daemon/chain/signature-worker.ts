/** Checks batches of signatures in a thread of its own. */
import { parentPort } from 'node:worker_threads'
import { type Batch, firstBad } from './signatures.ts'

parentPort?.on('message', (batch: Batch) => parentPort?.postMessage(firstBad(batch)))
