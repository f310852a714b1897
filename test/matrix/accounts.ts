/** Each account at the hub, added up from what the hub has signed. */
import type { Post } from '../../daemon/testing/scripted-hub.ts'
import { cidText } from '../../protocol/crypto/hash.ts'
import { keyAt } from '../../protocol/identity/kel.ts'
import { type SettlementBody, SettlementReceipt, settlementKinds } from '../../protocol/proof/payment.ts'
import type { MatrixWorld } from './world.ts'

/** What was granted, less what moved and was redeemed, plus what came and was given back, is what an account has. */
export function faultsOfAccounts(world: MatrixWorld): string[] {
  return world.posts.flatMap(post => faultsAt(world, post))
}

function faultsAt(world: MatrixWorld, { ledger, log, url, listed }: Post): string[] {
  const key = keyAt(log, log.seq)
  if (key === undefined) throw new Error('the hub has no key')
  const receipts = ledger.receipts().map(bytes => SettlementReceipt.decode(bytes))
  const found = receipts
    .filter(receipt => !SettlementReceipt.verify(key, receipt))
    .map(({ body }) => `the receipt of ${cidText(body.transaction)} is not signed by the hub`)
  const bodies = receipts.flatMap(({ body }) => atHome(body, ledger.network))
  const peers = world.posts.flatMap(post => (post.url === url ? [] : [{ name: post.url, aid: post.log.aid }]))
  for (const { name, aid } of [...world.sides, ...peers]) {
    const { balance, held } = ledger.balanceOf(aid)
    if (world.sides.some(side => side.aid === aid) && balance > 0 && !listed.has(aid))
      found.push(`${name} has credits at ${url}, where it is not registered`)
    const own = sumOf(bodies, aid)
    const granted = url === world.post.url ? world.grantedTo(aid) : 0
    const expected = { balance: granted + ledger.issuedTo(aid) + own.moved - own.held, held: own.held }
    if (balance !== expected.balance || held !== expected.held)
      found.push(
        `${name} has ${balance} credits and ${held} held at ${url}, and by receipts ${expected.balance} and ${expected.held}`,
      )
  }
  return found
}

/** Who has no account at a hub is paid, or pays, through that of the peer, where a hold posts nothing. */
function atHome(body: SettlementBody, network: string): SettlementBody[] {
  const { peer, kind } = body
  if (peer === undefined) return [body]
  if (body.network === network) return [{ ...body, payee: peer }]
  return kind === settlementKinds.held ? [] : [{ ...body, payer: peer }]
}

/** Once both have asked, two hubs say the same of what one owes the other. */
export function faultsOfDebt({ post, other }: MatrixWorld): string[] {
  const owes = post.ledger.dueTo(other.log.aid)
  const isOwed = -other.ledger.dueTo(post.log.aid)
  const isOpen = [post, other].some(({ ledger }) =>
    [...ledger.rows().values()].some(({ state }) => state !== 'ended'),
  )
  return owes === isOwed || isOpen ? [] : [`one hub owes ${owes}, and the other one is owed ${isOwed}`]
}

/** Payments between two hubs of which one still waits for the other. */
export function openAcross({ posts }: MatrixWorld): string[] {
  return posts.flatMap(({ ledger, url }) =>
    [...ledger.rows().values()].flatMap(({ state, amount }) =>
      state === 'ended' ? [] : [`${url}: a payment of ${amount} between two hubs is ${state} for ever`],
    ),
  )
}

/** Whatever is lost and done again, alice has paid for each of her tasks once at most. */
export function faultsOfPaying(world: MatrixWorld): string[] {
  const { paid, held, returned } = settlementKinds
  const receipts = world.posts.flatMap(({ ledger }) => ledger.receipts())
  const bodies = receipts.map(bytes => SettlementReceipt.decode(bytes).body)
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

function sumOf(bodies: readonly SettlementBody[], aid: string): { moved: number; held: number } {
  const { paid, held, captured, returned, redeemed } = settlementKinds
  const ended = new Set(
    bodies.flatMap(({ kind, transaction }) =>
      kind === captured || kind === returned ? [cidText(transaction)] : [],
    ),
  )
  const sum = { moved: 0, held: 0 }
  for (const { kind, payer, payee, amount, transaction } of bodies) {
    const isOpen = kind === held && !ended.has(cidText(transaction))
    if (isOpen && payer === aid) sum.held += amount
    if (kind !== paid && kind !== captured && kind !== redeemed) continue
    if (payer === aid) sum.moved -= amount
    if (payee === aid) sum.moved += amount
  }
  return sum
}
