/**
 * What a peer shows of what was signed between both hubs (credits: between hubs, clearing): booked where it holds and is
 * not booked yet. So one that was lost on its way, or by a restore, counts after all. Throws {@link Doubtful} with the
 * part that does not hold.
 */
import { labelled } from '../../../protocol/crypto/hash.ts'
import { equal, Malformed, toHex } from '../../../protocol/encoding/bytes.ts'
import { present } from '../../../protocol/encoding/present.ts'
import { keyAt, type VerifiedKel } from '../../../protocol/identity/kel.ts'
import { ClearingStatement, clearingHolds } from '../../../protocol/proof/clearing.ts'
import {
  Authorization,
  networkOf,
  SettlementReceipt,
  settlementKinds,
} from '../../../protocol/proof/payment.ts'
import { settlementFault } from '../../../protocol/proof/settlement.ts'
import { RESTORED_SETTING } from '../../store/ledger-port.ts'
import type { HubContext } from '../context.ts'
import type { Credits } from '../ledger/credits.ts'
import { agentAccount, clearId, endId, peerAccount } from '../ledger/names.ts'
import { isReturned } from '../ledger/returned-changes.ts'
import type { Settlements } from '../ledger/settlements.ts'
import { Refusal } from '../refusal.ts'
import type { SupplyChain } from '../supply/chain.ts'
import type { ShownProof } from './calls.ts'
import { Doubtful } from './doubtful.ts'
import type { Federation } from './federation.ts'
import { postCleared, postOwn } from './lost-and-shown.ts'
import type { PeerPayments } from './peer-payments.ts'
import type { Peer } from './peers.ts'

const { paid, held, captured } = settlementKinds
/** A key that was followed by another may have signed so long after. */
const RETIRED_GRACE_MS = 5 * 60_000

export type ShownParts = {
  federation: Pick<Federation, 'under'>
  payments: PeerPayments
  settlements: Settlements
  credits: Credits
  supply: SupplyChain
}

export class ShownProofs {
  readonly #context: HubContext
  readonly #parts: ShownParts

  constructor(context: HubContext, parts: ShownParts) {
    this.#context = context
    this.#parts = parts
  }

  async take(peer: Peer, { kind, bytes }: ShownProof): Promise<void> {
    await this.#parts.credits.checkOpen()
    if (kind === 'statement') await this.#takeStatement(peer, decoded(ClearingStatement, bytes), bytes)
    else await this.#takeReceipt(peer, decoded(SettlementReceipt, bytes), bytes)
  }

  /** Throws where a receipt is none of this hub and a peer, or holds under no key that speaks for its hub by itself. */
  async checkSigned(peer: Peer, bytes: Uint8Array): Promise<void> {
    const { identity, verifier } = this.#context
    const { body, bodyBytes, signature } = decoded(SettlementReceipt, bytes)
    const { hub, hubKelSeq: seq } = body
    if (hub !== identity.aid && hub !== peer.aid)
      throw new Refusal('requestMalformed', { why: 'the receipt is that of another hub' })
    const key = hub === identity.aid ? keyAt(identity.kel, seq) : await this.#newestKey(peer, seq)
    const message = labelled(SettlementReceipt.label, bodyBytes)
    if (key === undefined || !(await verifier.verify(key, message, signature)))
      throw new Refusal('signatureInvalid')
  }

  /** Whoever has a retired key could owe in its hub's name; only the hub itself can say that it does. */
  async #newestKey(peer: Peer, seq: number): Promise<Uint8Array | undefined> {
    const { log } = await this.#parts.federation.under(peer, seq)
    return seq === log.seq ? keyAt(log, seq) : undefined
  }

  /**
   * A payment between two agents of this hub, which this hub signed and lost by a restore: an agent shows the receipt with
   * the authorization that it is about. One that does not hold changes nothing.
   */
  async takeBack(authorizationBytes: Uint8Array, receiptBytes: Uint8Array): Promise<void> {
    const { store } = this.#context
    try {
      const authorization = Authorization.decode(authorizationBytes)
      const receipt = SettlementReceipt.decode(receiptBytes)
      const { transaction } = receipt.body
      if ((await store.transfer(transaction)) !== undefined || (await this.#hasEnded(transaction))) return
      await this.#parts.credits.checkOpen()
      await this.#checkOwnReceipt(receipt, authorization)
      await postOwn(this.#context, this.#parts, {
        ...{ peer: undefined, id: transaction, body: receipt.body, bytes: receiptBytes },
        authorization,
      })
    } catch (error) {
      if (!(error instanceof Doubtful) && !(error instanceof Malformed)) throw error
    }
  }

  /** Whether this hub has signed this payment before, in the credits of a peer: that one has it, or may still make it. */
  async hasSigned(authorizationBytes: Uint8Array, receiptBytes: Uint8Array, peer: string): Promise<boolean> {
    try {
      const authorization = Authorization.decode(authorizationBytes)
      await this.#checkOwnReceipt(SettlementReceipt.decode(receiptBytes), authorization, peer)
      return true
    } catch (error) {
      if (!(error instanceof Doubtful) && !(error instanceof Malformed)) throw error
      return false
    }
  }

  async #checkOwnReceipt(
    receipt: SettlementReceipt,
    authorization: Authorization,
    peer?: string,
  ): Promise<void> {
    const { hubKelSeq, settledAt } = receipt.body
    const fault = settlementFault(receipt, {
      authorization,
      hub: this.#context.identity.kel,
      kinds: [paid, held],
      askedBefore: () => true,
      ...present({ peer }),
    })
    if (fault !== undefined) throw new Doubtful(fault)
    await this.#checkOwn(hubKelSeq, settledAt, key => SettlementReceipt.verify(key, receipt))
  }

  async #takeReceipt(peer: Peer, receipt: SettlementReceipt, bytes: Uint8Array): Promise<void> {
    const { transaction, kind } = receipt.body
    const isOwn = isOfFirst(receipt, this.#context.identity.aid, peer.aid)
    const id = kind === captured ? endId(transaction) : transaction
    const { store } = this.#context
    const posted = await store.transfer(id)
    if (posted !== undefined) {
      if (isOwn && !(posted.receipt !== undefined && equal(posted.receipt, bytes)))
        throw new Doubtful('another receipt of this hub')
      return
    }
    // the end came back before: opened again, its hold could not end
    if (kind === held && (await this.#hasEnded(transaction))) return
    if (isOwn) {
      await this.#checkOwn(receipt.body.hubKelSeq, receipt.body.settledAt, key =>
        SettlementReceipt.verify(key, receipt),
      )
      await postOwn(this.#context, this.#parts, { peer, id, body: receipt.body, bytes })
    } else await this.#takeTheirs(peer, id, receipt, bytes)
  }

  async #hasEnded(transaction: Uint8Array): Promise<boolean> {
    return (await this.#context.store.transfer(endId(transaction))) !== undefined
  }

  /** The peer says under its newest key, by the request, that it owes this: which of its keys signed it is all one. */
  async #takeTheirs(
    peer: Peer,
    id: Uint8Array,
    receipt: SettlementReceipt,
    bytes: Uint8Array,
  ): Promise<void> {
    const { store } = this.#context
    const { body } = receipt
    const { transaction, payee, payer, amount, kind, network } = body
    const { log } = await this.#parts.federation.under(peer, body.hubKelSeq)
    const key = keyAt(log, body.hubKelSeq)
    if (key === undefined || !SettlementReceipt.verify(key, receipt)) throw new Doubtful('signature')
    const row = await store.peerPayment(transaction)
    if (row !== undefined) return await this.#parts.payments.takeShown(row, peer, bytes)
    const settled = this.#parts.settlements.sign({
      transaction,
      kind,
      payer,
      payee,
      amount,
      network,
      peer: peer.aid,
    })
    const to = agentAccount(payee)
    const outcome = await store.bookShown({
      // what its payer signed is not shown
      asked: {
        transaction,
        peer: peer.aid,
        payee,
        amount,
        authorization: new Uint8Array(),
        holdSeconds: undefined,
      },
      isEnd: kind === captured,
      receipt: settled.bytes,
      peerReceipt: bytes,
      creditMax: this.#context.peers.find(peer.aid)?.creditLimit ?? 0,
      posting: {
        id,
        reason: 'payment',
        atMs: this.#context.now(),
        amount,
        moves: [{ from: peerAccount(peer.aid), to, amount }],
        receipt: settled.bytes,
        ...present({
          about: kind === captured ? transaction : undefined,
          parties: payer === payee ? undefined : { payer: agentAccount(payer), payee: to },
        }),
      },
    })
    checkBooked(outcome)
  }

  async #takeStatement(peer: Peer, statement: ClearingStatement, bytes: Uint8Array): Promise<void> {
    const { creditor, creditorKelSeq, debtor, amount, number, at } = statement.body
    const { identity, store } = this.#context
    const isOwn = creditor === identity.aid && debtor === peer.aid
    if (!isOwn && !(creditor === peer.aid && debtor === identity.aid)) throw new Doubtful('parties')
    const id = clearId(creditor, number)
    const posted = await store.transfer(id)
    if (posted !== undefined) {
      if (posted.receipt === undefined || !equal(posted.receipt, bytes)) throw new Doubtful('number')
      return
    }
    if (isOwn) await this.#checkOwn(creditorKelSeq, at, key => ClearingStatement.verify(key, statement))
    else {
      const { log } = await this.#parts.federation.under(peer, creditorKelSeq)
      if (!clearingHolds(log, statement)) throw new Doubtful('signature')
      if (amount > (await store.peerFigures(peer.aid)).due) throw new Doubtful('amount')
    }
    // it may have come back with the supply chain, which names no statement
    const order = { aid: peer.aid, amount, order: toHex(id) }
    if (await isReturned(store, 'cleared', order)) return
    checkBooked(await postCleared(this.#context, this.#parts.supply, statement.body, bytes))
  }

  /** What this hub has signed itself, and lost: under its newest key, or an earlier one while that was the newest. */
  async #checkOwn(seq: number, atMs: number, holds: (key: Uint8Array) => boolean): Promise<void> {
    const { identity, store } = this.#context
    const key = keyAt(identity.kel, seq)
    if (key === undefined || !holds(key)) throw new Doubtful('signature')
    if (seq === identity.seq) return
    // whoever has a retired key can name any time: this hub must have lost some
    const restoredMs = Number((await store.setting(RESTORED_SETTING)) ?? 0)
    if (atMs >= retiredAtMs(identity.kel, seq) + RETIRED_GRACE_MS || atMs >= restoredMs)
      throw new Doubtful('key state')
  }
}

/** Whether the first of two hubs owes this to the other; throws where it is no debt between them. */
function isOfFirst({ body }: SettlementReceipt, first: string, second: string): boolean {
  const { kind, hub, peer, network } = body
  if (network !== networkOf(hub)) throw new Doubtful('network')
  const isIt = hub === first && peer === second
  if (!isIt && !(hub === second && peer === first)) throw new Doubtful('hub')
  // a hold moves nothing between them, and is shown to the one that lost it
  if (kind !== paid && kind !== captured && !(isIt && kind === held)) throw new Doubtful('kind')
  return isIt
}

const retiredAtMs = (log: VerifiedKel, seq: number): number => log.events[seq + 1]?.body.ts ?? 0

function checkBooked(outcome: string): void {
  if (outcome === 'over') throw new Doubtful('the peer would owe more than its limit')
  if (outcome === 'halted') throw new Doubtful('the supply chain stands still')
  if (outcome !== 'posted' && outcome !== 'held') throw new Doubtful(`the ledger: ${outcome}`)
}

function decoded<T>(codec: { decode(bytes: Uint8Array): T }, bytes: Uint8Array): T {
  try {
    return codec.decode(bytes)
  } catch (error) {
    if (error instanceof Malformed) throw new Refusal('requestMalformed', { why: error.message })
    throw error
  }
}
