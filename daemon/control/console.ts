/**
 * `GET /console`: one page under a strict policy, and who gets a session of the node with it. The attackers are other users
 * of the machine, pages in the browser of this user, and whatever fetches addresses on behalf of somebody else.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { fileURLToPath } from 'node:url'
import { type Boot, bootMarks } from '../../protocol/control/console.ts'
import { maskedKey, sameHex, ticketProof } from '../../protocol/control/page-key.ts'
import { toBase64, toHex } from '../../protocol/encoding/bytes.ts'
import { type Config, controlHost, LOOPBACK_HOSTS } from '../home/config.ts'
import type { Settings } from '../home/settings.ts'
import { findFile } from '../platform/files.ts'
import { refuse } from '../refusal.ts'
import type { ControlAddress } from './address.ts'
import { type FreshHosts, isFreshHost } from './fresh-hosts.ts'
import { isLoopbackName, isOpenedAsPage } from './origin.ts'
import type { PageSessions } from './page-sessions.ts'
import { isLoopback, type PeerUser, peerUser } from './peer-user.ts'
import type { Tickets } from './tickets.ts'

export type ConsoleParts = {
  settings: Settings
  random: (length: number) => Uint8Array
  pages: PageSessions
  /** Name of the build of this node. */
  build: string
  tickets: Tickets
  /** Names under which the page is opened once each. */
  hosts: FreshHosts
  control: ControlAddress
  /** The built page, where this build has one. */
  page: () => string | undefined
  /** Whose the other end of a connection is. */
  whose?: typeof peerUser
}

/** Beside the built program; sources have none. */
const PAGE = fileURLToPath(new URL('console.html', import.meta.url))
const NONCE_BYTES = 16
const OTHER_USER =
  'this connection is that of another user of this machine, whose console this is not; run svc console as the user of the node'

export const builtPage = (): string | undefined => findFile(PAGE)?.toString('utf8')

const NOBODY = 'no program holds the other end of this connection any more; open the page anew'

const ELSEWHERE =
  'a link of svc console opens on the machine of the node alone; a tunnel leads there from elsewhere'

/** Somebody else answers at the other address of this machine, where a browser may look as well. */
export const ALONE =
  'another program has this port at the other loopback address of this machine, so the console stays closed; end it, or choose another control_addr, and restart the node'

/** Answers with the page; throws a refusal to another user of this machine. */
export async function serveConsole(
  parts: ConsoleParts,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const user = await requireOwn(parts, request)
  const boot = bootOf(parts, request, user)
  const elsewhere = 'key' in boot ? freshPlace(parts, request) : undefined
  if (elsewhere !== undefined) return void response.writeHead(302, { Location: elsewhere }).end()
  const page = parts.page()
  if (page === undefined) {
    const type = {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': "default-src 'none'",
    }
    const text =
      '<!doctype html><meta charset="utf-8"><title>svc</title><p>This build has no console. Use: svc help'
    response.writeHead(200, type).end(text)
    return
  }
  const nonce = toBase64(parts.random(NONCE_BYTES))
  const json = JSON.stringify(boot).replaceAll('<', '\\u003c')
  response
    .writeHead(200, {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': policyOf(nonce),
      'Referrer-Policy': 'no-referrer',
      'Cross-Origin-Opener-Policy': 'same-origin',
      'Cross-Origin-Resource-Policy': 'same-origin',
      'Permissions-Policy': 'camera=(), geolocation=(), microphone=()',
      'X-Frame-Options': 'DENY',
    })
    .end(page.replaceAll(bootMarks.nonce, nonce).replace(bootMarks.boot, () => json))
}

/** Where the page opens instead of an address under which somebody may have answered before; a tunnel has no other. */
function freshPlace(
  { settings, hosts, control }: ConsoleParts,
  request: IncomingMessage,
): string | undefined {
  const [name = '', port] = splitHost(request.headers.host)
  if (!opensFresh(settings.current) || hosts.isShown(name) || hosts.take(name)) return undefined
  const isOurs = isFreshHost(name) || isLoopbackName(name)
  return isOurs && port === splitHost(control.bound)[1]
    ? `http://${hosts.issue().name}:${port}/console`
    : undefined
}

const splitHost = (host = ''): string[] => /^(.*):(\d+)$/.exec(host)?.slice(1) ?? [host]

/** Elsewhere not every system finds names that end in `.localhost` on its own machine. */
const opensFresh = ({ console_fresh_host }: Config): boolean =>
  console_fresh_host ?? process.platform === 'linux'

/** The link that opens the page once. */
export async function consoleLink({
  settings,
  tickets,
  hosts,
  control,
}: Pick<ConsoleParts, 'settings' | 'tickets' | 'hosts' | 'control'>): Promise<{
  console_url: string
  expires_at: number
}> {
  if (control.isAlone) refuse('forbidden_origin', ALONE, 'svc doctor')
  const { name: ticket, expiresAt } = tickets.issue()
  const [name = '', port] = splitHost(control.bound)
  const isFresh = opensFresh(settings.current) && isLoopbackName(name)
  const place = isFresh ? `${hosts.issue().name}:${port}` : await newPlace(control)
  return { console_url: `http://${place}/console#t=${ticket}`, expires_at: expiresAt }
}

/** A new port where it can be had: under the one that lasts, another user may have answered while the node was stopped. */
const newPlace = async (control: ControlAddress): Promise<string> =>
  (await control.newPlace?.()) ?? hereOf(control)

/** One that a browser of this machine opens, whatever else the node listens on. */
export const consoleUrl = (control: Pick<ControlAddress, 'bound'>): string =>
  `http://${hereOf(control)}/console`

const hereOf = ({ bound }: Pick<ControlAddress, 'bound'>): string =>
  bound.replace(/^0\.0\.0\.0:/, '127.0.0.1:').replace(/^\[::\]:/, '[::1]:')

const policyOf = (nonce: string): string =>
  [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src 'nonce-${nonce}'`,
    "connect-src 'self'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ')

/** A session where the page may have one, else why it may not. */
function bootOf(parts: ConsoleParts, request: IncomingMessage, user: PeerUser): Boot {
  const config = parts.settings.current
  const boot = { build: parts.build }
  if (!LOOPBACK_HOSTS.includes(controlHost(config))) return { ...boot, lacks: 'loopback' }
  if (needsTicket(config)) return { ...boot, lacks: config.console_ticket === true ? 'wish' : 'ticket' }
  if (user === 'unknown') return { ...boot, lacks: 'user' }
  const [name = ''] = splitHost(request.headers.host)
  // under an address that lasts, somebody else may have answered and left a program that reads the page
  if (!opensFresh(config) && isLoopbackName(name)) return { ...boot, lacks: 'place' }
  // the page itself is loaded anew, also after it has changed its own address
  const mayBeReloaded = !opensFresh(config) || parts.hosts.isShown(name)
  if (!isOpenedAsPage(request, mayBeReloaded)) return { ...boot, lacks: 'browser' }
  const { session, key } = parts.pages.issue()
  return { ...boot, session, key: toHex(key) }
}

/** A node that runs programs for others has programs of its own user on this machine that are not to be trusted. */
function needsTicket({ console_ticket, auto_reply, modules }: Config): boolean {
  return console_ticket ?? (auto_reply?.backend === 'exec' || modules?.shell !== undefined)
}

/** Refuses who may be no page of this node's owner; whose the connection is otherwise. */
async function requireOwn(
  { control, whose = peerUser }: Pick<ConsoleParts, 'control' | 'whose'>,
  { socket }: IncomingMessage,
): Promise<PeerUser> {
  if (control.isAlone) refuse('forbidden_origin', ALONE, 'svc doctor')
  const user = await whose(socket)
  if (user === 'other') refuse('forbidden_origin', OTHER_USER)
  if (user === 'nobody') refuse('forbidden_origin', NOBODY)
  return user
}

type Trade = { ticket: string; nonce: string; proof: string }

/** Trades a ticket for a session; one that was spent, forged or is too old is refused. */
export async function tradeTicket(
  parts: Pick<ConsoleParts, 'tickets' | 'pages' | 'control' | 'whose'>,
  request: IncomingMessage,
  { ticket: name, nonce, proof }: Trade,
): Promise<{ session: string; masked_key: string }> {
  if (!isLoopback(request.socket.remoteAddress)) refuse('forbidden_origin', ELSEWHERE)
  await requireOwn(parts, request)
  const { tickets, pages } = parts
  const asked = { host: hostOf(request), nonce }
  const ticket = tickets.called(name)
  const isProven = ticket !== undefined && sameHex(ticketProof(ticket, asked), proof)
  if (!isProven || !tickets.take(ticket))
    refuse('unauthorized', 'this link was used before, or is older than a minute', 'svc console')
  const { session, key } = pages.issue()
  return { session, masked_key: toHex(maskedKey(ticket, asked, key)) }
}

type Opening = { session: string; nonce: string; proof: string }

/** Proves the node to a page that has proven itself. */
export async function openPage(
  parts: Pick<ConsoleParts, 'pages' | 'control' | 'whose'>,
  request: IncomingMessage,
  given: Opening,
): Promise<{ challenge: string; proof: string }> {
  await requireOwn(parts, request)
  return (
    parts.pages.open(given, hostOf(request)) ??
    refuse('unauthorized', 'this page is no longer let in; open it anew', 'svc console')
  )
}

const hostOf = ({ headers }: IncomingMessage): string => (headers.host ?? '').toLowerCase()
