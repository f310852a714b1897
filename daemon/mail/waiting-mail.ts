/** Waiting mail read for the heads of our chain that it brings back, before anything of it is taken or confirmed. */
import { Malformed } from '../../protocol/encoding/bytes.ts'
import { messagePayload } from '../../protocol/mail/message.ts'
import { kinds } from '../../protocol/mail/payload.ts'
import { sleep, type Timers } from '../../protocol/timers.ts'
import type { Arrived, Carriers, Looked } from '../carrier/carrier.ts'
import type { CurrentHub } from '../hubs/current.ts'
import type { HubClient } from '../hubs/hub.ts'
import type { Store } from '../store/open.ts'
import type { OwnHeads } from './heads.ts'
import { COPY_ENDED_MAX } from './twin-watch.ts'

/** A hub may answer a little before the time that it was asked to wait. */
const SETTLED_SHARE = 0.9
const UNHELD_PAUSE_MS = 1000
/** A poll that another left behind as it went has ended by then; one that runs, however slowly, has polled again. */
const OTHER_GONE_MS = 60_000

/** How polls in a row were held: in peace, or ended by another node. */
class Rest {
  /** Those that another node ended. */
  ended = 0
  readonly #settledMs: number
  #otherSeenAt: number | undefined

  constructor(settledMs: number) {
    this.#settledMs = settledMs
  }

  /** Whether this poll shows that nobody else waits. */
  isAlone({ taken, held, others }: Looked, askedAt: number, now: number): boolean {
    if (others !== undefined) this.#otherSeenAt = now
    if (taken > 0 || !held) return false
    const inPeace = others?.newer !== true && now - askedAt >= this.#settledMs * SETTLED_SHARE
    if (!inPeace) this.ended += 1
    return inPeace && (this.#otherSeenAt === undefined || now - this.#otherSeenAt >= OTHER_GONE_MS)
  }
}

type WaitingParts = { hub: CurrentHub; store: Store; carriers: Carriers; heads: OwnHeads }

export class WaitingMail {
  readonly #parts: WaitingParts
  readonly #timers: Timers
  readonly #settledMs: number

  /** `settledMs`: a poll that is held for so long and met no other shows that nobody else waits. */
  constructor(parts: WaitingParts, timers: Timers, settledMs: number) {
    this.#parts = parts
    this.#timers = timers
    this.#settledMs = settledMs
  }

  /**
   * Whether another node of this identity waits for mail at the hub: each one ends the held poll of the other. Where the hub
   * says that it met another poll, only a long rest shows that the other has gone: it may be slow. Leaves the mail as it
   * is, and looks at what comes.
   */
  async watchForTwin(at: HubClient, signal: AbortSignal): Promise<'alone' | 'came_second'> {
    const { hub, carriers } = this.#parts
    const settledMs = this.#settledMs
    const carrier = carriers.over(at)
    let after = await this.lookForHeads(at, signal)
    const rest = new Rest(settledMs)
    while (rest.ended < COPY_ENDED_MAX && hub.oldCopy === undefined) {
      const askedAt = this.#timers.monotonic()
      const looked = await carrier.look({ waitMs: Math.max(1000, settledMs), signal, after }, this.#see)
      after = looked.after
      if (rest.isAlone(looked, askedAt, this.#timers.monotonic())) return 'alone'
      if (looked.taken === 0 && !looked.held) await sleep(this.#timers, UNHELD_PAUSE_MS, signal)
    }
    return hub.oldCopy === undefined ? 'came_second' : 'alone'
  }

  /**
   * Looks through the whole mailbox and leaves it as it is; ends early once a head shows a newer copy of this identity,
   * which then gets this mail. Gives where the next look goes on.
   */
  async lookForHeads(at: HubClient, signal: AbortSignal): Promise<number | undefined> {
    const { hub, carriers } = this.#parts
    const carrier = carriers.over(at)
    let after: number | undefined
    for (let more = true; more && hub.oldCopy === undefined; ) {
      const looked = await carrier.look({ waitMs: 0, signal, after }, this.#see)
      after = looked.after
      more = looked.more && looked.taken > 0
    }
    return after
  }

  readonly #see = ({ body, log }: Arrived): void => {
    const { store, heads } = this.#parts
    if (body.kind !== kinds.heldHead || body.kelSeq !== log.seq) return
    try {
      const message = messagePayload(body)
      if (message.kind === kinds.heldHead) store.transaction(() => heads.compare(body.from, message.payload))
    } catch (error) {
      // the mail is judged when it is taken
      if (!(error instanceof Malformed)) throw error
    }
  }
}
