/** One open letter, read and judged: whoever brought it, nothing of it is believed but what its sender signed. */
import { equal } from '../../protocol/encoding/bytes.ts'
import { messageDigest } from '../../protocol/mail/message.ts'
import type { Arrived, Taker } from '../carrier/carrier.ts'
import { isTimely } from '../carrier/timely.ts'
import { hubTime } from '../hubs/clocks.ts'
import type { HubClient } from '../hubs/hub.ts'
import type { PolledLetter } from '../hubs/open-mail.ts'
import { count } from '../store/counters.ts'
import type { Store } from '../store/open.ts'
import type { Verdict } from '../store/seen.ts'
import { filesOf, type Reading, type ReadLetter } from './letters.ts'

const HOUR_MS = 3_600_000
/** A message is sent for 28 days and may lie at its hub for as long. */
const LETTER_LIFE_MS = 56 * 24 * HOUR_MS
const AHEAD_MAX_MS = HOUR_MS

const nothing = { came: () => undefined, taken: () => undefined }

export class Judging {
  readonly #store: Store
  readonly #reading: Reading
  readonly #hub: HubClient

  constructor(store: Store, reading: Reading, hub: HubClient) {
    this.#store = store
    this.#reading = reading
    this.#hub = hub
  }

  /** Throws as {@link Reading.read} does. */
  read(letter: PolledLetter): Promise<ReadLetter> {
    return this.#reading.read(letter, this.#hub)
  }

  /** What a letter brings, with what vouches for it. */
  arrived({ open: { body }, log }: ReadLetter): Arrived {
    return {
      body,
      digest: messageDigest(body),
      untilMs: body.tsMs + LETTER_LIFE_MS,
      way: 'open',
      log,
      keySet: undefined,
      credentials: nothing,
    }
  }

  /** Has it taken once; `cameAtMs`: when it was handed in. */
  async judge(read: ReadLetter, cameAtMs: number, by: Taker): Promise<Verdict> {
    const { body } = read.open
    const { log } = read
    const arrived = this.arrived(read)
    const earlier = by.earlier(arrived)
    if (earlier !== undefined) return earlier
    if (!this.#isInTime(body.tsMs)) return 'times'
    if (body.kelSeq < log.seq && !isTimely(this.#hub, log, body.kelSeq, cameAtMs)) {
      count(this.#store, 'retired_key')
      by.showRetired(arrived)
      return 'retiredKey'
    }
    if (body.kelSeq === log.seq && !equal(body.kelHeadDigest, log.headDigest)) {
      count(this.#store, 'peer_forks')
      return 'malformed'
    }
    return by.take(arrived, filesOf(read.open))
  }

  #isInTime(tsMs: number): boolean {
    const now = hubTime(this.#hub)
    return tsMs <= now + AHEAD_MAX_MS && tsMs >= now - LETTER_LIFE_MS
  }
}
