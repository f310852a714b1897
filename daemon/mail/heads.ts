/** Heads of chains on their way: given back with messages that go out anyway, and compared when ours come back. */
import { encodePayload, kinds } from '../../protocol/mail/payload.ts'
import { HeldHead, signedHead } from '../../protocol/proof/held-head.ts'
import { isContradicted, rememberContradicted, sayHeldBy } from '../chain/old-copy.ts'
import type { Context } from '../context.ts'
import { takeDueHead } from '../peers/heads.ts'

type Returning = Pick<Context, 'store' | 'threads' | 'contacts' | 'hub' | 'now'>
type Comparing = Pick<Context, 'store' | 'identity' | 'chain' | 'contacts' | 'hub' | 'log'>

/** Gives a peer back the head that it signed, when it is time for that. */
export function returnHead(ctx: Returning, peer: string): void {
  if (ctx.hub.oldCopy !== undefined || ctx.contacts.isBlocked(peer)) return
  ctx.store.transaction(() => {
    const head = takeDueHead(ctx, peer)
    if (head === undefined) return
    const payload = encodePayload(kinds.heldHead, HeldHead.decode(head))
    ctx.threads.queueLoose(peer, { kind: kinds.heldHead, payload, text: '', numbered: false })
  }, 'node.head')
}

/**
 * Compares a head of ours that came back with our chain; false where we never signed it. Of a contact it ends what this
 * node signs when it shows a newer copy; anybody else could have it from one that is stolen.
 */
export function compareHead(ctx: Comparing, from: string, held: HeldHead): boolean {
  const { store, chain, identity, contacts, hub, log } = ctx
  const head = signedHead(held, identity.log)
  if (head === undefined) return false
  // whoever has a key that is retired could have signed it since; a rotation is the cure for that
  const isPresent = head.kelSeq === identity.log.seq
  if (!isPresent || !contacts.isContact(from) || !isContradicted(chain, store, head)) return true
  rememberContradicted(store, from, head)
  const why = sayHeldBy(contacts.petnameOf(from) ?? from, chain, head)
  store.afterCommit(() => {
    log.error({ reason: why }, 'stopped talking to the hub')
    hub.oldCopy ??= why
    if (hub.home !== undefined) hub.halt(hub.home, why)
  })
  return true
}
