/**
 * `POST /console/call`: one call of a page, sealed with its key. A call that is larger than one body comes in several,
 * each answered with `more` until the last one. Whoever holds the connection can hold a call back for some seconds, or
 * end it; he reads, changes and repeats nothing.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import * as z from 'zod'
import { controlRoutes } from '../../protocol/control/operations.ts'
import { type Frame, FrameOpener } from '../../protocol/control/page-frames.ts'
import { TOO_LATE } from '../../protocol/control/page-key.ts'
import { Malformed } from '../../protocol/encoding/bytes.ts'
import { parseJson } from '../../protocol/encoding/json.ts'
import type { Timer, Timers } from '../../protocol/timers.ts'
import { refuse } from '../refusal.ts'
import type { Question, Reply } from './exchange.ts'
import { readBody, refusal, send } from './http.ts'
import type { PageSessions } from './page-sessions.ts'
import { SealedReply } from './sealed-reply.ts'

/** So long the next body of a call may take to begin, and one that began to come whole. */
const NEXT_BODY_MS = 30_000
const WHOLE_BODY_MS = 60_000
/** Calls that wait for their next body, of all pages. */
const WAITING_MAX = 32

type Serve = (question: Question, reply: Reply) => Promise<void>
type Name = { session: string; counter: number; frame: number }
type Parts = { opener: FrameOpener; reply: SealedReply }
/** A call whose next body is to come, or is coming. */
type Waiting = Parts & { wait(ms: number): void; go(frames: Frame[]): void; end(error: Error): void }

const Time = z.strictObject({ now: z.number(), up: z.number() })
/** The first frame of a call. */
const Head = z.strictObject({ method: z.enum(['GET', 'POST']), target: z.string(), at: Time })
/** The first frame of each further body. */
const Rest = z.strictObject({ at: Time })

export class SealedCalls {
  readonly #pages: PageSessions
  readonly #timers: Timers
  readonly #serve: Serve
  readonly #waiting = new Map<string, Waiting>()

  constructor(pages: PageSessions, timers: Timers, serve: Serve) {
    this.#pages = pages
    this.#timers = timers
    this.#serve = serve
  }

  /** Takes one body: a call, or the next part of one. Refuses what no open page has sealed. */
  async take(request: IncomingMessage, response: ServerResponse, query: unknown): Promise<void> {
    const read = controlRoutes.consoleCall.query.safeParse(query)
    if (!read.success) return unknownPage()
    const { session, call, frame } = read.data
    const name = { session, counter: Number(call), frame: Number(frame) }
    if (name.frame === 0) await this.#begin(name, request, response)
    else await this.#goOn(name, request, response)
  }

  async #begin(name: Name, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const call = this.#pages.call(name, (request.headers.host ?? '').toLowerCase())
    if (call === undefined) return unknownPage()
    const opener = new FrameOpener(call.keys.page)
    const body = await readBody(request, controlRoutes.consoleCall, this.#timers)
    const [first, ...frames] = opened(opener, body)
    if (first?.kind !== 'head' || !call.count()) return unknownPage()
    const now = () => this.#pages.time.now
    const reply = new SealedReply(call.keys.node, response, { now, timers: this.#timers })
    const head = headIn(Head, first)
    if (head === undefined || !isWhole(head.method, frames)) return tellMalformed(reply)
    const { method, target, at } = head
    if (!this.#pages.isTimely(at, body.length)) return void reply.writeHead(TOO_LATE).end()
    const content = Readable.from(this.#contentOf(name, frames, { opener, reply }), { objectMode: false })
    // whoever reads it hears of it; a call that was refused before its end is read by nobody
    content.on('error', () => undefined)
    await this.#serve(Object.assign(content, { method, url: target, headers: {} }), reply)
  }

  async #goOn(name: Name, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const waiting = this.#waiting.get(keyOf(name))
    if (waiting?.opener.count !== name.frame) return unknownPage()
    this.#waiting.delete(keyOf(name))
    waiting.wait(WHOLE_BODY_MS)
    try {
      const body = await readBody(request, controlRoutes.consoleCall, this.#timers)
      const [first, ...frames] = opened(waiting.opener, body)
      const head = first?.kind === 'head' ? headIn(Rest, first) : undefined
      waiting.reply.answerIn(response)
      if (head === undefined || !this.#pages.isTimely(head.at, body.length))
        waiting.end(new Malformed('a part of the call came too late, or has no time'))
      else waiting.go(frames)
    } catch (error) {
      waiting.end(error as Error)
      throw error
    }
  }

  async *#contentOf(name: Name, first: Frame[], parts: Parts): AsyncGenerator<Uint8Array> {
    for (let frames = first; ; frames = await this.#next(name, parts))
      for (const { kind, content } of frames) {
        if (kind === 'end') return
        if (kind !== 'part') throw new Malformed('a call of the page has a frame that is none of a call')
        yield content
      }
  }

  #next(name: Name, parts: Parts): Promise<Frame[]> {
    const [oldest] = this.#waiting.values()
    if (this.#waiting.size >= WAITING_MAX)
      oldest?.end(new Malformed('too many calls wait for their next part'))
    const key = keyOf(name)
    return new Promise<Frame[]>((resolve, reject) => {
      const timers = this.#timers
      let timer: Timer | undefined
      const end = (error: Error) => {
        timers.clear(timer)
        this.#waiting.delete(key)
        reject(error)
      }
      const wait = (ms: number) => {
        timers.clear(timer)
        timer = timers.after(ms, () => end(new Malformed('the page did not send the rest')))
      }
      const go = (frames: Frame[]) => {
        timers.clear(timer)
        resolve(frames)
      }
      this.#waiting.set(key, { ...parts, wait, go, end })
      wait(NEXT_BODY_MS)
      parts.reply.askForMore()
    })
  }
}

const keyOf = ({ session, counter }: Name): string => `${session}.${counter}`

/** A question has no content, and its end shows that nothing of it was left out. */
const isWhole = (method: string, frames: readonly Frame[]): boolean =>
  method !== 'GET' || (frames.length === 1 && frames[0]?.kind === 'end')

function headIn<T>(shape: z.ZodType<T>, { content }: Frame): T | undefined {
  try {
    return shape.safeParse(parseJson(content)).data
  } catch {
    return undefined
  }
}

const tellMalformed = (reply: Reply): void =>
  send(reply, 400, refusal('bad_request', 'the head of the call is none, or its end is missing'))

/** What anybody is told whose call this node can't open. */
function unknownPage(): never {
  return refuse('unauthorized', 'this page is not open here; load it anew', 'svc console')
}

function opened(opener: FrameOpener, body: Uint8Array): Frame[] {
  try {
    return [...opener.open(body)]
  } catch {
    return unknownPage()
  }
}
