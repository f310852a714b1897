/**
 * Redemptions that a person may ask for twice without meaning two: one whose answer was lost is named before there is
 * another.
 */

import { toHex } from '../../protocol/encoding/bytes.ts'
import { Authorization } from '../../protocol/proof/payment.ts'
import { shellWord } from '../../protocol/shell.ts'
import type { HubClient } from '../hubs/hub.ts'
import { refuse } from '../refusal.ts'
import type { Store } from '../store/open.ts'
import { openRedemptions, redemptionAsked } from '../store/redemptions.ts'
import { lastRestore } from '../store/restores.ts'
import type { OwnRecords } from './own-records.ts'

/** References that the node makes where its person gives none. */
const OWN_REFERENCE = /^svc-[0-9a-f]{16}$/
const REFERENCE_BYTES = 8
const ENTRIES_MAX = 500
/** What happened this long before an archive was made may be missing in it, as the two clocks differ. */
const CLOCKS_MS = 3_600_000
/** Whoever gives no reference may mean another redemption of the same amount after this time. */
const REPEATED_WITHIN_MS = 10 * 60_000
/** Clocks may differ, so one that has ended may be carried out a little longer. */
export const TOLERANCE_MS = 4 * 60_000
/** A day after it ended, one that nobody asked for again is no longer spoken of. */
const SPOKEN_OF_MS = 86_400_000

/** Redemptions of which the hub has proven nothing, by what asks again; one that it refused as long as it may still do it. */
export const pendingRedemptions = (store: Store, nowMs: number) =>
  signed(store).filter(
    ({ notAfter, isRefused }) => notAfter + (isRefused ? TOLERANCE_MS : SPOKEN_OF_MS) > nowMs,
  )

/** The network in whose credits such a redemption waits for the proof of its hub. */
export function openAt(store: Store, amount: number, reference: string): string | undefined {
  const encoded = redemptionAsked(store, { amount, reference })
  return encoded && Authorization.decode(encoded).body.network
}

const signed = (store: Store) =>
  openRedemptions(store).map(({ amount, reference, authorization, refused }) => ({
    amount,
    reference,
    isRefused: refused === 1,
    notAfter: Authorization.decode(authorization).body.notAfter,
  }))

type Asked = { amount: number; reference?: string | undefined; again?: boolean | undefined }

export class Redemptions {
  readonly #store: Store
  readonly #records: OwnRecords
  readonly #random: (length: number) => Uint8Array
  readonly #hubNow: () => number

  constructor(
    store: Store,
    records: OwnRecords,
    { random, hubNow }: { random: (length: number) => Uint8Array; hubNow: () => number },
  ) {
    this.#store = store
    this.#records = records
    this.#random = random
    this.#hubNow = hubNow
  }

  /** The reference of a redemption; refuses where it may be one whose answer was lost, unless another one is meant. */
  referenceFor({ amount, reference, again = false }: Asked): string {
    const anew = reference ?? `svc-${toHex(this.#random(REFERENCE_BYTES))}`
    if (again) return anew
    const isOpen = redemptionAsked(this.#store, { amount, reference: anew }) !== undefined
    // the same is asked for again, and is done once
    if (isOpen) return anew
    if (reference === undefined) this.#requireNoneOpen(amount)
    for (const done of this.#records.redeemedBefore()) {
      if (done.amount !== amount) continue
      const isSame =
        reference === undefined
          ? OWN_REFERENCE.test(done.reference) && done.atMs > this.#hubNow() - REPEATED_WITHIN_MS
          : done.reference === reference
      if (!isSame) continue
      const given = reference === undefined ? '' : ` --ref ${shellWord(reference)}`
      return refuse(
        'wrong_state',
        `${amount} credits were redeemed already for ${done.reference}, by ${done.transaction}`,
        `svc redeem ${amount}${given} --again`,
      )
    }
    return anew
  }

  /**
   * A node that was restored may have redeemed the same in a copy that is lost: its hub shows what it does not know. Refuses
   * where that may be what is asked for, unless another one is meant.
   */
  async requireNoneLost(
    hub: Pick<HubClient, 'credits'>,
    { amount, again = false }: Asked,
    signal: AbortSignal,
  ): Promise<void> {
    const restored = lastRestore(this.#store)
    if (restored === undefined || again) return
    const sinceMs = restored.madeAtMs - CLOCKS_MS
    const known = new Set(this.#records.authorizedSince(sinceMs).map(({ transaction }) => transaction))
    const { entries } = await hub.credits.account(ENTRIES_MAX, signal)
    const lost = entries.find(
      ({ reason, delta, transaction, atMs }) =>
        reason === 'redemption' &&
        delta === -amount &&
        transaction !== undefined &&
        !known.has(transaction) &&
        atMs >= sinceMs,
    )
    if (lost === undefined) return
    refuse(
      'wrong_state',
      `this node was restored, and its hub redeemed ${amount} credits since by ${lost.transaction}, which a copy that is lost may have asked for; nothing was redeemed now`,
      `svc redeem ${amount} --again`,
    )
  }

  /** One without a reference may be the one of which nothing was heard. */
  #requireNoneOpen(amount: number): void {
    const open = signed(this.#store).find(one => one.amount === amount && OWN_REFERENCE.test(one.reference))
    if (open !== undefined)
      refuse(
        'wrong_state',
        `the hub has not proven that it redeemed ${amount} credits for ${open.reference}; ask for that again, or for another with --again`,
        `svc redeem ${amount} --ref ${open.reference}`,
      )
  }
}
