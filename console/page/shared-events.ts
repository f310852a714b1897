/**
 * One stream of events for all tabs of an origin: a browser holds six connections to one place, and a stream takes one
 * for good. The tab that has the lock reads the stream and tells the others; when it goes, another one takes it over.
 * A node that went away is seen by the tab that read the stream alone: it tells the others, and each has the node prove
 * itself anew.
 */
import type { NodeClient, NodeEventSeen } from '../../view/node-client.ts'
import type { Peer } from './peer.ts'
import { FRESH_MS, SAID_EVERY_MS, TabChannel } from './tab-channel.ts'

const NAME = 'svc events'
const OPEN: NodeEventSeen = { id: null, event: 'open', data: null }
/** Everything is read anew. */
const RESET: NodeEventSeen = { id: null, event: 'reset', data: {} }

/**
 * What tabs tell each other: a new one asks where the stream is, the one that reads it answers, passes events on, and
 * says when it ended.
 */
type Told = { ask: true } | { at: string | null } | { event: NodeEventSeen } | { lost: true }
type Known = Pick<Peer, 'lose' | 'tabs'>

/**
 * The events of a node, read once for all tabs; by each tab for itself where the browser has no locks for it. The peer
 * hears when the stream of this tab or of another one is lost.
 */
export function sharedEvents(events: NodeClient['events'], peer: Known): NodeClient['events'] {
  const own = readAnew(events, peer)
  if (globalThis.navigator?.locks === undefined || globalThis.BroadcastChannel === undefined) return own
  // as long as the page: also a tab that follows nothing just then has to hear it
  new TabChannel<Told>(NAME, peer, told => {
    if ('lost' in told) peer.lose()
  })
  return async function* (since, signal) {
    using tab = new Tab(since, signal, peer)
    yield* tab.follow()
    if (!signal.aborted) yield* tab.lead(own)
  }
}

const readAnew = (events: NodeClient['events'], peer: Known): NodeClient['events'] =>
  async function* (since, signal) {
    try {
      yield* events(since, signal)
    } finally {
      peer.lose()
    }
  }

class Tab implements Disposable {
  readonly #channel: TabChannel<Told>
  readonly #signal: AbortSignal
  readonly #heard: NodeEventSeen[] = []
  readonly #release = Promise.withResolvers<void>()
  #since: string | undefined
  #isLeading = false
  #isOpen = false
  #wake = () => {}
  #patience: ReturnType<typeof setTimeout> | undefined
  #saying: ReturnType<typeof setInterval> | undefined

  constructor(since: string | undefined, signal: AbortSignal, peer: Known) {
    this.#since = since
    this.#signal = signal
    this.#channel = new TabChannel<Told>(NAME, peer, told => this.#hear(told))
    this.#waitForWord()
    signal.addEventListener('abort', () => this.#wake())
    const lead = () => {
      this.#beginToLead()
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
  async *lead(events: NodeClient['events']): AsyncGenerator<NodeEventSeen> {
    // the tab that led before may have had no time to say so
    this.#tell({ lost: true })
    yield* this.#heard.splice(0)
    try {
      for await (const event of events(this.#since, this.#signal)) {
        this.#note(event)
        if (event.event === 'open') this.#tell({ at: this.#since ?? null })
        else this.#tell({ event })
        yield event
      }
    } finally {
      this.#tell({ lost: true })
    }
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#patience)
    clearInterval(this.#saying)
    this.#channel[Symbol.dispose]()
    this.#release.resolve()
  }

  #beginToLead(): void {
    if (this.#isLeading) return
    clearTimeout(this.#patience)
    this.#isLeading = true
    this.#saying = setInterval(() => this.#isOpen && this.#tell({ at: this.#since ?? null }), SAID_EVERY_MS)
    this.#wake()
  }

  /** Whoever has the lock and says nothing may be no page of the node: this tab reads a stream of its own. */
  #waitForWord(): void {
    clearTimeout(this.#patience)
    if (!this.#isLeading) this.#patience = setTimeout(() => this.#beginToLead(), FRESH_MS)
  }

  #hear(told: Told): void {
    if (!('ask' in told)) this.#waitForWord()
    if (this.#isLeading) {
      if ('ask' in told && this.#isOpen) this.#tell({ at: this.#since ?? null })
      return
    }
    if ('lost' in told) this.#isOpen = false
    else if ('at' in told) this.#join(told.at)
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
    this.#channel.tell(told)
  }
}
