/** Reads from time to time what hubs publish of the credits of this node, and compares its accounts. */
import type { CurrentHub } from '../hubs/current.ts'
import { isOwnFailure } from '../hubs/failures.ts'
import type { HubClient } from '../hubs/hub.ts'
import type { Identity } from '../identity/identity.ts'
import { Loop } from '../platform/loop.ts'
import type { Machine } from '../platform/machine.ts'
import type { LeftHubs } from './left-hubs.ts'
import { maySign } from './may-sign.ts'
import type { Pace } from './pace.ts'
import type { AuditReport, PublishedCredits } from './published-credits.ts'

const EVERY_MS = 6 * 3_600_000
const FIRST_MS = 10 * 60_000
const ROUND_MS = 10 * 60_000
const AUDIT_MS = 5 * 60_000
/** An audit that this machine could not keep is not read again at once. */
const RESTS = 60

type AuditParts = { identity: Identity; hub: CurrentHub; published: PublishedCredits; left: LeftHubs }

export class Audit {
  readonly #hub: CurrentHub
  readonly #published: PublishedCredits
  readonly #left: LeftHubs
  readonly #machine: Machine
  readonly #loop: Loop
  #nextAt: number

  constructor({ identity, hub, published, left }: AuditParts, { machine, timings, waker }: Pace) {
    this.#hub = hub
    this.#published = published
    this.#left = left
    this.#machine = machine
    this.#nextAt = machine.now() + FIRST_MS
    this.#loop = new Loop({
      name: 'audits',
      waker,
      log: machine.log,
      restFirstMs: RESTS * timings.backoffFirstMs,
      restMaxMs: ROUND_MS,
      mayRun: () => maySign(identity, hub),
      turn: signal => this.#turn(signal),
    })
  }

  start(): void {
    this.#loop.start()
  }

  async stop(): Promise<void> {
    await this.#loop.stop()
  }

  /** Everything that is due now, once. */
  look(): Promise<void> {
    return this.#loop.once()
  }

  async #turn(lifetime: AbortSignal): Promise<number> {
    const { now, timers } = this.#machine
    const waitMs = this.#nextAt - now()
    // a wait longer than the usual one is from a clock that ran ahead
    const isDue = waitMs <= 0 || waitMs > EVERY_MS
    if (!isDue) return ROUND_MS
    const signal = AbortSignal.any([lifetime, timers.deadline(AUDIT_MS)])
    const { home } = this.#hub
    if (home !== undefined)
      await this.run(home, { all: false, signal }).catch(error => this.#noteFailed(error))
    for (const hub of this.#left.watched()) {
      const within = AbortSignal.any([lifetime, timers.deadline(AUDIT_MS)])
      await this.#left.compare(hub, within).catch(error => this.#noteFailed(error))
    }
    this.#nextAt = now() + EVERY_MS
    return ROUND_MS
  }

  #noteFailed(error: unknown): void {
    if (isOwnFailure(error)) throw error
    this.#machine.log.warn({ err: error }, 'the hub could not be audited')
  }

  /** A person goes on with a hub in spite of what was found. */
  accept(hub: string): void {
    this.#published.accept(hub)
  }

  /** Reads what is new since the last audit, or everything and every signature. */
  run(hub: HubClient, given: { all: boolean; signal: AbortSignal }): Promise<AuditReport> {
    return this.#published.run(hub, given)
  }
}
