/**
 * Pages of the console: each opens its session with a key of its own, and gets the proof that the node answers. From then
 * on both seal their calls. What opens a session is kept in memory; a page whose opening was forgotten opens again.
 */
import {
  type CallKeys,
  callKeys,
  isTimely,
  maskedTabs,
  NONCE_BYTES,
  type NodeOpening,
  type NodeTime,
  nodeProof,
  pageKey,
  pageProof,
  sameHex,
  tabsKey,
} from '../../protocol/control/page-key.ts'
import { toHex } from '../../protocol/encoding/bytes.ts'

/** More are not open at a time; the one that asked longest ago gives way. */
export const PAGES_MAX = 256
/** Calls of a page that may overtake each other. */
const WINDOW = 1024

type Page = { key: Uint8Array; challenge: string; highest: number; seen: Set<number> }
type Opening = { session: string; nonce: string; proof: string }
type NumberedCall = { session: string; counter: number }

export class PageSessions {
  readonly #token: string
  readonly #random: (length: number) => Uint8Array
  readonly #time: () => NodeTime
  readonly #pages = new Map<string, Page>()

  constructor(token: string, random: (length: number) => Uint8Array, time: () => NodeTime) {
    this.#token = token
    this.#random = random
    this.#time = time
  }

  /** A session with its key, for one page. */
  issue(): { session: string; key: Uint8Array } {
    const session = this.#nonce()
    return { session, key: pageKey(this.#token, session) }
  }

  /** Opens a session to who proves its key, as often as the page asks; undefined to anybody else. */
  open({ session, nonce, proof }: Opening, host: string): (NodeOpening & { proof: string }) | undefined {
    const key = pageKey(this.#token, session)
    if (!sameHex(pageProof(key, { host, nonce }), proof)) return undefined
    const page = this.#pages.get(session) ?? { key, challenge: this.#nonce(), highest: 0, seen: new Set() }
    this.#keep(session, page)
    const masked_tabs = toHex(maskedTabs(key, { host, nonce }, tabsKey(this.#token, host)))
    const opening = { challenge: page.challenge, masked_tabs, ...this.#time() }
    return { ...opening, proof: nodeProof(key, { host, nonce }, opening) }
  }

  /**
   * The keys of a call that a page may make; undefined where no such page is open, or that call was made before. `count`
   * counts it, once its first frame was opened; false where another one came first, or the page was forgotten meanwhile.
   */
  call({ session, counter }: NumberedCall, host: string): { keys: CallKeys; count(): boolean } | undefined {
    const page = this.#pages.get(session)
    if (page === undefined || wasSeen(page, counter)) return undefined
    const count = () => {
      if (this.#pages.get(session) !== page || wasSeen(page, counter)) return false
      note(page, counter)
      this.#keep(session, page)
      return true
    }
    return { keys: callKeys(page.key, { host, challenge: page.challenge, counter }), count }
  }

  /** Whether a body that was sealed then is still carried out. */
  isTimely(sealed: NodeTime, bytes: number): boolean {
    return isTimely(sealed, this.#time(), bytes)
  }

  /** What the clocks of this node say. */
  get time(): NodeTime {
    return this.#time()
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

/** Whether it was counted, or lies so far back that nobody knows. */
const wasSeen = ({ highest, seen }: Page, counter: number): boolean =>
  counter <= highest - WINDOW || seen.has(counter)

function note(page: Page, counter: number): void {
  page.seen.add(counter)
  page.highest = Math.max(page.highest, counter)
  if (page.seen.size > 2 * WINDOW)
    for (const one of page.seen) if (one <= page.highest - WINDOW) page.seen.delete(one)
}
