/** Asking the hub what became of messages that it has. */
import { Refused } from '../../protocol/contract/client.ts'
import { STATUS_ITEMS_MAX } from '../../protocol/contract/limits.ts'
import type { Carriers } from '../carrier/carrier.ts'
import { describe } from '../hubs/failures.ts'
import type { HubClient } from '../hubs/hub.ts'
import type { Machine } from '../platform/machine.ts'
import type { Store } from '../store/open.ts'
import { askAgainAt, entriesToAskAbout, noteSilence, type OutboxEntry } from '../store/outbox.ts'
import { HOME_UNREACHABLE } from '../store/outbox-sizes.ts'
import type { Fates } from './fates.ts'
import { fraction } from './resending.ts'
import type { Settling } from './settling.ts'

const STATUS_FIRST_MS = 10_000
const STATUS_LAST_MS = 120_000
/** Hubs that are asked side by side, through the own one. */
const ASKED_MAX = 8

/** Why nobody says what became of a message that another hub has, by the code with which the own one refuses. */
const SILENT: Readonly<Record<string, (hub: string) => string>> = {
  [HOME_UNREACHABLE]: hub =>
    `the hub of the recipient, ${hub}, has it and did not answer when it was asked; the recipient may have collected it`,
  bad_status_query: hub =>
    `the hub of the recipient, ${hub}, has it, and this node's hub does not ask that one any more; the recipient may have collected it`,
}

/** 10 to 120 s apart and jittered, so that a hub cannot pair a pickup with the question about it. */
export function statusPause(random: Machine['random'], asked: number): number {
  const span = Math.min(STATUS_FIRST_MS * 2 ** asked, STATUS_LAST_MS - STATUS_FIRST_MS)
  return Math.ceil(STATUS_FIRST_MS + span * fraction(random))
}

type QueryParts = { store: Store; carriers: Carriers; fates: Fates; settling: Settling }

export class StatusQueries {
  readonly #parts: QueryParts
  readonly #machine: Machine
  /** Hubs of which an answer is awaited; null: the own one. */
  readonly #awaited = new Set<string | null>()

  constructor(parts: QueryParts, machine: Machine) {
    this.#parts = parts
    this.#machine = machine
  }

  /**
   * Asks about messages of one recipient and one credential; undefined when it is time for none. Each hub that has some gets
   * one question at a time, so that one which does not answer holds up no other.
   */
  askWhatIsDue(hub: HubClient): Promise<void> | undefined {
    if (this.#awaited.size >= ASKED_MAX) return undefined
    const now = this.#machine.now()
    const entries = entriesToAskAbout(this.#parts.store, now, STATUS_ITEMS_MAX, [...this.#awaited])
    const [first] = entries
    if (first === undefined) return undefined
    const { viaHub } = first
    this.#awaited.add(viaHub)
    return this.#askAbout(hub, entries).finally(() => this.#awaited.delete(viaHub))
  }

  async #askAbout(hub: HubClient, asked: OutboxEntry[]): Promise<void> {
    const { store, carriers, fates, settling } = this.#parts
    const { now, random, log } = this.#machine
    // lost with the power, the question comes once more
    store.unflushed(() => {
      for (const { message, attempts } of asked)
        askAgainAt(store, message, now() + statusPause(random, attempts))
    }, 'node.ask')
    try {
      const found = await carriers.over(hub).fatesOf(asked)
      store.transaction(() => {
        for (const [i, entry] of asked.entries()) {
          const fate = found[i]
          if (fate !== undefined) fates.take(entry, fate)
        }
      }, 'node.confirm')
    } catch (error) {
      log.debug({ reason: describe(error) }, 'status query failed')
      for (const entry of asked) if (!settling.endIfOverdue(entry)) this.#noteSilence(entry, error)
    }
  }

  /** A hub that is not asked, or does not answer, says nothing of what it has: that stays there. */
  #noteSilence({ message, viaHub, lastError }: OutboxEntry, error: unknown): void {
    if (viaHub === null || !(error instanceof Refused)) return
    const why = SILENT[error.code]?.(viaHub)
    if (why !== undefined && why !== lastError)
      noteSilence(this.#parts.store, message, { why, code: error.code })
  }
}
