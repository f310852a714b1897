/** Types of svc-x402; the sources are held to them by the compiler. */

export declare const SCHEME: 'svc-credit'
export declare const ASSET: 'credit'
/** `hub:<AID of the hub>`. */
export type Network = `${string}:${string}`

export type Requirements = {
  scheme: string
  network: Network
  asset: string
  amount: string
  payTo: string
  maxTimeoutSeconds: number
  extra?: Record<string, unknown>
}

/** Who pays: an identity's AID, the number of its key state, and its signature over what it is given. */
export type Payer = {
  aid: string
  /** Number of the key state under which it signs: 0 before the first rotation. */
  keyState: number
  /** Ed25519 over exactly these bytes, 64 bytes. */
  sign: (message: Uint8Array) => Uint8Array | Promise<Uint8Array>
}

/** The identity in the data directory of a node, as it is now. Throws where there is none, or where it has ended. */
export declare function payerFromFolder(folder: string): Payer

/** A payer whose seed, 32 bytes, is at hand. */
export declare function payerWithSeed(aid: string, keyState: number, seed: Uint8Array): Payer

export type CreditClientOptions = {
  payer: Payer
  /** Longest hold that is signed, in seconds; 0, the default, signs none. */
  holdSecondsMax?: number
  /** Unix ms. */
  now?: () => number
}

/** The paying side: for `x402Client.register('hub:*', …)`. */
export declare class CreditClient {
  constructor(options: CreditClientOptions)
  readonly scheme: 'svc-credit'
  createPaymentPayload(
    x402Version: number,
    requirements: Requirements,
  ): Promise<{ x402Version: number; payload: { authorization: string } }>
}

/** Payments that were taken. A set that outlives the process keeps them over a restart. */
export interface SpentSet {
  /** Takes a payment; false where it was taken before. Both at the same moment: one of them is told true. */
  claim(transaction: string, untilMs: number): boolean | Promise<boolean>
  /** Gives back a payment that was not made or not served. */
  release(transaction: string): void | Promise<void>
}

/** Kept in memory for as long as a payment could be settled. */
export declare class MemorySpentSet implements SpentSet {
  constructor(now?: () => number)
  claim(transaction: string, untilMs: number): boolean
  release(transaction: string): void
}

type Price = string | number | { asset: string; amount: string; extra?: Record<string, unknown> }
type Hook = (context: never) => Promise<{ abort: true; reason: string; message: string } | undefined>
type Told = (context: never) => Promise<void>

/** The paid side: for `x402ResourceServer.register('hub:*', …)`. */
export declare class CreditServer {
  /** `now`: Unix ms. */
  constructor(spent?: SpentSet, now?: () => number)
  readonly scheme: 'svc-credit'
  readonly defaultAssetTransferMethod: string
  readonly paymentFlows: {
    readonly default: {
      readonly supported: readonly ('authorization' | 'upfront')[]
      readonly default: 'authorization'
    }
  }
  readonly schemeHooks: {
    onAfterVerify: Hook
    onBeforeSettle: Hook
    onSettleFailure: Told
    onVerifiedPaymentCanceled: Told
  }
  parsePrice(
    price: Price,
    network: Network,
  ): Promise<{ asset: string; amount: string; extra: Record<string, unknown> }>
  enhancePaymentRequirements(requirements: Requirements): Promise<Requirements>
  getAssetDecimals(asset: string): number | undefined
}
