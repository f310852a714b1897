/** What all requests of a listener share, whichever line they are for: room for their bodies, and what an address may ask. */
import type { RouteRow } from '../../protocol/contract/route.ts'
import type { Timers } from '../../protocol/timers.ts'
import type { Limits } from '../core/limits.ts'
import type { Buckets, Rates } from '../core/ports/rates.ts'
import { RateWatch } from './body.ts'
import { BodyPool } from './body-room.ts'

const JSON_SHARES = 8
/** So many refusals for asking too often are answered at once; whoever goes on asking waits for each. */
const QUICK_REFUSALS = { perSecond: 5, burst: 20 }

type Table = Readonly<Record<string, RouteRow>>

export class Shares {
  readonly watch: RateWatch
  /** Bodies on their way in: envelopes, and JSON, which never waits for envelopes. */
  readonly pools: { readonly envelopes: BodyPool; readonly json: BodyPool }
  readonly buckets: Buckets
  /** Refusals of addresses whose bucket is empty. */
  readonly refusals: Buckets

  /** An address has half of the room for envelopes, but always one of the largest; an eighth of JSON, but always its largest body. */
  constructor(limits: Limits, tables: readonly Table[], { rates, timers }: { rates: Rates; timers: Timers }) {
    const { bytesInFlightMax, jsonBytesInFlightMax, envelopeBytesMax } = limits
    const rows = tables.flatMap(table => Object.values(table))
    const bodies = rows.map(({ raw, limits: { bodyBytes } }) => (raw === undefined ? bodyBytes : 0))
    this.watch = new RateWatch(limits.bodyBytesPerSecondMin, limits.bodyGraceMs, timers)
    this.buckets = rates.of('requests', limits.requestRate)
    this.refusals = rates.of('refusals', QUICK_REFUSALS)
    this.pools = {
      envelopes: new BodyPool(bytesInFlightMax, Math.max(bytesInFlightMax / 2, envelopeBytesMax), timers),
      json: new BodyPool(
        jsonBytesInFlightMax,
        Math.max(jsonBytesInFlightMax / JSON_SHARES, ...bodies),
        timers,
      ),
    }
  }

  get bytesInFlight(): number {
    return this.pools.envelopes.held + this.pools.json.held
  }

  close(): void {
    this.watch.close()
  }
}
