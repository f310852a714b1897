/** Orders about the hubs that this one is federated with. */
import { fromBase64url } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { decodeKel, verifyKel } from '../../protocol/identity/kel.ts'
import type { Peer, PeerContact } from '../core/federation/peers.ts'
import { isHubUrl } from '../core/hub-url.ts'
import type { PeerCredit } from '../store/peer-payment-port.ts'
import { StoreRefused } from '../store/port.ts'
import { momentOf, type OperatorContext, type OrderOf, type OrderResult } from './order-shapes.ts'

export const PEER_URL_EXPECTED = 'expected the URL of a hub, such as https://hub.example'

export async function peers(
  { add, limit, remove }: OrderOf<'peers'>,
  { aid, peerList, peers: known, store }: OperatorContext,
): Promise<OrderResult> {
  // what stands in the file counts, also where somebody has just written it
  peerList.load()
  if (add !== undefined) {
    const log = verifyKel(decodeKel(fromBase64url(add.kel)))
    if (!isHubUrl(add.url)) throw new StoreRefused(`${PEER_URL_EXPECTED}, got ${add.url}`)
    if (log.aid === aid) throw new StoreRefused(`${add.url} is this hub itself; name another one`)
    peerList.add({ aid: log.aid, url: add.url, log })
  }
  if (remove !== undefined && !peerList.remove(remove)) throw noPeer(remove)
  if (limit !== undefined && !peerList.limit(limit.aid, limit.credits)) throw noPeer(limit.aid)
  const rows = known.all.map(async peer => ({
    ...shown(peer, known.contact(peer.aid)),
    ...shownCredit(peer, await store.peerCredit(peer.aid)),
  }))
  return { aid, peers: await Promise.all(rows) }
}

const noPeer = (aid: string): StoreRefused =>
  new StoreRefused(`${aid} is no peer of this hub; list them with: svc-hub peers ls`)

/** Whole credits: what it may owe, what it owes or (below 0) is owed, and what waits for its answer. */
const shownCredit = ({ creditLimit = 0 }: Peer, { owes, open }: PeerCredit): OrderResult => ({
  credit_limit: creditLimit,
  owes,
  open,
})

/** A hub that does not run has asked nobody. */
function shown({ aid, url, log }: Peer, { answeredMs, fault, waiting }: PeerContact): OrderResult {
  return {
    aid,
    url,
    kel_seq: log.seq,
    answered_at: answeredMs === undefined ? null : momentOf(answeredMs),
    ...present({ fault: fault && { at: momentOf(fault.ms), why: fault.why } }),
    waiting,
  }
}
