/** Sessions of visitors in the memory of one process. */
import type { GuestRoom, GuestSession, GuestSessions } from '../ports/guests.ts'

export class GuestsInProcess implements GuestSessions {
  readonly #byId = new Map<string, GuestSession>()
  readonly #idOfTask = new Map<string, string>()
  readonly #ofOwner = new Map<string, number>()
  #waitingBytes = 0

  async add(session: GuestSession, { max, ownerMax }: GuestRoom): Promise<boolean> {
    const { id, task, owner } = session
    const isCrowded = owner !== undefined && (this.#ofOwner.get(owner) ?? 0) >= ownerMax
    if (this.#byId.size >= max || isCrowded) return false
    this.#byId.set(id, session)
    this.#idOfTask.set(task, id)
    this.#count(owner, 1)
    this.#waitingBytes += session.waitingBytes
    return true
  }

  async find(id: string): Promise<GuestSession | undefined> {
    return this.#byId.get(id)
  }

  async findTask(task: string): Promise<GuestSession | undefined> {
    return this.#byId.get(this.#idOfTask.get(task) ?? '')
  }

  async replace(session: GuestSession, bytesMax: number): Promise<'replaced' | 'changed' | 'full'> {
    const held = this.#byId.get(session.id)
    if (held?.version !== session.version) return 'changed'
    const more = session.waitingBytes - held.waitingBytes
    if (more > 0 && this.#waitingBytes + more > bytesMax) return 'full'
    this.#waitingBytes += more
    this.#byId.set(session.id, { ...session, version: session.version + 1 })
    return 'replaced'
  }

  async all(): Promise<readonly GuestSession[]> {
    return [...this.#byId.values()]
  }

  async endIdle(beforeMs: number): Promise<readonly GuestSession[]> {
    const idle = [...this.#byId.values()].filter(({ seenMs }) => seenMs < beforeMs)
    for (const { id, task, owner, waitingBytes } of idle) {
      this.#byId.delete(id)
      this.#idOfTask.delete(task)
      this.#count(owner, -1)
      this.#waitingBytes -= waitingBytes
    }
    return idle
  }

  endOwn(): Promise<readonly GuestSession[]> {
    return this.endIdle(Number.POSITIVE_INFINITY)
  }

  #count(owner: string | undefined, more: 1 | -1): void {
    if (owner === undefined) return
    const count = (this.#ofOwner.get(owner) ?? 0) + more
    if (count === 0) this.#ofOwner.delete(owner)
    else this.#ofOwner.set(owner, count)
  }
}
