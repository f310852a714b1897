/**
 * Heads of a hub's supply chain as its receipts and its audits showed them. Until an audit has read past one it is kept:
 * a hub that shows two histories gives itself away by two ids at one place, or by one that its chain does not have.
 */
import { cidText } from '../../protocol/crypto/hash.ts'
import { fromBase64url, fromUtf8, toBase64url, utf8 } from '../../protocol/encoding/bytes.ts'
import { chainDid } from '../../protocol/proof/evidence.ts'
import type { Context } from '../context.ts'
import { raiseAlarm } from '../store/alarms.ts'
import { forget, recall, remember } from '../store/memory.ts'
import type { Store } from '../store/open.ts'

type Needs = Pick<Context, 'store' | 'chain' | 'hubNow' | 'log' | 'events'>

export const HEAD_SEEN = 'svc.issuance.head_seen'
/** An audit comes every six hours; of more payments than this in between the oldest heads go. */
const HEADS_MAX = 1024

export type SupplyHead = readonly [seq: number, id: Uint8Array]

const nameOf = (hub: string): string => `supply heads of ${hub}`

/** Ids by their place, of what no audit has read past. */
export function seenHeads(store: Store, hub: string): Map<number, Uint8Array> {
  const kept = recall(store, nameOf(hub))
  const listed = kept === undefined ? [] : (JSON.parse(fromUtf8(kept)) as [number, string][])
  return new Map(listed.map(([seq, id]) => [seq, fromBase64url(id)]))
}

function keepHeads(store: Store, hub: string, heads: Map<number, Uint8Array>): void {
  const listed = [...heads].slice(-HEADS_MAX).map(([seq, id]) => [seq, toBase64url(id)])
  remember(store, nameOf(hub), utf8(JSON.stringify(listed)))
}

/** A person goes on with a hub in spite of what was seen. */
export const forgetHeads = (store: Store, hub: string): void => forget(store, nameOf(hub))

/** An audit found all of them on the chain; what it ended with is what the next one begins to compare. */
export function keepOnlyHead(store: Store, hub: string, [seq, id]: SupplyHead): void {
  keepHeads(store, hub, new Map([[seq, id]]))
}

/** A head that a receipt names; where another one stood at its place, both are recorded and nothing more is paid there. */
export function noteHead(ctx: Needs, hub: string, [seq, id]: SupplyHead): void {
  const { store, chain, hubNow, log, events } = ctx
  store.transaction(() => {
    const heads = seenHeads(store, hub)
    const seen = heads.get(seq)
    if (seen === undefined) return keepHeads(store, hub, heads.set(seq, id))
    if (Buffer.from(seen).equals(id)) return
    const fault = `it shows two histories of its credits: record ${seq} is ${cidText(seen)} and ${cidText(id)}`
    for (const one of [seen, id])
      chain.append(HEAD_SEEN, { chain_did: chainDid(hub), seq, head_id: cidText(one), observed_at: hubNow() })
    raiseAlarm(store, hub, fault)
    log.error({ hub, fault }, 'the hub publishes what cannot be true of its credits')
    store.afterCommit(() => events.emit('hub'))
  }, 'node.audit')
}
