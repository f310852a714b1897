/**
 * Credits of this agent at a hub of wire 1: accounts that anybody may read, payments without holds, and the supply chain.
 * Its ledger names no transaction and no other side, and its chain has no proofs of what it owes.
 */
import type { ReplyOf } from '../../../protocol/contract/route.ts'
import { fromBase64, toBase64 } from '../../../protocol/encoding/bytes.ts'
import { Authorization } from '../../../protocol/proof/payment.ts'
import { paymentPayload, type Quote, requirementsOf, X402_VERSION } from '../../../protocol/proof/quote.ts'
import { LEDGER_LIMIT_MAX, RECEIPT_EXTENSION } from '../../../protocol/wire1/routes/credits.ts'
import { wire1Routes as routes } from '../../../protocol/wire1/routes.ts'
import type {
  AccountEntry,
  HoldSaid,
  HubAccount,
  HubCredits,
  HubInputs,
  Settled,
  ShownStatement,
  SupplyPage,
} from '../hub.ts'
import { requireOf, type Wire1Calls } from './calls.ts'

const REDEEM_SECONDS = 60
const NO_HOLDS: Settled = {
  refused: 'network_mismatch',
  says: 'a hub of wire 1 holds no credits; it moves them at once',
}

export class Wire1Credits implements HubCredits {
  readonly can = { holds: false, names: false, proves: false }
  readonly textOf = toBase64
  readonly #calls: Wire1Calls
  readonly #inputs: Pick<HubInputs, 'identity'>

  constructor(calls: Wire1Calls, inputs: Pick<HubInputs, 'identity'>) {
    this.#calls = calls
    this.#inputs = inputs
  }

  async account(entriesMax: number, signal: AbortSignal): Promise<HubAccount> {
    const { aid } = this.#inputs.identity
    const told = await this.#calls.plain(routes.balance, { params: { aid }, signal })
    requireOf(aid, told.aid)
    const { network, balance, held } = told
    const entries = await this.#entries(Math.min(Math.max(1, entriesMax), LEDGER_LIMIT_MAX), signal)
    return {
      ...{ network, balance, held },
      probationUntilMs: undefined,
      trial: undefined,
      entries: entries.slice(0, entriesMax),
    }
  }

  /** Newest first, numbered from the oldest of the account: this hub forgets none of them. */
  async #entries(limit: number, signal: AbortSignal): Promise<AccountEntry[]> {
    const { aid } = this.#inputs.identity
    const query = { limit: String(limit) }
    const told = await this.#calls.plain(routes.ledger, { params: { aid }, query, signal })
    requireOf(aid, told.aid)
    return told.entries.map(({ delta, reason, at }, i) => ({
      ...{ seq: told.total - i, atMs: Date.parse(at), delta, reason },
      ...{ transaction: undefined, counterparty: undefined },
    }))
  }

  async entriesAfter(seq: number, signal: AbortSignal): Promise<AccountEntry[]> {
    return (await this.#entries(LEDGER_LIMIT_MAX, signal)).filter(entry => entry.seq > seq)
  }

  /** This hub shows to nobody what its agents signed. */
  async authorizationsSince(): Promise<Map<string, Uint8Array>> {
    return new Map()
  }

  async networks(signal: AbortSignal): Promise<string[]> {
    const { kinds } = await this.#calls.plain(routes.x402Supported, { signal })
    return kinds.map(({ network }) => network)
  }

  async settle(authorization: Uint8Array, quote: Quote, signal: AbortSignal): Promise<Settled> {
    const body = {
      x402Version: X402_VERSION,
      paymentPayload: inBase64(quote, authorization),
      paymentRequirements: requirementsOf(quote),
    }
    return settled(await this.#calls.plain(routes.x402Settle, { body, signal }))
  }

  /** A payment of this wire has ended once it is made. */
  async endOf(authorization: Uint8Array, quote: Quote, signal: AbortSignal): Promise<HoldSaid> {
    const said = await this.settle(authorization, quote, signal)
    return 'refused' in said ? said : { ...said, end: undefined }
  }

  async redeem(authorization: Uint8Array, reference: string, signal: AbortSignal): Promise<Settled> {
    const { payTo, amount, network } = Authorization.decode(authorization).body
    const terms = { provider: payTo, what: '', amount, network, holdSeconds: undefined }
    const payload = inBase64({ ...terms, settleSeconds: REDEEM_SECONDS }, authorization)
    const body = { x402Version: X402_VERSION, paymentPayload: payload, reference }
    const reply = await this.#calls.plain(routes.x402Redeem, { body, signal })
    return reply.success
      ? { receipt: fromBase64(reply.receipt) }
      : { refused: reply.errorReason, says: reply.error }
  }

  async endHold(): Promise<Settled> {
    return NO_HOLDS
  }

  async supplyRecords(from: number, signal: AbortSignal): Promise<SupplyPage> {
    const page = await this.#calls.plain(routes.issuance, { query: { from: String(from) }, signal })
    return {
      chainDid: page.chain_did,
      records: page.entries.map(({ record }) => fromBase64(record)),
      headSeq: page.head_seq,
      headId: page.head_id,
      isLast: page.entries.length === 0 || page.entries.some(({ seq }) => seq >= page.head_seq),
    }
  }

  async witnessStatements(signal: AbortSignal): Promise<ShownStatement[]> {
    const { attestations } = await this.#calls.plain(routes.witnesses, { signal })
    return attestations.map(({ attestation, kel }) => ({
      bytes: fromBase64(attestation),
      kel: kel === undefined ? undefined : fromBase64(kel),
    }))
  }

  async checkpoint(): Promise<undefined> {
    return undefined
  }

  async consistency(): Promise<Uint8Array[]> {
    return []
  }

  async liability(): Promise<undefined> {
    return undefined
  }
}

const inBase64 = (quote: Quote, authorization: Uint8Array) => ({
  ...paymentPayload(quote, authorization),
  payload: { authorization: toBase64(authorization) },
})

const settled = (reply: ReplyOf<typeof routes.x402Settle>): Settled =>
  reply.success
    ? { receipt: fromBase64(reply.extensions[RECEIPT_EXTENSION]) }
    : { refused: reply.errorReason, says: reply.error }
