/** Judging what a hub signed about a payment, with its newest key history. */
import { Malformed } from '../../protocol/encoding/bytes.ts'
import { wordsOf } from '../../protocol/encoding/errors.ts'
import { present } from '../../protocol/encoding/present.ts'
import {
  Authorization,
  hubOfNetwork,
  networkOf,
  type SettlementKind,
  SettlementReceipt,
  settlementKinds,
} from '../../protocol/proof/payment.ts'
import type { Quote } from '../../protocol/proof/quote.ts'
import { settlementFault } from '../../protocol/proof/settlement.ts'
import type { HubClient } from '../hubs/hub.ts'
import { hubKeySeenAt, noteHubKeySeen } from '../store/hub-keys-seen.ts'
import type { Store } from '../store/open.ts'
import type { PaymentRow } from '../store/payments.ts'
import type { SeenHeads } from './seen-heads.ts'

type Expected = {
  authorization: Authorization
  kinds: readonly SettlementKind[]
  /** When this node first asked for the payment, where it did not sign it itself. */
  askedAtMs?: number
}

export class Receipts {
  readonly #store: Store
  readonly #heads: SeenHeads
  readonly #hubNow: () => number
  readonly #own: string

  /** `own`: the AID of this node. */
  constructor({ store, heads, own }: { store: Store; heads: SeenHeads; own: string }, hubNow: () => number) {
    this.#store = store
    this.#own = own
    this.#heads = heads
    this.#hubNow = hubNow
  }

  /** Remembers when a key state of a hub was first seen here. */
  noteKeyState({ aid, seq }: { aid: string; seq: number }): void {
    noteHubKeySeen(this.#store, aid, seq, this.#hubNow)
  }

  /** Why a receipt does not prove its payment; a hub that rotated its key since is asked for its history first. */
  async faultOf(
    hub: Pick<HubClient, 'identity' | 'refresh'>,
    encoded: Uint8Array,
    expected: Expected,
  ): Promise<string | undefined> {
    try {
      const receipt = SettlementReceipt.decode(encoded)
      this.noteKeyState(hub.identity.log)
      if (receipt.body.hubKelSeq > hub.identity.log.seq) await hub.refresh()
      this.noteKeyState(hub.identity.log)
      const { authorization, kinds, askedAtMs = authorization.body.notBefore } = expected
      const askedBefore = (seq: number) => askedAtMs < this.#keyStateSince(hub.identity.log.aid, seq)
      const log = hub.identity.log
      const peer = this.#peerOf(receipt, authorization)
      const terms = { authorization, kinds, hub: log, askedBefore }
      const fault = settlementFault(receipt, { ...terms, ...present({ peer }) })
      if (fault === undefined) this.#heads.note(hub.identity.aid, receipt.body.supplyHead)
      return fault
    } catch (error) {
      if (error instanceof Malformed) return wordsOf(error)
      throw error
    }
  }

  /** Why a receipt does not prove the hold of a payment, or its end. */
  faultOfRow(
    row: PaymentRow,
    hub: HubClient,
    receipt: Uint8Array,
    what: 'held' | 'ended',
  ): Promise<string | undefined> {
    const { held, captured, returned } = settlementKinds
    const authorization = Authorization.decode(row.authorization)
    const kinds = what === 'held' ? [held] : [captured, returned]
    return this.faultOf(hub, receipt, { authorization, kinds, askedAtMs: row.at })
  }

  /**
   * The other hub that a receipt has to name: that of the payer, where this account is at another one. A payer is not told
   * where its payee lives: it goes by what its own hub says.
   */
  #peerOf({ body }: SettlementReceipt, { body: { payer, network } }: Authorization): string | undefined {
    if (network !== networkOf(body.hub)) return hubOfNetwork(network)
    return payer === this.#own ? body.peer : undefined
  }

  /** A key state that was never noted here is none that anything was asked for before. */
  #keyStateSince(hub: string, seq: number): number {
    return hubKeySeenAt(this.#store, hub, seq) ?? 0
  }
}

const SETTLE_SECONDS = 300

/** The quote that an authorization was made for, as far as a hub compares it. */
export function quoteOfRow(row: Pick<PaymentRow, 'authorization'>): Quote {
  const { body } = Authorization.decode(row.authorization)
  const holdSeconds = body.holdUntil === undefined ? undefined : (body.holdUntil - body.notAfter) / 1000
  return {
    provider: body.payTo,
    what: '',
    amount: body.amount,
    network: body.network,
    holdSeconds,
    settleSeconds: SETTLE_SECONDS,
  }
}
