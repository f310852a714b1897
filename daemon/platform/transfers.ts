/**
 * What is on its way between this node and its hub for longer than a moment: how far it is, told to who listens now, and
 * how the way out is stopped. In memory alone; what is sent stands in the outbox.
 */
import type { Timers } from '../../protocol/timers.ts'
import type { Events } from './events.ts'

/** Less goes in a moment. */
const TOLD_FROM_BYTES = 256 * 1024
const TELL_MS = 400

type Source = AsyncIterable<Uint8Array> | Iterable<Uint8Array>
type Sending = {
  readonly content: () => AsyncGenerator<Uint8Array>
  readonly signal: AbortSignal
  end(): void
}

export class Transfers {
  readonly #events: Pick<Events, 'tell'>
  readonly #now: () => number
  readonly #timers: Timers
  readonly #sending = new Map<number, AbortController>()
  #toldAt = 0
  #isReceiving = false

  constructor(events: Pick<Events, 'tell'>, { now, timers }: { now: () => number; timers: Timers }) {
    this.#events = events
    this.#now = now
    this.#timers = timers
  }

  /** Counts the bytes of a message as they leave; `id` is that of its task. */
  begin(message: number, id: string | undefined, { size, content }: Outgoing): Sending {
    const stopped = new AbortController()
    this.#sending.set(message, stopped)
    let [sent, told] = [0, 0]
    const tell = () => {
      if (id === undefined || sent === told) return
      told = sent
      this.#events.tell('transfer', { interaction_id: id, sent, total: size })
    }
    const timer = size < TOLD_FROM_BYTES ? undefined : this.#timers.every(TELL_MS, tell)
    timer?.unref()
    const end = () => {
      this.#sending.delete(message)
      this.#timers.clear(timer)
      if (told > 0) this.#events.tell('transfer', { interaction_id: id as string, over: true })
    }
    const note = (bytes: number) => {
      sent = bytes
    }
    return { signal: stopped.signal, end, content: () => counted(content(), note) }
  }

  /** Stops a message that is on its way out; false where it is not. */
  stop(message: number): boolean {
    const sending = this.#sending.get(message)
    sending?.abort()
    return sending !== undefined
  }

  /** Bytes of mail that have come so far; nothing once all of it is here. */
  receiving(received: number | undefined): void {
    if (received === undefined) {
      if (this.#isReceiving) this.#events.tell('transfer', { over: true })
      this.#isReceiving = false
    } else if (received >= TOLD_FROM_BYTES && this.#isTime()) {
      this.#isReceiving = true
      this.#events.tell('transfer', { received })
    }
  }

  #isTime(): boolean {
    const now = this.#now()
    if (Math.abs(now - this.#toldAt) < TELL_MS) return false
    this.#toldAt = now
    return true
  }
}

async function* counted(source: Source, note: (bytes: number) => void): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const part of source) {
    yield part
    bytes += part.length
    note(bytes)
  }
}

export type Outgoing = { readonly size: number; readonly content: () => Source }
