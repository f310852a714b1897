/**
 * Who may use the operator's surface (§5.2): whoever shows the token. Attacker: whoever reaches the listener and guesses;
 * a program that asks without a credential costs nothing and is not counted. Whoever runs on this machine may name any
 * address as a proxy would, so against those the length of the token holds.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import { addressBucket } from '../../core/address.ts'
import { makeRoom } from '../../core/bounded.ts'
import { Refusal } from '../../core/refusal.ts'
import { Wire1Refusal } from '../refusals.ts'

const MINUTE_MS = 60_000
/** Credentials that did not hold, of one address in a minute. */
export const FAILURES_PER_MINUTE = 20
/** Agents archived in a minute. */
export const DELETIONS_PER_MINUTE = 5
const ADDRESSES_MAX = 10_000
/** A token of fewer characters can be guessed. */
const TOKEN_CHARS_MIN = 16
const BEARER = /^Bearer +([^\s]+) *$/i

/** Tokens that stand in manuals, examples and lists of what people choose. */
const PUBLISHED: ReadonlySet<string> = new Set([
  ...['admin', 'admin-token', 'admin_token', 'admintoken', 'administrator', 'changeme', 'change-me'],
  ...['change_me', 'default', 'dev', 'dev-admin-token', 'dev-token', 'example', 'letmein', 'operator'],
  ...['password', 'secret', 'supersecret', 'svc', 'svc-admin', 'svc-admin-token', 'svc-hub', 'test'],
  ...['test-token', 'token', 'your-admin-token', 'your-token', 'your-token-here', '123456', '12345678'],
])

export type AdminTokens = {
  admin: string
  /** Opens the figures of official agents, and nothing else. */
  monitor: string
}

/** Why a token protects little; undefined for one that nobody knows. */
export function weaknessOf(token: string): string | undefined {
  if (PUBLISHED.has(token.toLowerCase())) return 'ADMIN_TOKEN is a value that was published'
  return token.length < TOKEN_CHARS_MIN
    ? `ADMIN_TOKEN has fewer than ${TOKEN_CHARS_MIN} characters`
    : undefined
}

/** Moments of the last minute, at most so many. */
class Recent {
  readonly #moments: number[] = []
  readonly #max: number

  constructor(max: number) {
    this.#max = max
  }

  /** Milliseconds until there is room for one more; 0 where there is. */
  waitMs(nowMs: number): number {
    while ((this.#moments[0] ?? nowMs) <= nowMs - MINUTE_MS) this.#moments.shift()
    return this.#moments.length < this.#max ? 0 : (this.#moments[0] ?? nowMs) + MINUTE_MS - nowMs
  }

  add(nowMs: number): void {
    this.#moments.push(nowMs)
  }
}

export class AdminGuard {
  readonly #admin: Buffer
  readonly #monitor: Buffer
  readonly #monotonic: () => number
  readonly #failures = new Map<string, Recent>()
  readonly #deletions = new Recent(DELETIONS_PER_MINUTE)

  constructor({ admin, monitor }: AdminTokens, monotonic: () => number) {
    this.#admin = digestOf(admin)
    this.#monitor = digestOf(monitor)
    this.#monotonic = monotonic
  }

  /** Lets a request by that shows the token as a bearer; with `forMonitor` the other one does as well. */
  checkBearer(header: string | undefined, address: string, forMonitor: boolean): void {
    if (header === undefined) throw unauthorized('this needs Authorization: Bearer and the ADMIN_TOKEN')
    this.#check(BEARER.exec(header)?.[1] ?? '', address, forMonitor)
  }

  /** Holds a token to the one of this hub. */
  checkToken(token: string, address: string): void {
    this.#check(token, address, false)
  }

  /** Takes one of the deletions of this minute. */
  takeDeletion(): void {
    const nowMs = this.#monotonic()
    const retryAfterMs = this.#deletions.waitMs(nowMs)
    if (retryAfterMs > 0)
      throw new Refusal('rateLimited', {
        retryAfterMs,
        why: `${DELETIONS_PER_MINUTE} agents were archived within a minute`,
      })
    this.#deletions.add(nowMs)
  }

  /** After too many failures nothing is compared, so that guessing on learns nothing. */
  #check(token: string, address: string, forMonitor: boolean): void {
    const nowMs = this.#monotonic()
    const of = addressBucket(address)
    const failures = this.#failures.get(of)
    const retryAfterMs = failures?.waitMs(nowMs) ?? 0
    if (retryAfterMs > 0)
      throw new Refusal('rateLimited', {
        retryAfterMs,
        why: `${FAILURES_PER_MINUTE} tokens of this address were wrong within a minute`,
      })
    const given = digestOf(token)
    const isAdmin = timingSafeEqual(given, this.#admin)
    const isMonitor = timingSafeEqual(given, this.#monitor)
    if (isAdmin || (isMonitor && forMonitor)) return
    this.#note(of, nowMs)
    throw unauthorized(
      isMonitor
        ? 'this token opens the figures of official agents alone; use the ADMIN_TOKEN'
        : 'the token is not that of this hub; look up its ADMIN_TOKEN',
    )
  }

  #note(of: string, nowMs: number): void {
    const held = this.#failures.get(of) ?? new Recent(FAILURES_PER_MINUTE)
    if (!this.#failures.has(of)) makeRoom(this.#failures, ADDRESSES_MAX)
    this.#failures.set(of, held)
    held.add(nowMs)
  }
}

/** Of one length, so that comparing tells nothing of the token's own. */
const digestOf = (token: string): Buffer => createHash('sha256').update(token).digest()

const unauthorized = (sentence: string): Wire1Refusal => new Wire1Refusal('unauthorized', sentence)
