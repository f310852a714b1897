/**
 * One typed client for every route table: fills the path, sends, and reads the reply as strictly as a server reads a
 * request. Network access comes in as `send`; a refusal, a foreign answer and a dead line are three different errors.
 */

import { fromUtf8, Malformed, utf8 } from '../encoding/bytes.ts'
import { Failure, Refusal } from '../encoding/errors.ts'
import { parseJson } from '../encoding/json.ts'
import {
  jsonWithText,
  type Lifting,
  liftTexts,
  type TextTaker,
  TooMuchBeside,
} from '../encoding/lifted-text.ts'
import { present } from '../encoding/present.ts'
import { fillPath, type ReplyOf, type RequestOf, type RouteRow } from './route.ts'

/** Bytes of a JSON reply that a client reads at most, where its row has no `replyBytes`. */
export const REPLY_BYTES_MAX = 16 * 1024 * 1024

/** One request over the network; what it throws where no answer comes, {@link call} throws too. */
export type Send = (request: {
  method: string
  url: string
  headers: Record<string, string>
  body?: Uint8Array | AsyncIterable<Uint8Array>
  signal?: AbortSignal
}) => Promise<Response>

/** The peer refused and said why: `code` is one of its table, `members` are the extra members of the body. */
export class Refused extends Refusal {
  override name = 'Refused'
  readonly status: number
  readonly members: Record<string, unknown>
  readonly retryAfterMs: number | undefined
  constructor(status: number, body: RefusalBody, retryAfterMs: number | undefined) {
    const { reason, error, ...members } = body
    super(reason, error)
    this.status = status
    this.members = members
    this.retryAfterMs = retryAfterMs
  }
}

/** An answer that is not of this table: a proxy's page, a broken body, a reply of another shape. */
export class ForeignAnswer extends Failure {
  override name = 'ForeignAnswer'
  readonly status: number
  /** The media type that it gave itself. */
  readonly type: string | undefined
  constructor(status: number, message: string, type?: string) {
    super(message)
    this.status = status
    this.type = type
  }
}

/** What a peer says where it refuses. */
export type RefusalBody = { reason: string; error: string; [member: string]: unknown }
/** A refusal in an answer; undefined where it is none of this interface. */
export type ReadRefusal = (status: number, json: unknown) => RefusalBody | undefined

/** `params` fill the `{name}` segments of the path; `body` is JSON, or bytes where the row is raw. */
export type Call<R extends RouteRow> = {
  baseUrl: string
  params?: Record<string, string>
  query?: Record<string, string>
  headers?: Record<string, string>
  signal?: AbortSignal
  /** The bytes of the member that its row streams, which `body` lacks. */
  streamed?: AsyncIterable<Uint8Array> | Iterable<Uint8Array>
  /** Sees every answer before it is read, for headers such as the wire version. */
  onResponse?: (response: Response) => void
  /** Reads a refusal; usual is one that names its `reason`. */
  readRefusal?: ReadRefusal
} & (R extends { request: unknown }
  ? {
      body: R extends { streams: infer M extends string }
        ? Omit<RequestOf<R>, M> & { [N in M]?: string }
        : RequestOf<R>
    }
  : { body?: Uint8Array | AsyncIterable<Uint8Array> })

/** Path with query of a call, as it is sent and as it is signed. */
export function callPath(
  row: RouteRow,
  call: { params?: Record<string, string>; query?: Record<string, string> },
) {
  const query = new URLSearchParams(call.query ?? {}).toString()
  const path = fillPath(row.path, call.params)
  return query === '' ? path : `${path}?${query}`
}

/** The body of a call as bytes, as it is sent and as it is signed. */
export function callBody(row: RouteRow, body: unknown): Uint8Array {
  if (row.request !== undefined) return utf8(JSON.stringify(body))
  return body instanceof Uint8Array ? body : new Uint8Array(0)
}

/** Calls a route. Throws {@link Refused}, {@link ForeignAnswer}, or whatever `send` throws when there is no answer. */
export async function call<R extends RouteRow>(row: R, send: Send, given: Call<R>): Promise<ReplyOf<R>> {
  const response = await responseOf(row, send, given)
  const bytes = await readReply(response, row.limits['replyBytes'] ?? REPLY_BYTES_MAX)
  return readAnswer(row, response, bytes, given.readRefusal)
}

function readAnswer<R extends RouteRow>(
  row: R,
  response: Response,
  bytes: Uint8Array,
  readRefusal: ReadRefusal | undefined,
): ReplyOf<R> {
  const json = parseReply(response, bytes)
  if (!response.ok) throw refusalOf(response, json, readRefusal)
  const reply = row.reply?.safeParse(json)
  if (reply === undefined) return undefined as ReplyOf<R>
  if (!reply.success)
    throw new ForeignAnswer(
      response.status,
      `the reply of ${row.path} does not have the expected members`,
      typeOf(response),
    )
  return reply.data as ReplyOf<R>
}

/**
 * The same where the reply has long texts, which are handed to takers while it comes and are empty in it. `replyBytes` of
 * the row bounds all else.
 */
export async function callLifting<R extends RouteRow>(
  row: R,
  send: Send,
  given: Call<R>,
  { open, ...of }: Pick<Lifting, 'member' | 'depth'> & { open: () => TextTaker },
): Promise<ReplyOf<R>> {
  const response = await responseOf(row, send, given)
  const restBytesMax = row.limits['replyBytes'] ?? REPLY_BYTES_MAX
  const bytes = await lifted(response, { ...of, restBytesMax }, open)
  return readAnswer(row, response, bytes, given.readRefusal)
}

async function lifted(response: Response, lifting: Lifting, open: () => TextTaker): Promise<Uint8Array> {
  try {
    return await liftTexts(piecesOf(response), lifting, open)
  } catch (error) {
    if (!(error instanceof Malformed)) throw error
    const said =
      error instanceof TooMuchBeside ? 'the reply is too large' : `the reply is malformed: ${error.message}`
    throw new ForeignAnswer(response.status, said)
  }
}

async function* piecesOf({ body }: Response): AsyncGenerator<Uint8Array> {
  for await (const piece of body ?? []) yield piece
}

/** The same for a route that answers with text. */
export async function callText<R extends RouteRow>(row: R, send: Send, given: Call<R>): Promise<string> {
  const response = await responseOf(row, send, given)
  const bytes = await readReply(response, row.limits['replyBytes'] ?? REPLY_BYTES_MAX)
  if (!response.ok) throw refusalOf(response, parseReply(response, bytes), given.readRefusal)
  try {
    return fromUtf8(bytes)
  } catch (error) {
    if (!(error instanceof Malformed)) throw error
    throw new ForeignAnswer(response.status, 'the reply is no text', typeOf(response))
  }
}

async function responseOf<R extends RouteRow>(row: R, send: Send, given: Call<R>): Promise<Response> {
  const response = await send({
    method: row.method,
    url: given.baseUrl.replace(/\/$/, '') + callPath(row, given),
    headers: { ...contentType(row), ...given.headers },
    ...present({ body: row.method === 'GET' ? undefined : bodyOf(row, given) }),
    ...present({ signal: given.signal }),
  })
  given.onResponse?.(response)
  return response
}

function contentType(row: RouteRow): Record<string, string> {
  return row.request === undefined ? {} : { 'Content-Type': 'application/json' }
}

function bodyOf(
  row: RouteRow,
  { body, streamed }: Pick<Call<RouteRow>, 'streamed'> & { body?: unknown },
): Uint8Array | AsyncIterable<Uint8Array> {
  if (row.streams !== undefined && streamed !== undefined)
    return jsonWithText(body as Record<string, unknown>, row.streams, streamed)
  return row.raw !== undefined && !(body instanceof Uint8Array)
    ? (body as AsyncIterable<Uint8Array>)
    : callBody(row, body)
}

/** Reads no further than a reply may be long, so that a peer cannot fill this machine's memory. */
async function readReply(response: Response, bytesMax: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  let length = 0
  for await (const part of response.body ?? []) {
    length += part.length
    if (length > bytesMax) throw new ForeignAnswer(response.status, 'the reply is too large')
    parts.push(part)
  }
  const whole = new Uint8Array(length)
  let offset = 0
  for (const part of parts) {
    whole.set(part, offset)
    offset += part.length
  }
  return whole
}

/** Bad gateway, service unavailable, gateway timeout. */
const OF_PROXY = new Set([502, 503, 504])
const MEDIA_TYPE = /^[\w.+-]{1,40}\/[\w.+-]{1,80}/

const typeOf = (response: Response) => MEDIA_TYPE.exec(response.headers.get('Content-Type') ?? '')?.[0]

function parseReply(response: Response, bytes: Uint8Array): unknown {
  try {
    return parseJson(bytes)
  } catch (error) {
    if (!(error instanceof Malformed)) throw error
    const { status } = response
    const said = OF_PROXY.has(status)
      ? `a proxy answered (HTTP ${status}): what stands behind it does not run, or is too slow`
      : `the answer (HTTP ${status}) is not strict JSON: ${error.message}`
    throw new ForeignAnswer(status, said, typeOf(response))
  }
}

const withReason: ReadRefusal = (_, json) => {
  const body = json as { reason?: unknown; error?: unknown } | null
  return typeof body?.reason === 'string' && typeof body.error === 'string'
    ? (body as RefusalBody)
    : undefined
}

function refusalOf(response: Response, json: unknown, read = withReason): Refused | ForeignAnswer {
  const body = read(response.status, json)
  if (body === undefined) {
    return new ForeignAnswer(
      response.status,
      `the answer (HTTP ${response.status}) is not a refusal of this interface`,
      typeOf(response),
    )
  }
  const seconds = response.headers.get('Retry-After') ?? ''
  const retryAfterMs = /^[0-9]{1,9}$/.test(seconds) ? Number(seconds) * 1000 : undefined
  return new Refused(response.status, body, retryAfterMs)
}
