/**
 * `POST /console/call`: one call of a page, sealed with its key. A call that is larger than one body comes in several,
 * each answered with `more` until the last one. Whoever holds the connection can hold a call back for half a minute, or
 * end it; he reads, changes and repeats nothing.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import * as z from 'zod'
import { controlRoutes } from '../../protocol/control/operations.ts'
import { type Frame, FrameOpener } from '../../protocol/control/page-frames.ts'
import { Malformed } from '../../protocol/encoding/bytes.ts'
import { parseJson } from '../../protocol/encoding/json.ts'
import { refuse } from '../refusal.ts'
import type { Question, Reply } from './exchange.ts'
import { readBody } from './http.ts'
import type { PageSessions } from './page-sessions.ts'
import { SealedReply } from './sealed-reply.ts'

/** So long the next body of a call may take to begin. */
const NEXT_BODY_MS = 30_000
/** Calls that wait for their next body, of all pages. */
const WAITING_MAX = 32
/** The call was sealed too long ago, by the clock of this node; it was not carried out. */
const LATE = 408

type Serve = (question: Question, reply: Reply) => Promise<void>
type Name = { session: string; counter: number; frame: number }
/** A call whose next body is to come. */
type Waiting = {
  opener: FrameOpener
  reply: SealedReply
  go: (frames: Frame[]) => void
  end: (error: Error) => void
}

const Head = z.strictObject({ method: z.enum(['GET', 'POST']), target: z.string(), at: z.number() })

export class SealedCalls {
  readonly #pages: PageSessions
  readonly #serve: Serve
  readonly #waiting = new Map<string, Waiting>()

  constructor(pages: PageSessions, serve: Serve) {
    this.#pages = pages
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
    const keys = this.#pages.keysOf(name, (request.headers.host ?? '').toLowerCase())
    if (keys === undefined) return unknownPage()
    const opener = new FrameOpener(keys.page)
    const [first, ...frames] = opened(opener, await readBody(request, controlRoutes.consoleCall))
    if (first?.kind !== 'head' || !this.#pages.count(name)) return unknownPage()
    const { method, target, at } = Head.parse(parseJson(first.content))
    const reply = new SealedReply(keys.node, response)
    if (!this.#pages.isTimely(at)) return void reply.writeHead(LATE).end()
    const content = Readable.from(this.#contentOf(name, frames, { opener, reply }), { objectMode: false })
    // whoever reads it hears of it; a call that was refused before its end is read by nobody
    content.on('error', () => undefined)
    await this.#serve(Object.assign(content, { method, url: target, headers: {} }), reply)
  }

  async #goOn(name: Name, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const waiting = this.#waiting.get(keyOf(name))
    if (waiting?.opener.count !== name.frame) return unknownPage()
    this.#waiting.delete(keyOf(name))
    try {
      const frames = opened(waiting.opener, await readBody(request, controlRoutes.consoleCall))
      waiting.reply.answerIn(response)
      waiting.go(frames)
    } catch (error) {
      waiting.end(error as Error)
      throw error
    }
  }

  async *#contentOf(
    name: Name,
    first: Frame[],
    parts: Pick<Waiting, 'opener' | 'reply'>,
  ): AsyncGenerator<Uint8Array> {
    for (let frames = first; ; frames = await this.#next(name, parts))
      for (const { kind, content } of frames) {
        if (kind === 'end') return
        if (kind !== 'part') throw new Malformed('a call of the page has a frame that is none of a call')
        yield content
      }
  }

  #next(name: Name, parts: Pick<Waiting, 'opener' | 'reply'>): Promise<Frame[]> {
    const [oldest] = this.#waiting.values()
    if (this.#waiting.size >= WAITING_MAX)
      oldest?.end(new Malformed('too many calls wait for their next part'))
    const key = keyOf(name)
    return new Promise<Frame[]>((go, fail) => {
      const end = (error: Error) => {
        this.#waiting.delete(key)
        fail(error)
      }
      const timer = setTimeout(() => end(new Malformed('the page did not send the rest')), NEXT_BODY_MS)
      const stopped = <T>(then: (given: T) => void) => {
        return (given: T) => {
          clearTimeout(timer)
          then(given)
        }
      }
      this.#waiting.set(key, { ...parts, go: stopped(go), end: stopped(end) })
      parts.reply.askForMore()
    })
  }
}

const keyOf = ({ session, counter }: Name): string => `${session}.${counter}`

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
