/** Accounts of this identity at the home and at hubs that it left, and what they still owe it. */
import { Refused } from '../../protocol/contract/client.ts'
import { networkOf } from '../../protocol/proof/payment.ts'
import { shellWord } from '../../protocol/shell.ts'
import type { Timers } from '../../protocol/timers.ts'
import type { CurrentHub } from '../hubs/current.ts'
import type { HubClient } from '../hubs/hub.ts'
import type { Identity } from '../identity/identity.ts'
import type { Membership } from '../membership/membership.ts'
import { refuse } from '../refusal.ts'
import { hubAsked } from './hub-call.ts'

const ASKED_MS = 3000
const NO_HUB = 'this node is registered at no hub'

/** The hubs of which a user orders something: the home, and others where this identity has an account. */
export class OwnHubs {
  readonly #identity: Identity
  readonly #hub: CurrentHub
  readonly #membership: Pick<Membership, 'account' | 'accounts'>
  readonly #timers: Timers

  constructor(parts: {
    identity: Identity
    hub: CurrentHub
    membership: Pick<Membership, 'account' | 'accounts'>
    timers: Timers
  }) {
    this.#identity = parts.identity
    this.#hub = parts.hub
    this.#membership = parts.membership
    this.#timers = parts.timers
  }

  /** The home; after the end of the identity there is none, and it is said why. */
  home(): HubClient {
    this.#requireLiving()
    return this.#hub.home ?? refuse('no_hub', NO_HUB)
  }

  /** Where this identity has an account: the home, or the hub that is named. */
  async account(url: string | undefined): Promise<HubClient> {
    this.#requireLiving()
    const [identity, timers, membership] = [this.#identity, this.#timers, this.#membership]
    if (url !== undefined) return hubAsked({ identity, timers }, () => membership.account(url))
    if (this.#hub.home !== undefined) return this.#hub.home
    const [left] = membership.accounts()
    return left === undefined
      ? refuse('no_hub', NO_HUB)
      : refuse('no_hub', `${NO_HUB}; its account at ${left.url} is still there`, atHubStep('balance', left))
  }

  /** A hub that was left, whose credits are taken from there: the one that is named, or the only one. */
  async left(url: string | undefined): Promise<HubClient> {
    const { home } = this.#hub
    const left = this.#membership.accounts().filter(hub => hub.identity.aid !== home?.identity.aid)
    const [only, ...others] = left
    if (url === undefined && only !== undefined && others.length === 0) return only
    if (url === undefined && only !== undefined)
      return refuse(
        'bad_request',
        `this node has left ${left.length} hubs; say from which one: ${left.map(one => one.url).join(', ')}`,
        'svc balance --move <amount> --hub <url>',
      )
    const named = url === undefined ? undefined : await this.account(url)
    if (named === undefined || named.identity.aid === home?.identity.aid)
      return refuse(
        'bad_request',
        'credits are moved from a hub that this node left to its present one, and it left none',
        'svc balance',
      )
    return named
  }

  /** Where credits of a network are: the home, or the hub that was left; the home where no account is there. */
  ofNetwork(network: string): Promise<HubClient> {
    const hub = this.#membership.accounts().find(({ identity }) => networkOf(identity.aid) === network)
    return this.account(hub === this.#hub.last ? undefined : hub?.url)
  }

  #requireLiving(): void {
    if (this.#identity.log.deactivated) refuse('identity_deactivated', 'this identity is deactivated')
  }
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
    note: `${credits} credits remain there; they can still be paid with, redeemed or taken along`,
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
