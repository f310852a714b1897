/** What nodes signed to pay, as the ledgers of the hubs have it, and what is left of their credits. */
import { parseCid } from '../../protocol/crypto/hash.ts'
import { networkOf, SettlementReceipt } from '../../protocol/proof/payment.ts'
import { type Books, booksOf, type Crossing } from '../matrix/peers/check.ts'
import type { ChaosHub } from './hub.ts'
import { accountsOf, NODE_GRANTED, nodeNames, type PeersChaos } from './world.ts'

/** A payment that a node signed. */
export type Signed = Crossing & { payer: string; payTo: string }
type Recorded = {
  timestamp: number
  payload: { authorization_id: string; pay_to: string; network: string; amount: number }
}

const RECORDS_MAX = 1000

/** Everything that nodes signed to pay so far. */
export async function signedPayments(world: PeersChaos): Promise<Signed[]> {
  const all: Signed[] = []
  for (const node of nodeNames) {
    const about = { event_type: 'svc.payment.authorized', limit: RECORDS_MAX }
    const { records } = await world.ask(node, 'POST', '/evidence', about)
    for (const record of records as Recorded[]) {
      const one = await signedOf(world, node, record)
      if (one !== undefined) all.push(one)
    }
  }
  return all
}

async function signedOf(
  world: PeersChaos,
  node: string,
  { timestamp, payload }: Recorded,
): Promise<Signed | undefined> {
  const { authorization_id: id, pay_to: payTo, network } = payload
  const payers = world.hubs.find(({ aid }) => networkOf(aid) === network)
  if (payers === undefined) throw new Error(`${node} signed a payment in unknown credits: ${network}`)
  const transaction = parseCid(id)
  const payees = await payeesOf(world, { payers, transaction, payTo })
  const name = `${node}'s payment ${id}`
  return { name, payers, payees, transaction, startedMs: timestamp, payer: world.aid(node), payTo }
}

type Asked = { payers: ChaosHub; transaction: Uint8Array; payTo: string }

/** The hub that gave it to its payee, who may have moved since; else that at which the payee is now. */
async function payeesOf(world: PeersChaos, { payers, transaction, payTo }: Asked): Promise<ChaosHub> {
  const receipt = (await payers.store.transfer(transaction))?.receipt
  if (receipt !== undefined) {
    const { peer } = SettlementReceipt.decode(receipt).body
    return world.hubs.find(({ aid }) => aid === peer) ?? payers
  }
  for (const hub of world.hubs)
    if (hub !== payers && (await hub.store.peerPayment(transaction)) !== undefined) return hub
  const payee = nodeNames.find(node => world.aid(node) === payTo)
  if (payee === undefined) throw new Error(`nobody knows whom this pays: ${payTo}`)
  return world.hub(world.homeOf(payee))
}

export const isAcross = ({ payers, payees }: Crossing): boolean => payers !== payees

/** Every credit of a node is explained by what was signed. */
export async function faultsOfNodes(world: PeersChaos, signed: readonly Signed[]): Promise<string[]> {
  const books = new Map<Signed, Books>()
  for (const one of signed) books.set(one, await booksOf(one))
  const accounts = nodeNames.flatMap(node =>
    accountsOf(node).map(name => ({ node, aid: world.aid(node), hub: world.hub(name) })),
  )
  const found: string[] = []
  for (const { node, aid, hub } of accounts) {
    const expected = NODE_GRANTED + movedAt(hub, aid, books)
    const { balance, held } = (await hub.store.holdings?.(aid, hub.now())) ?? { balance: 0, held: 0 }
    if (balance + held !== expected)
      found.push(`${node} has ${balance} and ${held} held at ${hub.name}, and payments say ${expected}`)
  }
  return found
}

/** What payments gave an agent at a hub, below 0 what they took. */
const movedAt = (hub: ChaosHub, aid: string, books: ReadonlyMap<Signed, Books>): number =>
  [...books].reduce((sum, [{ payer, payTo, payers, payees }, { debit, credit }]) => {
    const taken = payer === aid && payers === hub ? debit : 0
    const given = payTo === aid && payees === hub ? credit : 0
    return sum + given - taken
  }, 0)

/** No hub made or lost a credit: what agents of all have was granted, but for payments that one hub alone has. */
export async function faultsOfSum(
  { hubs, had }: PeersChaos,
  payments: readonly Crossing[],
): Promise<string[]> {
  const granted =
    [...had.values()].reduce((sum, amount) => sum + amount, 0) +
    nodeNames.reduce((sum, node) => sum + NODE_GRANTED * accountsOf(node).length, 0)
  let halves = 0
  for (const one of payments) {
    const { debit, credit } = await booksOf(one)
    halves += credit - debit
  }
  const totals = hubs.map(hub => hub.totals)
  const issued = totals.reduce((sum, one) => sum + one.issued - one.retired, 0)
  const owned = totals.reduce((sum, one) => sum + one.agents + one.holds, 0)
  return issued === granted && owned === granted + halves
    ? []
    : [
        `${granted} credits were granted, ${issued} issued, and agents have ${owned}; payments that one hub has alone come to ${halves}`,
      ]
}

/** How many of them gave somebody something, and how much. */
export async function sumsOf(payments: readonly Crossing[]): Promise<{ payments: number; credits: number }> {
  const given = await Promise.all(payments.map(async one => (await booksOf(one)).credit))
  return {
    payments: given.filter(credit => credit > 0).length,
    credits: given.reduce((sum, credit) => sum + credit, 0),
  }
}
