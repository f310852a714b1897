/**
 * Reading request bodies: a cap per route, room that grows with what arrives, and a minimum rate instead of a total
 * time, so that large bodies may take long and slow ones can't hold a place for ever.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Failure } from '../../protocol/encoding/errors.ts'
import type { Timer, Timers } from '../../protocol/timers.ts'
import { Refusal } from '../core/refusal.ts'
import { type BodyRoom, HEAD_BYTES } from './body-room.ts'

const CHECK_EVERY_MS = 1000
/** By then whoever sends too slowly has read why. */
const CUT_AFTER_MS = 1000

/** After each of these a body that gave nothing is worth another look. */
const events = ['readable', 'end', 'error', 'close'] as const

/** The client went away before its body was complete. */
export class BodyCut extends Failure {
  override name = 'BodyCut'
}

/** Ends bodies that arrive more slowly than the minimum rate. */
export class RateWatch {
  readonly #bytesPerSecondMin: number
  readonly #graceMs: number
  readonly #watched = new Set<BodySource>()
  readonly #timers: Timers
  readonly #timer: Timer

  constructor(bytesPerSecondMin: number, graceMs: number, timers: Timers) {
    this.#bytesPerSecondMin = bytesPerSecondMin
    this.#graceMs = graceMs
    this.#timers = timers
    this.#timer = timers.every(CHECK_EVERY_MS, () => this.#check(timers.monotonic()))
    this.#timer.unref()
  }

  get nowMs(): number {
    return this.#timers.monotonic()
  }

  add(source: BodySource): void {
    this.#watched.add(source)
  }

  delete(source: BodySource): void {
    this.#watched.delete(source)
  }

  /** Ends a connection soon, whatever comes on it until then. */
  endSoon(request: IncomingMessage): void {
    const timer = this.#timers.after(CUT_AFTER_MS, () => request.destroy())
    timer.unref()
    request.once('close', () => this.#timers.clear(timer))
  }

  close(): void {
    this.#timers.clear(this.#timer)
  }

  #check(nowMs: number): void {
    for (const source of this.#watched) {
      const overMs = nowMs - source.startedMs - this.#graceMs
      if (overMs > 0 && source.bytesRead < (overMs / 1000) * this.#bytesPerSecondMin) source.cut()
    }
  }
}

/** A request's body as chunks, counted and watched. */
export class BodySource {
  readonly startedMs: number
  bytesRead = 0
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #watch: RateWatch
  readonly #room: BodyRoom
  /** The request may hold what it sends; before that, no more than a head. */
  #accepted = false
  #gaveWay = false
  #isTooSlow = false
  #wake: (() => void) | undefined
  #watched = false

  constructor(response: ServerResponse, watch: RateWatch, room: BodyRoom) {
    const request = response.req
    this.#request = request
    this.#response = response
    this.#watch = watch
    this.startedMs = watch.nowMs
    this.#room = room
    room.cover(Math.min(HEAD_BYTES, declaredLength(request) ?? HEAD_BYTES))
  }

  /** From here on room is taken for all that arrives, for an owner where one is named. */
  accept(owner?: string): void {
    this.#accepted = true
    if (owner !== undefined) this.#room.share(owner)
    this.#room.cover(this.bytesRead)
  }

  /** Until its end it gives way to other bodies, when there is no room for all; what reads it is refused then. */
  giveWay(): void {
    this.#room.yields(() => {
      this.#gaveWay = true
      this.#look()
    })
  }

  /** The next chunk, or undefined at the end. */
  async next(): Promise<Uint8Array | undefined> {
    const request = this.#request
    for (;;) {
      const refusal = this.#refusal()
      if (refusal !== undefined) {
        this.close()
        throw refusal
      }
      const chunk = request.read() as Buffer | null
      if (chunk !== null) {
        this.bytesRead += chunk.length
        if (this.#accepted) this.#room.cover(this.bytesRead)
        return chunk
      }
      if (request.complete && request.readableLength === 0) {
        this.close()
        this.#room.stays()
        return undefined
      }
      if (request.destroyed) {
        this.close()
        throw new BodyCut(request.errored?.message ?? 'body cut')
      }
      await this.#more()
    }
  }

  #refusal(): Refusal | undefined {
    if (this.#gaveWay) return new Refusal('overloaded')
    return this.#isTooSlow ? new Refusal('requestMalformed', { why: 'its body came too slowly' }) : undefined
  }

  /** Resolves when there is something to look at: bytes, the end, or a client that has gone. */
  #more(): Promise<void> {
    if (!this.#watched) {
      this.#watched = true
      this.#watch.add(this)
      for (const event of events) this.#request.on(event, this.#look)
      if (/^100-continue$/i.test(this.#request.headers.expect ?? '')) this.#response.writeContinue()
    }
    return new Promise(resolve => {
      this.#wake = resolve
    })
  }

  readonly #look = (): void => {
    const wake = this.#wake
    this.#wake = undefined
    wake?.()
  }

  /** Stops reading; what has not been read can be thrown away from then on. */
  close(): void {
    if (!this.#watched) return
    this.#watched = false
    this.#watch.delete(this)
    for (const event of events) if (event !== 'error') this.#request.removeListener(event, this.#look)
  }

  /** Whoever reads it is refused with the reason, since a proxy takes a connection without an answer for a hub that fails. */
  cut(): void {
    this.#watch.delete(this)
    if (this.#response.headersSent) return void this.#request.destroy()
    this.#isTooSlow = true
    this.#response.once('finish', () => this.#watch.endSoon(this.#request))
    this.#look()
  }
}

/** The declared length of a body, or undefined for a chunked one. */
export function declaredLength(request: IncomingMessage): number | undefined {
  const text = request.headers['content-length']
  return text === undefined ? undefined : Number(text)
}

/** The whole body, which gives way to others while it comes; refused before reading when it is declared too large, and while reading when it becomes so. */
export async function readBody(
  request: IncomingMessage,
  bytesMax: number,
  source: BodySource,
): Promise<Uint8Array> {
  const declared = declaredLength(request)
  if (declared !== undefined && declared > bytesMax) throw new Refusal('tooLarge', { limitBytes: bytesMax })
  source.accept()
  source.giveWay()
  const chunks: Uint8Array[] = []
  for (;;) {
    const chunk = await source.next()
    if (chunk === undefined) break
    if (source.bytesRead > bytesMax) {
      source.close()
      throw new Refusal('tooLarge', { limitBytes: bytesMax })
    }
    chunks.push(chunk)
  }
  return chunks.length === 1 ? (chunks[0] as Uint8Array) : Buffer.concat(chunks)
}
