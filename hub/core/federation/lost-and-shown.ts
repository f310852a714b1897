/** What is posted of a proof that a hub gave and does not have any more, or that a peer gave of a paid debt. */
import { present } from '../../../protocol/encoding/present.ts'
import type { ClearingBody } from '../../../protocol/proof/clearing.ts'
import { Authorization, settlementKinds } from '../../../protocol/proof/payment.ts'
import type { AccountName, NewSupplyRecord, Posting, PostResult } from '../../store/ledger-port.ts'
import type { HubContext } from '../context.ts'
import type { Credits } from '../ledger/credits.ts'
import {
  agentAccount,
  clearId,
  heldAccount,
  ISSUE,
  peerAccount,
  RETIRED,
  returnedId,
} from '../ledger/names.ts'
import type { Halted } from '../ledger/refused.ts'
import type { Settled } from '../ledger/settlements.ts'
import type { SupplyChain } from '../supply/chain.ts'
import { Doubtful } from './doubtful.ts'
import type { Peer } from './peers.ts'

type Context = Pick<HubContext, 'identity' | 'store' | 'now'>
/** `peer`: to which it owed the amount then, where the payee is not of this hub · `authorization`: where it came along. */
type Own = {
  peer: Peer | undefined
  id: Uint8Array
  body: Settled['body']
  bytes: Uint8Array
  authorization?: Authorization | undefined
}

/** Payments of the payer may change meanwhile what it has. */
const TRIES = 3

/**
 * A receipt of this hub: its payer gives what it has, the rest is issued to it first, for it had it when this hub signed.
 */
export async function postOwn(
  context: Context,
  { credits, supply }: { credits: Credits; supply: SupplyChain },
  own: Own,
): Promise<void> {
  const { payer, amount, kind } = own.body
  if (kind === settlementKinds.captured && (await takeHeld(context, own))) return
  await credits.holds.lapseAll(payer)
  const posting = kind === settlementKinds.held ? holdOf(context, own) : paymentOf(context, own)
  for (let tried = 1; ; tried += 1) {
    const { balance } = await context.store.holdings(payer, context.now())
    // it would only be given back
    if (amount > balance && isOver(own, credits.holds.clock.now())) throw new Doubtful('the hold is over')
    const outcome = await postWhole(context, supply, { posting, payer, short: amount - balance })
    if (outcome === 'posted' || outcome === 'held') return
    if (outcome === 'halted') throw new Doubtful('the supply chain stands still')
    if (outcome !== 'insufficient' || tried === TRIES) throw new Doubtful(`the ledger: ${outcome}`)
  }
}

/** Who got it from this hub. */
const receiverOf = ({ peer, body }: Own): AccountName =>
  peer === undefined ? agentAccount(body.payee) : peerAccount(peer.aid)

function paymentOf(context: Context, own: Own): Posting {
  const { payer, amount, transaction, kind } = own.body
  const refundOf = own.authorization?.body.refundOf
  return {
    id: own.id,
    reason: refundOf === undefined ? 'payment' : 'refund',
    moves: [{ from: agentAccount(payer), to: receiverOf(own), amount }],
    ...sharedOf(context, own),
    ...present({ about: kind === settlementKinds.captured ? transaction : refundOf }),
  }
}

/** Is opened again, until the time that was signed; one that is over lapses at once, with a receipt that says so. */
function holdOf(context: Context, own: Own): Posting {
  const { payer, payee, amount, transaction, holdUntil = 0 } = own.body
  return {
    id: own.id,
    reason: 'hold',
    moves: [{ from: agentAccount(payer), to: heldAccount(transaction), amount }],
    ...sharedOf(context, own),
    parties: { payer: agentAccount(payer), payee: agentAccount(payee) },
    holdUntilMs: holdUntil,
    holdPeer: own.peer && peerAccount(own.peer.aid),
  }
}

const isOver = ({ body }: Own, nowMs: number): boolean =>
  body.kind === settlementKinds.held && (body.holdUntil ?? 0) <= nowMs

/** Ends the hold that is still open here as it was ended before; false where there is none. */
async function takeHeld(context: Context, own: Own): Promise<boolean> {
  const { transaction, amount } = own.body
  const hold = await context.store.openHold(transaction)
  if (hold === undefined) return false
  if (amount > hold.amount) throw new Doubtful('amount')
  const from = heldAccount(transaction)
  const moves = [
    { from, to: receiverOf(own), amount },
    { from, to: agentAccount(hold.payer), amount: hold.amount - amount },
  ].filter(move => move.amount > 0)
  const { outcome } = await context.store.post({
    ...{ id: own.id, reason: 'capture' as const, moves, about: transaction },
    ...sharedOf(context, own),
  })
  if (outcome !== 'posted' && outcome !== 'held') throw new Doubtful(`the ledger: ${outcome}`)
  return true
}

function sharedOf(
  { now }: Context,
  { body, bytes, authorization }: Own,
): Pick<Posting, 'atMs' | 'amount' | 'receipt' | 'authorization' | 'parties'> {
  const { payer, payee, amount } = body
  const parties = payer === payee ? undefined : { payer: agentAccount(payer), payee: agentAccount(payee) }
  const signed = authorization && Authorization.encode(authorization)
  return { atMs: now(), amount, receipt: bytes, authorization: signed, parties }
}

type Whole = { posting: Posting; payer: string; short: number }

async function postWhole(
  { store, now }: Context,
  supply: SupplyChain,
  { posting, payer, short }: Whole,
): Promise<(PostResult | Halted)['outcome']> {
  if (short <= 0) return (await store.post(posting)).outcome
  const change = { aid: payer, amount: short, reason: 'restored' as const }
  const { outcome } = await supply.withChange('issued', change, async record => {
    const issued: Posting = {
      id: returnedId(record.id),
      reason: 'restored',
      atMs: now(),
      amount: short,
      moves: [{ from: ISSUE, to: agentAccount(payer), amount: short }],
      supply: record,
    }
    return { outcome: await store.postTogether([issued, posting]) }
  })
  return outcome
}

/** The creditor issues what was paid of a debt, the debtor retires it: the law of the books holds in both houses. */
export async function postCleared(
  { identity, store, now }: Context,
  supply: SupplyChain,
  { creditor, debtor, amount, number, reference }: ClearingBody,
  bytes: Uint8Array,
): Promise<(PostResult | Halted)['outcome']> {
  const isCreditor = creditor === identity.aid
  const peer = isCreditor ? debtor : creditor
  const move = isCreditor
    ? { from: ISSUE, to: peerAccount(peer), amount }
    : { from: peerAccount(peer), to: RETIRED, amount }
  const change = { aid: peer, amount, reason: 'cleared' as const }
  const post = (record: NewSupplyRecord) =>
    store.post({
      id: clearId(creditor, number),
      reason: 'cleared',
      atMs: now(),
      amount,
      moves: [move],
      receipt: bytes,
      reference,
      supply: record,
    })
  const { outcome } = await supply.withChange<PostResult>(isCreditor ? 'issued' : 'retired', change, post)
  return outcome
}
