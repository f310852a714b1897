/**
 * Noticing that the same identity runs somewhere else: a hub holds one poll a mailbox and ends the older one for a
 * newer, so two nodes end each other's polls without end. Who held a poll in peace before was there first and goes on;
 * the other one stops talking to the hub.
 */

import type { OtherPolls } from '../hubs/hub.ts'

/** Held polls in a row that ended at once without mail, before a node draws the conclusion that it came later. */
export const LATER_ENDED_MAX = 6
/** Before that of a directory that was just restored or copied: a busy node may have had no peace yet, and stays. */
export const COPY_ENDED_MAX = 4
const EARLIER_ENDED_MAX = 4
/** A poll that was held for less than this share of its time and brought nothing was ended by somebody. */
const EARLY_SHARE = 0.5

/** `others`: other polls that it met, where the hub says so. */
export type HeldPoll = { askedMs: number; heldMs: number; mail: boolean; others?: OtherPolls }

export class TwinWatch {
  #settledMs: number
  #settled: boolean
  #ended = 0
  /** For how long polls have been held since the last one that somebody ended. */
  #peaceMs = 0

  /**
   * Polls held for `settledMs` in peace, however often mail ended one, show that nobody else was there. `isFirst`: its owner
   * said that this node goes on.
   */
  constructor(settledMs: number, isFirst = false) {
    this.#settledMs = settledMs
    this.#settled = isFirst
  }

  /** Whether it is certain that this node was there first. */
  get isSettled(): boolean {
    return this.#settled
  }

  /** What the last poll shows: nothing, that this node came second, or that another came after it. */
  note(poll: HeldPoll): 'alone' | 'came_second' | 'was_first' {
    const { older = false, newer = false } = poll.others ?? {}
    if (newer) this.#ended += 1
    else if (poll.mail || poll.heldMs >= poll.askedMs * EARLY_SHARE) this.#ended = 0
    else this.#ended += 1
    this.#peaceMs = older ? 0 : this.#peaceMs + poll.heldMs
    if (this.#ended <= 1 && this.#peaceMs >= this.#settledMs) this.#settled = true
    if (this.#ended > 0) this.#peaceMs = 0
    if (!this.#settled && this.#ended >= LATER_ENDED_MAX) return 'came_second'
    return this.#ended >= EARLIER_ENDED_MAX ? 'was_first' : 'alone'
  }
}
