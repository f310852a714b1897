/** Orders about the hubs that this one is federated with. */
import { fromBase64url } from '../../protocol/encoding/bytes.ts'
import { decodeKel, verifyKel } from '../../protocol/identity/kel.ts'
import { isHubUrl } from '../core/hub-url.ts'
import { StoreRefused } from '../store/port.ts'
import type { OperatorContext, OrderOf, OrderResult } from './order-shapes.ts'

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
  return { aid, peers: known.all.map(({ aid: peer, url, log }) => ({ aid: peer, url, kel_seq: log.seq })) }
}
