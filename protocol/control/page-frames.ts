/**
 * What a page of the console and its node say to each other in one call, as sealed frames: whoever holds the connection
 * between them reads nothing, changes nothing and leaves nothing out unseen. A frame is the length of its sealed bytes
 * (4 bytes), then ChaCha20-Poly1305 over one byte of kind and its content. Its number is the nonce, and each direction
 * of each call has a key of its own ({@link callKeys}).
 */
import { chachaOpen, chachaSeal } from '#crypto'
import { concat, Malformed, u32be } from '../encoding/bytes.ts'

/** `more`: the request goes on in the next body. `alive`: nothing but that the node is at work. */
const KINDS = ['alive', 'head', 'part', 'end', 'more'] as const
/** Its place among the kinds is the first byte under the seal. */
export type FrameKind = (typeof KINDS)[number]
/** An opened frame; `content` has at most {@link FRAME_BYTES_MAX} bytes. */
export type Frame = { kind: FrameKind; content: Uint8Array }

/** Content of one frame at most. */
export const FRAME_BYTES_MAX = 64 * 1024
/** Content in one body of a call at most; more comes in several bodies. */
export const BODY_CONTENT_BYTES_MAX = 4 * FRAME_BYTES_MAX
const LENGTH_BYTES = 4
const KIND_BYTES = 1
const TAG_BYTES = 16
const SEALED_BYTES_MAX = KIND_BYTES + FRAME_BYTES_MAX + TAG_BYTES
const NONCE_PREFIX = new Uint8Array(8)
const NOTHING = new Uint8Array()

/** Seals frames in their order. */
export class FrameSealer {
  readonly #key: Uint8Array
  #count = 0

  constructor(key: Uint8Array) {
    this.#key = key
  }

  /** How many were sealed, which is the number of the next one. */
  get count(): number {
    return this.#count
  }

  seal(kind: FrameKind, content: Uint8Array = NOTHING): Uint8Array {
    const plain = concat(Uint8Array.of(KINDS.indexOf(kind)), content)
    const sealed = chachaSeal(this.#key, nonceOf(this.#count++), NOTHING, plain)
    return concat(u32be(sealed.length), sealed)
  }
}

/** Opens frames out of bytes that come in pieces of any size; throws {@link Malformed} at the first that is not next. */
export class FrameOpener {
  readonly #key: Uint8Array
  #count = 0
  #pending: Uint8Array = NOTHING

  constructor(key: Uint8Array) {
    this.#key = key
  }

  /** How many were opened, which is the number of the next one. */
  get count(): number {
    return this.#count
  }

  *open(bytes: Uint8Array): Generator<Frame> {
    this.#pending = this.#pending.length === 0 ? bytes : concat(this.#pending, bytes)
    for (let sealed = this.#next(); sealed !== undefined; sealed = this.#next()) {
      const plain = chachaOpen(this.#key, nonceOf(this.#count), NOTHING, sealed)
      const kind = KINDS[plain[0] ?? KINDS.length]
      if (kind === undefined) throw new Malformed('a frame of no known kind')
      this.#count += 1
      yield { kind, content: plain.subarray(KIND_BYTES) }
    }
  }

  #next(): Uint8Array | undefined {
    if (this.#pending.length < LENGTH_BYTES) return undefined
    const { buffer, byteOffset } = this.#pending
    const end = LENGTH_BYTES + new DataView(buffer, byteOffset).getUint32(0)
    if (end - LENGTH_BYTES > SEALED_BYTES_MAX) throw new Malformed('a frame is too long')
    if (this.#pending.length < end) return undefined
    const sealed = this.#pending.subarray(LENGTH_BYTES, end)
    this.#pending = this.#pending.subarray(end)
    return sealed
  }
}

const nonceOf = (number: number): Uint8Array => concat(NONCE_PREFIX, u32be(number))
