/**
 * Bodies that nobody reads, because their answer came first. A small rest is thrown away, so that the connection can be
 * used again; a large one for a moment, so that its sender reads the answer, and then the connection ends. Attacker:
 * whoever sends such bodies as fast as they are taken, so all together come no faster than the hub can bear.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Timer, Timers } from '../../protocol/timers.ts'
import { declaredLength } from './body.ts'

const KIB = 1024
/** Up to this size a rest is thrown away at once. */
const REST_BYTES_MAX = 256 * KIB
const CLOSE_AFTER_MS = 2000
const TURN_MS = 10
/** A machine that is busy makes up for turns that came late, up to this. */
const TURN_MS_MAX = 100
/** Of all large rests together: 32 MiB a second, and a last chunk of each that is read in a turn. */
const BYTES_PER_MS = 32 * KIB
/** Most of them may have nothing to read. */
const TURN_REQUESTS = 4

export class Unread {
  readonly #timers: Timers
  /** All whose rest is large; those that were read last are at the end. */
  readonly #requests = new Set<IncomingMessage>()
  readonly #read = new Set<IncomingMessage>()
  #left = 0
  #turnMs: number
  #timer: Timer | undefined

  constructor(timers: Timers) {
    this.#timers = timers
    this.#turnMs = timers.monotonic()
  }

  /**
   * What is left of a request that is answered now. It is not announced that the connection ends, because the runtime then
   * ends it at once, and bytes that lie unread take the answer with them.
   */
  finish(request: IncomingMessage, response: ServerResponse): void {
    if (request.complete || request.destroyed || this.#requests.has(request)) return
    if (isSmall(request)) return void request.resume()
    this.#requests.add(request)
    request.on('data', (chunk: Uint8Array) => this.#take(request, chunk.length))
    request.once('close', () => this.#forget(request))
    response.once('finish', () => {
      const timer = this.#timers.after(CLOSE_AFTER_MS, () => request.destroy())
      timer.unref()
      request.once('close', () => this.#timers.clear(timer))
    })
    request.pause()
    if (this.#timer === undefined) this.#turn()
  }

  close(): void {
    this.#timers.clear(this.#timer)
  }

  /** The runtime resumes a request that was answered by itself. */
  #take(request: IncomingMessage, bytes: number): void {
    this.#left -= bytes
    if (!this.#read.has(request)) request.pause()
    if (this.#left <= 0) this.#pause()
  }

  #pause(): void {
    for (const request of this.#read) request.pause()
    this.#read.clear()
  }

  #forget(request: IncomingMessage): void {
    this.#requests.delete(request)
    this.#read.delete(request)
  }

  readonly #turn = (): void => {
    this.#pause()
    this.#timer = undefined
    const nowMs = this.#timers.monotonic()
    this.#left = Math.min(nowMs - this.#turnMs, TURN_MS_MAX) * BYTES_PER_MS
    this.#turnMs = nowMs
    for (const request of [...this.#requests].slice(0, TURN_REQUESTS)) {
      this.#requests.delete(request)
      this.#requests.add(request)
      this.#read.add(request)
      request.resume()
    }
    if (this.#requests.size > 0) this.#timer = this.#timers.after(TURN_MS, this.#turn).unref()
  }
}

function isSmall(request: IncomingMessage): boolean {
  const declared = declaredLength(request)
  if (declared !== undefined) return declared <= REST_BYTES_MAX
  return request.headers['transfer-encoding'] === undefined
}
