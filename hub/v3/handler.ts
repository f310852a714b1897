/** What a handler of wire 3 is given and what it returns. */
import type { IncomingHttpHeaders } from 'node:http'
import type { QueryOf, ReplyOf, RequestOf, RouteRow } from '../../protocol/contract/route.ts'
import type { Code } from '../../protocol/wire3/codes.ts'
import type { Wire3RouteName, Wire3Routes } from '../../protocol/wire3/routes.ts'
import type { Agent } from '../core/agents.ts'
import type { Peer } from '../core/federation/peers.ts'
import type { VerifySigner } from '../core/membership/registry.ts'
import type { BodySource } from '../http/body.ts'
import type { Streamed } from '../http/reply.ts'

/** A row of this line: the codes that it names are codes of wire 3. */
export type Wire3Row = RouteRow & {
  readonly itemCode?: Code
  readonly removed?: { readonly [member: string]: Code }
}

type SignerOf<R> = R extends { auth: 'signed' }
  ? R extends { signer: 'core' }
    ? undefined
    : R extends { signedBy: 'hub' }
      ? Peer
      : Agent
  : undefined

export type Incoming<N extends Wire3RouteName> = {
  params: Record<string, string>
  query: QueryOf<Wire3Routes[N]>
  body: RequestOf<Wire3Routes[N]>
  headers: IncomingHttpHeaders
  /** The client's address as far as it can be known. */
  address: string
  /** The signer, on signed routes whose signature is judged under the log held here. */
  signer: SignerOf<Wire3Routes[N]>
  /** Verifies the request's signature under a submitted log, where the core judges it. */
  verifySigner: VerifySigner
  /** Verifies the signature of a raw body once it was read, by the digest of the whole request. */
  verifyDigest: (digest: Uint8Array) => Promise<void>
  /** The unread body of a raw route, and its length where the client said it. */
  openBody: () => { source: BodySource; declared: number | undefined }
  /** How long the client would wait for its answer, on routes that may hold it. */
  waitSeconds: number
  /** Calls back once when the client has gone; returns how to stop listening. */
  onGone: (callback: () => void) => () => void
}

export type Handler<N extends Wire3RouteName> = (
  incoming: Incoming<N>,
) => Promise<ReplyOf<Wire3Routes[N]> | Streamed>
export type Handlers = { [N in Wire3RouteName]: Handler<N> }
/** Handlers of some of the routes. */
export type Part<N extends Wire3RouteName> = Pick<Handlers, N>
