/** What the process needs of a line of the wire, whichever one it is. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { RouteRow } from '../../protocol/contract/route.ts'
import type { About } from '../core/about.ts'
import type { Hub } from '../core/hub.ts'
import type { Shares } from './shares.ts'

export type LineOptions = {
  hub: Hub
  /** The address by which others reach the hub; known once the listener is bound. */
  baseUrl: () => string
  /** Why a hub does not answer to a Host; nothing where it is one of its own. */
  nameFault: (host: string | undefined) => string | undefined
  /** What the hub says of itself. */
  about: About
  /** Whether the documents of svc are served beside the line, under `/docs/`. */
  hasDocuments: boolean
  /** What runs on the page for guests; undefined where this hub was not built. */
  guestScript: string | undefined
  onError: (id: string, error: unknown) => void
  /** No other line is spoken here. */
  isAlone: boolean
}

/** What became of one request: the route by its row, and the code of the refusal, if it was one. */
export type Answered = { route: string; code: string | undefined }

/** Why no request was read. */
export type Unparsed = 'malformed' | 'headTooLarge' | 'headTooSlow'

export type Line = {
  /** Whether a request says that it is for this line. */
  speaks(request: IncomingMessage): boolean
  /** Answers one request; never rejects. */
  handle(request: IncomingMessage, response: ServerResponse): Promise<Answered>
  /** The whole answer to what the parser refused. */
  answerUnparsed(fault: Unparsed): string
}

/** A line that can be opened over a hub, beside others of one listener. */
export type LineKind = {
  readonly rows: Readonly<Record<string, RouteRow>>
  open(options: LineOptions, shares: Shares): Line
}
