/** The thread that makes an epoch: one read of the store through a reader of its own, then the tree. */
import { parentPort, workerData } from 'node:worker_threads'
import { openReader } from '../../store/sqlite/database.ts'
import { booksAgree, readSnapshot } from '../../store/sqlite/ledger-reads.ts'
import { type Built, buildEpoch, type EpochOf } from './epochs.ts'

export type EpochGiven = EpochOf & { path: string }
export type FromEpochWorker = { built: Built } | { disagree: Record<string, unknown> }

const { path, ...of } = workerData as EpochGiven
const reader = openReader(path)
const snapshot = readSnapshot(reader)
reader.close()
const answer: FromEpochWorker = booksAgree(snapshot)
  ? { built: buildEpoch(snapshot, of) }
  : { disagree: { totals: snapshot.totals, recount: snapshot.recount } }
const handedOver =
  'built' in answer ? answer.built.pieces.map(({ bytes }) => bytes.buffer as ArrayBuffer) : []
parentPort?.postMessage(answer, handedOver)
