/**
 * Pages of the console: each proves with its own key that it asks, and gets the proof that the node answers. What opens a
 * session is kept in memory; a page whose opening was forgotten opens again.
 */
import {
  isProven,
  NONCE_BYTES,
  nodeProof,
  pageKey,
  pageProof,
  readAuthorization,
  sameHex,
} from '../../protocol/control/page-key.ts'
import { toHex } from '../../protocol/encoding/bytes.ts'

/** More are not open at a time; the one that asked longest ago gives way. */
export const PAGES_MAX = 256
/** Requests of a page that may overtake each other. */
const WINDOW = 1024

type Page = { key: Uint8Array; challenge: string; highest: number; seen: Set<number> }
type Opening = { session: string; nonce: string; proof: string }

export class PageSessions {
  readonly #token: string
  readonly #random: (length: number) => Uint8Array
  readonly #pages = new Map<string, Page>()

  constructor(token: string, random: (length: number) => Uint8Array) {
    this.#token = token
    this.#random = random
  }

  /** A session with its key, for one page. */
  issue(): { session: string; key: Uint8Array } {
    const session = this.#nonce()
    return { session, key: pageKey(this.#token, session) }
  }

  /** Opens a session to who proves its key, as often as the page asks; undefined to anybody else. */
  open({ session, nonce, proof }: Opening, host: string): { challenge: string; proof: string } | undefined {
    const key = pageKey(this.#token, session)
    if (!sameHex(pageProof(key, { host, nonce }), proof)) return undefined
    const page = this.#pages.get(session) ?? { key, challenge: this.#nonce(), highest: 0, seen: new Set() }
    this.#keep(session, page)
    return { challenge: page.challenge, proof: nodeProof(key, { host, nonce }, page.challenge) }
  }

  /** The digest that the body of a proven request has; undefined where nothing is proven, or was before. */
  check(header: string, method: string, target: string): string | undefined {
    const claimed = readAuthorization(header)
    const page = claimed && this.#pages.get(claimed.session)
    if (page === undefined || claimed === undefined) return undefined
    const { counter, digest, proof, session } = claimed
    const { key, challenge } = page
    if (!isProven(key, { challenge, counter, method, target, digest }, proof)) return undefined
    if (!isNew(page, counter)) return undefined
    this.#keep(session, page)
    return digest
  }

  #keep(session: string, page: Page): void {
    this.#pages.delete(session)
    const [oldest] = this.#pages.keys()
    if (this.#pages.size >= PAGES_MAX && oldest !== undefined) this.#pages.delete(oldest)
    this.#pages.set(session, page)
  }

  #nonce(): string {
    return toHex(this.#random(NONCE_BYTES))
  }
}

/** Notes a counter; false where it stood there before, or lies so far back that nobody knows. */
function isNew(page: Page, counter: number): boolean {
  if (counter <= page.highest - WINDOW || page.seen.has(counter)) return false
  page.seen.add(counter)
  page.highest = Math.max(page.highest, counter)
  if (page.seen.size > 2 * WINDOW)
    for (const one of page.seen) if (one <= page.highest - WINDOW) page.seen.delete(one)
  return true
}
