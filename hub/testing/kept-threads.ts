/** Threads that outlive the hub of a test: the next hub of its process begins with one that has read its code. */
import { Worker } from 'node:worker_threads'
import type { Threads } from '../store/threads.ts'

export class KeptThreads implements Threads {
  readonly #left = new Map<string, Worker[]>()

  start: Threads['start'] = (file, options) => {
    const worker = this.#left.get(file.href)?.pop() ?? new Worker(file, options)
    worker.ref()
    return worker
  }

  end: Threads['end'] = async (worker, file) => {
    for (const event of ['message', 'error', 'exit']) worker.removeAllListeners(event)
    worker.unref()
    this.#left.set(file.href, [...(this.#left.get(file.href) ?? []), worker])
  }
}
