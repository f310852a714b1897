/**
 * Heads of their chains that correspondents signed to us: the longest of each is kept, and given back now and then, so
 * that an older copy of the correspondent, put back somewhere, learns that it is one (objects: held heads).
 */
import { equal } from '../../protocol/encoding/bytes.ts'
import { HeldHead, headIn } from '../../protocol/proof/held-head.ts'
import { count, counted } from '../store/counters.ts'
import type { Store } from '../store/open.ts'
import { headKnownBefore, keepHead, noteHeadReturned } from '../store/peers.ts'

/** How long after its owner last knew of it a head is given back, and how long where the owner contradicts it. */
const RETURN_AFTER_MS = 86_400_000
const RETURN_DOUBTED_AFTER_MS = 10 * 60_000

type Needs = { store: Store; now: () => number }
/** The chain of this node, which stands in a room above. */
type Records = {
  chain: { append(type: string, payload: Record<string, string | number | Uint8Array>): unknown }
}

/**
 * Keeps a head whose signature the caller has verified, where it is further than the one held. Two of one length are
 * proof that the peer rewrote its chain: the first such pair of each peer stands in this node's own.
 */
export function noteHead(ctx: Needs & Records, held: HeldHead): void {
  const { owner, length, id } = headIn(held)
  const head = HeldHead.encode(held)
  if (keepHead(ctx.store, owner, { head, length, at: ctx.now() })) return
  const known = headKnownBefore(ctx.store, owner, ctx.now())
  if (known === undefined) return
  const kept = headIn(HeldHead.decode(known))
  if (equal(kept.id, id)) return
  doubtHead(ctx, owner)
  if (kept.length !== length || !noteRewritten(ctx.store, owner)) return
  ctx.chain.append('svc.peer.rewritten', {
    peer_aid: owner,
    length,
    head_bytes: known,
    other_head_bytes: head,
  })
}

/** How many peers rewrote their chains. */
export const REWRITTEN = 'peers_rewrote'

/** Counts a peer once; false when it was counted before. */
function noteRewritten(store: Store, peer: string): boolean {
  const name = `${REWRITTEN} ${peer}`
  if (counted(store, name) > 0) return false
  count(store, name)
  count(store, REWRITTEN)
  return true
}

/** The peer does not seem to know what it signed: the head of its chain goes back soon, not once a day. */
export function doubtHead({ store, now }: Needs, peer: string): void {
  if (headKnownBefore(store, peer, now() - RETURN_DOUBTED_AFTER_MS) !== undefined)
    noteHeadReturned(store, peer, now() - RETURN_AFTER_MS)
}

/** The head that is to be given back to this peer now; it counts as given. */
export function takeDueHead({ store, now }: Needs, peer: string): Uint8Array | undefined {
  const head = headKnownBefore(store, peer, now() - RETURN_AFTER_MS)
  if (head !== undefined) noteHeadReturned(store, peer, now())
  return head
}
