/** What a handler of wire 3 is given and what it returns. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { QueryOf, ReplyOf, RequestOf } from '../../protocol/contract/route.ts'
import type { VerifiedKel } from '../../protocol/identity/kel.ts'
import type { Wire3RouteName, Wire3Routes } from '../../protocol/wire3/routes.ts'
import type { Agent } from '../core/agents.ts'
import type { BodySource } from '../http/body.ts'

/** A reply that a handler writes by itself, after the headers that it names. */
export class Streamed {
  readonly headers: Record<string, string>
  readonly write: (response: ServerResponse) => Promise<void>
  constructor(headers: Record<string, string>, write: (response: ServerResponse) => Promise<void>) {
    this.headers = headers
    this.write = write
  }
}

export type Incoming<N extends Wire3RouteName> = {
  params: Record<string, string>
  query: QueryOf<Wire3Routes[N]>
  body: RequestOf<Wire3Routes[N]>
  headers: IncomingHttpHeaders
  /** The client's address as far as it can be known. */
  address: string
  /** The signer, on signed routes of registered agents. */
  signer: Wire3Routes[N] extends { auth: 'signed' } ? (N extends 'register' ? undefined : Agent) : undefined
  /** Verifies the request's signature under a submitted log; `/register` alone uses it. */
  verifySigner: (log: VerifiedKel) => Promise<void>
  /** The unread body of a raw route. */
  openBody: () => BodySource
  request: IncomingMessage
  /** Calls back once when the client has gone; returns how to stop listening. */
  onGone: (callback: () => void) => () => void
}

export type Handler<N extends Wire3RouteName> = (
  incoming: Incoming<N>,
) => Promise<ReplyOf<Wire3Routes[N]> | Streamed>
export type Handlers = { [N in Wire3RouteName]: Handler<N> }
/** Handlers of some of the routes. */
export type Part<N extends Wire3RouteName> = Pick<Handlers, N>
