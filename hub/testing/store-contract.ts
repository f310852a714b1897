/**
 * What every engine of the store must do, rule by rule. Each engine's test declares all of them; an engine that was made
 * wrong on purpose shows that they are not empty.
 */
import { afterEach, beforeEach, describe, test } from 'vitest'
import { boardRules } from './contract/board-rules.ts'
import { clearingRules } from './contract/clearing-rules.ts'
import { inviteRules } from './contract/invite-rules.ts'
import { ledgerRules } from './contract/ledger-rules.ts'
import { mailRules } from './contract/mail-rules.ts'
import { moderationRules } from './contract/moderation-rules.ts'
import { openCardRules } from './contract/open-card-rules.ts'
import { openMailRules } from './contract/open-mail-rules.ts'
import { openPeerRules } from './contract/open-peer-rules.ts'
import { openReviewRules } from './contract/open-review-rules.ts'
import { operatorRules } from './contract/operator-rules.ts'
import { peerCardRules } from './contract/peer-card-rules.ts'
import { peerPaymentRules } from './contract/peer-payment-rules.ts'
import { peerReviewRules } from './contract/peer-review-rules.ts'
import { registryRules } from './contract/registry-rules.ts'
import { voucherRules } from './contract/voucher-rules.ts'
import { witnessRules } from './contract/witness-rules.ts'
import { type Open, type Rule, World } from './contract/world.ts'

export { agentRow } from './contract/world.ts'

export const contract = {
  mail: mailRules,
  registry: registryRules,
  openMail: openMailRules,
  openCards: openCardRules,
  openPeers: openPeerRules,
  openReviews: openReviewRules,
  board: boardRules,
  invites: inviteRules,
  moderation: moderationRules,
  clearing: clearingRules,
  peerCards: peerCardRules,
  peerPayments: peerPaymentRules,
  peerReviews: peerReviewRules,
  operator: operatorRules,
  ledger: ledgerRules,
  vouchers: voucherRules,
  witness: witnessRules,
} satisfies Record<string, readonly Rule[]>

export type ContractSubject = keyof typeof contract
const allSubjects = Object.keys(contract) as ContractSubject[]

/** Declares the suite over an engine, or those of its subjects that it has. */
export function storeContract(
  engine: string,
  open: Open,
  subjects = allSubjects as readonly ContractSubject[],
): void {
  describe.each(subjects.map(name => [name, contract[name]] as const))(
    `store contract on ${engine}: %s`,
    (_, rules) => {
      let world: World
      beforeEach(async () => {
        world = await World.open(open)
      })
      afterEach(() => world.end())

      test.each(rules)('%s', (_name, holds) => holds(world))
    },
  )
}

/** The first of the rules that an engine breaks; undefined where it keeps them all. */
export async function brokenBy(open: Open, rules: readonly Rule[]): Promise<string | undefined> {
  for (const [name, holds] of rules) {
    const world = await World.open(open)
    try {
      await holds(world)
    } catch {
      return name
    } finally {
      await world.end()
    }
  }
  return undefined
}
