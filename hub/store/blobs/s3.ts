/**
 * Large mail of one kind in a bucket of an S3-compatible store. It goes there in parts while it comes, at most one of them
 * in memory; a blob is there, and as long as what was written, before any row names it.
 */
import type { BlobPlace, BlobReader, Blobs, BlobWriter } from '../blob-port.ts'
import { StoreAway } from '../port.ts'
import { HeldBack } from './held-back.ts'
import { isName, ORPHAN_AGE_MS, refuseForeign } from './names.ts'
import { S3Calls, type S3Options, type S3Outside } from './s3-calls.ts'
import { listed, textIn, unended } from './s3-listing.ts'

/** Where a blob is longer than one part, it goes in many; the store takes 10,000 of them. */
const PART_BYTES = 8 * 1024 * 1024
const UPLOAD_ID = /<UploadId>([^<]*)<\/UploadId>/
/** An upload takes no longer; one that began before is nobody's. */
const UPLOAD_AGE_MS = 24 * 3_600_000
/** How often reading goes on after a connection was lost. */
const RESUMED_MAX = 4
const PARTIAL = 206
const NOT_FOUND = 404

export class BlobBucket implements Blobs {
  readonly #calls: S3Calls
  readonly #prefix: string
  readonly #folder: string
  readonly #going = new HeldBack(names => this.#delete(names))

  constructor(options: S3Options, place: BlobPlace, outside: S3Outside) {
    this.#calls = new S3Calls(options, outside)
    this.#prefix = options.prefix
    this.#folder = `${place.folder}/`
  }

  #keyOf(name: string): string {
    refuseForeign(name)
    return this.#folder + name
  }

  async create(name: string): Promise<BlobWriter> {
    return new BucketWriter(this.#calls, this.#keyOf(name))
  }

  async open(name: string): Promise<BlobReader | undefined> {
    return await BucketReader.open(this.#calls, this.#keyOf(name))
  }

  remove(names: string[]): Promise<void> {
    return this.#going.remove(names)
  }

  /** One that can't be removed now goes with the sweep of those that no row names. */
  async #delete(names: string[]): Promise<void> {
    for (const name of names)
      try {
        await this.#calls.answer({ method: 'DELETE', key: this.#keyOf(name) })
      } catch (error) {
        if (!(error instanceof StoreAway)) throw error
      }
  }

  async *names(): AsyncGenerator<string[]> {
    for await (const page of listed(this.#calls, this.#prefix, this.#folder))
      yield page.map(({ name }) => name).filter(isName)
  }

  async hold(): Promise<() => Promise<void>> {
    return this.#going.hold()
  }

  async collect(nowMs: number, unused: (names: string[]) => Promise<string[]>): Promise<number> {
    let removed = 0
    for await (const page of listed(this.#calls, this.#prefix, this.#folder)) {
      const old = page.filter(({ name, modifiedMs }) => isName(name) && nowMs - modifiedMs >= ORPHAN_AGE_MS)
      const gone = old.length === 0 ? [] : await unused(old.map(({ name }) => name))
      await this.remove(gone)
      removed += gone.length
    }
    await this.#endUploads(nowMs)
    return removed
  }

  /** Whoever began them is gone. Some stores list none of them; their operator has a rule for it. */
  async #endUploads(nowMs: number): Promise<void> {
    try {
      for (const { key, upload, beganMs } of await unended(this.#calls, this.#prefix, this.#folder))
        if (nowMs - beganMs >= UPLOAD_AGE_MS)
          await this.#calls.answer({ method: 'DELETE', key, query: { uploadId: upload } })
    } catch (error) {
      if (!(error instanceof StoreAway)) throw error
    }
  }
}

class BucketWriter implements BlobWriter {
  readonly #calls: S3Calls
  readonly #key: string
  readonly #tags: string[] = []
  #part = new Uint8Array(PART_BYTES / 8)
  #filled = 0
  #bytes = 0
  #upload: string | undefined

  constructor(calls: S3Calls, key: string) {
    this.#calls = calls
    this.#key = key
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      if (this.#filled === PART_BYTES) await this.#sendPart()
      const piece = bytes.subarray(at, at + PART_BYTES - this.#filled)
      this.#makeRoom(piece.length)
      this.#part.set(piece, this.#filled)
      this.#filled += piece.length
      at += piece.length
    }
    this.#bytes += bytes.length
  }

  #makeRoom(more: number): void {
    let length = this.#part.length
    while (length < this.#filled + more) length *= 2
    if (length === this.#part.length) return
    const larger = new Uint8Array(Math.min(length, PART_BYTES))
    larger.set(this.#part.subarray(0, this.#filled))
    this.#part = larger
  }

  async #sendPart(): Promise<void> {
    this.#upload ??= await this.#begin()
    const query = { partNumber: String(this.#tags.length + 1), uploadId: this.#upload }
    const body = this.#part.subarray(0, this.#filled)
    const { headers } = await this.#calls.answer({ method: 'PUT', key: this.#key, query, body })
    this.#tags.push(headers.get('etag') ?? '')
    this.#filled = 0
  }

  async #begin(): Promise<string> {
    const { text } = await this.#calls.answer({ method: 'POST', key: this.#key, query: { uploads: '' } })
    const upload = textIn(text, UPLOAD_ID)
    if (upload === undefined) throw new StoreAway('the store of large mail is away: it began no upload')
    return upload
  }

  async commit(): Promise<void> {
    if (this.#upload === undefined) {
      const body = this.#part.subarray(0, this.#filled)
      await this.#calls.answer({ method: 'PUT', key: this.#key, body })
    } else {
      if (this.#filled > 0) await this.#sendPart()
      await this.#complete(this.#upload)
    }
    await this.#check()
  }

  /** Where the answer was lost, what stands there tells whether it was ended. */
  async #complete(upload: string): Promise<void> {
    const parts = this.#tags.map(
      (tag, n) => `<Part><PartNumber>${n + 1}</PartNumber><ETag>${tag}</ETag></Part>`,
    )
    const body = new TextEncoder().encode(
      `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`,
    )
    try {
      await this.#calls.answer({ method: 'POST', key: this.#key, query: { uploadId: upload }, body })
    } catch (error) {
      if (!(error instanceof StoreAway) || (await this.#kept()) !== this.#bytes) throw error
    }
    this.#upload = undefined
  }

  async #check(): Promise<void> {
    const kept = await this.#kept()
    if (kept !== this.#bytes)
      throw new StoreAway(
        `the store of large mail is away: it kept ${kept ?? 'none'} of ${this.#bytes} bytes`,
      )
  }

  /** How many bytes stand there; undefined where there is no such blob. */
  async #kept(): Promise<number | undefined> {
    const { status, headers } = await this.#calls.answer({ method: 'HEAD', key: this.#key })
    return status === NOT_FOUND ? undefined : Number(headers.get('content-length'))
  }

  async abort(): Promise<void> {
    this.#filled = 0
    const upload = this.#upload
    this.#upload = undefined
    const query = upload === undefined ? {} : { uploadId: upload }
    try {
      await this.#calls.answer({ method: 'DELETE', key: this.#key, query })
    } catch (error) {
      // what stays goes with the sweeps
      if (!(error instanceof StoreAway)) throw error
    }
  }
}

type Source = AsyncIterator<Uint8Array>

/** Reads on where it was when a connection is lost, of the same blob. */
class BucketReader implements BlobReader {
  readonly #calls: S3Calls
  readonly #key: string
  readonly #tag: string
  readonly #bytes: number
  #source: Source
  #end: () => void
  #rest: Uint8Array = new Uint8Array(0)
  #read = 0
  #resumed = 0

  private constructor(
    calls: S3Calls,
    key: string,
    { response, end }: { response: Response; end: () => void },
  ) {
    this.#calls = calls
    this.#key = key
    this.#tag = response.headers.get('etag') ?? ''
    this.#bytes = Number(response.headers.get('content-length'))
    this.#source = sourceOf(response)
    this.#end = end
  }

  static async open(calls: S3Calls, key: string): Promise<BucketReader | undefined> {
    const sent = await calls.stream(key, {})
    return sent && new BucketReader(calls, key, sent)
  }

  async fill(piece: Uint8Array): Promise<number> {
    let length = 0
    while (length < piece.length && this.#read < this.#bytes) {
      if (this.#rest.length === 0) this.#rest = await this.#next()
      const taken = this.#rest.subarray(0, piece.length - length)
      piece.set(taken, length)
      this.#rest = this.#rest.subarray(taken.length)
      length += taken.length
      this.#read += taken.length
    }
    return length
  }

  async #next(): Promise<Uint8Array> {
    for (;;) {
      try {
        const { value, done } = await this.#calls.inTime(this.#source.next())
        if (done !== true) return value
      } catch {
        // cut, or silent for too long: it is asked for from here
      }
      await this.#resume()
    }
  }

  async #resume(): Promise<void> {
    this.#end()
    this.#resumed += 1
    if (this.#resumed > RESUMED_MAX)
      throw new StoreAway(`the store of large mail is away: it gave ${this.#read} of ${this.#bytes} bytes`)
    const headers = { range: `bytes=${this.#read}-`, 'if-match': this.#tag }
    const sent = await this.#calls.stream(this.#key, headers)
    const { status, headers: given } = sent?.response ?? {}
    if (sent === undefined || status !== PARTIAL || given?.get('etag') !== this.#tag) {
      sent?.end()
      throw new StoreAway('the store of large mail is away: a blob changed while it was read')
    }
    this.#source = sourceOf(sent.response)
    this.#end = sent.end
  }

  async close(): Promise<void> {
    this.#end()
    await this.#source.return?.().catch(() => undefined)
  }
}

const sourceOf = (response: Response): Source =>
  (response.body ?? new ReadableStream())[Symbol.asyncIterator]()
