/**
 * Noticing that the same identity runs somewhere else: a hub holds one poll a mailbox and ends the older one for a
 * newer, so two nodes end each other's polls without end. Who held a poll in peace before was there first and goes on;
 * the other one stops talking to the hub.
 */

/** Held polls in a row that ended at once without mail, before the later and the earlier node draw the conclusion. */
const LATER_ENDED_MAX = 6
const EARLIER_ENDED_MAX = 9
/** A poll that was held for less than this share of its time and brought nothing was ended by somebody. */
const EARLY_SHARE = 0.5

export type HeldPoll = { askedMs: number; heldMs: number; mail: boolean }

export class TwinWatch {
  #settledMs: number
  #settled = false
  #ended = 0

  /** A poll held for `settledMs` in peace shows that nobody else was there. */
  constructor(settledMs: number) {
    this.#settledMs = settledMs
  }

  /** What the last poll shows: nothing, that this node came second, or that another came after it. */
  note(poll: HeldPoll): 'alone' | 'came_second' | 'was_first' {
    if (poll.mail || poll.heldMs >= poll.askedMs * EARLY_SHARE) this.#ended = 0
    else this.#ended += 1
    if (this.#ended <= 1 && poll.heldMs >= this.#settledMs) this.#settled = true
    if (!this.#settled && this.#ended >= LATER_ENDED_MAX) return 'came_second'
    return this.#ended >= EARLIER_ENDED_MAX ? 'was_first' : 'alone'
  }
}
