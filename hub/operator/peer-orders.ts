/** Orders about the hubs that this one is federated with. */
import { fromBase64url } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { decodeKel, verifyKel } from '../../protocol/identity/kel.ts'
import type { Peer, PeerContact } from '../core/federation/peers.ts'
import { isHubUrl } from '../core/hub-url.ts'
import { StoreRefused } from '../store/port.ts'
import { momentOf, type OperatorContext, type OrderOf, type OrderResult } from './order-shapes.ts'

export const PEER_URL_EXPECTED = 'expected the URL of a hub, such as https://hub.example'

export async function peers(
  { add, remove }: OrderOf<'peers'>,
  { aid, peerList, peers: known }: OperatorContext,
): Promise<OrderResult> {
  // what stands in the file counts, also where somebody has just written it
  peerList.load()
  if (add !== undefined) {
    const log = verifyKel(decodeKel(fromBase64url(add.kel)))
    if (!isHubUrl(add.url)) throw new StoreRefused(`${PEER_URL_EXPECTED}, got ${add.url}`)
    if (log.aid === aid) throw new StoreRefused(`${add.url} is this hub itself; name another one`)
    peerList.add({ aid: log.aid, url: add.url, log })
  }
  if (remove !== undefined && !peerList.remove(remove))
    throw new StoreRefused(`${remove} is no peer of this hub; list them with: svc-hub peers ls`)
  return { aid, peers: known.all.map(peer => shown(peer, known.contact(peer.aid))) }
}

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
