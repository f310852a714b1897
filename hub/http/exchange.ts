/** One request on its way through the pipeline; a step fills in what it has found out. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { RouteRow } from '../../protocol/contract/route.ts'
import { Refusal } from '../core/refusal.ts'
import type { BodyRoom } from './body-room.ts'
import { header } from './headers.ts'
import { type Found, originForm, type Router, splitTarget } from './router.ts'

const NO_BODY = new Uint8Array(0)

/** What differs from line to line: names of routes, their rows, codes, and what is known of who signed. */
export type Kinds = {
  name: string
  row: RouteRow
  code: string
  signed: unknown
  /** One of the kinds of signer that the line has. */
  signer: { readonly kind: string }
}
export type Rows<K extends Kinds> = Readonly<Record<K['name'], K['row']>>

export class Exchange<K extends Kinds = Kinds> {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Path with query, as sent and as signed. */
  readonly target: string
  readonly queryText: string
  readonly found: Found<K['name']> | undefined
  readonly #rows: Rows<K>
  readonly #router: Router<K['name']>
  address = ''
  query: unknown
  bytes: Uint8Array = NO_BODY
  body: unknown
  /** What the request says of its signer, whether it is true or not. */
  signed: K['signed'] | undefined
  signer: K['signer'] | undefined
  /** The long member of the body, where its row has one. */
  lifted: unknown
  /** What the body holds while it comes in. */
  room: BodyRoom | undefined

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    { rows, router }: { rows: Rows<K>; router: Router<K['name']> },
  ) {
    this.request = request
    this.response = response
    this.#rows = rows
    this.#router = router
    this.target = originForm(request.url ?? '/')
    const { path, query } = splitTarget(this.target)
    this.queryText = query
    this.found = router.find(this.method, path)
  }

  /** HEAD is answered like GET; the runtime leaves out the body. */
  get method(): string {
    const { method = '' } = this.request
    return method === 'HEAD' ? 'GET' : method
  }

  get name(): K['name'] {
    return this.#known.name
  }

  get params(): Record<string, string> {
    return this.#known.params
  }

  get row(): K['row'] {
    return this.#rows[this.name]
  }

  get #known(): Found<K['name']> {
    if (this.found === undefined) throw new Refusal('resourceUnknown')
    return this.found
  }

  header(name: string): string | undefined {
    return header(this.request.headers, name)
  }

  /** Refuses a method that no route of the line has. */
  requireMethod(): void {
    if (!this.#router.methods.has(this.method)) throw new Refusal('resourceUnknown')
  }
}
