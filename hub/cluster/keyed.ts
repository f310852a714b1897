/** Names and sealed rows under keys of the hub's secret, so that the database alone tells nobody who did what. */
import { gcmOpen, gcmSeal, hkdfSha256, hmacSha256 } from '../../protocol/crypto/engine.node.ts'
import { concat, utf8 } from '../../protocol/encoding/bytes.ts'

const NAME_BYTES = 16
const NONCE_BYTES = 12

/** Keys of one purpose. */
export class Keyed {
  readonly #names: Uint8Array
  readonly #seals: Uint8Array

  constructor(secret: Uint8Array, purpose: string) {
    this.#names = hkdfSha256(secret, utf8(`svc-hub cluster ${purpose} names`))
    this.#seals = hkdfSha256(secret, utf8(`svc-hub cluster ${purpose} seals`))
  }

  /** 16 bytes that name something among things of a kind. */
  name(kind: string, of: Uint8Array | string): Uint8Array {
    return this.hash(kind, of).subarray(0, NAME_BYTES)
  }

  /** 32 bytes. */
  hash(kind: string, of: Uint8Array | string): Uint8Array {
    const bytes = typeof of === 'string' ? utf8(of) : of
    return hmacSha256(this.#names, concat(utf8(`${kind}\n`), bytes))
  }

  seal(bytes: Uint8Array, random: (count: number) => Uint8Array): Uint8Array {
    const nonce = random(NONCE_BYTES)
    return concat(nonce, gcmSeal(this.#seals, nonce, bytes))
  }

  open(sealed: Uint8Array): Uint8Array {
    return gcmOpen(this.#seals, sealed.subarray(0, NONCE_BYTES), sealed.subarray(NONCE_BYTES))
  }
}
