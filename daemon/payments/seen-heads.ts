/**
 * Heads of a hub's supply chain as its receipts and its audits showed them. Until an audit has read past one it is kept:
 * a hub that shows two histories gives itself away by two ids at one place, or by one that its chain does not have.
 */
import { cidText } from '../../protocol/crypto/hash.ts'
import { chainDid } from '../../protocol/proof/evidence.ts'
import type { Context } from '../context.ts'
import { raiseAlarm } from '../store/hub-accounts.ts'
import { headAt, keepSeenHead, type SupplyHead } from '../store/supply-heads.ts'

type Needs = Pick<Context, 'store' | 'chain' | 'hubNow' | 'log' | 'events'>

export const HEAD_SEEN = 'svc.issuance.head_seen'
/** A head that a receipt names; where another one stood at its place, both are recorded and nothing more is paid there. */
export function noteHead(ctx: Needs, hub: string, [seq, id]: SupplyHead): void {
  const { store, chain, hubNow, log, events } = ctx
  store.transaction(() => {
    const seen = headAt(store, hub, seq)
    if (seen === undefined) return keepSeenHead(store, hub, [seq, id])
    if (Buffer.from(seen).equals(id)) return
    const fault = `it shows two histories of its credits: record ${seq} is ${cidText(seen)} and ${cidText(id)}`
    for (const one of [seen, id])
      chain.append(HEAD_SEEN, { chain_did: chainDid(hub), seq, head_id: cidText(one), observed_at: hubNow() })
    raiseAlarm(store, hub, fault)
    log.error({ hub, fault }, 'the hub publishes what cannot be true of its credits')
    store.afterCommit(() => events.emit('hub'))
  }, 'node.audit')
}
