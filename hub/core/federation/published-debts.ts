/**
 * What a peer published of its debts at its newest epoch, beside what it owes this hub (credits: between hubs): it owes
 * all of its peers at least that much.
 */
import { Malformed } from '../../../protocol/encoding/bytes.ts'
import { keyAt } from '../../../protocol/identity/kel.ts'
import {
  ChainInvalid,
  ChainRecord,
  chainDid,
  readRecord,
  recordSignatureHolds,
} from '../../../protocol/proof/evidence.ts'
import { type Epoch, supplyEventOf } from '../../../protocol/proof/supply.ts'
import type { HubContext } from '../context.ts'
import { DAY_MS } from '../limits.ts'
import type { PeerCalls } from './calls.ts'
import { Doubtful } from './doubtful.ts'
import type { Federation } from './federation.ts'
import type { Peer } from './peers.ts'

/** Clocks of two hubs differ, and a payment is booked at one before the other. */
const TOLERANCE_MS = 15 * 60_000

export class PublishedDebts {
  readonly #context: HubContext
  readonly #calls: PeerCalls
  readonly #federation: Pick<Federation, 'under'>

  constructor(context: HubContext, calls: PeerCalls, federation: Pick<Federation, 'under'>) {
    this.#context = context
    this.#calls = calls
    this.#federation = federation
  }

  /** Compares the newest epoch of a peer, once; throws where it gives no answer. */
  async check(peer: Peer): Promise<void> {
    const { store, alert } = this.#context
    try {
      const { day, due_to_peers: published } = await this.#read(peer, await this.#calls.epoch(peer))
      if ((await store.clearing(peer.aid)).epoch?.day === day) return
      const claim = Math.max(0, await store.leastClaim(peer.aid, (day + 1) * DAY_MS - TOLERANCE_MS))
      await store.putClearing({ ...(await store.clearing(peer.aid)), epoch: { day, published, claim } })
      if (published < claim)
        alert('a peer published that it owes less than it owes this hub', {
          peer: peer.url,
          day,
          due_to_peers: published,
          owes: claim,
        })
    } catch (error) {
      if (!(error instanceof Doubtful)) throw error
      alert('a peer shows an epoch that does not hold', { peer: peer.url, why: error.message })
    }
  }

  async #read(peer: Peer, bytes: Uint8Array): Promise<Epoch> {
    try {
      const { seq, previous, keyStateSeq } = ChainRecord.decode(bytes)
      const read = readRecord(bytes, { seq, previous, chainDid: chainDid(peer.aid) })
      const { log } = await this.#federation.under(peer, keyStateSeq)
      const key = keyAt(log, keyStateSeq)
      if (key === undefined || !recordSignatureHolds(key, read)) throw new Doubtful('signature')
      const event = supplyEventOf(read.record)
      if (event.kind !== 'epoch') throw new Doubtful('kind of record')
      return event.epoch
    } catch (error) {
      if (error instanceof Malformed || error instanceof ChainInvalid) throw new Doubtful(error.message)
      throw error
    }
  }
}
