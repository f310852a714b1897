/** What a node does by the clock: registration kept up to date, weekly keys, old mailboxes emptied, records expired. */
import type { Logger } from 'pino'
import type { Context } from './context.ts'
import type { CurrentHub } from './hubs/current.ts'
import { describe } from './hubs/failures.ts'
import { mailParts } from './mail/open.ts'
import type { Relay } from './mail/relay.ts'
import type { Settling } from './mail/settling.ts'
import type { Membership } from './membership/membership.ts'
import type { DeliveryCapabilities } from './peers/capabilities.ts'
import type { Clocks } from './platform/clock.ts'
import { Loop } from './platform/loop.ts'
import { takeUpPushes } from './store/a2a.ts'
import { forgetCommitted } from './store/idempotency.ts'
import type { Store } from './store/open.ts'
import { takeUpPutOff } from './store/outbox.ts'
import { takeUpPayments } from './store/payments.ts'
import { takeUpReviews } from './store/reviews.ts'
import { indexMessages } from './store/search.ts'
import { forgetVerdicts } from './store/seen.ts'
import { taskParts } from './tasks/open.ts'
import type { HeldReceipts } from './tasks/receipt-requester.ts'

const ROUND_MS = 10 * 60_000
/** Pause before the next round when the hub could not be told everything, or a previous one did not answer. */
const RETRY_MS = 60_000
/** Longer than any message, review or push waits for its next try. */
const PUT_OFF_MAX_MS = 4 * 86_400_000
/** Longer than any payment waits for the next question to its hub. */
const PAYMENT_PUT_OFF_MAX_MS = 3_600_000
const IDEMPOTENCY_KEPT_MS = 30 * 86_400_000

/** Starts the rounds, the first at once; one at a time, the next after a pause or when it is woken. */
export function startMaintenance(ctx: Context, membership: Membership, relay: Relay): AsyncDisposable {
  const { hub, wakers, log, timings } = ctx
  const rounds = new MaintenanceRounds({ hub, chores: choresOf(ctx), membership, relay }, log)
  const loop = new Loop({
    name: 'maintenance',
    waker: wakers.rounds,
    log,
    restFirstMs: timings.backoffFirstMs,
    turn: async signal => ((await rounds.round(signal)) ? ROUND_MS : RETRY_MS),
  })
  loop.start()
  return { [Symbol.asyncDispose]: () => loop.stop() }
}

type RoundParts = { hub: CurrentHub; chores: Chores; membership: Membership; relay: Relay }

class MaintenanceRounds {
  readonly #parts: RoundParts
  readonly #log: Logger

  constructor(parts: RoundParts, log: Logger) {
    this.#parts = parts
    this.#log = log
  }

  /** Whether the hub was told everything, and previous ones gave what they hold. */
  async round(signal: AbortSignal): Promise<boolean> {
    const { hub, chores, membership } = this.#parts
    // An old copy stays as it is.
    if (hub.oldCopy !== undefined) return true
    chores.do()
    const [isInSync] = await Promise.all([membership.keepInSync(signal), membership.pushToPrevious()])
    if (hub.unasked !== undefined) return isInSync
    return (await this.#emptyPrevious()) && isInSync
  }

  /** Whether nothing is left in any of the mailboxes that are still emptied. */
  async #emptyPrevious(): Promise<boolean> {
    const { membership, relay } = this.#parts
    let isEmptied = true
    for (const previous of membership.draining())
      await relay.drain(previous, 0).catch(error => {
        isEmptied = false
        this.#log.info({ reason: describe(error) }, 'previous mailbox not emptied')
      })
    return isEmptied
  }
}

export class Chores {
  readonly #chores: readonly (() => void)[]
  readonly #log: Logger

  constructor(chores: readonly (() => void)[], log: Logger) {
    this.#chores = chores
    this.#log = log
  }

  /** What cannot be cleared away (a full disk, a chain that needs its owner) holds up nothing else. */
  do(): void {
    for (const chore of this.#chores) this.#attempt(chore)
  }

  #attempt(chore: () => void): void {
    try {
      chore()
    } catch (error) {
      this.#log.error({ err: error }, 'maintenance')
    }
  }
}

export function choresOf(ctx: Context): Chores {
  const { keys, store, chain, attachments, capabilities, wakers, log } = ctx
  const { deadlines, silentVisits, ownReceipts } = taskParts(ctx)
  const { asked, settling } = mailParts(ctx)
  const expiry = expiryOf(ctx)
  return new Chores(
    [
      () => expiry.expire(),
      () => deadlines.expireUnanswered(),
      () => silentVisits.end(),
      () => asked.ask(),
      // nothing that can leave under a capability waits for the next day of strangers
      () => capabilities.hurryHeld() && wakers.outbox.wake(),
      () => settling.endOverdue(),
      () => store.transaction(() => ownReceipts.mend(), 'node.receipt'),
      () => keys.deleteOld(),
      () => chain.drain(),
      () => indexMessages(store),
      () => attachments.removeOldTexts(),
    ],
    log,
  )
}

type ExpiryParts = {
  store: Store
  capabilities: DeliveryCapabilities
  settling: Settling
  heldReceipts: HeldReceipts
}

class Expiry {
  readonly #parts: ExpiryParts
  readonly #clocks: Clocks

  constructor(parts: ExpiryParts, { now, hubNow }: Clocks) {
    this.#parts = parts
    this.#clocks = { now, hubNow }
  }

  /** Forgets what is past its time. */
  expire(): void {
    const { store, capabilities, settling, heldReceipts } = this.#parts
    const [now, hubNow] = [this.#clocks.now(), this.#clocks.hubNow()]
    store.transaction(() => {
      settling.takeUpGivenUp()
      takeUpPutOff(store, now, now + PUT_OFF_MAX_MS)
      takeUpReviews(store, now, now + PUT_OFF_MAX_MS)
      takeUpPushes(store, now, now + PUT_OFF_MAX_MS)
      takeUpPayments(store, hubNow, hubNow + PAYMENT_PUT_OFF_MAX_MS)
      forgetVerdicts(store, now)
      forgetCommitted(store, now - IDEMPOTENCY_KEPT_MS)
      capabilities.clean()
      heldReceipts.disputeOverdue(store, now)
    })
  }
}

export function expiryOf(ctx: Context): Expiry {
  const { store, capabilities } = ctx
  const { heldReceipts } = taskParts(ctx)
  const { settling } = mailParts(ctx)
  return new Expiry({ store, capabilities, settling, heldReceipts }, ctx)
}
