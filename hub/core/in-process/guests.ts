/** Sessions of visitors in the memory of one process. */
import type { GuestSession, GuestSessions } from '../ports/guests.ts'

export class GuestsInProcess implements GuestSessions {
  readonly #byId = new Map<string, GuestSession>()
  readonly #byTask = new Map<string, GuestSession>()

  async add(session: GuestSession, max: number): Promise<boolean> {
    if (this.#byId.size >= max) return false
    this.#byId.set(session.id, session)
    this.#byTask.set(session.task, session)
    return true
  }

  async find(id: string): Promise<GuestSession | undefined> {
    return this.#byId.get(id)
  }

  async findTask(task: string): Promise<GuestSession | undefined> {
    return this.#byTask.get(task)
  }

  async end(id: string): Promise<void> {
    const session = this.#byId.get(id)
    if (session === undefined) return
    this.#byId.delete(id)
    this.#byTask.delete(session.task)
  }

  async endIdle(beforeMs: number): Promise<void> {
    for (const { id, seenMs } of [...this.#byId.values()]) if (seenMs < beforeMs) await this.end(id)
  }
}
