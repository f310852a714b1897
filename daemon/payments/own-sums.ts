/**
 * What a hub owes this account: by the tree of an epoch, by the entries that the hub shows of it, and by the receipts that
 * this node holds. A credit that is not known here is nobody's loss; less than there should be, and a debit that was never
 * signed, are.
 */
import { cidText } from '../../protocol/crypto/hash.ts'
import { fromUtf8, utf8 } from '../../protocol/encoding/bytes.ts'
import { networkOf, SettlementReceipt } from '../../protocol/proof/payment.ts'
import type { Context } from '../context.ts'
import type { AccountEntry, HubClient } from '../hubs/hub.ts'
import { recall, remember } from '../store/memory.ts'
import { receivedPayments } from '../store/payments.ts'
import { compareLedger } from './ledger.ts'

type Needs = Pick<Context, 'store' | 'chain'>
/** Up to where the entries of an account were added up. */
type Checkpoint = { seq: number; sum: number; atMs: number }

const nameOf = (hub: string): string => `ledger of ${hub}`

function checkpointOf({ store }: Needs, hub: string): Checkpoint {
  const kept = recall(store, nameOf(hub))
  return kept === undefined ? { seq: 0, sum: 0, atMs: 0 } : (JSON.parse(fromUtf8(kept)) as Checkpoint)
}

/** An epoch counts entries up to `ledgerHw`; `owed` is what its tree says of this account. */
type Counted = { ledgerHw: number; atMs: number; owed: number }

/** Why this cannot be all that the hub owes; undefined where it can, and the next audit goes on from here. */
export async function ownSumsFault(
  ctx: Needs,
  hub: Pick<HubClient, 'identity' | 'credits'>,
  { ledgerHw, atMs, owed }: Counted,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { aid } = hub.identity
  const from = checkpointOf(ctx, aid)
  const entries = await hub.credits.entriesAfter(from.seq, signal)
  const [unsigned] = compareLedger(ctx, entries)
  if (unsigned !== undefined)
    return `it took ${-unsigned.delta} credits by ${unsigned.transaction}, which this identity never signed`
  const missing = missingReceipt(ctx, aid, from, entries)
  if (missing !== undefined)
    return `it signed that ${missing} was paid to this agent, and its ledger has no such entry`
  if (from.seq === 0 && !(await isWhole(hub, entries, signal))) return undefined
  const counted = entries.filter(({ seq }) => seq <= ledgerHw)
  const sum = counted.reduce((total, { delta }) => total + delta, from.sum)
  if (owed < sum)
    return `its ledger comes to ${sum} credits for this agent, and the tree of its epoch to ${owed}`
  remember(ctx.store, nameOf(aid), utf8(JSON.stringify({ seq: Math.max(ledgerHw, from.seq), sum, atMs })))
  return undefined
}

/** A hub shows entries for a time only; whether these are all that there ever were. */
async function isWhole(
  hub: Pick<HubClient, 'credits'>,
  entries: readonly AccountEntry[],
  signal: AbortSignal,
): Promise<boolean> {
  const { balance } = await hub.credits.account(1, signal)
  return entries.reduce((total, { delta }) => total + delta, 0) === balance
}

/** A payment to this agent of which the hub's receipt is here and no entry there. */
function missingReceipt(
  { store }: Needs,
  hub: string,
  { atMs }: Checkpoint,
  entries: readonly AccountEntry[],
): string | undefined {
  const shown = new Set(entries.map(({ transaction }) => transaction))
  const lost = receivedPayments(store, networkOf(hub)).find(({ payment, endReceipt }) => {
    const { settledAt } = SettlementReceipt.decode(endReceipt).body
    return settledAt > atMs && !shown.has(cidText(payment))
  })
  return lost && cidText(lost.payment)
}
