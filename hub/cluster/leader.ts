/** Who leads holds a lock of the database for as long as its link lasts; whoever asks next comes to lead after it. */
import type { Duty, Leader, Turn } from '../core/ports/leader.ts'
import type { Link } from '../store/postgres/link.ts'
import type { KeptLink } from './kept-link.ts'

const nameOf = (duty: Duty): string => `svc-hub duty ${duty}`
const TRY = 'SELECT pg_try_advisory_lock(hashtextextended($1, 0)) AS leads'

export class LeaderByLock implements Leader {
  readonly #link: KeptLink
  readonly #last = new Map<Duty, Promise<unknown>>()
  /** The link over which each duty is led. */
  readonly #leading = new Map<Duty, Link>()
  #isOver = false

  constructor(link: KeptLink) {
    this.#link = link
  }

  lead<T>(duty: Duty, work: (turn: Turn) => Promise<T>): Promise<T | undefined> {
    const before = this.#last.get(duty) ?? Promise.resolve()
    const done = before.then(() => this.#work(duty, work))
    this.#last.set(
      duty,
      done.catch(() => undefined),
    )
    return done
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#last.values())
    const link = this.#link.now
    // a lock that can't be given back goes with its link
    for (const [duty, held] of this.#leading)
      if (held === link)
        await held
          .run('SELECT pg_advisory_unlock(hashtextextended($1, 0))', nameOf(duty))
          .catch(() => undefined)
    this.#leading.clear()
  }

  async #work<T>(duty: Duty, work: (turn: Turn) => Promise<T>): Promise<T | undefined> {
    const link = this.#isOver ? undefined : await this.#leads(duty)
    if (link === undefined) return undefined
    const isOver = (): boolean => this.#isOver || this.#link.now !== link
    const turn: Turn = {
      get isOver() {
        return isOver()
      },
    }
    return await work(turn)
  }

  /** The link over which this process leads; undefined where another one leads, or the database is away. */
  async #leads(duty: Duty): Promise<Link | undefined> {
    const link = this.#link.now
    if (link === undefined || this.#leading.get(duty) === link) return link
    const row = await link.one<{ leads: boolean }>(TRY, nameOf(duty)).catch(() => undefined)
    if (row?.leads !== true || this.#link.now !== link) return undefined
    this.#leading.set(duty, link)
    return link
  }
}
