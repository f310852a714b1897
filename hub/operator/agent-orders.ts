/** Orders about agents: who is known here, whom the operator lets in, blocks or takes off. */
import { present } from '../../protocol/encoding/present.ts'
import type { Agent } from '../core/agents.ts'
import { leave, putBack, setAside } from '../core/membership/leaving.ts'
import type { RefusedLately } from '../core/membership/refused-lately.ts'
import type { KeptOut } from '../core/refusal.ts'
import { type Overview, StoreRefused } from '../store/port.ts'
import { creditsOf } from './credit-orders.ts'
import {
  LISTED_MAX,
  momentOf,
  type OperatorContext,
  type OrderOf,
  type OrderResult,
  quotaMembers,
} from './order-shapes.ts'

/** One page of those whom registry or operator know; the first also names who was refused lately. */
export async function agentPage(
  { after, limit = LISTED_MAX }: OrderOf<'agents'>,
  { store, refused }: OperatorContext,
): Promise<OrderResult> {
  const found = await store.overview({ afterAid: after ?? '', limit: limit + 1 })
  const shown = found.slice(0, limit)
  return {
    agents: shown.map(members),
    ...present({
      next: found.length > limit ? shown.at(-1)?.aid : undefined,
      refused_lately: after === undefined ? refused?.list().map(refusedMembers) : undefined,
    }),
  }
}

/** Everything that the operator may know of one AID. */
export async function showAgent({ aid }: OrderOf<'agent'>, context: OperatorContext): Promise<OrderResult> {
  const { agents, store, limits, refused } = context
  const agent = await agents.find(aid)
  const lately = refused?.of(aid)
  const { admitted, blocked, quota } = await store.account(aid)
  return {
    aid,
    registered: isRegistered(agent, blocked),
    admitted,
    blocked,
    ...(agent && profileMembers(agent)),
    ...(await waiting(aid, context)),
    credits: await creditsOf(aid, context),
    limits: quotaMembers(quota, limits),
    ...present({
      archived: (await store.archived(aid))?.reason,
      refused_lately: lately && refusedMembers(lately),
    }),
  }
}

/** Any 44 characters of the form are an AID to the hub: it has no check digits. */
const NOT_ASKED =
  'nobody with this AID has asked to register here lately; if its node is refused, compare it character by character'

export async function admit({ aid }: OrderOf<'admit'>, context: OperatorContext): Promise<OrderResult> {
  await context.store.admit(aid, true)
  const stands = await standing(aid, context)
  if (stands['blocked'] === true)
    return { ...stands, next: `it stays blocked; let it in again with: svc-hub unblock ${aid}` }
  if (stands['archived'] === true)
    return { ...stands, next: `it stays archived; bring it back with: svc-hub unarchive ${aid}` }
  const isKnown = stands['registered'] === true || context.refused?.of(aid) !== undefined
  return isKnown ? stands : { ...stands, note: NOT_ASKED }
}

export async function unadmit({ aid }: OrderOf<'unadmit'>, context: OperatorContext): Promise<OrderResult> {
  await context.store.admit(aid, false)
  return await standing(aid, context)
}

/** Shuts an agent out; what it published and its mail are kept for when it is unblocked. */
export async function block({ aid }: OrderOf<'block'>, context: OperatorContext): Promise<OrderResult> {
  await context.store.block(aid, true)
  if ((await context.agents.findRegistered(aid)) !== undefined)
    await context.endSigner(await setAside(context.agents, aid))
  const credits = await creditsOf(aid, context)
  const note =
    credits['balance'] === 0 && credits['held'] === 0
      ? undefined
      : 'its credits stay its own: it can still pay and redeem them'
  return { ...(await standing(aid, context)), ...(await waiting(aid, context)), ...present({ note }) }
}

export async function unblock({ aid }: OrderOf<'unblock'>, context: OperatorContext): Promise<OrderResult> {
  await context.store.block(aid, false)
  await putBack(context.agents, aid)
  return await standing(aid, context)
}

/** Takes an agent off with profile, keys and waiting mail, and admits it no longer. */
export async function remove({ aid }: OrderOf<'remove'>, context: OperatorContext): Promise<OrderResult> {
  const { admitted, blocked } = await context.store.account(aid)
  const isArchived = (await context.store.archived(aid)) !== undefined
  const isHere = isArchived || isRegistered(await context.agents.find(aid), blocked)
  if (!isHere && !admitted)
    throw new StoreRefused(`${aid} is neither registered nor admitted here; list who is with: svc-hub agents`)
  await context.store.admit(aid, false)
  if (!isHere) return { ...(await standing(aid, context)), dropped_envelopes: 0 }
  const { agent, dropped } = await leave(context.agents, aid)
  await context.endSigner(agent)
  return { ...(await standing(aid, context)), dropped_envelopes: dropped }
}

/** How an AID stands after an order. */
async function standing(aid: string, { agents, store, changed }: OperatorContext): Promise<OrderResult> {
  changed(aid)
  const { admitted, blocked } = await store.account(aid)
  const isArchived = (await store.archived(aid)) !== undefined
  return {
    ...{ aid, admitted, blocked, registered: isRegistered(await agents.find(aid), blocked) },
    ...present({ archived: isArchived || undefined }),
  }
}

/** One that is blocked stays registered to the operator: it is back once it is unblocked. */
function isRegistered(agent: Agent | undefined, blocked: boolean): boolean {
  if (agent?.row.registered === true) return true
  return blocked && agent?.row.keys !== undefined && !agent.log.deactivated
}

async function waiting(aid: string, { store }: OperatorContext): Promise<OrderResult> {
  const own = await store.overviewOf(aid)
  return { waiting_envelopes: own?.envelopes ?? 0, waiting_bytes: own?.bytes ?? 0 }
}

const members = (own: Overview): OrderResult => ({
  aid: own.aid,
  name: own.name,
  registered: own.registered,
  admitted: own.admitted,
  blocked: own.blocked,
  registered_on: own.registeredDayMs === 0 ? null : dayOf(own.registeredDayMs),
  last_seen: own.seenHourMs === 0 ? null : momentOf(own.seenHourMs),
  waiting_envelopes: own.envelopes,
})

function profileMembers({ row, log }: Agent): OrderResult {
  return {
    name: row.name,
    caps: row.caps,
    summary: row.summary,
    visibility: row.visibility,
    registered_on: dayOf(row.registeredDayMs),
    last_seen: row.seenHourMs === 0 ? null : momentOf(row.seenHourMs),
    probation_until: momentOf(row.probationUntilMs),
    key_events: log.seq + 1,
    deactivated: log.deactivated,
  }
}

const BECAUSE: Record<KeptOut, string> = {
  archived: 'the operator archived it',
  blocked: 'the operator blocks it',
  closed: 'admission is closed and it is not admitted',
  range: 'its address range is refused and it is not admitted',
}

const refusedMembers = ({ aid, reason, keptOut, atMs, times }: RefusedLately): OrderResult => ({
  aid,
  reason: reason.replaceAll(/[A-Z]/g, letter => `_${letter.toLowerCase()}`),
  ...present({ because: keptOut && BECAUSE[keptOut] }),
  at: momentOf(atMs),
  times,
})

const DAY_LENGTH = 10
const dayOf = (ms: number): string => momentOf(ms).slice(0, DAY_LENGTH)
