/**
 * Payloads of letters that the hub can read: short ones in memory, others in files as they come. They have room of their
 * own on the disk. Attacker: anybody, since nobody signs a send.
 */
import { createHash, type Hash } from 'node:crypto'
import { sha256 } from '../../../protocol/crypto/engine.node.ts'
import { concat, toHex } from '../../../protocol/encoding/bytes.ts'
import type { BlobWriter } from '../../store/blob-port.ts'
import { StoreFull } from '../../store/port.ts'
import type { HubContext } from '../context.ts'
import { INLINE_BYTES_MAX } from '../limits.ts'
import { Refusal, withoutRoom } from '../refusal.ts'

const MIB = 1024 * 1024
const NAME_BYTES = 16
const PIECE_BYTES = 192 * 1024
/** So much of the disk is left to sealed mail. */
const DISK_LEFT_BYTES = 256 * MIB
/** How many bytes may be written until the room is looked at once more. */
const LOOK_EVERY_BYTES = 16 * MIB

/** A payload that is here as a whole, with its SHA-256. */
export type Payload = {
  size: number
  digest: Uint8Array
  content: Uint8Array | undefined
  file: string | undefined
}

/** A payload that comes in pieces: either `end` or `abort` ends it. */
export type PayloadWriter = {
  take(bytes: Uint8Array): Promise<void>
  end(): Promise<Payload>
  abort(): Promise<void>
}

type FilesContext = Pick<HubContext, 'store' | 'openBlobs' | 'random' | 'limits'>

export class LetterFiles {
  readonly #context: FilesContext

  constructor(context: FilesContext) {
    this.#context = context
  }

  /** Takes a payload while it comes; what `take` and `end` throw where there is no room is a refusal. */
  writer(): PayloadWriter {
    return new Writing(this.#context)
  }

  /** A payload that is in memory, which is written to a file where it is long. */
  async keep(bytes: Uint8Array): Promise<Payload> {
    const writer = this.writer()
    try {
      await writer.take(bytes)
      return await writer.end()
    } catch (error) {
      await writer.abort()
      throw error
    }
  }

  /** Removes its file, unless a letter has it. */
  async drop({ file }: Pick<Payload, 'file'>): Promise<void> {
    const { store, openBlobs } = this.#context
    if (file === undefined || (await store.health()).broken) return
    await openBlobs.remove(await store.unusedOpenFiles([file]))
  }

  /** Its bytes in pieces; throws where the file has gone. */
  async *read({ content, file }: Pick<Payload, 'content' | 'file'>): AsyncGenerator<Uint8Array> {
    if (content !== undefined) yield content
    if (file === undefined) return
    const reader = await this.#context.openBlobs.open(file)
    if (reader === undefined) throw new Error('the file of a letter has gone')
    try {
      for (;;) {
        const piece = new Uint8Array(PIECE_BYTES)
        const length = await reader.fill(piece)
        if (length > 0) yield piece.subarray(0, length)
        if (length < PIECE_BYTES) return
      }
    } finally {
      await reader.close()
    }
  }

  /** All of it in memory; refuses more than so many bytes. */
  async whole(payload: Payload, limitBytes: number): Promise<Uint8Array> {
    if (payload.size > limitBytes) throw new Refusal('tooLarge', { limitBytes, part: 'payload' })
    const pieces: Uint8Array[] = []
    for await (const piece of this.read(payload)) pieces.push(piece)
    return concat(...pieces)
  }
}

/** What is short is kept until it is not. */
class Writing implements PayloadWriter {
  readonly #context: FilesContext
  readonly #hash: Hash = createHash('sha256')
  #held: Uint8Array[] = []
  #size = 0
  #lookAtBytes = 0
  #open: { file: string; writer: BlobWriter } | undefined

  constructor(context: FilesContext) {
    this.#context = context
  }

  async take(bytes: Uint8Array): Promise<void> {
    this.#size += bytes.length
    if (this.#size < INLINE_BYTES_MAX) {
      this.#held.push(bytes)
      return
    }
    await roomOrRefusal(async () => {
      await this.#look()
      this.#open ??= await this.#create()
      for (const piece of [...this.#held.splice(0), bytes]) {
        this.#hash.update(piece)
        await this.#open.writer.write(piece)
      }
    })
  }

  async end(): Promise<Payload> {
    if (this.#open === undefined) {
      const content = concat(...this.#held)
      return { size: content.length, digest: sha256(content), content, file: undefined }
    }
    const { file, writer } = this.#open
    await roomOrRefusal(() => writer.commit())
    return { size: this.#size, digest: this.#hash.digest(), content: undefined, file }
  }

  async abort(): Promise<void> {
    await this.#open?.writer.abort()
  }

  async #create(): Promise<{ file: string; writer: BlobWriter }> {
    const file = toHex(this.#context.random(NAME_BYTES))
    return { file, writer: await this.#context.openBlobs.create(file) }
  }

  /** Neither the room for open mail nor the disk is filled by what is on its way. */
  async #look(): Promise<void> {
    if (this.#size < this.#lookAtBytes) return
    this.#lookAtBytes = this.#size + LOOK_EVERY_BYTES
    const { store, limits } = this.#context
    const held = await store.openBytes()
    const room = await store.local?.room()
    const isShort = room !== undefined && room.disk < DISK_LEFT_BYTES
    if (isShort || held + this.#size > limits.openMailBytesMax) throw withoutRoom('more mail of this kind')
  }
}

async function roomOrRefusal<T>(write: () => Promise<T>): Promise<T> {
  try {
    return await write()
  } catch (error) {
    throw error instanceof StoreFull ? withoutRoom('more mail of this kind') : error
  }
}
