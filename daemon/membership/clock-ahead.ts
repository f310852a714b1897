/**
 * An identity that was made while the clock of its machine ran ahead: a hub takes no event from the future, and none
 * that follows could be earlier. One that nobody has seen is made anew; any other has to wait.
 */
import { isAhead } from '../../protocol/identity/kel-times.ts'
import type { Context } from '../context.ts'
import { datedAhead } from '../hubs/clocks.ts'
import { ClocksApart, type HubClient } from '../hubs/hub.ts'
import { wasRegistered } from '../store/hubs.ts'
import { keepLasting, lasting } from '../store/lasting.ts'
import { hasMessages } from '../store/messages.ts'

type Needs = Pick<Context, 'identity' | 'keys' | 'store' | 'chain' | 'log' | 'now'>

const SAID_FOR_MS = 7 * 86_400_000

/** Asks a hub whether it would take this identity, which is made anew first where it can't be taken for its time. */
export async function checkAdmission(ctx: Needs, hub: HubClient): Promise<void> {
  try {
    await hub.checkAdmission(ctx.identity.log)
  } catch (error) {
    if (error instanceof ClocksApart || !isDatedAhead(ctx, hub)) throw error
  }
  if (!isDatedAhead(ctx, hub)) return
  makeAnew(ctx, hub)
  await hub.checkAdmission(ctx.identity.log)
}

const timeAt = (ctx: Needs, hub: HubClient): number => Math.min(ctx.now(), hub.knownTimeMs ?? ctx.now())

const isDatedAhead = (ctx: Needs, hub: HubClient): boolean => isAhead(ctx.identity.log.ts, timeAt(ctx, hub))

function makeAnew(ctx: Needs, hub: HubClient): void {
  const { identity, keys, store, chain, log } = ctx
  const now = timeAt(ctx, hub)
  const isWitnessed = identity.log.events.some(event => event.witnesses.length > 0)
  if (isWitnessed || wasRegistered(store) || chain.length > 0 || hasMessages(store))
    throw datedAhead(identity.log.ts, now)
  const previous = identity.aid
  identity.renew(now)
  keys.startEpoch()
  keepLasting(store, { anewFrom: previous, anewAt: now })
  log.warn({ previous, aid: identity.aid }, 'the identity was made anew')
}

/** What the owner should know of an identity that was replaced lately. */
export function clockAheadWarning(ctx: Pick<Needs, 'identity' | 'store' | 'now'>): string | undefined {
  const previous = lasting(ctx.store, 'anewFrom')
  if (ctx.now() - (lasting(ctx.store, 'anewAt') ?? 0) > SAID_FOR_MS) return undefined
  return `this identity was made anew, because the clock of this machine ran ahead when it was first made and no hub had seen it; its AID is ${ctx.identity.aid}, no longer ${previous}`
}
