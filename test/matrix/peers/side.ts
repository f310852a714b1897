/** A hub as the check sees it, in this process or in one of its own. */
import type { Store } from '../../../hub/store/port.ts'
import type { Target } from '../../../hub/testing/hub.ts'
import type { VerifiedKel } from '../../../protocol/identity/kel.ts'

/** What was done between these moments is lost. */
export type Restore = { savedMs: number; restoredMs: number }

export type Side = {
  readonly name: string
  readonly aid: string
  readonly url: string
  readonly isUp: boolean
  /** As agents see it, whose clocks are right. */
  readonly target: Target
  readonly kel: VerifiedKel
  /** The time as it is. */
  now(): number
  readonly store: Pick<Store, 'transfer' | 'peerPayment' | 'peerCredit' | 'booksAgree'> &
    Partial<Pick<Store, 'holdings'>>
  readonly restores: readonly Restore[]
  /** Whether its operator was told something in these words. */
  wasTold(words: string): boolean
  /** Calls to peers that wait or run. */
  readonly calls: number
}

/** Whether a hub has lost what was done at this moment. */
export const lost = ({ restores }: Side, atMs: number): boolean =>
  restores.some(({ savedMs, restoredMs }) => savedMs <= atMs && atMs <= restoredMs)

/** Whether it was put back after this moment. */
export const wasPutBack = ({ restores }: Side, sinceMs: number): boolean =>
  restores.some(({ restoredMs }) => restoredMs >= sinceMs)
