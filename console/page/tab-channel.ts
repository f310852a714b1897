/**
 * What tabs of one address tell each other, sealed with a key that the node gives to its pages alone: a document that
 * another program left at this address reads and forges nothing. What is older than some seconds counts for nothing.
 */
import { chachaOpen, chachaSeal, randomBytes } from '#crypto'
import { concat, fromUtf8, toHex, utf8 } from '../../protocol/encoding/bytes.ts'
import type { Peer, Tabs } from './peer.ts'

const NONCE_BYTES = 12
const LABEL = utf8('svc-console/tabs')
/** The tab that reads the stream says so every five seconds. */
export const FRESH_MS = 20_000
export const SAID_EVERY_MS = 5_000

/** This tab, which hears nothing of what it tells itself. */
const ME = toHex(randomBytes(NONCE_BYTES))

export class TabChannel<Told> implements Disposable {
  readonly #channel: BroadcastChannel
  readonly #peer: Pick<Peer, 'tabs'>
  #last: Promise<void> = Promise.resolve()

  constructor(name: string, peer: Pick<Peer, 'tabs'>, hear: (told: Told) => void) {
    this.#channel = new BroadcastChannel(name)
    this.#peer = peer
    this.#channel.onmessage = ({ data }: MessageEvent<unknown>) =>
      this.#inTurn(tabs => {
        const told = opened<Told>(data, tabs)
        if (told !== undefined) hear(told)
      })
  }

  tell(told: Told): void {
    this.#inTurn(({ key, now }) => {
      const nonce = randomBytes(NONCE_BYTES)
      const sealed = chachaSeal(key, nonce, LABEL, utf8(JSON.stringify({ at: now(), by: ME, told })))
      this.#channel.postMessage(concat(nonce, sealed))
    })
  }

  [Symbol.dispose](): void {
    this.#channel.onmessage = null
    // what was told leaves first
    void this.#last.then(() => this.#channel.close())
  }

  /** Without a node nobody tells anything. */
  #inTurn(then: (tabs: Tabs) => void): void {
    this.#last = this.#last.then(async () => {
      const tabs = await this.#peer.tabs().catch(() => undefined)
      if (tabs !== undefined) then(tabs)
    })
  }
}

function opened<Told>(data: unknown, { key, now }: Tabs): Told | undefined {
  if (!(data instanceof Uint8Array) || data.length < NONCE_BYTES) return undefined
  try {
    const plain = chachaOpen(key, data.subarray(0, NONCE_BYTES), LABEL, data.subarray(NONCE_BYTES))
    const { at, by, told } = JSON.parse(fromUtf8(plain)) as { at: number; by: string; told: Told }
    return by !== ME && Math.abs(now() - at) <= FRESH_MS ? told : undefined
  } catch {
    return undefined
  }
}
