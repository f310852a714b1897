/** The accounts of all nodes at both hubs, at rest: what they were, and what receipts explain since. */
import { setTimeout as pause } from 'node:timers/promises'
import { faultsOfBooks, faultsOfSum } from './checker.ts'
import type { Account, Restore, Task, View } from './history.ts'
import { Asked } from './processes.ts'
import { type ChaosWorld, GRANTED, type HubName, hubNames, type NodeName, nodeNames } from './world.ts'

export type Redeemed = { node: NodeName; network: string; amount: number }
type Ground = {
  world: ChaosWorld
  restores: readonly Restore[]
  tasks: readonly Task[]
  /** Since the last comparison. */
  redeemed: readonly Redeemed[]
}
/** What was there at a comparison; what a restore cut short may move until the next one but one. */
type Baseline = {
  atMs: number
  has: Map<string, number>
  tasks: number
  tasksBefore: number
  beforeMs: number
  /** Hubs that were put back, and where credits were still held: their holds end later, for tasks of before. */
  unended: ReadonlySet<HubName>
}

/** What a hub gives everybody who registers. */
const TRIAL = 100
/** What moves while the accounts are read is read again. */
const READS_MAX = 3
/** A hub that was put back is told again of every end of a hold that it lost. */
const ENDED_MS = 60_000
const LOOK_MS = 500
const isNode = ({ who }: Restore): boolean => (nodeNames as readonly string[]).includes(who)

/** What a side shows of a task; undefined where it does not have it. */
export async function viewOf(
  world: Pick<ChaosWorld, 'ask'>,
  who: string,
  id: string,
): Promise<View | undefined> {
  try {
    const body = { interaction_id: id, max_chars: 1_000_000 }
    return (await world.ask(who, 'POST', '/thread', body)) as unknown as View
  } catch (error) {
    if (error instanceof Asked && error.reply['reason'] === 'unknown_interaction') return undefined
    throw error
  }
}

export class ChaosBooks {
  readonly #told = new Set<string>()
  #baseline: Baseline | undefined

  /** What does not hold, in sentences. */
  async compare(ground: Ground): Promise<string[]> {
    const { tasks } = ground
    const before = this.#baseline
    const has = new Map<string, number>()
    const found: string[] = []
    const unended = new Set<HubName>()
    for (const hub of hubNames) {
      const isAsked = isPutBack(ground, hub, before) || before?.unended.has(hub) === true
      if (isAsked && !(await haveHoldsEnded(ground.world, hub))) unended.add(hub)
      found.push(...(await this.#compareHub(ground, hub, has)))
      found.push(...(await sumFaults(ground.world, hub)))
    }
    const [tasksBefore, beforeMs] = [before?.tasks ?? 0, before?.atMs ?? 0]
    this.#baseline = { atMs: Date.now(), has, tasks: tasks.length, tasksBefore, beforeMs, unended }
    return found
  }

  async #compareHub(ground: Ground, hub: HubName, has: Map<string, number>): Promise<string[]> {
    const before = this.#baseline
    const found: string[] = []
    for (const node of nodeNames) {
      const account = this.#news(await accountOf(ground.world, node, hub), before === undefined)
      has.set(`${node} ${hub}`, account.balance + account.held)
      if (before === undefined) continue
      const isHub = isPutBack(ground, hub, before)
      const wasPutBack =
        isHub || ground.restores.some(one => one.restoredMs >= before.atMs && one.who === node)
      const books = {
        hub,
        node,
        account,
        before: before.has.get(`${node} ${hub}`) ?? 0,
        explained: await explained(ground, node, account.network, ground.tasks.slice(before.tasks)),
        wasPutBack,
        isUnsure: isHub || before.unended.has(hub) || isCutShort(ground, node, before),
      }
      found.push(...faultsOfBooks(books))
      if (wasPutBack) this.#news(account, true)
    }
    return found
  }

  /** What the comparison has not told before; what a restore took stays told. */
  #news(account: Account, isTold: boolean): Account {
    const isNew = ({ transaction }: { transaction: string }) => !this.#told.has(transaction)
    const news = {
      ...account,
      unknown: account.unknown.filter(isNew),
      missing: account.missing.filter(isNew),
    }
    if (isTold) for (const { transaction } of [...news.unknown, ...news.missing]) this.#told.add(transaction)
    return news
  }
}

const isPutBack = ({ restores }: Ground, hub: HubName, before: Baseline | undefined): boolean =>
  before !== undefined && restores.some(one => one.restoredMs >= before.atMs && one.who === hub)

/** Waits until no credits are held at a hub at which nothing is under way. */
async function haveHoldsEnded(world: ChaosWorld, hub: HubName): Promise<boolean> {
  for (const end = Date.now() + ENDED_MS; Date.now() < end; await pause(LOOK_MS)) {
    const accounts = await Promise.all(
      nodeNames.map(node => {
        const { url } = world.line(node, hub)
        return world.ask(node, 'GET', `/balance?hub=${encodeURIComponent(url)}`)
      }),
    )
    if (accounts.every(({ held }) => held === 0)) return true
  }
  return false
}

/** Whether a node was put back while there was a task of this node of which nobody can say what it moved. */
function isCutShort(
  { restores, tasks }: Ground,
  node: NodeName,
  { tasksBefore, beforeMs }: Baseline,
): boolean {
  if (!restores.some(one => isNode(one) && one.restoredMs >= beforeMs)) return false
  return tasks.slice(tasksBefore).some(task => !task.isKnown && (task.from === node || task.to === node))
}

/** What the tasks of a node and its redemptions moved in these credits, as either side still knows. */
async function explained(
  { world, redeemed }: Ground,
  node: NodeName,
  network: string,
  tasks: readonly Task[],
): Promise<number> {
  let sum = 0
  for (const task of tasks) {
    if (task.moves === 0 || (task.from !== node && task.to !== node)) continue
    const other = task.from === node ? task.to : task.from
    const payment =
      (await viewOf(world, node, task.id))?.payment ?? (await viewOf(world, other, task.id))?.payment
    if (payment?.network === network) sum += task.from === node ? -task.moves : task.moves
  }
  const back = redeemed.filter(one => one.node === node && one.network === network)
  return back.reduce((all, { amount }) => all - amount, sum)
}

async function accountOf(world: ChaosWorld, node: NodeName, hub: HubName): Promise<Account> {
  const { url } = world.line(node, hub)
  const balance = await world.ask(node, 'GET', `/balance?hub=${encodeURIComponent(url)}`)
  const compared = await world.ask(node, 'POST', '/reconcile', { hub: url })
  return { ...compared, balance: balance['balance'], held: balance['held'] } as unknown as Account
}

async function sumFaults(world: ChaosWorld, hub: HubName): Promise<string[]> {
  const granted = (GRANTED + TRIAL) * nodeNames.length
  for (let reads = 1; ; reads++) {
    const redeemed = JSON.parse(await world.hubCommand(hub, 'redemptions'))['amount'] as number
    let owned = 0
    for (const node of nodeNames) {
      const path = `/balance?hub=${encodeURIComponent(world.line(node, hub).url)}`
      const told = await world.ask(node, 'GET', path)
      owned += (told['balance'] as number) + (told['held'] as number)
    }
    const found = faultsOfSum(hub, { granted, owned, redeemed })
    if (found.length === 0 || reads === READS_MAX) return found
  }
}
