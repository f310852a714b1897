/** The one process of a hub leads in everything: works of a duty follow each other. */
import type { Duty, Leader, Turn } from '../ports/leader.ts'

export class LeaderInProcess implements Leader {
  readonly #last = new Map<Duty, Promise<unknown>>()
  #isOver = false

  lead<T>(duty: Duty, work: (turn: Turn) => Promise<T>): Promise<T | undefined> {
    const isOver = (): boolean => this.#isOver
    const turn: Turn = {
      get isOver() {
        return isOver()
      },
    }
    const before = this.#last.get(duty) ?? Promise.resolve()
    const done = before.then(() => (isOver() ? undefined : work(turn)))
    this.#last.set(
      duty,
      done.catch(() => undefined),
    )
    return done
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#last.values())
  }
}
