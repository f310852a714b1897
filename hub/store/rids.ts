/**
 * Random identifiers of queued envelopes (hub API §4.1). One is the place of its envelope under a block cipher whose
 * key the store alone knows: to everybody else it is random, and the store finds the envelope without an index. An
 * index over random values would touch a page of its own for each envelope, which a flush then has to write.
 */
import { createCipheriv, createDecipheriv } from 'node:crypto'

export type EnvelopePlace = { mailbox: number; id: number }

const CIPHER = 'aes-128-ecb'
export const RID_KEY_BYTES = 16
/** Where a store keeps the key. */
export const RID_KEY_SETTING = 'rid_key'
const RID_BYTES = 16
const WORD_BYTES = 4
const WORD = 2 ** 32

/** Places and what they are called; both ways cost a microsecond. */
export class Rids {
  readonly #cipher: ReturnType<typeof createCipheriv>
  readonly #decipher: ReturnType<typeof createDecipheriv>
  readonly #block = new Uint8Array(RID_BYTES)
  readonly #fields = new DataView(this.#block.buffer)

  constructor(key: Uint8Array) {
    this.#cipher = createCipheriv(CIPHER, key, null).setAutoPadding(false)
    this.#decipher = createDecipheriv(CIPHER, key, null).setAutoPadding(false)
  }

  /** What an envelope at this place is called: 16 bytes. */
  of({ mailbox, id }: EnvelopePlace): Uint8Array {
    putInteger(this.#fields, 0, mailbox)
    putInteger(this.#fields, RID_BYTES / 2, id)
    const { buffer, byteOffset } = this.#cipher.update(this.#block)
    return new Uint8Array(buffer, byteOffset, RID_BYTES)
  }

  /** The place that is called so, whether or not an envelope is there; undefined for what names none. */
  placeOf(rid: Uint8Array): EnvelopePlace | undefined {
    if (rid.length !== RID_BYTES) return undefined
    const block = this.#decipher.update(rid)
    const view = new DataView(block.buffer, block.byteOffset, RID_BYTES)
    const place = { mailbox: integerAt(view, 0), id: integerAt(view, RID_BYTES / 2) }
    return Number.isSafeInteger(place.mailbox) && Number.isSafeInteger(place.id) ? place : undefined
  }
}

function putInteger(block: DataView, at: number, value: number): void {
  block.setUint32(at, Math.floor(value / WORD))
  block.setUint32(at + WORD_BYTES, value % WORD)
}

function integerAt(block: DataView, at: number): number {
  return block.getUint32(at) * WORD + block.getUint32(at + WORD_BYTES)
}
