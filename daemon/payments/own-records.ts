/** What this node recorded of its own credits: what it signed, and what a hub signed about it. */
import { cidText } from '../../protocol/crypto/hash.ts'
import { fromBase64 } from '../../protocol/encoding/bytes.ts'
import {
  type Authorization,
  networkOf,
  SettlementReceipt,
  settlementKinds,
  transactionOf,
} from '../../protocol/proof/payment.ts'
import { VOUCHER_LIFE_MS } from '../../protocol/proof/voucher.ts'
import { type Chain, READ_LIMIT_MAX } from '../chain/chain.ts'
import type { Identity } from '../identity/identity.ts'
import type { Store } from '../store/open.ts'
import { receivedPayments } from '../store/open-payments.ts'

/** A payment that a hub signed: `sign` is that of the entry which its ledger has to show for it. */
export type Signed = {
  transaction: string
  atMs: number
  amount: number
  kind: 'paid' | 'received' | 'returned' | 'redeemed'
}
export type Authorized = { transaction: string; amount: number; payTo: string }

/** The work may last as long as a hold. */
const BEFORE_MS = 31 * 86_400_000
/** A voucher is taken so long after it was paid at most, as the two clocks may differ. */
const PAID_BEFORE_MS = VOUCHER_LIFE_MS + 5 * 60_000

type Recorded = { seq: number; timestamp: number; payload: Record<string, unknown> }
export type Redeemed = { amount: number; reference: string; transaction: string; atMs: number }
type MovedCredits = { amount: number; network: string; transaction: string; receipt: Uint8Array }
type Proven = Omit<Redeemed, 'atMs'> & { receipt: Uint8Array }

export class OwnRecords {
  readonly #chain: Chain
  readonly #store: Store
  readonly #identity: Identity

  constructor({ chain, store, identity }: { chain: Chain; store: Store; identity: Identity }) {
    this.#chain = chain
    this.#store = store
    this.#identity = identity
  }

  /** Payloads of one type, the newest first, back to a time at least: a clock may have been wrong for a while. */
  *#payloads(eventType: string, sinceMs: number) {
    for (const { payload } of this.#recorded(eventType, sinceMs)) yield payload
  }

  *#recorded(eventType: string, sinceMs: number) {
    let before: number | undefined
    while (before === undefined || before > 0) {
      const page = this.#chain.read({ eventType, before, limit: READ_LIMIT_MAX }) as Recorded[]
      yield* page.toReversed()
      if (page.length < READ_LIMIT_MAX || page.every(({ timestamp }) => timestamp < sinceMs)) return
      before = page[0]?.seq
    }
  }

  /** A payment that this node signed, by the id of the task that it is for. */
  authorized(interaction: string, authorization: Authorization): void {
    const { payTo, amount, network } = authorization.body
    this.#chain.append('svc.payment.authorized', {
      interaction_id: interaction,
      authorization_id: cidText(transactionOf(authorization)),
      pay_to: payTo,
      amount,
      network,
    })
  }

  /** What a hub signed that it redeemed for this agent. */
  redeemed({ amount, reference, transaction, receipt }: Proven): void {
    this.#chain.append('svc.credit.redeemed', {
      amount,
      reference,
      auth_id: transaction,
      verified: true,
      receipt,
    })
  }

  /** What the home signed that came along from the hub of a network. */
  moved({ amount, network, transaction, receipt }: MovedCredits): void {
    this.#chain.append('svc.payment.settled', {
      interaction_id: '',
      transaction,
      amount,
      network,
      verified: true,
      payee: this.#identity.aid,
      auth_id: transaction,
      receipt,
    })
  }

  /** Every payment that this node signed since a time. */
  authorizedSince(sinceMs: number): Authorized[] {
    return [...this.#payloads('svc.payment.authorized', sinceMs)].map(payload => ({
      transaction: String(payload['authorization_id']),
      amount: Number(payload['amount']),
      payTo: String(payload['pay_to']),
    }))
  }

  /** What a hub signed that it redeemed for this agent, the newest first. */
  *redeemedBefore(): Generator<Redeemed> {
    for (const { amount, reference, auth_id, receipt } of this.#payloads('svc.credit.redeemed', 0)) {
      if (typeof receipt !== 'string') continue
      const { settledAt: atMs } = SettlementReceipt.decode(fromBase64(receipt)).body
      yield { amount: Number(amount), reference: String(reference), transaction: String(auth_id), atMs }
    }
  }

  /** What a hub signed since a time that it moved for this agent. */
  signedSince(hub: string, sinceMs: number): Signed[] {
    const told = ['svc.payment.settled', 'svc.credit.redeemed'].flatMap(type =>
      [...this.#payloads(type, sinceMs)].flatMap(({ receipt, verified }) =>
        verified === true && typeof receipt === 'string' ? [fromBase64(receipt)] : [],
      ),
    )
    const since = sinceMs - BEFORE_MS
    const received = receivedPayments(this.#store, networkOf(hub), since).flatMap(row => row.endReceipt ?? [])
    const settled = [...told, ...received]
      .map(encoded => SettlementReceipt.decode(encoded).body)
      .filter(body => body.hub === hub && body.settledAt >= sinceMs)
      .flatMap(body => {
        const kind = kindOf(body, this.#identity.aid)
        const { transaction, settledAt: atMs, amount } = body
        return kind === undefined ? [] : [{ transaction: cidText(transaction), atMs, amount, kind }]
      })
    return [...settled, ...this.#vouchersSince(hub, sinceMs)]
  }

  /** Vouchers that were taken, dated when they were paid at the earliest: each is a hub's word that its use was paid. */
  #vouchersSince(hub: string, sinceMs: number): Signed[] {
    return [...this.#recorded('svc.voucher.redeemed', sinceMs)]
      .filter(({ payload }) => payload['network'] === networkOf(hub))
      .map(({ timestamp, payload }) => ({
        ...{ transaction: String(payload['auth_id']), amount: Number(payload['amount']) },
        ...{ atMs: timestamp - PAID_BEFORE_MS, kind: 'received' as const },
      }))
      .filter(({ atMs }) => atMs >= sinceMs)
  }
}

/** What its entry says to this side; undefined where there is none: of what was taken its payer sees none. */
function kindOf(
  { kind, payer, payee, network, hub }: SettlementReceipt['body'],
  own: string,
): Signed['kind'] | undefined {
  const { paid, held, captured, returned, redeemed } = settlementKinds
  if (kind === redeemed) return 'redeemed'
  // in the credits of another hub something can only come
  if (kind === paid) return payer === own && network === networkOf(hub) ? 'paid' : 'received'
  if (kind === held && payer === own) return 'paid'
  if (kind === captured && payee === own) return 'received'
  return kind === returned && payer === own ? 'returned' : undefined
}
