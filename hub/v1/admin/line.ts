/**
 * The operator's surface of wire 1 (§4.9): its routes over the way of every request. The token is judged with the headers,
 * before a byte of a body is read. No page of another origin may ask, and nothing is remembered of who asked.
 */
import { buildInfo } from '../../../protocol/build-info.ts'
import type { RouteRow } from '../../../protocol/contract/route.ts'
import type { Failure } from '../../../protocol/wire1/failures.ts'
import { WIRE1, WIRE1_HEADER } from '../../../protocol/wire1/headers.ts'
import { type AdminRouteName, adminRoutesUnder } from '../../../protocol/wire1/routes/admin.ts'
import type { Hub } from '../../core/hub.ts'
import { Refusal } from '../../core/refusal.ts'
import type { Exchange } from '../../http/exchange.ts'
import type { Line } from '../../http/line.ts'
import { type Hooks, openLine } from '../../http/pipeline.ts'
import { type Streamed, textReply } from '../../http/reply.ts'
import type { Shares } from '../../http/shares.ts'
import { tooNew, Wire1Refusal } from '../refusals.ts'
import { Acts } from './acts.ts'
import { agentHandlers } from './agents.ts'
import { AdminGuard, type AdminTokens, weaknessOf } from './guard.ts'
import type { AdminParts, Part } from './handler.ts'
import { officialHandlers } from './official.ts'
import { adminPageHeaders } from './page.ts'
import { adminAnswer, adminTold } from './refusals.ts'
import { viewHandlers } from './views.ts'
import { visionHandlers } from './vision.ts'

type Admin = {
  name: AdminRouteName
  row: RouteRow
  code: Failure
  signed: undefined
  signer: { kind: never }
}

export type AdminOptions = {
  hub: Hub
  /** Path at which it stands. */
  base: string
  tokens: AdminTokens
  nameFault: (host: string | undefined) => string | undefined
  /** The built page; undefined where this build has none. */
  page: () => string | undefined
  onError: (id: string, error: unknown) => void
}

const everyAnswer = {
  [WIRE1_HEADER]: String(WIRE1),
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
}

/** The rows of the surface, for what its listener shares. */
export const adminRows = adminRoutesUnder

/** The surface over a hub. */
export function openAdminLine(options: AdminOptions, shares: Shares): Line {
  const { hub, nameFault, onError } = options
  return openLine<Admin>({ hooks: hooksOf(options), shares, context: hub.context, nameFault }, onError)
}

function hooksOf(options: AdminOptions): Hooks<Admin> {
  const { hub, tokens } = options
  const guard = new AdminGuard(tokens, () => hub.context.timers.monotonic())
  const acts = new Acts(hub.context)
  const parts: AdminParts = { hub, guard, acts, isWeak: weaknessOf(tokens.admin) !== undefined }
  return {
    rows: adminRoutesUnder(options.base),
    handlers: {
      ...frontHandlers(options, parts),
      ...agentHandlers(parts),
      ...officialHandlers(parts),
      ...viewHandlers(parts),
      ...visionHandlers(parts),
    },
    headers: everyAnswer,
    internal: 'failed',
    unmetered: true,
    speaks: () => true,
    checkVersion(exchange) {
      if (Number(exchange.header(WIRE1_HEADER) ?? 0) > WIRE1) throw tooNew()
    },
    checkHeaders: exchange => checkBearer(exchange, guard),
    signers: {},
    incoming: () => ({}),
    refusal: code => new Wire1Refusal(code, code),
    told: adminTold,
    namesCode: () => true,
    answer: adminAnswer,
  }
}

function checkBearer(exchange: Exchange<Admin>, guard: AdminGuard): void {
  if (exchange.row.auth !== 'bearer') return
  guard.checkBearer(exchange.header('authorization'), exchange.address, exchange.name === 'adminMonitor')
}

type FrontNames = 'adminHealthz' | 'adminPage' | 'adminFront' | 'adminLogin'

function frontHandlers({ hub, page }: AdminOptions, { guard, acts }: AdminParts): Part<FrontNames> {
  let sent: Streamed | undefined
  // read and hashed once: whoever asks for it shows no credential
  const shown = async () => {
    const document = sent === undefined ? page() : undefined
    if (document !== undefined)
      sent = textReply('text/html; charset=utf-8', document, adminPageHeaders(document))
    if (sent === undefined) throw new Refusal('resourceUnknown')
    return sent
  }
  return {
    async adminHealthz() {
      const { version, commit, builtAt } = buildInfo
      return { status: 'ok' as const, version, commit, built_at: builtAt }
    },
    adminPage: shown,
    adminFront: shown,
    async adminLogin({ body, address }) {
      guard.checkToken(body.token, address)
      await acts.note(address, 'login', '')
      return { status: 'ok' as const, hub: hub.context.identity.aid }
    },
  }
}
