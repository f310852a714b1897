/** Has a hub move credits that were given back, and records what it signed about that. */
import type { Logger } from 'pino'
import { cidText } from '../../protocol/crypto/hash.ts'
import { plainLine } from '../../protocol/encoding/plain-text.ts'
import { Authorization, settlementKinds, transactionOf } from '../../protocol/proof/payment.ts'
import type { Chain } from '../chain/chain.ts'
import type { HubClient } from '../hubs/hub.ts'
import type { Identity } from '../identity/identity.ts'
import type { Interaction } from '../store/threads.ts'
import { withNewestKey } from './accounts.ts'
import type { PaymentNews } from './news.ts'
import type { Receipts } from './receipts.ts'

const SETTLE_SECONDS = 300
const REASON_CHARACTERS_MAX = 300

export type Asked = Pick<HubClient, 'credits' | 'identity' | 'refresh' | 'pushLog'>
export type Moved = {
  transaction: string
  amount: number
  network: string
  verified: boolean
  receipt: Uint8Array
}
type CallParts = { identity: Identity; chain: Chain; receipts: Receipts; news: PaymentNews }

export class RefundCalls {
  readonly #identity: Identity
  readonly #chain: Chain
  readonly #receipts: Receipts
  readonly #news: PaymentNews
  readonly #log: Logger

  constructor({ identity, chain, receipts, news }: CallParts, log: Logger) {
    this.#identity = identity
    this.#chain = chain
    this.#receipts = receipts
    this.#news = news
    this.#log = log
  }

  /** What the hub moved, or why it did not: a repeat gets the same receipt. */
  async ask(
    home: Asked,
    interaction: Interaction,
    encoded: Uint8Array,
    signal: AbortSignal,
  ): Promise<Moved | { refused: string; says: string }> {
    const authorization = Authorization.decode(encoded)
    const { payTo: provider, amount, network, notBefore, payerKelSeq } = authorization.body
    const quote = {
      provider,
      what: '',
      amount,
      network,
      holdSeconds: undefined,
      settleSeconds: SETTLE_SECONDS,
    }
    const settle = () => home.credits.settle(encoded, quote, signal)
    const isOwn = authorization.body.payer === this.#identity.aid && payerKelSeq === this.#identity.log.seq
    const answer = isOwn ? await withNewestKey(this.#identity, home, settle) : await settle()
    if ('refused' in answer)
      return { refused: answer.refused, says: plainLine(answer.says, REASON_CHARACTERS_MAX) }
    const kinds = [settlementKinds.paid]
    const asked = { authorization, kinds, askedAtMs: notBefore }
    const fault = await this.#receipts.faultOf(home, answer.receipt, asked)
    if (fault !== undefined)
      this.#log.error({ fault, interaction: interaction.id }, 'the receipt of a refund does not hold')
    const transaction = cidText(transactionOf(authorization))
    return { transaction, amount, network, verified: fault === undefined, receipt: answer.receipt }
  }

  /** Runs inside a transaction. */
  record(interaction: Interaction, { transaction, amount, network, verified, receipt }: Moved): void {
    const proof = verified ? { auth_id: transaction, receipt } : {}
    const settled = { interaction_id: interaction.id, transaction, amount, network, verified, ...proof }
    this.#chain.append('svc.payment.settled', settled)
    this.#news.movedBack(interaction)
  }
}
