/**
 * The thread that writes. It takes everything that arrived while the last group was on its way to the disk as the next
 * group, and answers a group only after its commit.
 */
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { systemTimers } from '../../../protocol/timers.ts'
import { collectWhenQuiet } from '../../lean-memory.ts'
import { faultClass, openWriter } from './database.ts'
import { type Job, runGroup, type WriteArgument, type WriteOutcome } from './writes.ts'

export type WriterData = { path: string; groupMax: number; bytesMax: number | undefined }
export type ToWriter = { jobs: (Job & { ticket: number })[] } | { close: true }
export type FromWriter = { tickets: number[]; outcomes: WriteOutcome[]; ms: number } | { closed: true }

const port = parentPort
if (port === null) throw new Error('the store writer runs as a worker thread only')
const { path, groupMax, bytesMax } = workerData as WriterData
const db = openWriter(path, bytesMax)
collectWhenQuiet(systemTimers, () => db.releasePages())

port.on('message', (first: ToWriter) => {
  const jobs: (Job & { ticket: number })[] = []
  let closing = false
  let message: ToWriter | undefined = first
  while (message !== undefined) {
    if ('close' in message) closing = true
    else jobs.push(...message.jobs)
    while (jobs.length >= groupMax) commit(jobs.splice(0, groupMax))
    message = receiveMessageOnPort(port)?.message as ToWriter | undefined
  }
  if (jobs.length > 0) commit(jobs)
  if (closing) close()
})

function commit(jobs: (Job & { ticket: number })[]): void {
  const startedMs = systemTimers.monotonic()
  const outcomes = runGroup(db, jobs)
  const ms = systemTimers.monotonic() - startedMs
  port?.postMessage({ tickets: jobs.map(job => job.ticket), outcomes, ms } satisfies FromWriter)
  for (const job of jobs) release(job)
}

/** Contents were handed over for good; waiting for a collection would pile them up. */
function release({ name, argument }: Job): void {
  const content = name === 'enqueue' ? (argument as WriteArgument<'enqueue'>).content : undefined
  if (content?.buffer instanceof ArrayBuffer) content.buffer.transfer(0)
}

/** Shortens the log beside the database; where there is no room for that, the next start does. */
function tidy(): void {
  try {
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  } catch (error) {
    if (faultClass(error) !== 'full') throw error
  }
}

function close(): void {
  tidy()
  db.close()
  port?.postMessage({ closed: true } satisfies FromWriter)
  port?.close()
}
