/** What must hold of every task, whatever happened; a loss is accepted where a restore explains it and the product tells of it. */
import type { Account, Name, Restore, Said, Scene, Task, View } from './history.ts'

/** A payment in one of these is not over. */
const OPEN_PAYMENT = new Set(['authorized', 'paying', 'held'])

/** Everything that does not hold, in sentences. */
export function faultsOf(scene: Scene): string[] {
  return scene.tasks.flatMap(task =>
    [
      ...faultsOfWords(scene, task),
      ...faultsOfOrder(scene, task),
      ...faultsOfReceipt(scene, task),
      ...faultsOfPayment(scene, task),
      ...faultsOfWaiting(scene, task),
    ].map(fault => `task ${task.n} (${task.kind}, ${task.from} to ${task.to}, ${task.id}): ${fault}`),
  )
}

const viewOf = (scene: Scene, who: Name, id: string): View | undefined => scene.views.get(who)?.get(id)

/** Whether `who` was put back to before a moment, after it. */
const wasPutBack = (restores: readonly Restore[], who: Name, atMs: number): boolean =>
  restores.some(one => one.who === who && one.savedMs <= atMs + MOMENT_MS && one.restoredMs >= atMs)
const MOMENT_MS = 5000

const touched = (scene: Scene, task: Task): Name[] =>
  [task.from, task.to].filter(who =>
    scene.restores.some(one => one.who === who && one.restoredMs >= task.startedMs),
  )

/** Whether anybody of the task is told that a restore has taken something of it. */
function isTold(scene: Scene, task: Task, lostBy: Name): boolean {
  const other = lostBy === task.from ? task.to : task.from
  const view = viewOf(scene, other, task.id)
  const own = scene.standing.get(lostBy)?.restored
  return (
    view?.lost_by_peer_at !== undefined ||
    own?.lost.some(one => one.interaction_id === task.id) === true ||
    view?.turns.some(turn => turn.delivery?.state === 'failed' || turn.delivery?.state === 'unknown') === true
  )
}

function faultsOfWords(scene: Scene, task: Task): string[] {
  return task.said.flatMap(said => [
    ...faultsOfSender(scene, task, said),
    ...faultsOfReader(scene, task, said),
  ])
}

function faultsOfSender(scene: Scene, task: Task, said: Said): string[] {
  const view = viewOf(scene, said.by, task.id)
  const own = view?.turns.filter(turn => turn.mine && turn.text === said.text) ?? []
  if (own.length > 1) return [`${said.by} shows its own words ${own.length} times: ${said.text}`]
  if (own.length === 1) return []
  if (!wasPutBack(scene.restores, said.by, said.atMs))
    return [`${said.by} has lost what it said: ${said.text}`]
  // a restored node says so for as long as it runs
  return scene.standing.get(said.by)?.restored !== undefined || isTold(scene, task, said.by)
    ? []
    : [`${said.by} was put back, has lost what it said and does not say that it was: ${said.text}`]
}

function faultsOfReader(scene: Scene, task: Task, said: Said): string[] {
  const sent = viewOf(scene, said.by, task.id)?.turns.find(turn => turn.mine && turn.text === said.text)
  const view = viewOf(scene, said.to, task.id)
  const read = view?.turns.filter(turn => !turn.mine && turn.text === said.text) ?? []
  if (read.length > 1) return [`${said.to} reads the same words ${read.length} times: ${said.text}`]
  const state = sent?.delivery?.state
  if (read.length === 1) {
    return state === 'failed'
      ? [`${said.by} calls failed what ${said.to} has (${sent?.delivery?.reason}): ${said.text}`]
      : []
  }
  // who said it has lost it before it left, and cannot know
  if (sent === undefined && wasPutBack(scene.restores, said.by, said.atMs)) return []
  if (touched(scene, task).includes(said.to)) {
    return isTold(scene, task, said.to) || state === 'queued' || state === 'at_hub'
      ? []
      : [`${said.to} was put back and nobody is told that it lost: ${said.text} (${state})`]
  }
  if (state === 'delivered') return [`${said.by} calls delivered what ${said.to} has not: ${said.text}`]
  if (state === 'failed') return faultsOfFailure(task, sent?.delivery?.reason, said)
  return task.isFinished ? [`${said.to} has not got: ${said.text} (${state})`] : []
}

/** Words that lost a race with the end of their task are told to have failed. */
function faultsOfFailure(task: Task, reason: string | undefined, said: Said): string[] {
  if (reason === undefined || reason === '') return [`failed without a reason: ${said.text}`]
  return task.outcome === 'receipt' ? [`failed between honest nodes (${reason}): ${said.text}`] : []
}

/** Each reads the words of the other in the order in which they were acknowledged. */
function faultsOfOrder(scene: Scene, task: Task): string[] {
  return [task.from, task.to].flatMap(reader => {
    const order = task.said.filter(one => one.to === reader).map(one => one.text)
    const turns = viewOf(scene, reader, task.id)?.turns.filter(turn => !turn.mine) ?? []
    const places = turns.map(turn => order.indexOf(turn.text)).filter(place => place >= 0)
    const isOrdered = places.every((place, at) => at === 0 || place > (places[at - 1] as number))
    return isOrdered ? [] : [`${reader} reads out of order: ${turns.map(turn => turn.text).join(' | ')}`]
  })
}

function faultsOfReceipt(scene: Scene, task: Task): string[] {
  const sides = [task.from, task.to].map(who => ({ who, view: viewOf(scene, who, task.id) }))
  const disputed = sides
    .filter(({ view }) => view?.receipt?.fault !== undefined)
    .map(({ who, view }) => `${who} disputes the receipt of an honest node: ${view?.receipt?.fault}`)
  const ids = sides.flatMap(({ view }) => (view?.receipt?.verified ? [view.receipt.id] : []))
  const differ = new Set(ids).size > 1 ? [`both sides hold another receipt: ${ids.join(', ')}`] : []
  const isWhole = touched(scene, task).length === 0
  const missing =
    task.isFinished && task.outcome === 'receipt' && ids.length < 2 && isWhole
      ? ['it is finished, and not both have its receipt']
      : []
  return [...disputed, ...differ, ...missing]
}

function faultsOfPayment(scene: Scene, task: Task): string[] {
  const [mine, theirs] = [task.from, task.to].map(who => viewOf(scene, who, task.id)?.payment)
  if (mine === undefined || theirs === undefined || !task.isFinished) return []
  const said = `${task.from} says ${shown(mine)}, ${task.to} says ${shown(theirs)}`
  // one of its sides, the hub that holds the credits or that of the other side
  const hubs = [mine.network, `hub:${mine.other_hub}`].map(network => scene.hubs.get(network))
  const isHubPutBack = scene.restores.some(one => hubs.includes(one.who) && one.restoredMs >= task.startedMs)
  if (touched(scene, task).length > 0 || isHubPutBack) return []
  // the provider refused it; its payer goes by the hub, and says so until the authorization is over
  if (theirs.state === 'refused' && mine.problem === 'said_refused') return []
  if (OPEN_PAYMENT.has(mine.state) || OPEN_PAYMENT.has(theirs.state))
    return [`a payment is not over: ${said}`]
  const isOne = ownMoved(mine) === ownMoved(theirs)
  if (!isOne) return [`the sides disagree about the payment: ${said}`]
  return ownMoved(mine) === task.moves ? [] : [`${task.moves} credits were to move: ${said}`]
}

const shown = ({ state, taken, given_back, problem }: NonNullable<View['payment']>) =>
  [state, taken ?? '', given_back === undefined ? '' : `back ${given_back}`, problem ?? ''].join(' ').trim()

/** What a side says has moved for good. */
export function ownMoved(payment: NonNullable<View['payment']>): number {
  if (payment.state !== 'taken') return 0
  return (payment.taken ?? payment.amount) - (payment.given_back ?? 0)
}

/** What does not come to its end says for what it waits, and until when; or that a restore has ended it. */
function faultsOfWaiting(scene: Scene, task: Task): string[] {
  if (task.isFinished || task.waitedFor === undefined) return []
  const lost = touched(scene, task)
  if (lost.some(who => isTold(scene, task, who))) return []
  if (saysHubLost(scene, task)) return []
  const sides = [task.from, task.to].map(who => ({ who, view: viewOf(scene, who, task.id) }))
  // what the author of the task has lost before anybody had it is gone, and its node says that it was put back
  if (lost.some(who => viewOf(scene, who, task.id) === undefined && scene.standing.get(who)?.restored))
    return []
  const said = sides.flatMap(({ who, view }) => wordsOf(view).map(words => `${who}: ${words}`))
  return [
    `stuck, it waits for ${task.waitedFor}${said.length > 0 ? `; ${said.join('; ')}` : ' and says nothing'}`,
  ]
}

/** Whether a hub was put back since, and the task says what is wrong with its payment there. */
function saysHubLost(scene: Scene, task: Task): boolean {
  const sides = [task.from, task.to]
  const wasHub = scene.restores.some(one => !scene.views.has(one.who) && one.restoredMs >= task.startedMs)
  const problems = sides.map(who => viewOf(scene, who, task.id)?.payment?.problem)
  return wasHub && (task.refused === 'hub_refused' || problems.some(one => one !== undefined))
}

/** What a side says about what a task waits for. */
function wordsOf(view: View | undefined): string[] {
  if (view === undefined) return ['does not know it']
  const waiting = view.turns.flatMap(({ mine, delivery, text }) =>
    mine && delivery !== undefined && delivery.state !== 'delivered'
      ? [`"${text}" is ${delivery.state}${delivery.reason === undefined ? '' : ` (${delivery.reason})`}`]
      : [],
  )
  const { payment } = view
  const paid = payment ? [`payment ${shown(payment)}`] : []
  return [view.state, ...waiting, ...paid]
}

/** What one hub's ledger says, beside what the receipts of tasks and redemptions explain. */
export type Books = {
  hub: Name
  node: Name
  account: Account
  /** What it had, and what moved since by what both sides say. */
  before: number
  explained: number
  /** Whether this hub or this node was put back since: its own comparison tells what it lost. */
  wasPutBack: boolean
  /** Whether nobody can say what moved: this hub was put back, or a restore cut a task of this node short. */
  isUnsure: boolean
}

/** Every credit has a receipt, or the comparison with the ledger says which has none. */
export function faultsOfBooks(books: Books): string[] {
  const { hub, node, account, before, explained, wasPutBack, isUnsure } = books
  const where = `${node} at ${hub}`
  const found: string[] = []
  const told = account.unknown.length + account.missing.length > 0 || account.short !== undefined
  if (told && !wasPutBack)
    found.push(
      `${where}: the comparison finds what no receipt explains: ${JSON.stringify({ unknown: account.unknown, missing: account.missing, short: account.short })}`,
    )
  const expected = before + explained
  const has = account.balance + account.held
  if (has !== expected && !isUnsure)
    found.push(`${where}: ${has} credits (${account.held} held), and receipts explain ${expected}`)
  return found
}

/** What a hub gave out is with its agents, or was redeemed, whatever was put back. */
export function faultsOfSum(hub: Name, { granted, owned, redeemed }: Sums): string[] {
  return owned + redeemed === granted
    ? []
    : [`${hub}: ${granted} credits were granted, agents have ${owned}, and ${redeemed} were redeemed`]
}
export type Sums = { granted: number; owned: number; redeemed: number }
