/**
 * How a page of the console and its node prove themselves to each other. Each page has a key of its own; the token stays
 * in the node, and a ticket is never sent. The key is made from the token and the session's name, so that it holds over
 * restarts of the node. Everything that is proven names the host of the page, so that no other port can pass it on.
 */
import { equalSecret, hmacSha256, sha256 } from '#crypto'
import { fromHex, toHex, utf8 } from '../encoding/bytes.ts'

export const NONCE_BYTES = 16

/** What one trade or one opening is about: the host as the address bar of the page has it, and the page's own nonce. */
export type Asked = { host: string; nonce: string }
/** One request of an opened page: `digest` is the SHA-256 of its body, of no bytes where it has none. */
export type PageRequest = {
  challenge: string
  counter: number
  method: string
  /** Path and query, as they are sent. */
  target: string
  digest: string
}

const over = (key: Uint8Array, ...parts: readonly (string | number)[]): Uint8Array =>
  hmacSha256(key, utf8(parts.join('\n')))

/** The key of a session, 32 bytes. */
export const pageKey = (token: string, session: string): Uint8Array =>
  over(utf8(token), 'svc-console/page', session)

/** What a ticket is called by where it is traded: 16 bytes in hex. */
export const ticketName = (ticket: string): string =>
  toHex(sha256(utf8(`svc-console/ticket\n${ticket}`)).subarray(0, NONCE_BYTES))

/** That the page has the ticket, in hex. */
export const ticketProof = (ticket: string, { host, nonce }: Asked): string =>
  toHex(over(utf8(ticket), 'svc-console/trade', host, nonce))

/** A page's key for who has the ticket, in hex; the same again opens it. A ticket counts once, so its mask does. */
export function maskedKey(ticket: string, { host, nonce }: Asked, key: Uint8Array): Uint8Array {
  const mask = over(utf8(ticket), 'svc-console/key', host, nonce)
  return key.map((byte, i) => byte ^ (mask[i] ?? 0))
}

/** That the page has its key, in hex. */
export const pageProof = (key: Uint8Array, { host, nonce }: Asked): string =>
  toHex(over(key, 'svc-console/opens', host, nonce))

/** That the node has the page's key, and which challenge it gave, in hex. */
export const nodeProof = (key: Uint8Array, { host, nonce }: Asked, challenge: string): string =>
  toHex(over(key, 'svc-console/answers', host, nonce, challenge))

/** The header of a request: session, counter, digest of the body and the proof of all of it. */
export function pageAuthorization(key: Uint8Array, session: string, request: PageRequest): string {
  return `svc-page ${session}.${request.counter}.${request.digest}.${requestProof(key, request)}`
}

const requestProof = (key: Uint8Array, { challenge, counter, method, target, digest }: PageRequest): string =>
  toHex(over(key, 'svc-console/request', challenge, counter, method, target, digest))

const AUTHORIZATION = /^svc-page ([0-9a-f]{32})\.(0|[1-9]\d{0,11})\.([0-9a-f]{64})\.([0-9a-f]{64})$/

/** What a header claims; nothing where it is none of a page. */
export function readAuthorization(header: string) {
  const [, session, counter, digest, proof] = AUTHORIZATION.exec(header) ?? []
  if (session === undefined || digest === undefined || proof === undefined) return undefined
  return { session, counter: Number(counter), digest, proof }
}

/** Whether the proof of a request is that of its key. */
export const isProven = (key: Uint8Array, request: PageRequest, proof: string): boolean =>
  sameHex(requestProof(key, request), proof)

/** Compares in constant time. */
export const sameHex = (own: string, given: string): boolean => equalSecret(utf8(own), utf8(given))

export const keyFrom = (hex: string): Uint8Array => fromHex(hex, 'key')
