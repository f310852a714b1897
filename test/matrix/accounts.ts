/** Each account at the hub, added up from what the hub has signed. */
import { cidText } from '../../protocol/crypto/hash.ts'
import { keyAt } from '../../protocol/identity/kel.ts'
import { SettlementReceipt, settlementKinds } from '../../protocol/proof/payment.ts'
import type { MatrixWorld } from './world.ts'

/** What was granted, less what moved and was redeemed, plus what came and was given back, is what an account has. */
export function faultsOfAccounts(world: MatrixWorld): string[] {
  const { ledger, log } = world.post
  const key = keyAt(log, log.seq)
  if (key === undefined) throw new Error('the hub has no key')
  const receipts = ledger.receipts().map(bytes => SettlementReceipt.decode(bytes))
  const found = receipts
    .filter(receipt => !SettlementReceipt.verify(key, receipt))
    .map(({ body }) => `the receipt of ${cidText(body.transaction)} is not signed by the hub`)
  for (const { name, aid } of world.sides) {
    const { balance, held } = ledger.balanceOf(aid)
    const own = sumOf(receipts, aid)
    const expected = { balance: world.grantedTo(aid) + own.moved - own.held, held: own.held }
    if (balance !== expected.balance || held !== expected.held)
      found.push(
        `${name} has ${balance} credits and ${held} held, and by receipts ${expected.balance} and ${expected.held}`,
      )
  }
  return found
}

/** Whatever is lost and done again, alice has paid for each of her tasks once at most. */
export function faultsOfPaying(world: MatrixWorld): string[] {
  const { paid, held, returned } = settlementKinds
  const bodies = world.post.ledger.receipts().map(bytes => SettlementReceipt.decode(bytes).body)
  const back = new Set(bodies.flatMap(one => (one.kind === returned ? [cidText(one.transaction)] : [])))
  const { aid } = world.alice
  const out = bodies.filter(
    ({ kind, payer, payee }) => (kind === held || kind === paid) && payer === aid && payee === world.bob.aid,
  )
  const payments = new Set(out.map(({ transaction }) => cidText(transaction)).filter(one => !back.has(one)))
  // a task that is delegated with its payment, or anew, has the same request
  const tasks = new Set(
    world.sides.flatMap(({ ctx }) =>
      ctx.store
        .all<{ request_cid: string }>('SELECT request_cid FROM interactions WHERE delegator = ?', aid)
        .map(({ request_cid }) => request_cid),
    ),
  )
  return payments.size > tasks.size ? [`alice paid ${payments.size} times for ${tasks.size} tasks`] : []
}

function sumOf(receipts: readonly SettlementReceipt[], aid: string): { moved: number; held: number } {
  const { paid, held, captured, returned, redeemed } = settlementKinds
  const ended = new Set(
    receipts.flatMap(({ body }) =>
      body.kind === captured || body.kind === returned ? [cidText(body.transaction)] : [],
    ),
  )
  const sum = { moved: 0, held: 0 }
  for (const { body } of receipts) {
    const { kind, payer, payee, amount, transaction } = body
    const isOpen = kind === held && !ended.has(cidText(transaction))
    if (isOpen && payer === aid) sum.held += amount
    if (kind !== paid && kind !== captured && kind !== redeemed) continue
    if (payer === aid) sum.moved -= amount
    if (payee === aid) sum.moved += amount
  }
  return sum
}
