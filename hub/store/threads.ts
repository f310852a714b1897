/** Threads as something that is passed in: a program starts its own, a test may take one that another hub has left. */
import { Worker, type WorkerOptions } from 'node:worker_threads'

/** What has threads at work. A thread has no order before its first message, and none after its last. */
export type Threads = {
  start(file: URL, options: WorkerOptions): Worker
  /** Nobody has an order for it any more. */
  end(worker: Worker, file: URL): Promise<unknown>
}

export const ownThreads: Threads = {
  start: (file, options) => new Worker(file, options),
  end: worker => worker.terminate(),
}
