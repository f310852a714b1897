/** One lane of a proof-of-work search, in a thread of its own. */
import { parentPort, workerData } from 'node:worker_threads'
import { type PowTask, solveRange } from '../../protocol/identity/pow.ts'

const STEP = 65_536

export type PowOrder = { task: PowTask; bits: number; lane: number; lanes: number }
export type PowMessage = { tried: number } | { nonce: Uint8Array }

const { task, bits, lane, lanes } = workerData as PowOrder
let nonce: Uint8Array | undefined
for (let start = lane * STEP; nonce === undefined; start += lanes * STEP) {
  nonce = solveRange(task, bits, start, STEP)
  const message: PowMessage = nonce === undefined ? { tried: STEP } : { nonce }
  parentPort?.postMessage(message)
}
