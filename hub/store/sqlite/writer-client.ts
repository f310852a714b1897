/** The main thread's end of the writer: few messages with many changes, one promise a change. */
import type { Worker } from 'node:worker_threads'
import { soon } from '../../../protocol/timers.ts'
import { type GroupCommitted, StoreBroken, StoreFull, type StoreHealth, StoreLocked } from '../port.ts'
import { ownThreads, type Threads } from '../threads.ts'
import type { FromWriter, ToWriter, WriterData } from './writer.ts'
import type { WriteArgument, WriteName, WriteOutcome, WriteResult } from './writes.ts'

const WRITER_FILE = new URL(
  import.meta.url.endsWith('.ts') ? './writer.ts' : './store-writer.js',
  import.meta.url,
)

/** What a change needs lives for one transaction only. */
const YOUNG_MIB = 1
/** One message is at work, one lies ready; what comes meanwhile goes with the next, so that groups are large. */
const MESSAGES_MAX = 2

type Waiting = { resolve: (value: never) => void; reject: (error: Error) => void }

export type StoreEvents = {
  onBroken: (error: StoreBroken) => void
  /** Told when another program begins to hold the store, and when writes go through again. */
  onLocked?: ((isLocked: boolean) => void) | undefined
  onGroup?: ((group: GroupCommitted) => void) | undefined
  threads?: Threads | undefined
}

export class WriterClient {
  readonly #worker: Worker
  readonly #waiting = new Map<number, Waiting>()
  readonly #events: StoreEvents
  readonly #threads: Threads
  #outbox: Extract<ToWriter, { jobs: unknown }>['jobs'] = []
  /** The last ticket of each message whose outcomes are still to come. */
  readonly #posted: number[] = []
  #ticket = 0
  #broken: StoreBroken | undefined
  #closed: PromiseWithResolvers<void> | undefined
  #locked = false
  full = false

  constructor(options: WriterData, events: StoreEvents) {
    this.#events = events
    this.#threads = events.threads ?? ownThreads
    this.#worker = this.#threads.start(WRITER_FILE, {
      name: 'svc-hub-store',
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MIB },
    })
    this.#worker.postMessage({ open: options } satisfies ToWriter)
    this.#worker.on('message', (message: FromWriter) => this.#receive(message))
    this.#worker.on('error', (error: Error) =>
      this.fail(new StoreBroken(`the store writer ended: ${error.message}`)),
    )
    this.#worker.on('exit', () => {
      if (this.#closed === undefined) this.fail(new StoreBroken('the store writer ended'))
      else this.#closed.resolve()
    })
  }

  get health(): StoreHealth {
    return { full: this.full, locked: this.#locked, away: false, broken: this.#broken !== undefined }
  }

  write<N extends WriteName>(name: N, argument: WriteArgument<N>): Promise<WriteResult<N>> {
    if (this.#broken !== undefined) return Promise.reject(this.#broken)
    return new Promise((resolve, reject) => {
      const ticket = this.#ticket++
      this.#waiting.set(ticket, { resolve, reject })
      this.#outbox.push({ name, argument, ticket })
      if (this.#outbox.length === 1) soon(() => this.#post())
    })
  }

  async close(): Promise<void> {
    this.#closed = Promise.withResolvers<void>()
    if (this.#outbox.length > 0) this.#postAll()
    this.#worker.postMessage({ close: true } satisfies ToWriter)
    if (this.#broken !== undefined) return void (await this.#worker.terminate())
    await this.#closed.promise
    await this.#threads.end(this.#worker, WRITER_FILE)
  }

  #post(): void {
    if (this.#outbox.length > 0 && this.#posted.length < MESSAGES_MAX) this.#postAll()
  }

  #postAll(): void {
    const jobs = this.#outbox
    this.#outbox = []
    this.#posted.push(jobs.at(-1)?.ticket ?? 0)
    this.#worker.postMessage({ jobs } satisfies ToWriter, contentsOf(jobs))
  }

  #receive(message: FromWriter): void {
    if ('closed' in message) {
      this.#closed?.resolve()
      return
    }
    this.#events.onGroup?.({ changes: message.tickets.length, ms: message.ms })
    message.tickets.forEach((ticket, index) => {
      const waiting = this.#waiting.get(ticket)
      this.#waiting.delete(ticket)
      if (ticket === this.#posted[0]) this.#posted.shift()
      if (waiting !== undefined) this.#settle(waiting, message.outcomes[index] as WriteOutcome)
    })
    this.#post()
  }

  #settle(waiting: Waiting, outcome: WriteOutcome): void {
    if ('value' in outcome) {
      this.full = false
      this.#lock(false)
      waiting.resolve(outcome.value as never)
    } else if (outcome.fault === 'full') {
      this.full = true
      waiting.reject(new StoreFull(outcome.message))
    } else if (outcome.fault === 'broken') {
      const broken = new StoreBroken(outcome.message)
      this.fail(broken)
      waiting.reject(broken)
    } else if (outcome.fault === 'busy') {
      this.#lock(true)
      waiting.reject(new StoreLocked(outcome.message))
    } else waiting.reject(new Error(outcome.message))
  }

  #lock(isLocked: boolean): void {
    if (isLocked === this.#locked) return
    this.#locked = isLocked
    this.#events.onLocked?.(isLocked)
  }

  /** After a failed write to the disk nothing can be known about it; every later write is refused. */
  fail(error: StoreBroken): void {
    if (this.#broken !== undefined) return
    this.#broken = error
    for (const waiting of this.#waiting.values()) waiting.reject(error)
    this.#waiting.clear()
    this.#events.onBroken(error)
  }
}

/** Contents go over without a copy; whoever queued one has no further use for it. */
function contentsOf(jobs: { name: WriteName; argument: unknown }[]): ArrayBuffer[] {
  const contents: ArrayBuffer[] = []
  for (const { name, argument } of jobs) {
    const content = name === 'enqueue' ? (argument as WriteArgument<'enqueue'>).content : undefined
    if (content?.buffer instanceof ArrayBuffer && content.byteLength === content.buffer.byteLength)
      contents.push(content.buffer)
  }
  return contents
}
