/** What wire 3 has of its own on the way of a request: its versions, headers, signatures, codes and sentences. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { RouteRow } from '../../protocol/contract/route.ts'
import { authCodes, type Code, commonCodes } from '../../protocol/wire3/codes.ts'
import { headers, identityHeaders, versionedPrefixes, WIRE } from '../../protocol/wire3/headers.ts'
import { type Wire3RouteName, wire3Routes } from '../../protocol/wire3/routes.ts'
import type { Agent } from '../core/agents.ts'
import type { Acceptance } from '../core/clocks.ts'
import type { Hub } from '../core/hub.ts'
import { Refusal } from '../core/refusal.ts'
import type { Signer } from '../core/signer.ts'
import type { Exchange } from '../http/exchange.ts'
import { header } from '../http/headers.ts'
import type { LineKind, LineOptions } from '../http/line.ts'
import { type Hooks, openLine } from '../http/pipeline.ts'
import { wrongAddress } from '../pages/people.ts'
import {
  Authenticator,
  type RequestLine,
  readSignedHeaders,
  requireKeyOfHub,
  type SignedHeaders,
  unauthorized,
} from './auth.ts'
import type { Wire3Row } from './handler.ts'
import { handlersOf } from './handlers.ts'
import { refusalAnswer, refusalCode, refusedMembers, WireRefusal } from './refusals.ts'

type Wire3 = { name: Wire3RouteName; row: Wire3Row; code: Code; signed: SignedHeaders; signer: Signer }

/** Wire 3 over a hub. */
export const wire3: LineKind = {
  rows: wire3Routes,
  open: (options, shares) =>
    openLine<Wire3>(
      {
        hooks: hooksOf(options),
        shares,
        context: options.hub.context,
        nameFault: options.nameFault,
      },
      options.onError,
    ),
}

function hooksOf({ hub, baseUrl, about, hasDocuments }: LineOptions): Hooks<Wire3> {
  const { identity, now, verifier } = hub.context
  const authenticator = new Authenticator({ hub: identity.aid, clocks: hub.clocks, now, verifier })
  return {
    rows: wire3Routes,
    handlers: handlersOf(hub, baseUrl, { about, hasDocuments }),
    headers: { [headers.wire]: String(WIRE) },
    internal: 'internal',
    speaks: request => versionOf(request) >= WIRE,
    checkVersion,
    checkHeaders,
    signers: {
      agent: {
        read: ({ request }) => readSignedHeaders(request.headers),
        authenticate: exchange => authenticate(exchange, hub, authenticator),
      },
      hub: {
        read: ({ request }) => readPeer(request.headers, hub),
        authenticate: exchange => authenticatePeer(exchange, hub, authenticator),
      },
    },
    incoming: exchange => ({
      signer: exchange.signer?.kind === 'hub' ? exchange.signer.peer : exchange.signer?.agent,
      verifyDigest: (digest: Uint8Array) => verifyPeer(exchange, digest, authenticator),
      verifySigner: (log: Agent['log'], acceptance?: Acceptance) =>
        authenticator.verify(readSignedHeaders(exchange.request.headers), lineOf(exchange), log, acceptance),
    }),
    wrongAddress,
    refusal: code => new WireRefusal(code),
    told: refusalCode,
    namesCode,
    answer({ code, facts }, row, spread) {
      const answer = refusalAnswer(code, facts, baseUrl(), spread)
      return { ...answer, body: { ...answer.body, ...(row && refusedMembers(row, code, identity.aid)) } }
    },
  }
}

/** The version that a request declares; 0 where it declares none. */
function versionOf({ headers: given }: IncomingMessage): number {
  const declared = header(given, headers.wire)
  return declared !== undefined && /^[0-9]+$/.test(declared) ? Number(declared) : 0
}

/** Versions above are refused everywhere; below, none or no number where no browser reads (hub API §9). */
function checkVersion(exchange: Exchange<Wire3>): void {
  const version = versionOf(exchange.request)
  if (version > WIRE) throw new WireRefusal('wire_too_new')
  // nothing is there for it in any version
  exchange.requireMethod()
  const versioned = versionedPrefixes.some(prefix => exchange.target.startsWith(prefix))
  const readable = exchange.method === 'GET' && !versioned
  if (version < WIRE && !readable) throw new WireRefusal('wire_too_old')
}

function checkHeaders(exchange: Exchange<Wire3>): void {
  if (exchange.row.auth !== 'signed' && identityHeaders.some(name => exchange.header(name) !== undefined))
    throw new WireRefusal('identity_headers_not_allowed')
}

/** What a signature of this request covers. */
function lineOf({ row, target, bytes }: Exchange<Wire3>): RequestLine {
  const { method, action = '' } = row
  return { method, path: target, body: bytes, action }
}

async function authenticate(
  exchange: Exchange<Wire3>,
  hub: Hub,
  authenticator: Authenticator,
): Promise<Signer | undefined> {
  const { row, params, signed } = exchange
  if (signed === undefined || row.signer === 'core') return undefined
  if (params['aid'] !== undefined && params['aid'] !== signed.aid)
    throw unauthorized('the signer is not the agent of this path')
  const agent = await signerOf(row, signed, hub)
  if (agent === undefined) {
    if (row.unknownSigner === 'admission') await hub.registry.checkOpen(signed.aid)
    throw notRegistered()
  }
  const version = await authenticator.verify(signed, lineOf(exchange), agent.log)
  if (await hub.agents.isAsOf(agent, version)) return { kind: 'agent', agent }
  // the request is taken; what it was judged by has changed meanwhile
  const newest = await signerOf(row, signed, hub)
  if (newest === undefined) throw notRegistered()
  if (newest.log.seq !== agent.log.seq) throw new Refusal('keyRetired')
  return { kind: 'agent', agent: newest }
}

const notRegistered = () =>
  unauthorized('the signer is not registered here', 'register it again, or ask the operator')

/** Whoever is no peer is told so before its body is read. */
function readPeer(given: IncomingHttpHeaders, { context }: Hub): SignedHeaders {
  const signed = readSignedHeaders(given)
  if (context.peers.find(signed.aid) === undefined) throw new Refusal('notPeer')
  return signed
}

/** A body that is raw is not here yet: its handler verifies when it has read it. */
async function authenticatePeer(
  exchange: Exchange<Wire3>,
  { context, federation, clocks }: Hub,
  authenticator: Authenticator,
): Promise<Signer | undefined> {
  const { row, signed } = exchange
  const listed = signed && context.peers.find(signed.aid)
  if (signed === undefined || listed === undefined) throw new Refusal('notPeer')
  if (row.raw !== undefined) {
    const floorMs = await clocks.floor(listed.aid)
    return { kind: 'hub', peer: await federation.under(listed, signed.seq), floorMs }
  }
  const peer = await federation.under(listed, signed.seq)
  requireKeyOfHub(signed, peer)
  await authenticator.verify(signed, lineOf(exchange), peer.log)
  return { kind: 'hub', peer }
}

async function verifyPeer(
  { row, signed, signer }: Exchange<Wire3>,
  digest: Uint8Array,
  authenticator: Authenticator,
): Promise<void> {
  if (signed === undefined || signer?.kind !== 'hub') throw unauthorized('no hub signed it')
  requireKeyOfHub(signed, signer.peer)
  await authenticator.verifyDigest(signed, row.action ?? '', signer.peer.log, digest, {
    floorMs: signer.floorMs,
  })
}

/** An agent registered here now; of its account also one that has left and whose identity has not ended. */
async function signerOf(
  { signer }: Wire3Row,
  { aid, seq }: SignedHeaders,
  { agents }: Hub,
): Promise<Agent | undefined> {
  const agent = await agents.findUnder(aid, seq)
  if (signer !== 'account') return agent?.row.registered === true ? agent : undefined
  return agent?.log.deactivated === true ? undefined : agent
}

/** Whether a row, its kind of authentication or every route names a code. */
function namesCode(row: RouteRow, code: Code): boolean {
  const common: readonly string[] = commonCodes
  const ofAuth: readonly string[] = row.auth in authCodes ? authCodes[row.auth as keyof typeof authCodes] : []
  return row.codes.includes(code) || common.includes(code) || ofAuth.includes(code)
}
