/** Accounts at hubs that this node left: which are still compared, and which of them refuse to show it theirs. */
import { Refused } from '../../protocol/contract/client.ts'
import { networkOf, SettlementReceipt } from '../../protocol/proof/payment.ts'
import type { CurrentHub } from '../hubs/current.ts'
import { noteRefusal, refusals } from '../store/hub-accounts.ts'
import type { Store } from '../store/open.ts'
import { endedPayments, openNetworks } from '../store/open-payments.ts'
import { owedBefore } from './account.ts'

type Previous = { identity: { aid: string }; url: string }

/** What was taken is compared for as long as a hub shows it. */
const TAKEN_MS = 14 * 86_400_000
/** The work may last as long as a hold. */
const WORK_MS = 31 * 86_400_000

/** Networks of hubs that are no home any more, where something is open, was taken lately, or was left. */
export function watchedNetworks(
  store: Store,
  hub: CurrentHub,
  { previous, nowMs }: { previous: readonly Previous[]; nowMs: number },
): string[] {
  const since = nowMs - TAKEN_MS
  const taken = endedPayments(store, since - WORK_MS).flatMap(({ network, endReceipt }) =>
    endReceipt !== null && SettlementReceipt.decode(endReceipt).body.settledAt >= since ? [network] : [],
  )
  const left = previous.map(({ identity: { aid } }) => aid).filter(aid => owedBefore(store, aid) > 0)
  const home = hub.last === undefined ? undefined : networkOf(hub.last.identity.aid)
  const all = new Set([...openNetworks(store), ...taken, ...left.map(networkOf)])
  return [...all].filter(network => network !== home)
}

/** A hub that shows the account, or does not answer, refuses nothing. */
export function noteAnswer(store: Store, { identity, url }: Previous, error?: unknown): void {
  if (error instanceof Refused) noteRefusal(store, identity.aid, { url, code: error.code })
  else if (error === undefined) noteRefusal(store, identity.aid, undefined)
}

/** Hubs that refused to show this node its account when they were asked last, with the code of that. */
export const refusingHubs = (store: Store): { url: string; code: string }[] => refusals(store)
