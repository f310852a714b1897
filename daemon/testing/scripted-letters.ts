/** Open mail of a hub in this process: letters that wait, and what an agent does with them. */
import { Refused } from '../../protocol/contract/client.ts'
import { OpenReview } from '../../protocol/proof/open-review.ts'
import type { OpenLetter, OpenMail, OpenReviews, PolledLetter } from '../hubs/open-mail.ts'

const LETTER_BYTES_MAX = 40 * 1024 * 1024

/** A letter that waits for an agent. */
export type WaitingLetter = PolledLetter & { to: string }

/** The letters of a hub. */
export class Letters {
  #waiting: WaitingLetter[] = []
  #ids = 0
  /** Agents with a second node that runs beside the one of a test: it takes at once what they send to themselves. */
  readonly twins = new Set<string>()

  snapshot(): { waiting: readonly WaitingLetter[]; ids: number } {
    return { waiting: [...this.#waiting], ids: this.#ids }
  }

  restore({ waiting, ids }: ReturnType<Letters['snapshot']>): void {
    this.#waiting = [...waiting]
    this.#ids = Math.max(ids, this.#ids)
  }

  take(letter: OpenLetter, createdAtMs: number): string {
    const id = `letter-${++this.#ids}`
    const isTaken = letter.to === letter.from && this.twins.has(letter.to)
    if (!isTaken) this.#waiting.push({ ...letter, id, createdAtMs })
    return id
  }

  of(aid: string): WaitingLetter[] {
    return this.#waiting.filter(({ to }) => to === aid)
  }

  drop(aid: string, ids: readonly string[]): number {
    const before = this.#waiting.length
    this.#waiting = this.#waiting.filter(({ to, id }) => to !== aid || !ids.includes(id))
    return before - this.#waiting.length
  }
}

/** A refusal of this wire, which has a status and no code of its own. */
export const unknownAid = (): Refused =>
  new Refused(404, { reason: 'unknown_aid', error: 'recipient not registered' }, undefined)

type Say = <T>(name: 'send' | 'poll' | 'ack' | 'give', given: unknown[], usual: () => T) => T
type Place = {
  letters: Letters
  rated: Uint8Array[]
  knows: (aid: string) => boolean
  timeMs: () => number
}

/** What a hub does for one agent whose mail it reads. */
export function openSide(
  aid: string,
  { letters, rated, knows, timeMs }: Place,
  say: Say,
): OpenMail & OpenReviews {
  return {
    letterBytesMax: LETTER_BYTES_MAX,
    send: (letter, signal) =>
      say('send', [letter, signal], async () => {
        if (!knows(letter.to)) throw unknownAid()
        return { id: letters.take(letter, timeMs()), viaHub: undefined, isQuiet: false }
      }),
    poll: signal => say('poll', [signal], async () => letters.of(aid)),
    ack: ids => say('ack', [ids], async () => letters.drop(aid, ids)),
    give: upload =>
      say('give', [upload], async () => {
        rated.push(OpenReview.decode(upload.review).body.receiptDigest)
      }),
  }
}
