/** Records of the supply chain that come back to a restored hub, and what they mean for its ledger. */
import { type ChainRecord, signRecord } from '../../../protocol/proof/evidence.ts'
import {
  type CreditChange,
  creditIssued,
  creditPayload,
  type SupplyReason,
  supplyEventOf,
} from '../../../protocol/proof/supply.ts'
import type { NewSupplyRecord, Posting, SupplyHead, TransferReason } from '../../store/ledger-port.ts'
import type { HubContext } from '../context.ts'
import { agentAccount, ISSUE, peerAccount, RETIRED, returnedId, trialId } from '../ledger/names.ts'
import { noteReturned } from '../ledger/returned-changes.ts'
import { HOUR_MS } from '../limits.ts'
import { PROOF_DAYS } from './chain.ts'

type Context = Pick<HubContext, 'identity' | 'store' | 'now'>
type Change = CreditChange & { kind: 'issued' | 'retired'; id: Uint8Array; atMs: number }

/**
 * Adds the records and the transfers that go with them at once. What an account can't give any more, because payments to
 * it were lost, is issued to it first; returns how many credits those were.
 */
export async function returnSupply(
  context: Context,
  head: SupplyHead,
  returned: readonly { record: ChainRecord; bytes: Uint8Array }[],
): Promise<number> {
  const { store } = context
  const records = returned.map(({ record, bytes }): NewSupplyRecord => {
    const { seq, id, previous } = record
    return { seq, id, previous, record: bytes }
  })
  const changes = returned.flatMap(({ record }): Change[] => {
    const event = supplyEventOf(record)
    if (event.kind !== 'issued' && event.kind !== 'retired') return []
    return [{ kind: event.kind, ...event.change, id: record.id, atMs: record.ts }]
  })
  const epochs = returned.flatMap(({ record }) => {
    const event = supplyEventOf(record)
    return event.kind === 'epoch' ? [{ ...event.epoch, seq: record.seq }] : []
  })
  const short = await shortfalls(context, changes)
  const last = records.at(-1) ?? head
  const extra = extraPostings(context, last, short)
  const ofKind = (kind: Change['kind']) => changes.filter(change => change.kind === kind).map(postingOf)
  const newestDay = epochs.at(-1)?.day ?? 0
  // before they are there: one that is noted and does not come is never given unasked
  for (const kind of ['grant', 'cleared'] as const)
    await noteReturned(
      store,
      kind,
      changes.filter(({ reason }) => reason === kind),
    )
  await store.returnSupply({
    records,
    epochs: epochs.map(({ day, seq, accounts }) => ({ day, seq, accounts })),
    keptSinceDay: newestDay - PROOF_DAYS + 1,
    postings: [...extra, ...ofKind('issued'), ...ofKind('retired')],
  })
  return short.reduce((sum, { amount }) => sum + amount, 0)
}

/** By how much the accounts that gave credits back have too few now. */
async function shortfalls(
  { store, now }: Context,
  changes: readonly Change[],
): Promise<{ aid: string; amount: number }[]> {
  const sums = new Map<string, number>()
  for (const { kind, aid, amount, reason } of changes)
    if (reason !== 'cleared') sums.set(aid, (sums.get(aid) ?? 0) + (kind === 'issued' ? amount : -amount))
  const short: { aid: string; amount: number }[] = []
  for (const [aid, delta] of sums) {
    const { balance } = await store.holdings(aid, now())
    if (balance + delta < 0) short.push({ aid, amount: -(balance + delta) })
  }
  return short
}

/** A record of its own for each, after all that came back. */
function extraPostings(
  { identity, now }: Context,
  last: SupplyHead,
  short: readonly { aid: string; amount: number }[],
): Posting[] {
  let head = last
  return short.map(({ aid, amount }) => {
    const { record, bytes } = signRecord(identity.seed, {
      signer: identity.aid,
      keyStateSeq: identity.seq,
      seq: head.seq + 1,
      previous: head.id,
      eventType: creditIssued,
      payload: creditPayload({ aid, amount, reason: 'restored' }),
      ts: Math.floor(now() / HOUR_MS) * HOUR_MS,
    })
    const supply = { seq: record.seq, id: record.id, record: bytes, previous: head.id }
    head = supply
    const change = { kind: 'issued' as const, aid, amount, reason: 'restored' as const, atMs: now() }
    return { ...postingOf({ ...change, id: record.id }), supply }
  })
}

const reasons: Record<SupplyReason, TransferReason> = {
  trial: 'trial',
  grant: 'grant',
  redemption: 'restored',
  cleared: 'restored',
  restored: 'restored',
}

function postingOf({ kind, aid, amount, reason, id, atMs }: Change): Posting {
  const holder = reason === 'cleared' ? peerAccount(aid) : agentAccount(aid)
  const move = kind === 'issued' ? { from: ISSUE, to: holder } : { from: holder, to: RETIRED }
  const isTrial = reason === 'trial'
  return {
    id: isTrial ? trialId(aid) : returnedId(id),
    reason: reasons[reason],
    atMs,
    amount,
    moves: [{ ...move, amount }],
    trials: isTrial ? { sinceMs: 0, max: Number.MAX_SAFE_INTEGER } : undefined,
  }
}
