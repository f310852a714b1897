/** What must hold of two hubs that list each other, whatever waited and whatever happened. */

import { endId } from '../../../hub/core/ledger/names.ts'
import type { PeerPayment } from '../../../hub/store/peer-payment-port.ts'
import type { TestAgent } from '../../../hub/testing/hub.ts'
import { balanceOf } from '../../../hub/testing/payments.ts'
import { equal } from '../../../protocol/encoding/bytes.ts'
import { keyAt } from '../../../protocol/identity/kel.ts'
import { SettlementReceipt, settlementKinds } from '../../../protocol/proof/payment.ts'
import { insist } from './insist.ts'
import type { Letter } from './letters.ts'
import type { Across, Receipt } from './payments.ts'
import { faultsOfReading, type Reading, unread } from './reading.ts'
import { lost, type Side, wasPutBack } from './side.ts'
import { differenceOf, type Statement, unheard } from './statements.ts'

const { paid, held, captured } = settlementKinds

/** A payment from an account at one hub to an agent of another, whoever asked for it. */
export type Crossing = {
  name: string
  payers: Side
  payees: Side
  transaction: Uint8Array
  startedMs: number
}

/** What the ledgers of both hubs say of a payment. */
export type Books = {
  /** What the payer's hub took for the peer, and what it still holds for it. */
  debit: number
  holds: number
  /** What the payee's hub gave on. */
  credit: number
  row: PeerPayment | undefined
}

/** What a receipt gives the payee. */
const givenBy = (body: Receipt | undefined): number =>
  body?.kind === paid || body?.kind === captured ? body.amount : 0

export async function booksOf({ payers, payees, transaction }: Crossing): Promise<Books> {
  const at = async (hub: Side, id: Uint8Array): Promise<Receipt | undefined> => {
    const receipt = (await hub.store.transfer(id))?.receipt
    return receipt && SettlementReceipt.decode(receipt).body
  }
  const [first, end] = [await at(payers, transaction), await at(payers, endId(transaction))]
  const credits = await Promise.all([at(payees, transaction), at(payees, endId(transaction))])
  return {
    debit: givenBy(first) + givenBy(end),
    holds: first?.kind === held && end === undefined ? first.amount : 0,
    credit: credits.reduce((sum, body) => sum + givenBy(body), 0),
    row: await payees.store.peerPayment(transaction),
  }
}

/** What is compared with what its hubs say. */
export type Scene = {
  hubs: readonly Side[]
  letters: readonly Letter[]
  payments: readonly Across[]
  /** Those that nodes make. */
  crossings?: readonly Crossing[]
  readings: readonly Reading[]
  /** Debts that were paid outside. */
  statements?: readonly Statement[]
  /** What agents had before. */
  had: ReadonlyMap<TestAgent, number>
}

/** Everything that does not hold, in sentences. */
export async function faults(world: Scene): Promise<string[]> {
  const books = new Map<Across, Books>()
  const all = new Map<Crossing, Books>()
  for (const one of world.payments) books.set(one, await booksOf(one))
  for (const one of world.crossings ?? []) all.set(one, await booksOf(one))
  for (const [one, of] of books) all.set(one, of)
  return [
    ...(await faultsOfLetters(world)),
    ...[...all].flatMap(([one, of]) => faultsOfPayment(one, of)),
    ...[...books].flatMap(([one, { credit }]) => faultsOfTold(one, credit)),
    ...(await Promise.all(world.hubs.map(faultsOfLedger))).flat(),
    ...(await faultsOfDebt(world, all)),
    ...(await faultsOfBalances(world, books)),
    ...(await Promise.all(world.readings.map(faultsOfReading))).flat(),
  ]
}

async function faultsOfLetters(world: Scene): Promise<string[]> {
  const found: string[] = []
  for (const one of world.letters) found.push(...(await faultsOfLetter(one)))
  return found
}

/** Nothing acknowledged is lost or shown twice. */
async function faultsOfLetter(letter: Letter): Promise<string[]> {
  const { from, to } = letter.hubs
  const times = await insist(() => letter.arrived())
  if (times > 1) return [`${letter.name} lies ${times} times in the mailbox`]
  if (letter.told === undefined || times === 1) return []
  return lost(to, letter.told.atMs) ? [] : [`${letter.name} was acknowledged by ${from.name} and is lost`]
}

/** Nothing is paid twice, by one side alone, or without what both hubs signed. */
function faultsOfPayment(one: Crossing, { debit, credit, row }: Books): string[] {
  const found: string[] = []
  const says = `${one.name}: ${one.payers.name} took ${debit}, ${one.payees.name} gave ${credit}`
  const isOpen = row !== undefined && row.state !== 'ended'
  if (credit > debit && !wasPutBack(one.payers, one.startedMs)) found.push(`${says} from nowhere`)
  if (debit > credit && !isOpen && !wasPutBack(one.payees, one.startedMs))
    found.push(`${says}, and it does not wait for the rest`)
  if (isOpen && row.askAtMs === undefined) found.push(`${one.name} waits, and nobody asks about it`)
  return credit > 0 ? [...found, ...faultsOfReceipts(one, row)] : found
}

/** Whoever was told of credits has them, but for what a hub has lost since. */
function faultsOfTold({ name, told, payees, refused }: Across, credit: number): string[] {
  const found = told
    .filter(({ body, atMs }) => givenBy(body) > credit && !lost(payees, atMs))
    .map(({ body }) => `${name}: its payee was told ${givenBy(body)}, and has ${credit}`)
  return refused !== undefined && credit > 0 ? [...found, `${name} was refused, and gave ${credit}`] : found
}

/** What the payee has is in a receipt of each hub, under its key. */
function faultsOfReceipts(one: Crossing, row: PeerPayment | undefined): string[] {
  if (row === undefined)
    return [`${one.name}: its payee has credits, and ${one.payees.name} does not know why`]
  const pairs = [
    [one.payees, one.payers, row.endReceipt ?? row.receipt],
    [one.payers, one.payees, row.peerEndReceipt ?? row.peerReceipt],
  ] as const
  return pairs.flatMap(([signer, other, bytes]) => {
    if (bytes === undefined) return [`${one.name}: ${signer.name} signed nothing of it`]
    const receipt = SettlementReceipt.decode(bytes)
    const { hub, peer, hubKelSeq, transaction } = receipt.body
    const key = keyAt(signer.kel, hubKelSeq)
    const holds = key !== undefined && SettlementReceipt.verify(key, receipt)
    const names = hub === signer.aid && peer === other.aid && equal(transaction, one.transaction)
    return holds && names ? [] : [`${one.name}: the receipt of ${signer.name} does not hold`]
  })
}

async function faultsOfLedger({ name, store }: Side): Promise<string[]> {
  return (await store.booksAgree()) ? [] : [`the books of ${name} do not agree`]
}

/** Two hubs say the same of what one owes the other, but for what payments and statements explain. */
async function faultsOfDebt(
  { hubs, statements = [] }: Scene,
  books: ReadonlyMap<Crossing, Books>,
): Promise<string[]> {
  const found: string[] = []
  for (const [at, one] of hubs.entries())
    for (const other of hubs.slice(at + 1)) {
      const between = [...books].filter(([{ payers, payees }]) =>
        [payers, payees].every(hub => hub === one || hub === other),
      )
      const paidOutside = statements.filter(({ creditor, debtor }) =>
        [creditor, debtor].every(hub => hub === one || hub === other),
      )
      const cleared = await Promise.all(paidOutside.map(differenceOf))
      const known =
        between.reduce((sum, [, { debit, credit }]) => sum + credit - debit, 0) +
        cleared.reduce((sum, difference) => sum + difference, 0)
      const says = [
        (await one.store.peerCredit(other.aid)).owes,
        (await other.store.peerCredit(one.aid)).owes,
      ]
      const [byOne = 0, byOther = 0] = says
      if (byOne + byOther !== known)
        found.push(
          `${one.name} says that ${other.name} owes ${byOne}, ${other.name} says ${-byOther}, and payments explain ${known}`,
        )
    }
  return found
}

/** A hub that was put back may not know an agent any more, whose account is there for it all the same. */
async function holdingsOf({ hubs }: Scene, agent: TestAgent): Promise<{ balance: number; held: number }> {
  const told = await insist(() => balanceOf(agent))
  const hub = hubs.find(({ aid }) => aid === agent.target.aid)
  const kept = await hub?.store.holdings?.(agent.aid, agent.target.clock.now())
  if (Number.isInteger(told.balance) || kept === undefined) return told
  const { balance, held, lapsed } = kept
  return { balance: balance + lapsed, held: held - lapsed }
}

/** Every credit of an agent is explained by payments. */
async function faultsOfBalances(world: Scene, books: Map<Across, Books>): Promise<string[]> {
  const found: string[] = []
  for (const [agent, had] of world.had) {
    let [expected, holds] = [had, 0]
    for (const [one, of] of books) {
      if (one.payer === agent) {
        expected -= of.debit + of.holds
        holds += of.holds
      }
      if (one.payee === agent) expected += of.credit
    }
    const { balance, held } = await holdingsOf(world, agent)
    const has = { balance: balance || 0, held: held || 0 }
    // what has lapsed counts as the payer's again before that is posted
    if (has.balance + has.held !== expected + holds || has.held > holds)
      found.push(
        `an agent that had ${had} has ${has.balance} and ${has.held} held; payments say ${expected} and ${holds}`,
      )
  }
  return found
}

/** Whoever asks has an answer some hours after both hubs answered each other, also where a clock was wrong before. */
export function unanswered({ letters, payments }: Scene): string[] {
  const asked = [
    ...letters.filter(({ told }) => told === undefined),
    ...payments.filter(one => !one.isOver && (one.takes !== undefined || !one.isHold)),
  ]
  return asked.map(({ name, why }) => `${name} has no answer (${why})`)
}

/** What may not wait any more after a day on which both hubs answered each other. */
export async function stuck(world: Scene): Promise<string[]> {
  const found: string[] = []
  for (const one of world.payments) found.push(...stuckPayment(one, await booksOf(one)))
  for (const one of world.readings) found.push(...(await unread(one)))
  for (const one of world.statements ?? []) found.push(...(await unheard(one)))
  return [...found, ...world.hubs.flatMap(stuckCalls)]
}

function stuckPayment(one: Across, { row, holds, debit, credit }: Books): string[] {
  const { name, payers, payees, startedMs } = one
  const found = holds > 0 ? [`${name}: ${payers.name} holds ${holds} for ever`] : []
  if (row !== undefined && row.state !== 'ended' && !isTold(one))
    found.push(`${name} is ${row.state} at ${payees.name} for ever`)
  const isKnown = debit === credit || wasPutBack(payers, startedMs) || wasPutBack(payees, startedMs)
  return isKnown
    ? found
    : [...found, `${name}: ${payers.name} took ${debit}, ${payees.name} gave ${credit} for ever`]
}

/** Nothing is asked without end. */
const stuckCalls = ({ name, calls }: Side): string[] =>
  calls > 0 ? [`${name} still waits for ${calls} answers`] : []

/** Its hold was lost by a hub that was put back, and the operator was told. */
const isTold = ({ payers, payees, startedMs }: Across): boolean =>
  wasPutBack(payers, startedMs) && payees.wasTold('how a hold ended')
