/**
 * Challenges: what an agent signs of an action and a time, and nothing of the request. One holds for some minutes and as
 * often as it is shown, so nothing that it allows does harm when it is repeated. Attacker: whoever overhears one.
 */
import { keyAt, type VerifiedKel } from '../../protocol/identity/kel.ts'
import type { HubContext } from './context.ts'
import { CLOCK_WINDOW_MS } from './limits.ts'
import { Refusal } from './refusal.ts'

/** `text`: the bytes that were signed · `seq`: the key state that signed, as the request has it. */
export type Challenge = { tsMs: number; seq: number; text: Uint8Array; signature: Uint8Array }

export class Challenges {
  readonly #context: Pick<HubContext, 'verifier' | 'now'>

  constructor(context: Pick<HubContext, 'verifier' | 'now'>) {
    this.#context = context
  }

  /** Refuses a time that is too far from the clock of the hub. */
  checkTime({ tsMs }: Pick<Challenge, 'tsMs'>): void {
    if (Math.abs(this.#context.now() - tsMs) > CLOCK_WINDOW_MS) throw new Refusal('challengeOutside')
  }

  /** Holds a challenge to a key history; undefined where nobody has one. */
  async verify(given: Challenge, log: VerifiedKel | undefined): Promise<void> {
    this.checkTime(given)
    if (log === undefined) throw new Refusal('challengerUnknown')
    if (given.seq > log.seq) throw new Refusal('keyStateUnknown')
    const key = keyAt(log, given.seq)
    const holds = key !== undefined && (await this.#context.verifier.verify(key, given.text, given.signature))
    if (!holds) throw new Refusal('signatureInvalid')
    if (given.seq < log.seq || log.deactivated) throw new Refusal('keyRetired')
  }
}
