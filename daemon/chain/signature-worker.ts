/** Checks batches of signatures in a thread of its own. */
import { parentPort } from 'node:worker_threads'
import { type Batch, fastestVerify, firstBad } from './signatures.ts'

const verify = fastestVerify()
parentPort?.on('message', (batch: Batch) => parentPort?.postMessage(firstBad(batch, verify)))
