/** The clock of a hub, as the dates of its answers tell it. */

/** Two dates further apart are those of a clock that was set. */
const DATES_APART_MS = 2000

export class HubDate {
  #told: { date: number; seenAt: number } | undefined

  /** By how much the hub's clock is ahead of this machine's; undefined before its first answer. */
  get apartMs(): number | undefined {
    return this.#told && this.#told.date - this.#told.seenAt
  }

  /** The time that the hub told last, and what has passed since. */
  timeMs(now: number): number | undefined {
    return this.#told && this.#told.date + now - this.#told.seenAt
  }

  /**
   * A date is cut to its second and has travelled, so the latest of those that agree is the nearest. The date of an answer
   * that was long under way is of any moment since it was asked for, so what is known stays where it agrees with one.
   */
  note(response: Response, { sentAt, seenAt }: { sentAt: number; seenAt: number }): void {
    const date = Date.parse(response.headers.get('Date') ?? '')
    if (Number.isNaN(date)) return
    const held = this.apartMs
    const offset = date - seenAt
    const latest = Math.max(offset, date - sentAt)
    const isLater = held === undefined || offset > held
    if (isLater || held - latest > DATES_APART_MS) this.#told = { date, seenAt }
  }
}
