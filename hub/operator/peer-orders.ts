/** Orders about the hubs that this one is federated with. */
import { fromBase64url } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { decodeKel, verifyKel } from '../../protocol/identity/kel.ts'
import type { Peer, PeerContact } from '../core/federation/peers.ts'
import { isHubUrl } from '../core/hub-url.ts'
import { heldSentence } from '../core/supply/held.ts'
import { booksAgree } from '../store/books.ts'
import type { ClearingState } from '../store/clearing-port.ts'
import type { PeerCredit } from '../store/peer-payment-port.ts'
import { StoreRefused } from '../store/port.ts'
import { momentOf, type OperatorContext, type OrderOf, type OrderResult } from './order-shapes.ts'
import { standstill } from './witness-orders.ts'

export const PEER_URL_EXPECTED = 'expected the URL of a hub, such as https://hub.example'

export async function peers(order: OrderOf<'peers'>, context: OperatorContext): Promise<OrderResult> {
  const { add, limit, paid, reopen, remove } = order
  const { aid, peerList, peers: known, store } = context
  // what stands in the file counts, also where somebody has just written it
  peerList.load()
  if (add !== undefined) list(add, context)
  if (remove !== undefined && !peerList.remove(remove)) throw noPeer(remove)
  if (limit !== undefined) {
    if (!peerList.limit(limit.aid, limit.credits)) throw noPeer(limit.aid)
    context.clearSoon?.(limit.aid)
  }
  if (paid !== undefined) return await clear(paid, context)
  const note =
    (remove === undefined ? undefined : debtNote(await store.peerCredit(remove))) ??
    (reopen === undefined ? undefined : await reopenPeer(reopen, context))
  const rows = known.all.map(async peer => ({
    ...shown(peer, known.contact(peer.aid)),
    ...shownCredit(peer, await store.peerCredit(peer.aid)),
    ...shownClearing(await store.clearing(peer.aid)),
  }))
  return { aid, peers: await Promise.all(rows), ...present({ note }) }
}

/** Lists a hub under the addresses that it has, one at least. */
function list(
  { url: sealedUrl, open_url: openUrl, kel }: NonNullable<OrderOf<'peers'>['add']>,
  { aid, peerList }: OperatorContext,
): void {
  const log = verifyKel(decodeKel(fromBase64url(kel)))
  const url = sealedUrl ?? openUrl
  if (url === undefined) throw new StoreRefused(PEER_URL_EXPECTED)
  for (const one of [url, openUrl ?? url])
    if (!isHubUrl(one)) throw new StoreRefused(`${PEER_URL_EXPECTED}, got ${one}`)
  if (log.aid === aid) throw new StoreRefused(`${url} is this hub itself; name another one`)
  const isOpenOnly = sealedUrl === undefined ? true : undefined
  peerList.add({ aid: log.aid, url, log, ...present({ openUrl, isOpenOnly }) })
}

/** A debt stays in the books of both, whoever is listed. */
function debtNote({ owes, open }: PeerCredit): string | undefined {
  if (owes === 0 && open === 0) return undefined
  const debt = owes >= 0 ? `it owes this hub ${owes} credits` : `this hub owes it ${-owes} credits`
  const waiting = open === 0 ? '' : `, and payments of ${open} wait for its answer`
  return `${debt}${waiting}; list it again to clear that`
}

const noPeer = (aid: string): StoreRefused =>
  new StoreRefused(`${aid} is no peer of this hub; list them with: svc-hub peers ls`)

/** Books what a peer paid of its debt, and shows it the statement soon. */
async function clear(
  { aid, amount, reference }: NonNullable<OrderOf<'peers'>['paid']>,
  context: OperatorContext,
): Promise<OrderResult> {
  const { peers: known, store } = context
  if (known.find(aid) === undefined) throw noPeer(aid)
  const halted = await standstill(context)
  if (halted !== undefined) throw new StoreRefused(heldSentence(halted))
  if (!booksAgree(await store.snapshot()))
    throw new StoreRefused(
      'the books of this hub do not sum up, so nothing is cleared on their word; restore a backup: svc-hub doctor',
    )
  const debts = await context.paidDebts()
  const result = await debts.book({ debtor: aid, amount, reference })
  if (result.outcome === 'over')
    throw new StoreRefused(`${aid} owes ${result.owes} credits; name so many or fewer`)
  if (result.outcome === 'other')
    throw new StoreRefused(
      `${result.amount} credits were booked under this reference already; name another reference`,
    )
  if (result.outcome === 'refused')
    throw new StoreRefused(`the ledger took nothing (${result.why}); repeat the command`)
  context.clearSoon?.(aid)
  const { owes } = await store.peerCredit(aid)
  const cleared = { aid, reference, number: result.number, owes }
  return result.outcome === 'booked'
    ? { ...cleared, cleared: amount }
    : { ...cleared, cleared: 0, note: 'this payment was booked already; nothing was booked now' }
}

/** With the difference that there is: only another one stops payments again. Tells where nothing was stopped. */
async function reopenPeer(
  aid: string,
  { peers: known, store, clearSoon }: OperatorContext,
): Promise<string | undefined> {
  if (known.find(aid) === undefined) throw noPeer(aid)
  const { stoppedMs, ...state } = await store.clearing(aid)
  if (stoppedMs === undefined) return 'payments with this peer were not stopped; nothing was changed'
  await store.putClearing({
    ...state,
    stoppedMs: undefined,
    rounds: 0,
    accepted: state.owed - state.due,
  })
  clearSoon?.(aid)
  return undefined
}

/** Whole credits: what it may owe, what it owes or (below 0) is owed, and what waits for its answer. */
const shownCredit = ({ creditLimit = 0 }: Peer, { owes, open }: PeerCredit): OrderResult => ({
  credit_limit: creditLimit,
  owes,
  open,
})

/**
 * What both say of what this hub owes the peer, below 0 of what it is owed; and what the peer published less than it owes
 * this hub.
 */
function shownClearing(state: ClearingState): OrderResult {
  const { atMs, agreedMs, due, owed, stoppedMs, accepted, epoch } = state
  if (atMs === undefined) return {}
  return {
    clearing: {
      state: stoppedMs === undefined ? (agreedMs === atMs ? 'agrees' : 'differs') : 'stopped',
      at: momentOf(atMs),
      ...present({
        agreed_at: agreedMs === undefined ? undefined : momentOf(agreedMs),
        stopped_at: stoppedMs === undefined ? undefined : momentOf(stoppedMs),
        accepted: accepted === 0 ? undefined : accepted,
      }),
      due,
      owed,
    },
    ...present({
      published:
        epoch === undefined || epoch.published >= epoch.claim
          ? undefined
          : { day: epoch.day, due_to_peers: epoch.published, owes: epoch.claim },
    }),
  }
}

/** A hub that does not run has asked nobody. */
function shown(
  { aid, url, openUrl, isOpenOnly, log }: Peer,
  { answeredMs, fault, waiting }: PeerContact,
): OrderResult {
  return {
    aid,
    ...(isOpenOnly !== true && { url }),
    ...present({ open_url: openUrl }),
    kel_seq: log.seq,
    answered_at: answeredMs === undefined ? null : momentOf(answeredMs),
    ...present({ fault: fault && { at: momentOf(fault.ms), why: fault.why } }),
    waiting,
  }
}
