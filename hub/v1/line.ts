/** What wire 1 has of its own on the way of a request: its version, challenges, failures, and pages of any origin. */
import type { IncomingMessage } from 'node:http'
import { module as board } from '#board'
import type { RouteRow } from '../../protocol/contract/route.ts'
import { fromBase64 } from '../../protocol/encoding/bytes.ts'
import type { VerifiedKel } from '../../protocol/identity/kel.ts'
import { type ChallengeMembers, challengeText } from '../../protocol/wire1/challenge.ts'
import type { Failure } from '../../protocol/wire1/failures.ts'
import { corsHeaders, WIRE1, WIRE1_HEADER } from '../../protocol/wire1/headers.ts'
import { taskRoutes } from '../../protocol/wire1/routes/tasks.ts'
import { type Wire1RouteName, wire1Routes } from '../../protocol/wire1/routes.ts'
import type { Agent } from '../core/agents.ts'
import type { Hub } from '../core/hub.ts'
import { Refusal } from '../core/refusal.ts'
import type { Exchange } from '../http/exchange.ts'
import { header } from '../http/headers.ts'
import type { Lifts } from '../http/lifted.ts'
import type { LineKind, LineOptions } from '../http/line.ts'
import { type Hooks, openLine } from '../http/pipeline.ts'
import { wrongAddress } from '../pages/people.ts'
import { accountHandlers } from './accounts.ts'
import { directoryHandlers } from './directory.ts'
import { checkFederated, fedHandlers } from './fed.ts'
import { gatewayHandlers } from './gateway.ts'
import { guestHandlers } from './guests.ts'
import type { Part } from './handler.ts'
import { paymentHandlers } from './payments.ts'
import { publicHandlers } from './public.ts'
import { refusalAnswer, refusalTold, tooNew, Wire1Refusal } from './refusals.ts'
import { registryHandlers } from './registry.ts'
import { relayHandlers } from './relay.ts'
import { reviewHandlers } from './reviews.ts'
import { supplyHandlers } from './supply.ts'

type Wire1 = {
  name: Wire1RouteName
  row: RouteRow
  code: Failure
  signed: undefined
  signer: { kind: 'agent'; agent: Agent }
}

const NO_CONTENT = 204
const everyAnswer = { [WIRE1_HEADER]: String(WIRE1), ...corsHeaders }

/** Those of this build: nothing is at the routes of a board that was left out. */
const rows = board === undefined ? withoutBoard() : wire1Routes

function withoutBoard(): typeof wire1Routes {
  const left = Object.entries(wire1Routes).filter(([name]) => !(name in taskRoutes))
  return Object.fromEntries(left) as typeof wire1Routes
}

/** Wire 1 over a hub. */
export const wire1: LineKind = {
  rows,
  open(options, shares) {
    const { hub, nameFault, onError } = options
    const line = openLine<Wire1>(
      {
        ...{ hooks: hooksOf(options), shares, context: hub.context, nameFault },
        lifts: hub.openMail.files as Lifts<unknown>,
      },
      onError,
    )
    return {
      ...line,
      async handle(request, response) {
        if (request.method !== 'OPTIONS') return await line.handle(request, response)
        response.writeHead(NO_CONTENT, everyAnswer).end()
        return { route: 'OPTIONS', code: undefined }
      },
    }
  },
}

function hooksOf(options: LineOptions): Hooks<Wire1> {
  const { hub, baseUrl, isAlone } = options
  return {
    rows,
    handlers: {
      ...accountHandlers(hub),
      ...directoryHandlers(hub),
      ...fedHandlers(hub),
      ...gatewayHandlers(hub, baseUrl),
      ...guestHandlers(hub, options),
      ...paymentHandlers(hub, isAlone),
      ...publicHandlers(hub, options),
      ...registryHandlers(hub),
      ...relayHandlers(hub),
      ...reviewHandlers(hub),
      ...supplyHandlers(hub, baseUrl),
      ...(board?.handlers(hub) as Part<keyof typeof taskRoutes>),
    },
    headers: everyAnswer,
    internal: 'failed',
    unmetered: true,
    speaks: request => versionOf(request) <= WIRE1,
    checkVersion(exchange) {
      if (versionOf(exchange.request) > WIRE1) throw tooNew()
      exchange.requireMethod()
    },
    checkHeaders: ({ name }) => checkFederated(hub, name),
    signers: {
      agent: { read: () => undefined, authenticate: exchange => authenticate(exchange, hub) },
    },
    incoming: exchange => ({
      signer: exchange.signer?.agent,
      verifySigner: (log: VerifiedKel) => hub.challenges.verify(challengeOf(exchange), log),
    }),
    wrongAddress,
    refusal: code => new Wire1Refusal(code, code),
    told: refusalTold,
    namesCode: () => true,
    answer: (told, row) => refusalAnswer(told, row?.errors),
  }
}

/** The version that a request declares; 0 where it declares none. */
function versionOf({ headers: given }: IncomingMessage): number {
  const declared = header(given, WIRE1_HEADER)
  return declared !== undefined && /^[0-9]+$/.test(declared) ? Number(declared) : 0
}

/** What a request says of its signer; the path names the agent where the body does not. */
function challengeOf({ row, params, body }: Exchange<Wire1>) {
  const members = body as ChallengeMembers
  const aid = params['aid'] ?? members.aid
  return {
    tsMs: members.ts,
    seq: members.key_state_seq,
    text: challengeText(row.action ?? '', aid, members.ts),
    signature: fromBase64(members.sig),
  }
}

/** Where the core has the log, it holds the challenge to that itself. */
async function authenticate(exchange: Exchange<Wire1>, hub: Hub): Promise<Wire1['signer'] | undefined> {
  const { aid: named } = exchange.body as Partial<ChallengeMembers>
  const { aid: inPath = named } = exchange.params
  if (named !== undefined && named !== inPath)
    throw new Refusal('requestMalformed', { why: 'aid is not the agent of this path' })
  const challenge = challengeOf(exchange)
  hub.challenges.checkTime(challenge)
  if (exchange.row.signer === 'core') return undefined
  await hub.agents.findUnder(inPath ?? '', challenge.seq)
  const isOfMail = exchange.row.action === 'poll' || exchange.row.action === 'ack'
  const found = await (isOfMail ? hub.openMail.findReader(inPath ?? '') : hub.openMail.find(inPath ?? ''))
  await hub.challenges.verify(challenge, found?.agent.log)
  if (found !== undefined && !(await hub.agents.isUnderSameKey(found.agent))) throw new Refusal('keyRetired')
  return found && { kind: 'agent', agent: found.agent }
}
