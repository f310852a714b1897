/** Rates: how often a key, such as an address or an AID, may ask for something. */

/** A bucket that fills at a rate and holds a burst. */
export type Rate = { perSecond: number; burst: number }

/** What is counted apart. */
export type RateName =
  | 'requests'
  | 'refusals'
  | 'documents'
  | 'admission checks'
  | 'key events'
  | 'pushed logs'
  | 'buckets'
  | 'status queries'
  | 'peers'
  | 'answers to peers'
  | 'peer payments'
  | 'clearing'
  | 'restores of peers'
  | 'letters of an address'
  | 'bytes of an address'
  | 'mail handed on'
  | 'mail handed on of an address'
  | 'searches at peers'
  | 'revocations'
  | 'session openings'

export interface Buckets {
  /**
   * Takes one or more from the bucket of `key`: 0, or how many milliseconds it takes until there are so many. All
   * processes of a hub together give no key more than the rate allows; a key that was not seen for long has a full bucket.
   * Never fails.
   */
  take(key: string, nowMs: number, count?: number): Promise<number>
}

export interface Rates {
  /** The buckets of a name: the same ones for all who ask. */
  of(name: RateName, rate: Rate): Buckets
}
