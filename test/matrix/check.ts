/** What must hold of both nodes and the hub, whatever waited and whatever happened. */
import { isDeepStrictEqual } from 'node:util'

import { openMoves } from '../../daemon/store/credit-moves.ts'
import { toldRefunds } from '../../daemon/store/open-payments.ts'
import { allEntries } from '../../daemon/store/outbox.ts'
import { type PaymentRow, paymentOf } from '../../daemon/store/payments.ts'
import { quoteOf } from '../../daemon/store/quotes.ts'
import type { Interaction, Message } from '../../daemon/store/threads.ts'
import { isOver, waitingFor } from '../../daemon/tasks/standing.ts'
import { kinds } from '../../protocol/mail/payload.ts'
import {
  Authorization,
  SettlementReceipt,
  settlementKinds,
  transactionOf,
} from '../../protocol/proof/payment.ts'
import { Receipt } from '../../protocol/proof/receipt.ts'
import { faultsOfAccounts, faultsOfDebt, faultsOfPaying, openAcross } from './accounts.ts'
import {
  faultsOfArchive,
  faultsOfFiles,
  faultsOfPushes,
  faultsOfRatings,
  stuckOutcomes,
  waitsWithoutWord,
} from './outcomes.ts'
import { SAID_BY_MODEL } from './outside.ts'
import type { Side } from './side.ts'
import type { MatrixWorld, Said } from './world.ts'

const keysOf = ({ ctx }: Side): number[] =>
  ctx.store.all<{ key: number }>('SELECT key FROM interactions').map(({ key }) => key)
const interactionsOf = (side: Side): Interaction[] => keysOf(side).map(key => side.ctx.threads.byKey(key))

/** What a check reads of a side, once. */
class Reading {
  readonly #messages = new Map<Side, Map<number, Message[]>>()

  messages(side: Side, interaction: number): Message[] {
    const ofSide = this.#messages.get(side) ?? new Map<number, Message[]>()
    this.#messages.set(side, ofSide)
    const found = ofSide.get(interaction) ?? side.ctx.threads.messages(interaction)
    ofSide.set(interaction, found)
    return found
  }

  /** None where the side does not know the task. */
  messagesOf(side: Side, id: string): Message[] {
    const task = side.ctx.threads.findById(id)
    return task === undefined ? [] : this.messages(side, task.key)
  }
}

/** Everything that does not hold, in sentences. */
export function faults(world: MatrixWorld): string[] {
  const reading = new Reading()
  return [
    ...world.said.flatMap(said => faultsOfMessage(world, said, reading)),
    ...world.sides.flatMap(side =>
      interactionsOf(side).flatMap(one => faultsOfTask(world, { side, own: one }, reading)),
    ),
    ...faultsOfCredits(world),
    ...faultsOfAccounts(world),
    ...faultsOfPaying(world),
    ...faultsOfDebt(world),
    ...world.sides.flatMap(faultsOfFiles),
    ...faultsOfArchive(world),
    ...faultsOfRatings(world),
    ...faultsOfPushes(world),
    ...world.sides.flatMap(faultsOfA2a),
    ...faultsOfAgent(world, reading),
    ...world.copies.flatMap(copy => faultsOfCopy(world, copy)),
    ...world.sides.flatMap(mailWaitsWithoutWord),
    ...world.sides.flatMap(waitsWithoutWord),
  ]
}

/** Nothing acknowledged is lost or shown twice, and what is called delivered is there. */
function faultsOfMessage(world: MatrixWorld, { by, to, id, text }: Said, reading: Reading): string[] {
  const [lostBy, lostTo] = [world.lossOf(by), world.lossOf(to)]
  const sent = reading.messagesOf(by, id).filter(one => one.direction === 'out' && one.text === text)
  const [message] = sent
  const place = world.said.findIndex(said => said.by === by && said.id === id && said.text === text)
  if (message === undefined)
    return lostBy !== undefined && place >= lostBy.saidBefore
      ? faultsOfCopies(to, text, reading.messagesOf(to, id))
      : [`${by.name} has lost what it said: ${text}`]
  const arrived = reading.messagesOf(to, id).filter(one => one.direction === 'in' && one.text === text)
  if (arrived.length > 1) return [`${to.name} shows ${text} ${arrived.length} times`]
  const claims = message.delivery === 'delivered'
  // a recipient that was restored had it, and its sender was told so
  const isExplained = lostTo?.held.has(`${id} ${text}`) === true
  if (claims && arrived.length === 0 && !isExplained)
    return [`${by.name} calls delivered what ${to.name} has not: ${text}`]
  if (message.delivery === 'failed' && arrived.length === 1 && lostBy === undefined)
    return [`${by.name} calls failed what ${to.name} has: ${text} (${message.reason})`]
  return []
}

function faultsOfCopies(to: Side, text: string, messages: Message[]): string[] {
  const arrived = messages.filter(one => one.direction === 'in' && one.text === text)
  return arrived.length > 1 ? [`${to.name} shows ${text} ${arrived.length} times`] : []
}

/** Both sides agree or know that they don't; the reader sees messages in the order of their numbers. */
function faultsOfTask(
  world: MatrixWorld,
  { side, own }: { side: Side; own: Interaction },
  reading: Reading,
): string[] {
  const found: string[] = []
  const incoming = reading
    .messages(side, own.key)
    .filter(({ direction, number }) => direction === 'in' && number > 0)
    .map(({ number }) => number)
  if (incoming.some((number, at) => at > 0 && number <= (incoming[at - 1] as number)))
    found.push(`${side.name} reads messages out of order: ${incoming.join(', ')}`)
  const other = world.opposite(side).ctx.threads.findById(own.id)
  if (own.receiptState === 'signed' && own.receipt !== null) {
    const theirs = other?.receipt ?? null
    if (
      theirs !== null &&
      other?.receiptState === 'signed' &&
      !isDeepStrictEqual(bodyOf(own.receipt), bodyOf(theirs))
    )
      found.push(`both sides hold another receipt of ${own.preview}`)
  }
  if (own.receiptState === 'disputed') found.push(`${side.name} disputes a receipt of an honest node`)
  return found
}

const bodyOf = (receipt: Uint8Array): unknown => Receipt.decode(receipt).body

/** Every credit can be explained by a signed receipt of the hub. */
function faultsOfCredits(world: MatrixWorld): string[] {
  const owners = [...world.sides.map(({ aid }) => aid), ...world.posts.map(({ log }) => log.aid)]
  const found = world.posts.flatMap(({ ledger }) => {
    const held = owners.map(aid => ledger.balanceOf(aid))
    const sum = held.reduce((all, one) => all + one.balance + one.held, 0)
    return sum === ledger.outstanding ? [] : [`${ledger.outstanding} credits are out and ${sum} are owned`]
  })
  for (const side of world.sides)
    for (const key of keysOf(side)) {
      const row = paymentOf(side.ctx.store, key)
      if (row !== undefined)
        found.push(...faultsOfPayment(world, side, row), ...faultsOfRefund(world, side, row))
    }
  return found
}

function faultsOfPayment(world: MatrixWorld, side: Side, row: PaymentRow): string[] {
  // each side keeps the network of the account that a payment changes
  const account = world.posts.find(({ ledger }) => ledger.network === row.network)
  const end = account?.ledger.receiptOf(row.payment, true)
  const says = `${side.name} (${row.side}) says ${row.state}${row.moved === null ? '' : ` ${row.moved}`}`
  if (row.state === 'held' && row.heldReceipt === null) return [`${says} without a receipt`]
  if (row.state !== 'ended') return []
  if (end === undefined) return [`${says}, and the hub has not ended the hold`]
  const { kind, amount } = SettlementReceipt.decode(end).body
  const moved = kind === settlementKinds.captured ? amount : 0
  return row.moved === moved ? [] : [`${says}, and the hub moved ${moved}`]
}

/** What a provider says that it gave back was moved by the hub in whose credits it is, or by that of the requester. */
function faultsOfRefund(world: MatrixWorld, side: Side, { refund, refunded }: PaymentRow): string[] {
  if (refund === null || refunded === null) return []
  const transaction = transactionOf(Authorization.decode(refund))
  const moved = world.posts
    .map(({ ledger }) => ledger.receiptOf(transaction))
    .find(receipt => receipt !== undefined)
  // hubs that were put back have lost what they signed: the comparison of the account says so
  if (world.isHubRestored && moved === undefined) return []
  const amount = moved === undefined ? 0 : SettlementReceipt.decode(moved).body.amount
  return amount === refunded
    ? []
    : [`${side.name} says that it gave back ${refunded}, and the hub moved ${amount}`]
}

/** A second copy signs nothing, and whoever was first goes on. */
function faultsOfCopy(world: MatrixWorld, copy: Side): string[] {
  const first = world.sides.find(({ aid }) => aid === copy.aid)
  if (first === undefined) return []
  const found: string[] = []
  if (copy.ctx.hub.oldCopy === undefined) found.push(`${copy.name} does not know that it is one`)
  if (first.ctx.hub.oldCopy !== undefined) found.push(`${first.name} takes itself for a copy`)
  for (let length = 1; length <= copy.ctx.chain.length; length++) {
    const [own, other] = [copy.ctx.chain.idAt(length), first.ctx.chain.idAt(length)]
    if (!isDeepStrictEqual(own, other)) found.push(`${copy.name} signed a record ${length} of its own`)
  }
  return found
}

/** A client of A2A is told the end of what has ended. */
function faultsOfA2a({ ctx, name }: Side): string[] {
  return ctx.store
    .all<{ state: string; over: number; interaction: number | null }>('SELECT * FROM a2a_tasks')
    .flatMap(({ state, over, interaction }) => {
      const task = interaction === null ? undefined : ctx.threads.byKey(interaction)
      // an answer may still come to a task that has expired
      const isDone = task !== undefined && isOver(task) && task.state !== 'expired'
      // a task that was answered with a price has ended, and goes on once a person pays
      if (task !== undefined && quoteOf(ctx.store, task.key)?.state === 'open') return []
      return isDone && over === 0 ? [`${name} tells clients ${state} of a task that is ${task.state}`] : []
    })
}

/** An agent answers a turn once, whatever became of its first run. */
function faultsOfAgent({ bob }: MatrixWorld, reading: Reading): string[] {
  return keysOf(bob).flatMap(key => {
    const messages = reading.messages(bob, key)
    const answers = messages.filter(({ direction, text }) => direction === 'out' && text === SAID_BY_MODEL)
    return answers.length > 1 ? [`the agent of bob answered ${answers.length} times`] : []
  })
}

/** Nothing waits without saying for what and until when. */
function mailWaitsWithoutWord(side: Side): string[] {
  if (side.isAway) return []
  const { ctx } = side
  const entries = allEntries(ctx.store)
  return entries.flatMap(({ lastError, state, deadlineAt, nextAt, message, interaction }) => {
    const until = Number.isFinite(deadlineAt) && deadlineAt > 0
    // what was said a moment ago has not been tried yet
    const isNew = nextAt > ctx.now() - 2 * 60_000
    const isBehind = entries.some(
      first => first.interaction === interaction && first.message < message && first.lastError !== null,
    )
    const why =
      lastError !== null ||
      isBehind ||
      state === 'at_hub' ||
      ctx.hub.home === undefined ||
      ctx.hub.oldCopy !== undefined
    return until && (why || isNew)
      ? []
      : [`${side.name}: message ${message} waits (${state}) and does not say for what`]
  })
}

/** What may not wait any more after a month. */
export const stuck = (world: MatrixWorld): string[] => [...waitingIn(world)]

/** Whether there is any of that. */
export const isStuck = (world: MatrixWorld): boolean => waitingIn(world).next().done !== true

function* waitingIn(world: MatrixWorld): Generator<string> {
  for (const side of world.sides) {
    if (side.isAway || side.ctx.hub.oldCopy !== undefined || side.ctx.identity.log.deactivated) continue
    for (const waiting of waitingOf) yield* waiting(side)
  }
  for (const waiting of [disagreements, paidOtherwise, openAcross]) yield* waiting(world)
}

const waitingOf: readonly ((side: Side) => string[])[] = [
  side =>
    allEntries(side.ctx.store).map(
      entry => `${side.name}: message ${entry.message} waits for ever (${entry.lastError})`,
    ),
  side =>
    interactionsOf(side)
      .filter(({ state }) => state === 'queued' || state === 'delivered')
      .map(({ state, preview }) => `${side.name}: ${preview} is ${state} for ever`),
  stuckOutcomes,
  side => toldRefunds(side.ctx.store).map(() => `${side.name}: a refund waits for ever`),
  side => openMoves(side.ctx.store).map(({ amount }) => `${side.name}: a move of ${amount} waits for ever`),
  side => keysOf(side).flatMap(key => stuckPayment(side, paymentOf(side.ctx.store, key))),
]

/** Once all mail has come, a task is over for both sides or for none, and both hold its receipt or say why not. */
function disagreements(world: MatrixWorld): string[] {
  const { alice, bob } = world
  if (world.sides.some(isCutOff) || areApart(world)) return []
  return interactionsOf(alice).flatMap(own => {
    const other = bob.ctx.threads.findById(own.id)
    if (other === undefined) return []
    if (waitingFor(own) === 'receipt')
      return [`alice waits for ever for the receipt of ${own.preview}, bob says: ${other.reason}`]
    const shown = `${own.preview}: alice ${own.state} ${own.receiptState}, bob ${other.state} ${other.receiptState}`
    const isSigned = (one: Interaction) => one.receiptState === 'signed'
    const isExplained =
      [own, other].some(one => one.reason !== null || one.lostByPeerAt !== null) ||
      [
        [alice, own],
        [bob, other],
      ].some(([side, task]) => readsOfLostEnd(side as Side, task as Interaction))
    if (isExplained) return []
    return isOver(own) !== isOver(other) || isSigned(own) !== isSigned(other)
      ? [`the sides do not agree on ${shown}`]
      : []
  })
}

/** Both sides say the same of what became of a payment, and of what was given back. */
function paidOtherwise(world: MatrixWorld): string[] {
  const { alice, bob } = world
  // at one hub a refund of a task that takes no words any more is in the account alone
  if (!world.isAcross || world.sides.some(isCutOff)) return []
  return interactionsOf(alice).flatMap(own => {
    const other = bob.ctx.threads.findById(own.id)
    const rows = [paymentOf(alice.ctx.store, own.key), other && paymentOf(bob.ctx.store, other.key)]
    if (rows.some(row => row === undefined || isLostByHub(world, row))) return []
    const [ours, theirs] = rows.map(row => `${row?.state} ${row?.moved}, given back ${row?.refunded}`)
    return ours === theirs ? [] : [`of a payment alice says: ${ours}, and bob: ${theirs}`]
  })
}

/** Its person reads that a copy that is lost had ended the task, and may agree. */
const readsOfLostEnd = ({ ctx }: Side, { key }: Interaction): boolean =>
  ctx.threads
    .messages(key)
    .some(one => one.claimed === 1 && (one.kind === kinds.end || one.kind === kinds.acceptEnd))

/** One has moved on to sealed mail, and the other one has not. */
const areApart = (world: MatrixWorld): boolean =>
  new Set(world.sides.map(side => world.homeOf(side).wire)).size > 1

/** Nobody reaches it, or it takes nothing more from the other side. */
const isCutOff = (side: Side): boolean =>
  side.isAway ||
  side.ctx.identity.log.deactivated ||
  side.ctx.contacts.isBlocked(side.world.opposite(side).aid)

function stuckPayment(side: Side, row: PaymentRow | undefined): string[] {
  if (row === undefined || row.state === 'ended' || row.state === 'refused') return []
  if (isLostByHub(side.world, row)) return []
  return [`${side.name} (${row.side}): a payment is ${row.state} for ever`]
}

/** The hub has lost what it signed: no proof will come, and a person is told. */
const isLostByHub = ({ isHubRestored }: MatrixWorld, { problem }: PaymentRow): boolean =>
  isHubRestored && problem === 'hold_lost'
