/**
 * The thread that writes. It takes everything that arrived while the last group was on its way to the disk as the next
 * group, and answers a group only after its commit.
 */
import { parentPort, receiveMessageOnPort } from 'node:worker_threads'
import { systemTimers } from '../../../protocol/timers.ts'
import { collectWhenQuiet } from '../../lean-memory.ts'
import { type Database, faultClass, openWriter } from './database.ts'
import { type Job, runGroup, type WriteArgument, type WriteOutcome } from './writes.ts'

export type WriterData = { path: string; groupMax: number; bytesMax: number | undefined }
export type ToWriter = { open: WriterData } | { jobs: (Job & { ticket: number })[] } | { close: true }
export type FromWriter = { tickets: number[]; outcomes: WriteOutcome[]; ms: number } | { closed: true }

const port = parentPort
if (port === null) throw new Error('the store writer runs as a worker thread only')
let opened: { db: Database; groupMax: number } | undefined
collectWhenQuiet(systemTimers, () => opened?.db.releasePages())

port.on('message', (first: ToWriter) => {
  const jobs: (Job & { ticket: number })[] = []
  let closing = false
  let message: ToWriter | undefined = first
  while (message !== undefined) {
    if ('open' in message) open(message.open)
    else if ('close' in message) closing = true
    else jobs.push(...message.jobs)
    const { groupMax } = use()
    while (jobs.length >= groupMax) commit(jobs.splice(0, groupMax))
    message = receiveMessageOnPort(port)?.message as ToWriter | undefined
  }
  if (jobs.length > 0) commit(jobs)
  if (closing) close()
})

function open({ path, groupMax, bytesMax }: WriterData): void {
  opened = { db: openWriter(path, bytesMax), groupMax }
}

function use(): NonNullable<typeof opened> {
  if (opened === undefined) throw new Error('no store is open')
  return opened
}

function commit(jobs: (Job & { ticket: number })[]): void {
  const startedMs = systemTimers.monotonic()
  const outcomes = runGroup(use().db, jobs)
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
    use().db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  } catch (error) {
    if (faultClass(error) !== 'full') throw error
  }
}

function close(): void {
  tidy()
  use().db.close()
  opened = undefined
  port?.postMessage({ closed: true } satisfies FromWriter)
}
