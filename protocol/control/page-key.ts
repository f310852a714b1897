/**
 * How a page of the console and its node prove themselves to each other. Each page has a key of its own; the token stays
 * in the node, and a ticket is never sent. The key is made from the token and the session's name, so that it holds over
 * restarts of the node. Every proof, and every key of a call, names the host of the page, so that no other port can pass
 * it on.
 */
import { equalSecret, hmacSha256, sha256 } from '#crypto'
import { fromHex, toHex, utf8 } from '../encoding/bytes.ts'

/** Bytes of a nonce and of a ticket's name; texts have twice as many digits of hex. */
export const NONCE_BYTES = 16

/** What one trade or one opening is about: the host as the address bar of the page has it, and the page's own nonce. */
export type Asked = { host: string; nonce: string }
/** One call of an opened page; `counter` is never the same again under one challenge. */
export type PageCall = { host: string; challenge: string; counter: number }
/** The clocks of a node: the one of its machine, Unix milliseconds, and one that nobody sets, in milliseconds. */
export type NodeTime = { now: number; up: number }
/** What the node answers to an opening: its clocks, by which the page times its calls, and the key of its tabs, masked. */
export type NodeOpening = NodeTime & { challenge: string; masked_tabs: string }

/** A call that was sealed longer ago than this is not carried out: whoever held it back has held it for nothing. */
const CALL_LIFE_MS = 15_000
/** The status of a call that was sealed longer ago than that: it was not carried out. */
export const TOO_LATE = 408
/** A clock that a page has of its node is not ahead by more. */
const CALL_AHEAD_MS = 2_000
/** The slowest line on which a body still arrives. */
const BYTES_A_SECOND_MIN = 8 * 1024

const travelMs = (bytes: number): number => (bytes / BYTES_A_SECOND_MIN) * 1_000

/** Whether a body of a call that was sealed then may still be carried out. */
export function isTimely(sealed: NodeTime, { now, up }: NodeTime, bytes: number): boolean {
  const ages = [now - sealed.now, up - sealed.up]
  return ages.every(age => age >= -CALL_AHEAD_MS && age <= CALL_LIFE_MS + travelMs(bytes))
}

/** A page that heard nothing for so long gives up: what it has sent is void by then. */
export const patienceMs = (bytes: number): number => CALL_LIFE_MS + travelMs(bytes) + 5_000

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

/** That the node has the page's key, and all that it answers, in hex. */
export function nodeProof(key: Uint8Array, { host, nonce }: Asked, opening: NodeOpening): string {
  const { challenge, now, up, masked_tabs } = opening
  return toHex(over(key, 'svc-console/answers', host, nonce, challenge, now, up, masked_tabs))
}

/** The key that seals what pages of one host tell each other. */
export const tabsKey = (token: string, host: string): Uint8Array =>
  over(utf8(token), 'svc-console/tabs', host)

/** That key for who has the page's; the same again opens it. A nonce counts once, so its mask does. */
export function maskedTabs(key: Uint8Array, { host, nonce }: Asked, tabs: Uint8Array): Uint8Array {
  const mask = over(key, 'svc-console/tabs-mask', host, nonce)
  return tabs.map((byte, i) => byte ^ (mask[i] ?? 0))
}

/** The keys that seal one call, 32 bytes each: what the page says and what the node says. */
export function callKeys(key: Uint8Array, { host, challenge, counter }: PageCall) {
  const of = (side: 'page' | 'node') => over(key, 'svc-console/call', side, host, challenge, counter)
  return { page: of('page'), node: of('node') }
}
/** Keys of 32 bytes, one for each direction of a call. */
export type CallKeys = ReturnType<typeof callKeys>

/** Compares in constant time. */
export const sameHex = (own: string, given: string): boolean => equalSecret(utf8(own), utf8(given))

/** Bytes of a key in hex; throws Malformed for anything but lower-case hex. */
export const keyFrom = (hex: string): Uint8Array => fromHex(hex, 'key')
