/** Credits of this agent at its hub, as the hub tells them. */
import { Refused } from '../../protocol/contract/client.ts'
import { parseCid } from '../../protocol/crypto/hash.ts'
import { Malformed } from '../../protocol/encoding/bytes.ts'
import { shownLine } from '../../protocol/encoding/plain-text.ts'
import { present } from '../../protocol/encoding/present.ts'
import type { Context } from '../context.ts'
import type { HubClient } from '../hubs/hub.ts'
import { refuse } from '../refusal.ts'
import { paymentById } from '../store/payments.ts'
import { hubAsked } from './hub-call.ts'
import { paidState } from './payments.ts'

const ENTRIES_MAX = 20
const ASKED_MS = 3000

const REASONS = [
  'trial',
  'grant',
  'paid',
  'received',
  'held',
  'captured',
  'returned',
  'refund',
  'redemption',
  'moved',
] as const
/** Words of ours only: what a hub says else is `other`. */
const knownReason = (said: string) => REASONS.find(reason => reason === said) ?? ('other' as const)

/** Credits end with their identity, at every hub; where one does not say how many there are, nobody can know. */
export async function refuseWhileCreditsRemain(hubs: readonly HubClient[]): Promise<void> {
  const accounts = await Promise.all(hubs.map(async hub => ({ url: hub.url, credits: await creditsAt(hub) })))
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
export async function creditsAt(hub: Pick<HubClient, 'credits'>): Promise<number | undefined> {
  try {
    const { balance, held } = await hub.credits.account(1, AbortSignal.timeout(ASKED_MS))
    return balance + held
  } catch (error) {
    return error instanceof Refused && error.code === 'unknown_aid' ? 0 : undefined
  }
}

/** The bytes of a content id that a hub said; none where it is no content id. */
function cidOf(said: string): Uint8Array {
  try {
    return parseCid(said)
  } catch (error) {
    if (error instanceof Malformed) return new Uint8Array(0)
    throw error
  }
}

/** What became of a payment of a task of ours. */
function becameOf({ store }: Pick<Context, 'store'>, transaction: string) {
  const row = paymentById(store, cidOf(transaction))
  return row && paidState(row)
}

export async function balanceOf(ctx: Pick<Context, 'contacts' | 'identity' | 'store'>, hub: HubClient) {
  const account = await hubAsked(ctx.identity, signal => hub.credits.account(ENTRIES_MAX, signal))
  const { network, balance, held, probationUntilMs, trial, entries } = account
  return {
    hub: hub.identity.aid,
    network: shownLine(network),
    balance,
    held,
    ...present({ trial, probation_until: probationUntilMs }),
    entries: entries.map(({ atMs, delta, reason, transaction, counterparty }) => ({
      at: atMs,
      delta,
      reason: knownReason(reason),
      ...present({
        transaction: transaction && shownLine(transaction),
        payment: transaction === undefined ? undefined : becameOf(ctx, transaction),
        counterparty,
        contact: (counterparty && ctx.contacts.petnameOf(counterparty)) ?? undefined,
      }),
    })),
  }
}
