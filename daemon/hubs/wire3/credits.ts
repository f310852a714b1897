/** Credits of this agent at a hub of wire 3: its account, payments and holds, and what the hub publishes of what it owes. */
import { ForeignAnswer, Refused } from '../../../protocol/contract/client.ts'
import type { ReplyOf } from '../../../protocol/contract/route.ts'
import { fromBase64url, toBase64url } from '../../../protocol/encoding/bytes.ts'
import { present } from '../../../protocol/encoding/present.ts'
import { Authorization, networkOf } from '../../../protocol/proof/payment.ts'
import {
  END_EXTENSION,
  paymentPayload,
  type Quote,
  requirementsOf,
  X402_VERSION,
} from '../../../protocol/proof/quote.ts'
import { PEER_RECEIPT_EXTENSION, RECEIPT_EXTENSION } from '../../../protocol/wire3/routes/credits.ts'
import { wire3Routes as routes } from '../../../protocol/wire3/routes.ts'
import type {
  AccountEntry,
  HoldSaid,
  HubAccount,
  HubCredits,
  HubInputs,
  Liability,
  Settled,
  ShownStatement,
  SupplyPage,
} from '../hub.ts'
import type { Wire3Calls } from './calls.ts'

const SUPPLY_PAGE = 1000
const LEDGER_PAGE = 500
const LEDGER_PAGES_MAX = 200
const REDEEM_SECONDS = 60

export class Wire3Credits implements HubCredits {
  readonly can = { holds: true, names: true, proves: true }
  readonly textOf = toBase64url
  readonly #calls: Wire3Calls
  readonly #hub: string
  readonly #inputs: Pick<HubInputs, 'identity' | 'connections'>

  constructor(calls: Wire3Calls, hub: string, inputs: Pick<HubInputs, 'identity' | 'connections'>) {
    this.#calls = calls
    this.#hub = hub
    this.#inputs = inputs
  }

  async account(entriesMax: number, signal: AbortSignal): Promise<HubAccount> {
    const { aid } = this.#inputs.identity
    const given = { params: { aid }, signal }
    const told = await this.#calls.signed(routes.balance, given)
    const { network, balance, held, probation_until, trial } = told
    const query = { limit: String(entriesMax) }
    const ledger = await this.#calls.signed(routes.ledger, { ...given, query })
    if (told.aid !== aid || ledger.aid !== aid)
      throw new ForeignAnswer(200, 'the hub told the account of another agent')
    if (network !== networkOf(this.#hub))
      throw new ForeignAnswer(200, 'the hub told the credits of another hub')
    return {
      network,
      balance,
      held,
      probationUntilMs: probation_until,
      trial,
      entries: ledger.entries.slice(0, entriesMax).map(entryOf),
    }
  }

  async entriesAfter(seq: number, signal: AbortSignal): Promise<AccountEntry[]> {
    const { aid } = this.#inputs.identity
    const entries: AccountEntry[] = []
    let before: string | undefined
    for (let page = 0; page < LEDGER_PAGES_MAX; page++) {
      const query = { limit: String(LEDGER_PAGE), ...present({ before }) }
      const told = await this.#calls.signed(routes.ledger, { params: { aid }, query, signal })
      if (told.aid !== aid) throw new ForeignAnswer(200, 'the hub told the account of another agent')
      const shown = told.entries.map(entryOf)
      entries.push(...shown.filter(entry => entry.seq > seq))
      before = told.next
      if (before === undefined || shown.some(entry => entry.seq <= seq)) break
    }
    return entries
  }

  async authorizationsSince(sinceMs: number, signal: AbortSignal): Promise<Map<string, Uint8Array>> {
    const { aid } = this.#inputs.identity
    const shown = new Map<string, Uint8Array>()
    let before: string | undefined
    for (let page = 0; page < LEDGER_PAGES_MAX; page++) {
      const query = { limit: String(LEDGER_PAGE), ...present({ before }) }
      const given = { params: { aid }, query, signal }
      const told = await this.#calls.signed(routes.authorizations, given).catch(unlessOlder)
      for (const one of told?.entries ?? []) shown.set(one.transaction, fromBase64url(one.authorization))
      before = told?.next
      if (before === undefined || told?.entries.some(({ at }) => at < sinceMs)) break
    }
    return shown
  }

  async networks(signal: AbortSignal): Promise<string[]> {
    const send = this.#inputs.connections.signed
    const { kinds } = await this.#calls.plain(routes.x402Supported, send, { signal })
    return kinds.map(({ network }) => network)
  }

  async settle(
    authorization: Uint8Array,
    quote: Quote,
    signal: AbortSignal,
    signed: Uint8Array | null = null,
  ): Promise<Settled> {
    const extensions = signed === null ? undefined : { [RECEIPT_EXTENSION]: toBase64url(signed) }
    const body = {
      x402Version: X402_VERSION,
      paymentPayload: { ...paymentPayload(quote, authorization), ...present({ extensions }) },
      paymentRequirements: requirementsOf(quote),
    }
    const send = this.#inputs.connections.signed
    return settled(await this.#calls.plain(routes.x402Settle, send, { body, signal }))
  }

  async endOf(authorization: Uint8Array, quote: Quote, signal: AbortSignal): Promise<HoldSaid> {
    const payload = { ...paymentPayload(quote, authorization), extensions: { [END_EXTENSION]: {} } }
    const body = {
      x402Version: X402_VERSION,
      paymentPayload: payload,
      paymentRequirements: requirementsOf(quote),
    }
    const send = this.#inputs.connections.signed
    const reply = await this.#calls.plain(routes.x402Settle, send, { body, signal })
    const said = settled(reply)
    if (!reply.success || 'refused' in said) return said as Extract<HoldSaid, { refused: string }>
    const end = reply.extensions[END_EXTENSION]
    return { ...said, end: end === undefined ? undefined : fromBase64url(end) }
  }

  async redeem(authorization: Uint8Array, reference: string, signal: AbortSignal): Promise<Settled> {
    const { payTo, amount, network } = Authorization.decode(authorization).body
    const terms = {
      provider: payTo,
      what: '',
      amount,
      network,
      holdSeconds: undefined,
      settleSeconds: REDEEM_SECONDS,
    }
    const body = {
      x402Version: X402_VERSION,
      paymentPayload: paymentPayload(terms, authorization),
      reference,
    }
    const send = this.#inputs.connections.signed
    const reply = await this.#calls.plain(routes.x402Redeem, send, { body, signal })
    return reply.success
      ? { receipt: fromBase64url(reply.redemption.receipt) }
      : { refused: reply.errorReason, says: reply.errorMessage }
  }

  async endHold(order: Uint8Array, end: 'capture' | 'release', signal: AbortSignal): Promise<Settled> {
    const row = end === 'capture' ? routes.x402Capture : routes.x402Release
    const send = this.#inputs.connections.signed
    return settled(await this.#calls.plain(row, send, { body: { order: toBase64url(order) }, signal }))
  }

  async supplyRecords(from: number, signal: AbortSignal): Promise<SupplyPage> {
    const query = { from: String(from), limit: String(SUPPLY_PAGE) }
    const send = this.#inputs.connections.signed
    const page = await this.#calls.plain(routes.issuance, send, { query, signal })
    return {
      chainDid: page.chain_did,
      records: page.entries.map(({ record }) => fromBase64url(record)),
      headSeq: page.head_seq,
      headId: page.head_id,
      isLast: page.next === undefined,
    }
  }

  async witnessStatements(signal: AbortSignal): Promise<ShownStatement[]> {
    const send = this.#inputs.connections.signed
    const told = await this.#calls.plain(routes.witnesses, send, { signal }).catch(unlessOlder)
    return (told?.attestations ?? []).map(({ attestation, kel }) => ({
      bytes: fromBase64url(attestation),
      kel: kel === undefined ? undefined : fromBase64url(kel),
    }))
  }

  async checkpoint(signal: AbortSignal, cosigner?: string): Promise<string | undefined> {
    const query = present({ cosigner })
    return await this.#calls
      .text(routes.checkpoint, this.#inputs.connections.signed, { query, signal })
      .catch(cosigner === undefined ? unlessOlder : unlessUnasked)
  }

  async consistency(old: number, size: number, signal: AbortSignal): Promise<Uint8Array[]> {
    const query = { old: String(old), size: String(size) }
    const send = this.#inputs.connections.signed
    const told = await this.#calls.plain(routes.checkpointConsistency, send, { query, signal })
    return told.proof.map(node => fromBase64url(node))
  }

  async liability(signal: AbortSignal): Promise<Liability | undefined> {
    const given = { params: { aid: this.#inputs.identity.aid }, signal }
    const told = await this.#calls.signed(routes.liabilityProof, given).catch(unlessUnavailable)
    if (told === undefined) return undefined
    return {
      record: fromBase64url(told.record),
      balance: told.balance,
      salt: fromBase64url(told.salt),
      path: told.path.map(({ h, sum, side }) => ({ h: fromBase64url(h), sum, side })),
    }
  }
}

const entryOf = ({
  seq,
  at,
  delta,
  reason,
  transaction,
  counterparty,
}: ReplyOf<typeof routes.ledger>['entries'][number]): AccountEntry => ({
  seq,
  atMs: at,
  delta,
  reason,
  transaction,
  counterparty,
})

/** A hub's words are read as they are; what they prove is judged by whoever pays or is paid. */
const settled = (reply: ReplyOf<typeof routes.x402Settle | typeof routes.x402Capture>): Settled =>
  reply.success
    ? {
        receipt: fromBase64url(reply.extensions[RECEIPT_EXTENSION]),
        ...peerReceiptOf(reply.extensions[PEER_RECEIPT_EXTENSION]),
      }
    : { refused: reply.errorReason, says: reply.errorMessage }

const peerReceiptOf = (encoded: string | undefined): { peerReceipt?: Uint8Array } =>
  present({ peerReceipt: encoded === undefined ? undefined : fromBase64url(encoded) })

/** A hub of an earlier release has no witnesses. */
function unlessOlder(error: unknown): undefined {
  if (error instanceof Refused && error.code === 'not_found') return undefined
  throw error
}

/** Nor can one of an earlier release be asked for one witness. */
function unlessUnasked(error: unknown): undefined {
  if (error instanceof Refused && (error.code === 'not_found' || error.code === 'bad_request'))
    return undefined
  throw error
}

function unlessUnavailable(error: unknown): undefined {
  if (error instanceof Refused && error.code === 'proof_unavailable') return undefined
  throw error
}
