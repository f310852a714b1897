/** An agent's own account over wire 3 (hub API §4.4): balance, entries, redemptions, and proof that it is counted. */
import { cidText } from '../../protocol/crypto/hash.ts'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { networkOf } from '../../protocol/proof/payment.ts'
import { LEDGER_LIMIT_MAX } from '../../protocol/wire3/routes/credits.ts'
import type { Hub } from '../core/hub.ts'
import type { Settled } from '../core/ledger/settlements.ts'
import type { Entry } from '../core/ledger/statements.ts'
import type { Part } from './handler.ts'
import { limitOf } from './limit.ts'
import { WireRefusal } from './refusals.ts'

type Names = 'balance' | 'ledger' | 'authorizations' | 'redemptions' | 'liabilityProof'

const LEDGER_LIMIT_DEFAULT = 50

export function accountHandlers(hub: Hub): Part<Names> {
  const { credits, issuance, statements, publication } = hub
  const network = networkOf(hub.context.identity.aid)
  return {
    async balance({ signer }) {
      const { aid, probationUntilMs } = signer.row
      const probation = probationUntilMs > hub.context.now() ? probationUntilMs : undefined
      const { balance, held } = await credits.balance(aid)
      const trial = await issuance.trialOf(aid)
      return { aid, network, balance, held, ...present({ probation_until: probation, trial }) }
    },
    async ledger({ signer, query }) {
      const { aid } = signer.row
      const page = await statements.entries(aid, pageOf(query))
      return {
        aid,
        ...windowOf(page),
        entries: page.entries.map(entryMembers),
        ...present({ next: page.next }),
      }
    },
    async authorizations({ signer, query }) {
      const { aid } = signer.row
      const page = await statements.authorizations(aid, pageOf(query))
      return {
        aid,
        ...windowOf(page),
        entries: page.entries.map(({ seq, atMs, transaction, authorization }) => ({
          seq,
          at: atMs,
          transaction: cidText(transaction),
          authorization: toBase64url(authorization),
        })),
        ...present({ next: page.next }),
      }
    },
    async redemptions({ signer, query }) {
      const { aid } = signer.row
      const page = await statements.redemptions(aid, pageOf(query))
      return {
        aid,
        ...windowOf(page),
        entries: page.entries.map(redemptionMembers),
        ...present({ next: page.next }),
      }
    },
    async liabilityProof({ signer, query }) {
      const proof = await publication.proof(
        signer.row.aid,
        query.day === undefined ? undefined : Number(query.day),
      )
      if (proof === undefined) throw new WireRefusal('proof_unavailable')
      const { epoch, amount, salt, path, record } = proof
      return {
        to_day: epoch.day,
        from_day: epoch.from_day,
        aid: signer.row.aid,
        balance: amount,
        salt: toBase64url(salt),
        path: path.map(({ h, sum, side }) => ({ h: toBase64url(h), sum, side })),
        ledger_hw: epoch.ledger_hw,
        record: toBase64url(record),
      }
    },
  }
}

const entryMembers = ({ seq, atMs, delta, reason, transaction, counterparty }: Entry) => ({
  seq,
  at: atMs,
  delta,
  reason,
  ...present({ transaction: transaction && cidText(transaction), counterparty }),
})

/** A redemption as its owner sees it. */
export const redemptionMembers = ({ settled, reference }: { settled: Settled; reference: string }) => ({
  auth_id: cidText(settled.body.transaction),
  amount: settled.body.amount,
  reference,
  at: settled.body.settledAt,
  receipt: toBase64url(settled.bytes),
})

const windowOf = ({ windowDays, oldestSeq }: { windowDays: number; oldestSeq: number | undefined }) => ({
  window_days: windowDays,
  oldest_seq: oldestSeq ?? null,
})

function pageOf({ limit, before }: { limit?: string | undefined; before?: string | undefined }) {
  return {
    limit: limitOf(limit, LEDGER_LIMIT_DEFAULT, LEDGER_LIMIT_MAX),
    before: before === undefined ? undefined : Number(before),
  }
}
