/**
 * A letter that came to the address of this node. Attacker: anybody who reaches it, who signs nothing of the request. So it is
 * read and judged as one that its hub handed out, and answered with what its sender may know.
 */
import type { Logger } from 'pino'
import { fromBase64, Malformed } from '../../protocol/encoding/bytes.ts'
import type { Taker } from '../carrier/carrier.ts'
import { hubTime } from '../hubs/clocks.ts'
import type { CurrentHub } from '../hubs/current.ts'
import { isOwnFailure } from '../hubs/failures.ts'
import type { HubClient } from '../hubs/hub.ts'
import type { OpenKind } from '../hubs/open-mail.ts'
import type { Identity } from '../identity/identity.ts'
import { Judging } from '../open/judging.ts'
import type { Reading } from '../open/letters.ts'
import type { Store } from '../store/open.ts'
import { confirmed } from './confirmations.ts'

/** Letters that are judged at once; the key of an unknown sender is asked of the hub. */
const JUDGED_MAX = 4

export type GivenLetter = {
  to_aid: string
  from_aid: string
  kind: OpenKind
  interaction_id: string
  payload: string
}
/**
 * `not_here`: for another agent · `malformed`: no letter, or its signature does not hold · `not_taken`: judged and refused ·
 * `busy`, `not_now`: the same letter may be taken later.
 */
export type NotTaken = 'not_here' | 'malformed' | 'not_taken' | 'busy' | 'not_now'
export type Answered = { confirmation: Uint8Array } | { refused: NotTaken }

type TakingParts = {
  identity: Identity
  hub: CurrentHub
  store: Store
  reading: Reading
  taker: Taker
}

export class DirectTaking {
  readonly #parts: TakingParts
  readonly #now: () => number
  readonly #log: Logger
  #underWay = 0

  constructor(parts: TakingParts, now: () => number, log: Logger) {
    this.#parts = parts
    this.#now = now
    this.#log = log
  }

  /** Stored durably where it is confirmed; throws what fails on this machine alone. */
  async take(letter: GivenLetter): Promise<Answered> {
    const { identity, hub } = this.#parts
    const { home } = hub
    if (home?.openMail === undefined) return { refused: 'not_now' }
    if (letter.to_aid !== identity.aid) return { refused: 'not_here' }
    if (this.#underWay >= JUDGED_MAX) return { refused: 'busy' }
    this.#underWay += 1
    try {
      return await this.#judged(letter, home)
    } catch (error) {
      if (isOwnFailure(error)) throw error
      this.#log.debug({ err: error }, 'a direct letter was not taken')
      return { refused: error instanceof Malformed ? 'malformed' : 'not_now' }
    } finally {
      this.#underWay -= 1
    }
  }

  async #judged(given: GivenLetter, home: HubClient): Promise<Answered> {
    const { identity, store, reading, taker } = this.#parts
    const judging = new Judging(store, reading, home)
    const payload = fromBase64(given.payload)
    const createdAtMs = hubTime(home)
    const read = await judging.read({
      ...{ id: '', from: given.from_aid, interaction: given.interaction_id },
      ...{ payload, createdAtMs },
    })
    const verdict = await judging.judge(read, createdAtMs, taker)
    if (verdict !== 'stored') return { refused: 'not_taken' }
    return { confirmation: confirmed(identity, { body: read.open.body, payload }, this.#now()) }
  }
}
