/**
 * One stream of events for all tabs of an origin: a browser holds six connections to one place, and a stream takes one
 * for good. The tab that has the lock reads the stream and tells the others; when it goes, another one takes it over.
 */
import type { Door, NodeEventSeen } from '../../view/door.ts'

const NAME = 'svc events'
const OPEN: NodeEventSeen = { id: null, event: 'open', data: null }
/** Everything is read anew. */
const RESET: NodeEventSeen = { id: null, event: 'reset', data: {} }

/** What tabs tell each other: a new one asks where the stream is, the one that reads it answers and passes events on. */
type Told = { ask: true } | { at: string | null } | { event: NodeEventSeen }

/** The events of a door, read once for all tabs; by each tab for itself where the browser has no locks for it. */
export function sharedEvents(events: Door['events']): Door['events'] {
  if (globalThis.navigator?.locks === undefined || globalThis.BroadcastChannel === undefined) return events
  return async function* (since, signal) {
    using tab = new Tab(since, signal)
    yield* tab.follow()
    if (!signal.aborted) yield* tab.lead(events)
  }
}

class Tab implements Disposable {
  readonly #channel = new BroadcastChannel(NAME)
  readonly #signal: AbortSignal
  readonly #heard: NodeEventSeen[] = []
  readonly #release = Promise.withResolvers<void>()
  #since: string | undefined
  #isLeading = false
  #isOpen = false
  #wake = () => {}

  constructor(since: string | undefined, signal: AbortSignal) {
    this.#since = since
    this.#signal = signal
    this.#channel.onmessage = ({ data }: MessageEvent<Told>) => this.#hear(data)
    signal.addEventListener('abort', () => this.#wake())
    const lead = () => {
      this.#isLeading = true
      this.#wake()
      return this.#release.promise
    }
    void navigator.locks.request(NAME, { signal }, lead).catch(() => undefined)
    this.#tell({ ask: true })
  }

  /** What the tab that reads the stream tells, until this one has to read it. */
  async *follow(): AsyncGenerator<NodeEventSeen> {
    while (!this.#isLeading && !this.#signal.aborted) {
      for (let next = this.#heard.shift(); next !== undefined; next = this.#heard.shift()) yield next
      if (this.#isLeading || this.#signal.aborted) return
      await new Promise<void>(done => {
        this.#wake = done
      })
    }
  }

  /** Reads the stream from where this tab has heard it, and tells the others. */
  async *lead(events: Door['events']): AsyncGenerator<NodeEventSeen> {
    yield* this.#heard.splice(0)
    for await (const event of events(this.#since, this.#signal)) {
      this.#note(event)
      if (event.event === 'open') this.#tell({ at: this.#since ?? null })
      else this.#tell({ event })
      yield event
    }
  }

  [Symbol.dispose](): void {
    this.#channel.close()
    this.#release.resolve()
  }

  #hear(told: Told): void {
    if (this.#isLeading) {
      if ('ask' in told && this.#isOpen) this.#tell({ at: this.#since ?? null })
      return
    }
    if ('at' in told) this.#join(told.at)
    else if ('event' in told && this.#isOpen) {
      this.#note(told.event)
      this.#heard.push(told.event)
    }
    this.#wake()
  }

  /** The stream stands; what it said before is read anew, unless this tab has heard all of it. */
  #join(at: string | null): void {
    if (this.#isOpen) return
    this.#isOpen = true
    this.#heard.push(OPEN)
    if (this.#since !== undefined && this.#since !== at) this.#heard.push(RESET)
  }

  #note({ event, id }: NodeEventSeen): void {
    if (event === 'open') this.#isOpen = true
    if (id !== null) this.#since = id
  }

  #tell(told: Told): void {
    this.#channel.postMessage(told)
  }
}
