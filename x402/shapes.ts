/** What of x402, version 2, this package reads and writes; the stock packages have the same and more. */

/** A network as x402 names it: `hub:<AID of the hub>`. */
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

export const SCHEME = 'svc-credit'
export const ASSET = 'credit'
export const X402_VERSION = 2

/** The authorization in a payload, as base64url; undefined where there is none. */
export function authorizationIn(payload: unknown): string | undefined {
  const given = (payload as { payload?: { authorization?: unknown } } | undefined)?.payload?.authorization
  return typeof given === 'string' ? given : undefined
}
