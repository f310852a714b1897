/**
 * Ends a test file that does not end by itself, with the processes that it started: the limit of a test ends nothing
 * while its thread is blocked, and a file of many tests may wait for the limit of each. The run goes on with the next file.
 */
import { relative } from 'node:path'
import { Worker } from 'node:worker_threads'
import { beforeEach, expect } from 'vitest'

/** Of a name, which may be cut. */
const NAME_BYTES = 2048
const root = new URL('..', import.meta.url).pathname

/** Tells a thread beside this one what runs here. */
class Guard {
  readonly #names = new Uint8Array(new SharedArrayBuffer(NAME_BYTES))
  readonly #thread: Worker

  constructor(limitMs: number) {
    const workerData = { names: this.#names, limitMs }
    this.#thread = new Worker(new URL('file-limit-thread.ts', import.meta.url), { workerData })
    this.#thread.unref()
  }

  /** The time of a file begins. */
  begin(file: string): void {
    this.note(file)
    this.#thread.postMessage('begins')
  }

  note(name: string): void {
    this.#names.fill(0)
    new TextEncoder().encodeInto(name, this.#names)
  }
}

const limitMinutes = Number(process.env['SVC_FILE_MINUTES'])
const here = globalThis as { svcGuard?: Guard }
if (limitMinutes > 0) {
  here.svcGuard ??= new Guard(limitMinutes * 60_000)
  const guard = here.svcGuard
  const file = relative(root, expect.getState().testPath ?? '')
  guard.begin(file)
  beforeEach(({ task }) => guard.note(`${file}: ${task.name}`))
}
