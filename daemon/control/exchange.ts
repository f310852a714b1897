/** A question to the control interface and its answer, as they come over a connection or sealed within a call of a page. */
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http'
import type { Readable, Writable } from 'node:stream'

/** Of an incoming message, as much as an answer needs to know. */
export type Question = Readable & {
  method?: string | undefined
  /** Path and query. */
  url?: string | undefined
  headers: IncomingHttpHeaders
}

/** Of a response, as much as an answer is written with. */
export type Reply = Writable & {
  readonly headersSent: boolean
  writeHead(status: number, headers?: OutgoingHttpHeaders): Reply
}

export type Exchange = { question: Question; reply: Reply; url: URL }
