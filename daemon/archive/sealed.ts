/**
 * An archive file: one line that says what it is and how the key comes from the passphrase, then entries as one encrypted
 * stream. The line is the context of the encryption, so that no word of it can be changed. Whoever holds the file and not
 * the passphrase learns the line, the size, and nothing else; what is cut, altered or put together is refused.
 */
import { type BinaryLike, type ScryptOptions, scrypt } from 'node:crypto'
import * as fs from 'node:fs'
import * as z from 'zod'
import { PASSPHRASE_CHARACTERS_MIN } from '../../protocol/control/bounds.ts'
import { type ByteSource, decryptStream, encryptStream, SALT_BYTES } from '../../protocol/crypto/chunked.ts'
import { concat, fromBase64, toBase64, utf8 } from '../../protocol/encoding/bytes.ts'
import { Failure, systemCode } from '../../protocol/encoding/errors.ts'
import { fileFault, openRegular, SECRET_FILE_MODE } from '../platform/files.ts'

export const archiveKinds = ['backup', 'export'] as const
export type ArchiveKind = (typeof archiveKinds)[number]

/** What everybody can read of an archive. */
export type ArchiveHead = { kind: ArchiveKind; aid: string; madeAtMs: number; release: string }

/** A file of the archive: its path below the data directory. */
export type Entry = { path: string; size: number; bytes: ByteSource }

export class ArchiveRefused extends Failure {
  override name = 'ArchiveRefused'
}

/** 128 MiB and some tenths of a second for each guess. */
export const COST = { n: 2 ** 17, r: 8, p: 1 }
const COST_MAX = { n: 4 * COST.n, r: 4 * COST.r, p: 4 * COST.p }
/** Time and memory of opening an archive, against those of one that is written. */
const COST_TIMES_MAX = 4
const isBearable = ({ n, r, p }: { n: number; r: number; p: number }): boolean =>
  n * r * p <= COST_TIMES_MAX * COST.n * COST.r * COST.p
const KEY_BYTES = 32
const KDF_SALT_BYTES = 16
/** Base64 of so many bytes, without spare bits. */
const KDF_SALT = /^[A-Za-z0-9+/]{21}[AQgw]==$/
const HEAD_BYTES_MAX = 4096
const READ_BYTES = 256 * 1024
const LENGTH_BYTES = 8
const PATH_BYTES_MAX = 1024

const HeadLine = z
  .strictObject({
    svc_archive: z.literal(1),
    kind: z.enum(archiveKinds),
    aid: z.string().max(64),
    made_at: z.int().min(0),
    release: z.string().max(64),
    kdf: z.literal('scrypt'),
    n: z
      .int()
      .min(2)
      .max(COST_MAX.n)
      .refine(n => Number.isInteger(Math.log2(n)), { error: 'scrypt takes powers of two' }),
    r: z.int().min(1).max(COST_MAX.r),
    p: z.int().min(1).max(COST_MAX.p),
    salt: z.string().regex(KDF_SALT),
  })
  .refine(isBearable, { error: 'its passphrase costs more than four times what this release asks' })
type Head = z.infer<typeof HeadLine>

/** Writes an archive to a new file and waits until it is on the disk. */
export async function writeArchive(
  path: string,
  passphrase: string,
  { kind, aid, madeAtMs, release }: ArchiveHead,
  entries: Iterable<Entry>,
  { random, cost = COST }: { random: (length: number) => Uint8Array; cost?: typeof COST },
): Promise<void> {
  if (passphrase.length < PASSPHRASE_CHARACTERS_MIN)
    throw new ArchiveRefused(
      `the passphrase is too short; give at least ${PASSPHRASE_CHARACTERS_MIN} characters`,
    )
  const salt = toBase64(random(KDF_SALT_BYTES))
  const head: Head = { svc_archive: 1, kind, aid, made_at: madeAtMs, release, kdf: 'scrypt', ...cost, salt }
  const line = utf8(`${JSON.stringify(head)}\n`)
  const file = fs.openSync(path, 'wx', SECRET_FILE_MODE)
  try {
    fs.writeFileSync(file, line)
    const key = await keyOf(passphrase, head)
    for await (const piece of encryptStream(key, random(SALT_BYTES), line, plaintextOf(entries)))
      fs.writeFileSync(file, piece)
    fs.fsyncSync(file)
  } catch (error) {
    fs.rmSync(path, { force: true })
    throw error
  } finally {
    fs.closeSync(file)
  }
}

/** What an archive says of itself; its passphrase is not needed. */
export function readHead(path: string): ArchiveHead {
  const { kind, aid, made_at: madeAtMs, release } = headOf(path).head
  return { kind, aid, madeAtMs, release }
}

/** The entries of an archive in their order; each has to be read to its end before the next one is asked for. */
export async function* readArchive(path: string, passphrase: string): AsyncGenerator<Entry, void, undefined> {
  const { head, line } = headOf(path)
  const key = await keyOf(passphrase, head)
  yield* entriesOf(refusing(path, decryptStream(key, line, bytesOf(path, line.length))), path)
}

/** A stream whose faults are those of the file or of the passphrase, which look the same. */
async function* refusing(path: string, source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* source
  } catch (error) {
    throw systemCode(error) === undefined ? cannotBeOpened(path, error) : error
  }
}

const cannotBeOpened = (path: string, cause?: unknown) =>
  new ArchiveRefused(
    `${path} cannot be opened: the passphrase is another one, or the file is damaged; try another passphrase, or another copy of the file`,
    {
      cause,
    },
  )

function openArchive(path: string): number {
  try {
    return openRegular(path)
  } catch (error) {
    throw new ArchiveRefused(
      `${path} cannot be read: ${fileFault(error)}; give a file that svc backup or svc id export wrote`,
    )
  }
}

function headOf(path: string): { head: Head; line: Uint8Array } {
  const start = Buffer.alloc(HEAD_BYTES_MAX)
  const file = openArchive(path)
  const size = fs.readSync(file, start, 0, HEAD_BYTES_MAX, 0)
  fs.closeSync(file)
  const end = start.subarray(0, size).indexOf('\n')
  const parsed = end < 0 ? undefined : HeadLine.safeParse(jsonOf(start.toString('utf8', 0, end)))
  if (parsed?.success !== true)
    throw new ArchiveRefused(
      `${path} is no archive of svc that this release can read; give a file that svc backup or svc id export wrote`,
    )
  return { head: parsed.data, line: new Uint8Array(start.subarray(0, end + 1)) }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function keyOf(
  passphrase: string,
  { n, r, p, salt }: Pick<Head, 'n' | 'r' | 'p' | 'salt'>,
): Promise<Uint8Array> {
  const options: ScryptOptions = { N: n, r, p, maxmem: 128 * n * r + 32 * 1024 * 1024 }
  const words: BinaryLike = passphrase.normalize('NFC')
  return new Promise((resolve, reject) => {
    scrypt(words, fromBase64(salt), KEY_BYTES, options, (error, key) =>
      error === null ? resolve(new Uint8Array(key)) : reject(error),
    )
  })
}

/** Each entry as the length of its path, the path, the length of its bytes, the bytes; a path of no length ends them. */
async function* plaintextOf(entries: Iterable<Entry>): AsyncGenerator<Uint8Array, void, undefined> {
  for (const { path, size, bytes } of entries) {
    const name = utf8(path)
    yield concat(lengthBytes(name.length), name, lengthBytes(size))
    let sent = 0
    for await (const piece of bytes) {
      sent += piece.length
      yield piece
    }
    if (sent !== size) throw new ArchiveRefused(`${path} changed while it was being saved; try again`)
  }
  yield lengthBytes(0)
}

function lengthBytes(length: number): Uint8Array {
  const bytes = new Uint8Array(LENGTH_BYTES)
  new DataView(bytes.buffer).setBigUint64(0, BigInt(length))
  return bytes
}

async function* entriesOf(
  source: AsyncIterable<Uint8Array>,
  path: string,
): AsyncGenerator<Entry, void, undefined> {
  const reader = new Reader(source, path)
  for (;;) {
    const nameLength = await reader.length(PATH_BYTES_MAX)
    if (nameLength === 0) return reader.end()
    const name = Buffer.from(await reader.take(nameLength)).toString('utf8')
    const size = await reader.length(Number.MAX_SAFE_INTEGER)
    yield { path: name, size, bytes: reader.stream(size) }
  }
}

/** Takes given numbers of bytes from a stream. */
class Reader {
  #source: AsyncIterator<Uint8Array>
  #rest = new Uint8Array()
  #path: string

  constructor(source: AsyncIterable<Uint8Array>, path: string) {
    this.#path = path
    this.#source = source[Symbol.asyncIterator]()
  }

  async length(max: number): Promise<number> {
    const bytes = await this.take(LENGTH_BYTES)
    const length = new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0)
    if (length > BigInt(max)) throw cannotBeOpened(this.#path)
    return Number(length)
  }

  async take(count: number): Promise<Uint8Array> {
    const parts: Uint8Array[] = []
    for await (const part of this.stream(count)) parts.push(part.slice())
    return concat(...parts)
  }

  async *stream(count: number): AsyncGenerator<Uint8Array, void, undefined> {
    for (let left = count; left > 0; ) {
      if (this.#rest.length === 0) this.#rest = await this.#next()
      const part = this.#rest.subarray(0, left)
      this.#rest = this.#rest.subarray(part.length)
      left -= part.length
      yield part
    }
  }

  /** Nothing may follow, and the stream has to have its end. */
  async end(): Promise<void> {
    const { done } = this.#rest.length > 0 ? { done: false } : await this.#source.next()
    if (done !== true) throw cannotBeOpened(this.#path)
  }

  async #next(): Promise<Uint8Array<ArrayBuffer>> {
    const { done, value } = await this.#source.next()
    if (done === true) throw cannotBeOpened(this.#path)
    // the stream gives its buffer out again
    return new Uint8Array(value)
  }
}

/** The bytes of a file from `start` on. */
export async function* bytesOf(path: string, start = 0): AsyncGenerator<Uint8Array, void, undefined> {
  const file = openRegular(path)
  try {
    yield* bytesIn(file, start)
  } finally {
    fs.closeSync(file)
  }
}

/** Bytes of an open file. */
export async function* bytesIn(file: number, start = 0): AsyncGenerator<Uint8Array, void, undefined> {
  for (let at = start; ; ) {
    const buffer = new Uint8Array(READ_BYTES)
    const size = fs.readSync(file, buffer, 0, READ_BYTES, at)
    if (size === 0) return
    at += size
    yield buffer.subarray(0, size)
  }
}
