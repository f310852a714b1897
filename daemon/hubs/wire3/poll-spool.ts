/**
 * Reading the answer to a poll as it comes: envelopes are decoded on the way and large ones go to temporary files, so
 * that a mailbox full of 96 MiB envelopes never lies in memory. What is left is a small answer that names the spooled
 * envelopes by number and is then read as strictly as any other.
 */
import * as fs from 'node:fs'
import { join } from 'node:path'
import type { ByteSource } from '../../../protocol/crypto/chunked.ts'
import { Malformed } from '../../../protocol/encoding/bytes.ts'
import { SECRET_FILE_MODE } from '../../platform/files.ts'
import { noteStreamed } from '../../platform/stream-memory.ts'

/** Decoded bytes of all envelopes of one answer that are kept in memory. */
const MEMORY_BYTES_MAX = 4 * 1024 * 1024
/** Everything of the answer but its envelopes. */
const SKELETON_CHARACTERS_MAX = 1024 * 1024
const ENVELOPES_MAX = 1024
const READ_BYTES = 256 * 1024
const ENVELOPE_MEMBER = 'envelope'
const QUOTE = 0x22
const BACKSLASH = 0x5c
const BASE64URL = /^[A-Za-z0-9_-]*$/

type Spooled = { parts: Uint8Array[]; file: SpoolFile | undefined }
type SpoolFile = { readonly path: string; readonly descriptor: number; isOpen: boolean }

export class PollSpool {
  #folder: string
  #random: (length: number) => Uint8Array
  #spooled: Spooled[] = []
  #inMemory = 0

  constructor(folder: string, random: (length: number) => Uint8Array) {
    this.#folder = folder
    this.#random = random
  }

  /** Reads an answer; gives it back with every envelope replaced by its number. */
  async read(body: AsyncIterable<Uint8Array>): Promise<string> {
    const scanner = new Scanner(this)
    for await (const chunk of body) {
      scanner.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length))
      noteStreamed(chunk.length)
    }
    return scanner.finish()
  }

  /** Bytes of a spooled envelope; may be read once. */
  source(index: number): ByteSource {
    const spooled = this.#spooled[index]
    if (spooled === undefined) throw new Malformed('the poll answer names an envelope that it does not hold')
    const { file } = spooled
    if (file === undefined) return spooled.parts
    return readPieces(file.path)
  }

  /** Removes every temporary file of this answer. */
  discard(): void {
    for (const { file } of this.#spooled) {
      if (file === undefined) continue
      close(file)
      fs.rmSync(file.path, { force: true })
    }
    this.#spooled = []
  }

  begin(): number {
    if (this.#spooled.length >= ENVELOPES_MAX) throw new Malformed('the poll answer holds too many envelopes')
    return this.#spooled.push({ parts: [], file: undefined }) - 1
  }

  /** Takes in bytes; the caller may use their buffer again. */
  append(index: number, bytes: Uint8Array): void {
    const spooled = this.#spooled[index] as Spooled
    if (spooled.file === undefined && this.#inMemory + bytes.length > MEMORY_BYTES_MAX) {
      const path = join(this.#folder, `incoming-${Buffer.from(this.#random(12)).toString('hex')}`)
      spooled.file = { path, descriptor: fs.openSync(path, 'wx', SECRET_FILE_MODE), isOpen: true }
      for (const part of spooled.parts) fs.writeFileSync(spooled.file.descriptor, part)
      this.#inMemory -= spooled.parts.reduce((sum, part) => sum + part.length, 0)
      spooled.parts = []
    }
    if (spooled.file !== undefined) fs.writeFileSync(spooled.file.descriptor, bytes)
    else {
      spooled.parts.push(new Uint8Array(bytes))
      this.#inMemory += bytes.length
    }
  }

  end(index: number): void {
    const file = this.#spooled[index]?.file
    if (file !== undefined) close(file)
  }
}

function close(file: SpoolFile): void {
  // once only: the next file that is opened gets the same number
  if (file.isOpen) fs.closeSync(file.descriptor)
  file.isOpen = false
}

/** A file in pieces: the first, which its reader may keep, in a buffer of its own, all others in one. */
async function* readPieces(path: string): AsyncGenerator<Uint8Array, void, undefined> {
  const file = await fs.promises.open(path, 'r')
  try {
    let buffer = Buffer.alloc(READ_BYTES)
    for (let first = true; ; first = false) {
      const { bytesRead } = await file.read(buffer, 0, READ_BYTES, null)
      if (bytesRead === 0) return
      yield buffer.subarray(0, bytesRead)
      if (first) buffer = Buffer.alloc(READ_BYTES)
    }
  } finally {
    await file.close()
  }
}

/** Follows strings only: where an envelope's value begins and ends. Everything else is left to the strict reader. */
class Scanner {
  #spool: PollSpool
  #skeleton = ''
  /** `text`: outside strings · `string`: inside one · `envelope`: inside the value of an envelope. */
  #state: 'text' | 'string' | 'envelope' = 'text'
  #string = ''
  #lastString = ''
  #afterColon = false
  #escaped = false
  #index = 0
  #carry = ''
  #scratch: Buffer = Buffer.alloc(0)

  constructor(spool: PollSpool) {
    this.#spool = spool
  }

  push(chunk: Buffer): void {
    let offset = 0
    while (offset < chunk.length)
      offset = this.#state === 'envelope' ? this.#envelope(chunk, offset) : this.#plain(chunk, offset)
  }

  finish(): string {
    if (this.#state === 'envelope') throw new Malformed('the poll answer is cut short')
    return this.#skeleton
  }

  /** Characters outside envelopes, up to the start of the next envelope. */
  #plain(chunk: Buffer, from: number): number {
    let start = from
    for (let i = from; i < chunk.length; i++) {
      const byte = chunk[i] as number
      if (this.#state === 'string') this.#inString(byte)
      else if (byte === QUOTE) {
        if (this.#afterColon && this.#lastString === ENVELOPE_MEMBER) {
          this.#keep(chunk, start, i)
          this.#index = this.#spool.begin()
          this.#skeleton += `"${this.#index}`
          this.#state = 'envelope'
          this.#afterColon = false
          return i + 1
        }
        this.#state = 'string'
        this.#string = ''
        this.#afterColon = false
      } else if (byte === 0x3a) this.#afterColon = true
      else if (byte > 0x20) this.#afterColon = false
    }
    this.#keep(chunk, start, chunk.length)
    start = chunk.length
    return start
  }

  #inString(byte: number): void {
    if (this.#escaped) this.#escaped = false
    else if (byte === BACKSLASH) this.#escaped = true
    else if (byte === QUOTE) {
      this.#state = 'text'
      this.#lastString = this.#string
      return
    }
    if (this.#string.length <= ENVELOPE_MEMBER.length) this.#string += String.fromCharCode(byte)
  }

  #envelope(chunk: Buffer, from: number): number {
    const end = chunk.indexOf(QUOTE, from)
    const text = this.#carry + chunk.toString('latin1', from, end < 0 ? chunk.length : end)
    const whole = end < 0 ? text.length - (text.length % 4) : text.length
    const piece = text.slice(0, whole)
    if (!BASE64URL.test(piece)) throw new Malformed('an envelope of the poll answer is not base64url')
    this.#spool.append(this.#index, this.#decoded(piece))
    this.#carry = text.slice(whole)
    if (end < 0) return chunk.length
    this.#spool.end(this.#index)
    this.#skeleton += '"'
    this.#state = 'text'
    this.#lastString = ''
    this.#carry = ''
    return end + 1
  }

  /** The bytes of a piece, in a buffer that the next piece overwrites. */
  #decoded(piece: string): Uint8Array {
    if (this.#scratch.length < piece.length) this.#scratch = Buffer.alloc(piece.length)
    return this.#scratch.subarray(0, this.#scratch.write(piece, 'base64url'))
  }

  #keep(chunk: Buffer, from: number, to: number): void {
    this.#skeleton += chunk.toString('latin1', from, to)
    if (this.#skeleton.length > SKELETON_CHARACTERS_MAX) throw new Malformed('the poll answer is too large')
  }
}
