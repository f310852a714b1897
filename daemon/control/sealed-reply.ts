/** The answer to a sealed call: what is written to it leaves as frames, in the answer to the body that came last. */
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { Writable } from 'node:stream'
import { FRAME_BYTES_MAX, type FrameKind, FrameSealer } from '../../protocol/control/page-frames.ts'
import { utf8 } from '../../protocol/encoding/bytes.ts'
import type { Timer, Timers } from '../../protocol/timers.ts'
import type { Reply } from './exchange.ts'

/** A page gives a node up that is silent for longer than a few of these. */
const ALIVE_EVERY_MS = 5_000
const TYPE = { 'Content-Type': 'application/octet-stream' }

export class SealedReply extends Writable implements Reply {
  headersSent = false
  readonly #sealer: FrameSealer
  readonly #timers: Timers
  readonly #alive: Timer
  readonly #now: () => number
  /** None while the page has to send its next body. */
  #response: ServerResponse | undefined
  #held: Uint8Array[] = []

  /** `now`: the clock of this node, Unix milliseconds; with it a page sees that an answer is held back. */
  constructor(
    key: Uint8Array,
    response: ServerResponse,
    { now, timers }: { now: () => number; timers: Timers },
  ) {
    super()
    // a page that went away is seen by the close of its connection
    this.on('error', () => undefined)
    this.#sealer = new FrameSealer(key)
    this.#now = now
    this.#timers = timers
    this.#alive = timers.every(ALIVE_EVERY_MS, () => this.#sayAlive())
    this.answerIn(response)
  }

  /** The page has sent another body: what is said from now on goes into the answer to it. */
  answerIn(response: ServerResponse): void {
    this.#response = response.writeHead(200, TYPE)
    response.once('close', () => {
      if (this.#response === response) this.destroy()
    })
    for (const frame of this.#held.splice(0)) response.write(frame)
    if (!this.writableEnded && !this.destroyed) return
    // it was answered while the page sent the rest
    this.#response = undefined
    response.end()
  }

  /** Ends the answer to this body, as the call goes on in the next one. */
  askForMore(): void {
    const response = this.#response
    this.#response = undefined
    response?.end(this.#sealer.seal('more'))
  }

  writeHead(status: number, headers: OutgoingHttpHeaders = {}): this {
    this.headersSent = true
    const type = headers['Content-Type']
    this.#say('head', utf8(JSON.stringify({ status, type })))
    return this
  }

  override _write(content: Uint8Array, _encoding: string, done: () => void): void {
    let from = 0
    for (; from + FRAME_BYTES_MAX < content.length; from += FRAME_BYTES_MAX)
      this.#say('part', content.subarray(from, from + FRAME_BYTES_MAX))
    this.#say('part', content.subarray(from), done)
  }

  override _final(done: () => void): void {
    const response = this.#response
    this.#say('end')
    this.#response = undefined
    if (response === undefined) done()
    else response.end(() => done())
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#timers.clear(this.#alive)
    this.#response?.destroy()
    done(error)
  }

  #say(kind: FrameKind, content?: Uint8Array, done?: () => void): void {
    const frame = this.#sealer.seal(kind, content)
    if (this.#response !== undefined) return void this.#response.write(frame, () => done?.())
    this.#held.push(frame)
    done?.()
  }

  #sayAlive(): void {
    if (this.#response !== undefined) this.#say('alive', utf8(String(this.#now())))
  }
}
