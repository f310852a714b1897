/** What all requests of a listener share, whichever line they are for: room for their bodies, and what an address may ask. */
import type { RouteRow } from '../../protocol/contract/route.ts'
import type { Timers } from '../../protocol/timers.ts'
import type { Limits } from '../core/limits.ts'
import type { Buckets, Rates } from '../core/ports/rates.ts'
import { RateWatch } from './body.ts'
import { BodyPool } from './body-room.ts'
import { Pace } from './pace.ts'
import { Unread } from './unread.ts'

const JSON_SHARES = 8
/** Of all letters that are long: 32 MiB a second. */
const LETTER_BYTES_PER_MS = 32 * 1024
/** So many refusals for asking too often are answered at once; whoever goes on asking waits for each. */
const QUICK_REFUSALS = { perSecond: 5, burst: 20 }

type Table = Readonly<Record<string, RouteRow>>

export class Shares {
  readonly watch: RateWatch
  readonly unread: Unread
  /** What long letters share, so that the rest of the hub goes on. */
  readonly letterPace: Pace
  /** Bodies on their way in: JSON never waits for envelopes, for letters, nor for people without keys. */
  readonly pools: Readonly<Record<'envelopes' | 'letters' | 'json' | 'apart', BodyPool>>
  readonly buckets: Buckets
  /** Refusals of addresses whose bucket is empty. */
  readonly refusals: Buckets

  /**
   * An address has half of the room for envelopes, and for letters, but always one of the largest; an eighth of JSON, and of what is apart,
   * but always its largest body.
   */
  constructor(limits: Limits, tables: readonly Table[], { rates, timers }: { rates: Rates; timers: Timers }) {
    const { bytesInFlightMax, openMailBytesInFlightMax, jsonBytesInFlightMax, envelopeBytesMax } = limits
    const rows = tables.flatMap(table => Object.values(table))
    const json = rows.filter(({ raw, streams }) => raw === undefined && streams === undefined)
    const longest = Math.max(
      0,
      ...rows.map(({ streams, limits }) => (streams === undefined ? 0 : limits.bodyBytes)),
    )
    const shareOf = (isApart: boolean): number =>
      Math.max(
        jsonBytesInFlightMax / JSON_SHARES,
        ...json.map(({ apart, limits }) => ((apart === true) === isApart ? limits.bodyBytes : 0)),
      )
    const apartShare = shareOf(true)
    this.watch = new RateWatch(limits.bodyBytesPerSecondMin, limits.bodyGraceMs, timers)
    this.unread = new Unread(timers)
    this.letterPace = new Pace(timers, LETTER_BYTES_PER_MS)
    this.buckets = rates.of('requests', limits.requestRate)
    this.refusals = rates.of('refusals', QUICK_REFUSALS)
    this.pools = {
      envelopes: new BodyPool(bytesInFlightMax, Math.max(bytesInFlightMax / 2, envelopeBytesMax), timers),
      letters: new BodyPool(
        openMailBytesInFlightMax,
        Math.max(openMailBytesInFlightMax / 2, longest),
        timers,
      ),
      json: new BodyPool(jsonBytesInFlightMax, shareOf(false), timers),
      apart: new BodyPool(Math.max(jsonBytesInFlightMax, apartShare), apartShare, timers),
    }
  }

  /** The room for bodies of a row. */
  poolOf({ raw, streams, apart }: RouteRow): BodyPool {
    if (raw !== undefined) return this.pools.envelopes
    if (streams !== undefined) return this.pools.letters
    return apart === true ? this.pools.apart : this.pools.json
  }

  get bytesInFlight(): number {
    return Object.values(this.pools).reduce((sum, { held }) => sum + held, 0)
  }

  close(): void {
    this.watch.close()
    this.unread.close()
  }
}
