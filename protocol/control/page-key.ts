/**
 * How a page of the console and its node prove themselves to each other. Each page has a key of its own; the token stays
 * in the node, and a ticket is never sent. The key is made from the token and the session's name, so that it holds over
 * restarts of the node. Every proof, and every key of a call, names the host of the page, so that no other port can pass
 * it on.
 */
import { equalSecret, hmacSha256, sha256 } from '#crypto'
import { fromHex, toHex, utf8 } from '../encoding/bytes.ts'

export const NONCE_BYTES = 16

/** What one trade or one opening is about: the host as the address bar of the page has it, and the page's own nonce. */
export type Asked = { host: string; nonce: string }
/** One call of an opened page; `counter` is never the same again under one challenge. */
export type PageCall = { host: string; challenge: string; counter: number }
/** What the node answers to an opening: `now` is its clock, Unix milliseconds, by which the page times its calls. */
export type NodeOpening = { challenge: string; now: number }
/** A call that was sealed longer ago than this is not carried out: whoever held it back has held it for nothing. */
export const CALL_LIFE_MS = 30_000

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

/** That the node has the page's key, which challenge it gave and what its clock says, in hex. */
export const nodeProof = (key: Uint8Array, { host, nonce }: Asked, { challenge, now }: NodeOpening): string =>
  toHex(over(key, 'svc-console/answers', host, nonce, challenge, now))

/** The keys that seal one call, 32 bytes each: what the page says and what the node says. */
export function callKeys(key: Uint8Array, { host, challenge, counter }: PageCall) {
  const of = (side: 'page' | 'node') => over(key, 'svc-console/call', side, host, challenge, counter)
  return { page: of('page'), node: of('node') }
}
export type CallKeys = ReturnType<typeof callKeys>

/** Compares in constant time. */
export const sameHex = (own: string, given: string): boolean => equalSecret(utf8(own), utf8(given))

export const keyFrom = (hex: string): Uint8Array => fromHex(hex, 'key')
