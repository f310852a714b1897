/**
 * Whether the node is still who answers: another program may take its port while it is stopped. Whoever answers shows
 * with each new beginning that it holds the token, before the page says it.
 */
import { NodeGone, NodeRefused } from '../../view/door.ts'

const NONCE_BYTES = 16

const hex = (bytes: Uint8Array): string =>
  Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('')

export class Proof {
  readonly #token: string
  /** `host:port` as the node is bound to it. */
  readonly #address: string
  #isShown: boolean
  #asking: Promise<void> | undefined

  /** `isShown`: the page has just had the token from whoever answers. */
  constructor(token: string, address: string, isShown: boolean) {
    this.#token = token
    this.#address = address
    this.#isShown = isShown
  }

  /** The connection ended: who answers next may be another one. */
  lose(): void {
    this.#isShown = false
  }

  /** Resolves where the node answers; throws {@link NodeGone} where nobody or another program does. */
  async require(): Promise<void> {
    if (this.#isShown) return
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined
    })
    await this.#asking
  }

  async #ask(): Promise<void> {
    // a page over plain HTTP from another machine has no cryptography
    if (globalThis.crypto?.subtle === undefined)
      throw new NodeRefused(
        'unauthorized',
        'this page cannot tell whether the node answers; open it anew',
        'svc console',
      )
    const nonce = hex(crypto.getRandomValues(new Uint8Array(NONCE_BYTES)))
    const said = await this.#proofFor(nonce)
    const text = new TextEncoder()
    const algorithm = { name: 'HMAC', hash: 'SHA-256' }
    const key = await crypto.subtle.importKey('raw', text.encode(this.#token), algorithm, false, ['sign'])
    const own = await crypto.subtle.sign('HMAC', key, text.encode(`svc control\n${this.#address}\n${nonce}`))
    if (said !== hex(new Uint8Array(own)))
      throw new NodeGone(`another program answers at ${location.host}, not the node`, 'svc up')
    this.#isShown = true
  }

  async #proofFor(nonce: string): Promise<unknown> {
    try {
      const answer = await fetch(`/ping?nonce=${nonce}`, {
        credentials: 'omit',
        cache: 'no-store',
        redirect: 'error',
      })
      return ((await answer.json()) as { proof?: unknown }).proof
    } catch {
      throw new NodeGone(`no node answers at ${location.host}`, 'svc up')
    }
  }
}
