/**
 * The supply as it is at this moment: what the books say, beside the sum of all records of the supply chain. Whether both
 * agree tells that no credit has moved without a record.
 */
import { ChainRecord } from '../../../protocol/proof/evidence.ts'
import { creditOpening, supplyEventOf } from '../../../protocol/proof/supply.ts'
import type { SupplyHead, Totals } from '../../store/ledger-port.ts'
import type { HubContext } from '../context.ts'
import type { Credits } from '../ledger/credits.ts'
import { Refusal } from '../refusal.ts'

/** Records that are read before other work has its turn. */
const PAGE = 200
/** Something may be posted between two looks; not as often as this. */
const TRIES = 20

/** Sums of the records up to one. */
type Recounted = { seq: number; issued: number; retired: number; opening: number }
export type SupplyNow = {
  totals: Totals
  /** All that agents have, holds included. */
  balances: number
  chain: Omit<Recounted, 'seq'> & { outstanding: number }
  agrees: boolean
  head: SupplyHead
}

type Context = Pick<HubContext, 'store' | 'timers'>

export class LiveSupply {
  readonly #context: Context
  readonly #credits: Pick<Credits, 'stopped'>
  /** Records are added and never changed, so each is read once. */
  #recounted: Recounted = { seq: -1, issued: 0, retired: 0, opening: 0 }
  #running: Promise<unknown> = Promise.resolve()

  constructor(context: Context, credits: Pick<Credits, 'stopped'>) {
    this.#context = context
    this.#credits = credits
  }

  async now(): Promise<SupplyNow> {
    await this.#recount()
    const { store } = this.#context
    for (let tried = 0; tried < TRIES; tried++) {
      const before = await store.supplyHead()
      const totals = await store.creditTotals()
      const head = await store.supplyHead()
      if (before === undefined || head === undefined) throw new Error('a hub without a supply chain')
      await this.#recount()
      if (before.seq === head.seq && this.#recounted.seq === head.seq) return this.#seen(totals, head)
    }
    throw new Refusal('overloaded', { why: 'credits are granted or redeemed all the time' })
  }

  #seen(totals: Totals, head: SupplyHead): SupplyNow {
    const { issued, retired, opening } = this.#recounted
    const { owedByPeers, dueToPeers } = totals
    const balances = totals.agents + totals.holds
    const outstanding = opening + issued - retired + owedByPeers - dueToPeers
    const agrees =
      balances === outstanding && totals.issued === opening + issued && totals.retired === retired
    return {
      totals,
      balances,
      chain: { issued, retired, opening, outstanding },
      agrees: agrees && !this.#credits.stopped,
      head,
    }
  }

  /** Callers that come together wait for one reader. */
  #recount(): Promise<void> {
    const reading = this.#running.then(() => this.#readOn())
    this.#running = reading.catch(() => undefined)
    return reading
  }

  async #readOn(): Promise<void> {
    const { store, timers } = this.#context
    for (;;) {
      const rows = await store.supplyRecords(this.#recounted.seq + 1, PAGE)
      for (const { seq, record } of rows) this.#recounted = added(this.#recounted, seq, record)
      if (rows.length < PAGE) return
      await new Promise<void>(resolve => void timers.after(0, resolve))
    }
  }
}

function added(sums: Recounted, seq: number, bytes: Uint8Array): Recounted {
  const record = ChainRecord.decode(bytes)
  const event = supplyEventOf(record)
  if (event.kind !== 'issued' && event.kind !== 'retired') return { ...sums, seq }
  const name = record.eventType === creditOpening ? 'opening' : event.kind
  return { ...sums, seq, [name]: sums[name] + event.change.amount }
}
