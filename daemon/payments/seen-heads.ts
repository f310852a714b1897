/**
 * Heads of a hub's supply chain as its receipts and its audits showed them. Until an audit has read past one it is kept:
 * a hub that shows two histories gives itself away by two ids at one place, or by one that its chain does not have.
 */
import { cidText } from '../../protocol/crypto/hash.ts'
import { chainDid } from '../../protocol/proof/evidence.ts'
import type { Chain } from '../chain/chain.ts'
import type { Store } from '../store/open.ts'
import { headAt, keepOnlyHead, keepSeenHead, type SupplyHead } from '../store/supply-heads.ts'
import type { Alarms } from './alarms.ts'

const HEAD_SEEN = 'svc.issuance.head_seen'

export class SeenHeads {
  readonly #store: Store
  readonly #chain: Chain
  readonly #alarms: Alarms
  readonly #hubNow: () => number

  constructor(
    { store, chain, alarms }: { store: Store; chain: Chain; alarms: Alarms },
    hubNow: () => number,
  ) {
    this.#store = store
    this.#chain = chain
    this.#alarms = alarms
    this.#hubNow = hubNow
  }

  /** A head that a receipt names; where another one stood at its place, both are recorded and nothing more is paid there. */
  note(hub: string, [seq, id]: SupplyHead): void {
    this.#store.transaction(() => {
      const seen = headAt(this.#store, hub, seq)
      if (seen === undefined) return keepSeenHead(this.#store, hub, [seq, id])
      if (Buffer.from(seen).equals(id)) return
      const fault = `it shows two histories of its credits: record ${seq} is ${cidText(seen)} and ${cidText(id)}`
      for (const one of [seen, id]) this.#record(hub, seq, cidText(one))
      this.#alarms.raise(hub, fault)
    }, 'node.audit')
  }

  /** An audit has read up to this one: no other is kept, and it is recorded unless it was the last that was. */
  settle(hub: string, [seq, id]: SupplyHead): void {
    keepOnlyHead(this.#store, hub, [seq, id])
    const headId = cidText(id)
    const [last] = this.#chain.read({ eventType: HEAD_SEEN, limit: 1 }).slice(-1)
    const before = last?.['payload'] as { chain_did?: string; head_id?: string } | undefined
    if (before?.chain_did === chainDid(hub) && before.head_id === headId) return
    this.#record(hub, seq, headId)
  }

  #record(hub: string, seq: number, headId: string): void {
    const observedAt = this.#hubNow()
    this.#chain.append(HEAD_SEEN, { chain_did: chainDid(hub), seq, head_id: headId, observed_at: observedAt })
  }
}
