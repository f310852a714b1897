/** The thread that makes epochs and recounts large books: one read of the store through a reader of its own, then the tree. */
import { parentPort, workerData } from 'node:worker_threads'
import { type EpochOf, madeFrom } from '../core/supply/epochs.ts'
import { engine } from '../engine.ts'

export type EpochGiven = { path: string; of: EpochOf | undefined }

const { path, of } = workerData as EpochGiven
const made = madeFrom(await engine.snapshot(path), of)
const handedOver = 'built' in made ? made.built.pieces.map(({ bytes }) => bytes.buffer as ArrayBuffer) : []
parentPort?.postMessage(made, handedOver)
