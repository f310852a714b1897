/**
 * Credits that this agent takes along from a hub that it left: it pays itself, and its home books them (credits: between
 * hubs). Signed once, and asked for until the home proves that they arrived.
 */
import type { Logger } from 'pino'
import { cidText } from '../../protocol/crypto/hash.ts'
import { plainLine } from '../../protocol/encoding/plain-text.ts'
import { Authorization, settlementKinds, transactionOf } from '../../protocol/proof/payment.ts'
import { describe, isOwnFailure } from '../hubs/failures.ts'
import { type HubClient, type Settled, waitsForOtherHub } from '../hubs/hub.ts'
import type { Identity } from '../identity/identity.ts'
import { refuse } from '../refusal.ts'
import { endMove, keepMove, moveFrom } from '../store/credit-moves.ts'
import type { Store } from '../store/open.ts'
import { type Accounts, withNewestKey } from './accounts.ts'
import type { OwnRecords } from './own-records.ts'
import { quoteOfRow, type Receipts } from './receipts.ts'
import type { PaymentSigner } from './signing.ts'

/** Clocks may differ, so one that has ended may be carried out a little longer. */
const TOLERANCE_MS = 4 * 60_000
const REASON_CHARACTERS_MAX = 300

type MovingParts = {
  identity: Identity
  store: Store
  signer: PaymentSigner
  records: OwnRecords
  receipts: Receipts
  accounts: Accounts
}

export class Moving {
  readonly #parts: MovingParts
  readonly #hubNow: () => number
  readonly #log: Logger

  constructor(parts: MovingParts, hubNow: () => number, log: Logger) {
    this.#parts = parts
    this.#hubNow = hubNow
    this.#log = log
  }

  /** Takes so many credits from the account of a network to the home; the same again asks for the same move. */
  async move(home: HubClient, given: { network: string; amount: number }, signal: AbortSignal) {
    const { store, receipts, records } = this.#parts
    const { network, amount } = given
    const before = moveFrom(store, network)
    if (before !== undefined && before.amount !== amount)
      return refuse(
        'wrong_state',
        `moving ${before.amount} credits from there is under way; repeat that amount`,
        `svc balance --move ${before.amount}`,
      )
    await this.#tellKey(network)
    const first = before?.authorization ?? this.#prepare(given)
    const told = await this.#asked(home, first, signal)
    // a home that has booked it says so, whatever the key; one that waits for the other hub may book it yet
    const isOver = 'refused' in told && !waitsForOtherHub(told)
    const encoded = isOver && this.#isOld(first) ? this.#prepare(given) : first
    const answer = encoded === first ? told : await this.#asked(home, encoded, signal)
    if ('refused' in answer) return this.#notMoved(network, answer)
    const authorization = Authorization.decode(encoded)
    const kinds = [settlementKinds.paid]
    const fault = await receipts.faultOf(home, answer.receipt, { authorization, kinds })
    if (fault !== undefined) {
      this.#log.error({ fault }, 'the receipt of a move of credits does not hold')
      return refuse('hub_refused', 'the hub answered with a receipt that does not hold; ask again')
    }
    const transaction = cidText(transactionOf(authorization))
    store.transaction(() => {
      endMove(store, network)
      records.moved({ amount, network, transaction, receipt: answer.receipt })
    }, 'node.payment')
    return { amount, from: network, transaction, verified: true }
  }

  /** What a hub refused has not moved, unless it waits for the other one. */
  #notMoved(network: string, answer: Extract<Settled, { refused: string }>): never {
    const { store } = this.#parts
    const { amount } = moveFrom(store, network) ?? { amount: 0 }
    const again = `svc balance --move ${amount}`
    if (waitsForOtherHub(answer))
      return refuse('hub_unreachable', 'the hub that has the credits has not answered yet; ask again', again)
    store.transaction(() => endMove(store, network), 'node.payment')
    if (answer.refused === 'duplicate_settlement')
      return refuse(
        'hub_refused',
        `these ${amount} credits went to an earlier home of this agent`,
        'svc balance',
      )
    const says = plainLine(answer.says, REASON_CHARACTERS_MAX)
    const isOver = answer.refused === 'peer_limit'
    const mend = isOver ? '; move fewer, or ask its operator for a higher limit: svc-hub peers limit' : ''
    return refuse('hub_refused', `the hub moved nothing: ${says}${mend}`, 'svc balance')
  }

  /** The hub that is left judges the signature: it is told of the newest key, where it can be reached. */
  async #tellKey(network: string): Promise<void> {
    try {
      await this.#parts.accounts.accountOf(network)
    } catch (error) {
      if (isOwnFailure(error)) throw error
      this.#log.info({ reason: describe(error) }, 'the hub that has the credits was not reached')
    }
  }

  /** Whether nothing can come of it any more unless it is booked: its key or its time is over. */
  #isOld(encoded: Uint8Array): boolean {
    const { notAfter } = Authorization.decode(encoded).body
    return !this.#parts.signer.isOfThisKey(encoded) || this.#hubNow() > notAfter + TOLERANCE_MS
  }

  #asked(home: HubClient, encoded: Uint8Array, signal: AbortSignal): Promise<Settled> {
    const ask = () => home.credits.settle(encoded, quoteOfRow({ authorization: encoded }), signal)
    return this.#isOld(encoded) ? ask() : withNewestKey(this.#parts.identity, home, ask)
  }

  #prepare({ network, amount }: { network: string; amount: number }): Uint8Array {
    const { identity, store, signer, records } = this.#parts
    return store.transaction(() => {
      const authorization = signer.sign({ payTo: identity.aid, amount, network })
      const encoded = Authorization.encode(authorization)
      keepMove(store, { network, amount, authorization: encoded })
      records.authorized('', authorization)
      return encoded
    }, 'node.pay')
  }
}
