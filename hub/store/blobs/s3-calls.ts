/**
 * Calls of an S3-compatible store. Each is signed, has its time, and is made again where the store says that it failed or
 * says nothing; all of them may be made twice.
 */
import { createHash } from 'node:crypto'
import { AwsV4Signer } from 'aws4fetch'
import { connectionFault, Failure } from '../../../protocol/encoding/errors.ts'
import { sleep, type Timers } from '../../../protocol/timers.ts'
import { StoreAway, StoreFull } from '../port.ts'

export type S3Credentials = Pick<
  ConstructorParameters<typeof AwsV4Signer>[0],
  'accessKeyId' | 'secretAccessKey' | 'sessionToken'
>

export type S3Outside = { fetch: typeof fetch; timers: Timers; now: () => number }

export type S3Options = {
  /** Where the buckets are: `https://s3.example.org`. */
  endpoint: string
  region: string
  bucket: string
  /** What all names begin with, such as `hub/`; empty where the bucket is the hub's alone. */
  prefix: string
  /** Asked for each call, so that they may change. */
  credentials: () => S3Credentials
  callMs?: number
  pauseMs?: number
}

type Call = {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE'
  /** After the prefix; the bucket itself where there is none. */
  key?: string
  query?: Readonly<Record<string, string>>
  headers?: Readonly<Record<string, string>>
  body?: Uint8Array<ArrayBuffer>
}

export type S3Answer = { status: number; headers: Headers; text: string }

const CALL_MS = 60_000
const PAUSE_MS = 200
const ATTEMPTS_MAX = 4
const LATE_MAX = 1
/** Much less than that is said by any answer that is read whole. */
const ANSWER_BYTES_MAX = 4 * 1024 * 1024
const TOO_MANY = 429
const SERVER_FAULT = 500
const NO_SPACE = 507
const NOT_FOUND = 404
const CODE = /<Code>([A-Za-z0-9]+)<\/Code>/
/** The store says with these that it has no room for more. */
const FULL = new Set(['QuotaExceeded', 'InsufficientStorage', 'XMinioStorageFull', 'EntityTooLargeForQuota'])

/** A call that failed, and may be made again. */
class CallFailed extends Failure {
  override name = 'CallFailed'
}

/** It took all its time, so that whoever waits for it bears one more at most. */
class CallLate extends CallFailed {
  override name = 'CallLate'
}

export class S3Calls {
  readonly #options: S3Options
  readonly #outside: S3Outside
  /** Keys for signing, by day. */
  readonly #keys = new Map<string, ArrayBuffer>()

  constructor(options: S3Options, outside: S3Outside) {
    this.#options = options
    this.#outside = outside
  }

  /** The whole answer, of success or that there is none of this name. */
  async answer(call: Call): Promise<S3Answer> {
    return await this.#again(async () => {
      const { response, end } = await this.#send(call)
      try {
        const text = await this.inTime(textOf(response))
        // a store that found its fault late says it under a good status
        if (/<Error>/.test(text) && response.ok) throw new CallFailed(`it failed (${codeIn(text)})`)
        if (!response.ok && response.status !== NOT_FOUND) throw faultOf(response.status, text)
        return { status: response.status, headers: response.headers, text }
      } catch (error) {
        end()
        throw error instanceof Failure ? error : new CallFailed(connectionFault(error), { cause: error })
      }
    })
  }

  /** What is read while it comes; undefined where there is none. Whoever reads keeps to a time of his own. */
  async stream(
    key: string,
    headers: Readonly<Record<string, string>>,
  ): Promise<{ response: Response; end: () => void } | undefined> {
    return await this.#again(async () => {
      const sent = await this.#send({ method: 'GET', key, headers })
      const { response } = sent
      if (response.ok) return sent
      const text = await this.inTime(textOf(response)).finally(sent.end)
      if (response.status === NOT_FOUND) return undefined
      throw faultOf(response.status, text)
    })
  }

  /** Fails where it takes longer than any call may. */
  async inTime<T>(work: Promise<T>): Promise<T> {
    const { timers } = this.#outside
    const { promise: late, reject } = Promise.withResolvers<never>()
    const timer = timers.after(this.#callMs, () => reject(new CallLate('it did not answer in time')))
    try {
      return await Promise.race([work, late])
    } finally {
      timers.clear(timer)
    }
  }

  /** Makes it again where it failed, some times. */
  async #again<T>(call: () => Promise<T>): Promise<T> {
    let late = 0
    for (let attempt = 1; ; attempt++) {
      try {
        return await call()
      } catch (error) {
        if (!(error instanceof CallFailed)) throw error
        if (error instanceof CallLate) late += 1
        if (attempt === ATTEMPTS_MAX || late > LATE_MAX) throw away(error.message)
      }
      const { pauseMs = PAUSE_MS } = this.#options
      await sleep(this.#outside.timers, pauseMs * attempt)
    }
  }

  get #callMs(): number {
    return this.#options.callMs ?? CALL_MS
  }

  async #send(call: Call): Promise<{ response: Response; end: () => void }> {
    const signed = await this.#signed(call)
    const ended = new AbortController()
    const end = () => ended.abort()
    try {
      const asked = this.#outside.fetch(signed, { signal: ended.signal, redirect: 'manual' })
      return { response: await this.inTime(asked), end }
    } catch (error) {
      end()
      throw error instanceof CallFailed ? error : new CallFailed(connectionFault(error), { cause: error })
    }
  }

  async #signed({ method, key, query = {}, headers = {}, body }: Call): Promise<Request> {
    const { endpoint, region, bucket, prefix, credentials } = this.#options
    const url = new URL(
      `${endpoint.replace(/\/$/, '')}/${bucket}${key === undefined ? '' : `/${prefix}${key}`}`,
    )
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    // the store refuses contents that are not those that were signed
    const digest = createHash('sha256')
      .update(body ?? '')
      .digest('hex')
    const signer = new AwsV4Signer({
      ...credentials(),
      ...{ method, region, service: 's3', url: url.href, cache: this.#keys },
      headers: { ...headers, 'x-amz-content-sha256': digest },
      datetime: new Date(this.#outside.now()).toISOString().replace(/[:-]|\.\d{3}/g, ''),
    })
    const { headers: all } = await signer.sign()
    return new Request(url, { method, headers: all, body: body ?? null })
  }
}

const away = (why: string): StoreAway => new StoreAway(`the store of large mail is away: ${why}`)
const codeIn = (text: string): string => CODE.exec(text)?.[1] ?? 'no code'

function faultOf(status: number, text: string): Failure {
  const code = codeIn(text)
  if (status === NO_SPACE || FULL.has(code)) return new StoreFull(`the store of large mail is full (${code})`)
  if (status >= SERVER_FAULT || status === TOO_MANY) return new CallFailed(`it failed (${status} ${code})`)
  return away(`it refused a call (${status} ${code})`)
}

async function textOf(response: Response): Promise<string> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of response.body ?? []) {
    bytes += piece.length
    if (bytes > ANSWER_BYTES_MAX) throw new CallFailed('it said more than any answer has')
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}
