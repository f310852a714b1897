/** Whether this node talks to a hub, and why not: until the node starts again, or until the hub speaks its wire again. */
import { HubHalted, HubStopped } from './hub.ts'

/** A hub of another wire is asked again after so long: it, or this node, may have been updated. */
const LOOKED_AGAIN_MS = 3_600_000

export class Conversation {
  readonly #now: () => number
  #stopped: string | undefined
  #isHalted = false
  /** When the hub answered in another wire; undefined where it is stopped for another reason, or not at all. */
  #otherWireAt: number | undefined

  constructor(now: () => number) {
    this.#now = now
  }

  /** Why the node talks to this hub no longer. */
  get stopped(): string | undefined {
    return this.#stopped
  }

  /** Ends the conversation with this hub. */
  stop(why: string): never {
    this.#stopped = why
    this.#otherWireAt = undefined
    throw new HubStopped(why)
  }

  /** Ends it until the hub is found to speak this wire; never again where this node has ended it. */
  stopForWire(why: string): never {
    if (this.#isHalted) this.ensure()
    this.#stopped = why
    this.#otherWireAt = this.#now()
    throw new HubStopped(why)
  }

  /** Ends it for what this node is. */
  halt(why: string): void {
    this.#stopped = why
    this.#isHalted = true
    this.#otherWireAt = undefined
  }

  /** Throws where it has ended. */
  ensure(): void {
    if (this.#stopped === undefined) return
    throw this.#isHalted ? new HubHalted(this.#stopped) : new HubStopped(this.#stopped)
  }

  /** The same for the question who the hub is, which one of another wire gets once an hour, or as soon as somebody asks. */
  ensureAsked(isAsked: boolean): void {
    const since = this.#otherWireAt
    if (since === undefined || (!isAsked && this.#now() - since < LOOKED_AGAIN_MS)) this.ensure()
  }

  /** The hub answered in this wire. */
  goOn(): void {
    if (this.#otherWireAt !== undefined) this.#stopped = this.#otherWireAt = undefined
  }
}
