/** Accounts of agents with open mail, which anybody may read: balance, entries, redemptions. */
import { cidText } from '../../protocol/crypto/hash.ts'
import { toBase64 } from '../../protocol/encoding/bytes.ts'
import { networkOf } from '../../protocol/proof/payment.ts'
import { LEDGER_LIMIT_DEFAULT, LEDGER_LIMIT_MAX } from '../../protocol/wire1/routes/credits.ts'
import type { Hub } from '../core/hub.ts'
import type { Settled } from '../core/ledger/settlements.ts'
import { Refusal } from '../core/refusal.ts'
import type { Part } from './handler.ts'

const REDEMPTIONS_MAX = 100
const NOTE =
  'The newest entries, the newest first. total and sum count every entry of this account, those that are not shown as well.'

export function accountHandlers(hub: Hub): Part<'balance' | 'ledger' | 'redemptions'> {
  const { agents, credits, statements } = hub
  const network = networkOf(hub.context.identity.aid)
  /** An account outlives the registration of its agent. */
  const account = async (aid = '') => {
    if ((await agents.find(aid))?.row.mail !== 'open') throw new Refusal('unknownAgent')
    return aid
  }
  return {
    async balance({ params }) {
      const aid = await account(params['aid'])
      return { aid, network, ...(await credits.balance(aid)) }
    },
    async ledger({ params, query }) {
      const aid = await account(params['aid'])
      const { entries, total, sum } = await statements.newest(aid, limitOf(query.limit))
      const shown = entries.map(({ delta, reason, atMs }) => ({
        ...{ delta, reason, at: new Date(atMs).toISOString() },
      }))
      const returned = entries.length
      return { aid, entries: shown, returned, total, sum, truncated: returned < total, note: NOTE }
    },
    async redemptions({ params }) {
      const aid = await account(params['aid'])
      const newest = await statements.newestRedemptions(aid, REDEMPTIONS_MAX)
      return { aid, redemptions: newest.map(redemptionMembers) }
    },
  }
}

/** What is out of range, or no number, is the usual. */
function limitOf(given: string | undefined): number {
  const limit = Number(given ?? LEDGER_LIMIT_DEFAULT)
  return Number.isSafeInteger(limit) && limit > 0 && limit <= LEDGER_LIMIT_MAX ? limit : LEDGER_LIMIT_DEFAULT
}

/** A redemption as anybody may see it. */
export const redemptionMembers = ({ settled, reference }: { settled: Settled; reference: string }) => ({
  auth_id: cidText(settled.body.transaction),
  aid: settled.body.payer,
  amount: settled.body.amount,
  reference,
  at: new Date(settled.body.settledAt).toISOString(),
  receipt: toBase64(settled.bytes),
})
