/** What a handler of wire 1 is given and what it returns. */
import type { IncomingHttpHeaders } from 'node:http'
import type { QueryOf, ReplyOf, RequestOf } from '../../protocol/contract/route.ts'
import type { VerifiedKel } from '../../protocol/identity/kel.ts'
import type { Wire1RouteName, Wire1Routes } from '../../protocol/wire1/routes.ts'
import type { Agent } from '../core/agents.ts'
import type { Payload } from '../core/open-mail/letter-files.ts'
import type { Streamed } from '../http/reply.ts'

type SignerOf<R> = R extends { auth: 'signed' }
  ? R extends { signer: 'core' }
    ? undefined
    : Agent
  : undefined

export type Incoming<N extends Wire1RouteName> = {
  params: Record<string, string>
  headers: IncomingHttpHeaders
  query: QueryOf<Wire1Routes[N]>
  body: RequestOf<Wire1Routes[N]>
  /** The payload of the body; its own member is empty. */
  lifted: Wire1Routes[N] extends { streams: string } ? Payload : undefined
  /** The client's address as far as it can be known. */
  address: string
  /** The signer, on signed routes whose challenge is judged under the log held here. */
  signer: SignerOf<Wire1Routes[N]>
  /** Holds the challenge to a submitted log, where the core judges it. */
  verifySigner: (log: VerifiedKel) => Promise<void>
}

export type Handler<N extends Wire1RouteName> = (
  incoming: Incoming<N>,
) => Promise<ReplyOf<Wire1Routes[N]> | Streamed>
export type Handlers = { [N in Wire1RouteName]: Handler<N> }
/** Handlers of some of the routes. */
export type Part<N extends Wire1RouteName> = Pick<Handlers, N>
