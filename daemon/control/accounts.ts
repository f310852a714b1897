/** Accounts of this identity at the home and at hubs that it left, and what they still owe it. */
import { Refused } from '../../protocol/contract/client.ts'
import { shellWord } from '../../protocol/shell.ts'
import type { Timers } from '../../protocol/timers.ts'
import type { Context } from '../context.ts'
import type { HubClient } from '../hubs/hub.ts'
import type { Membership } from '../membership/home.ts'
import { refuse } from '../refusal.ts'
import { hubAsked } from './hub-call.ts'

const ASKED_MS = 3000
const NO_HUB = 'this node is registered at no hub'

/** Where this identity has an account: the home, or the hub that is named. */
export async function accountHub(
  ctx: Pick<Context, 'identity' | 'hub' | 'timers'>,
  membership: Pick<Membership, 'account' | 'accounts'>,
  url: string | undefined,
): Promise<HubClient> {
  const { identity, hub } = ctx
  if (identity.log.deactivated) return refuse('identity_deactivated', 'this identity is deactivated')
  if (url !== undefined) return hubAsked(ctx, () => membership.account(url))
  if (hub.home !== undefined) return hub.home
  const [left] = membership.accounts()
  return left === undefined
    ? refuse('no_hub', NO_HUB)
    : refuse('no_hub', `${NO_HUB}; its account at ${left.url} is still there`, atHubStep('balance', left))
}

/** A command for the account at a hub that was left. */
const atHubStep = (command: string, { url }: HubClient): string => `svc ${command} --hub ${shellWord(url)}`

/** What a hub that was left still owes; undefined where it owes nothing, or does not say. */
export async function sayOwedBy(
  hub: HubClient,
  timers: Timers,
): Promise<{ note: string; next: string } | undefined> {
  const credits = await creditsAt(hub, timers)
  if (credits === undefined || credits === 0) return undefined
  return {
    note: `${credits} credits remain there; they can still be paid with and redeemed`,
    next: atHubStep(`redeem ${credits}`, hub),
  }
}

/** Credits end with their identity, at every hub; where one does not say how many there are, nobody can know. */
export async function refuseWhileCreditsRemain(hubs: readonly HubClient[], timers: Timers): Promise<void> {
  const accounts = await Promise.all(
    hubs.map(async hub => ({ url: hub.url, credits: await creditsAt(hub, timers) })),
  )
  const silent = accounts.find(({ credits }) => credits === undefined)
  const rich = accounts.filter(({ credits }) => credits !== undefined && credits > 0)
  const last = rich.pop()
  if (last !== undefined) {
    const there = [...rich, last].map(({ url, credits }) => `${credits} credits at ${url}`).join(', ')
    refuse('credits_remain', `${there} would be lost with the identity; spend them, or give them up`)
  }
  if (silent !== undefined)
    refuse(
      'credits_remain',
      `${silent.url} does not answer, and credits that are left there would be lost with the identity; try again once it does, or give them up`,
    )
}

/** What is owed and held there; 0 where the hub knows no such account, undefined where it does not say. */
async function creditsAt(hub: Pick<HubClient, 'credits'>, timers: Timers): Promise<number | undefined> {
  try {
    const { balance, held } = await hub.credits.account(1, timers.deadline(ASKED_MS))
    return balance + held
  } catch (error) {
    return error instanceof Refused && error.code === 'unknown_aid' ? 0 : undefined
  }
}
