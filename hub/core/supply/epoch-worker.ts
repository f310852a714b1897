/** The thread that makes epochs and recounts large books: one read of the store through a reader of its own, then the tree. */
import { parentPort, workerData } from 'node:worker_threads'
import { snapshotAt } from '../../store/snapshot.ts'
import { type Built, buildEpoch, type EpochOf, judged } from './epochs.ts'

/** Without a day the books are recounted and no more. */
export type EpochGiven = { path: string; of?: EpochOf }
export type FromEpochWorker = { built: Built } | { agree: true } | { disagree: Record<string, unknown> }

const { path, of } = workerData as EpochGiven
const snapshot = snapshotAt(path)
const verdict = judged(snapshot)
const answer: FromEpochWorker =
  'agree' in verdict && of !== undefined ? { built: buildEpoch(snapshot, of) } : verdict
const handedOver =
  'built' in answer ? answer.built.pieces.map(({ bytes }) => bytes.buffer as ArrayBuffer) : []
parentPort?.postMessage(answer, handedOver)
