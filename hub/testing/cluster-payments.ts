/**
 * For tests: agents that pay each other at several processes of one hub, and what each must have afterwards. Whatever has
 * no answer is asked again, at another process; a payment is made once, and no credit comes or goes.
 */
import { randomInt } from 'node:crypto'
import { toHex } from '../../protocol/encoding/bytes.ts'
import { orderRunningHub } from '../operator/socket.ts'
import type { ClusterProcess, TestCluster } from './cluster.ts'
import { random, type TestAgent } from './hub.ts'
import { ask, balanceOf, order, payment } from './payments.ts'

const AGENTS = 3
const GRANTED = 100_000
const AMOUNT_MAX = 9
const HOLD_EVERY = 4
const HOLD_SECONDS = 3600

/** A way that credits go: what is asked in turn, and what it comes to once all of it is answered. */
type Way = { steps: ((at: ClusterProcess) => Promise<void>)[]; done: () => void }

export class PaymentsHistory {
  readonly #agents: readonly TestAgent[]
  readonly #expected: Map<TestAgent, number>
  readonly #open = new Set<Way>()
  #ways = 0
  /** Ways that came to their end. */
  answered = 0

  private constructor(balances: Map<TestAgent, number>) {
    this.#agents = [...balances.keys()]
    this.#expected = balances
  }

  static async on(cluster: TestCluster): Promise<PaymentsHistory> {
    const [at] = cluster.processes as [ClusterProcess]
    const balances = new Map<TestAgent, number>()
    for (let n = 0; n < AGENTS; n++) {
      const agent = await cluster.agent(at)
      const given = { aid: agent.aid, amount: GRANTED, reason: 'a test', id: toHex(random(16)) }
      const reply = await orderRunningHub(at.directory, { command: 'grant', ...given })
      if (reply?.ok !== true) throw new Error(`not granted: ${JSON.stringify(reply)}`)
      balances.set(agent, (await balanceOf(agent)).balance)
    }
    return new PaymentsHistory(balances)
  }

  /** Pays at once, or holds an amount and has its payee take a part of it. */
  async pay(at: ClusterProcess): Promise<void> {
    const from = this.#agents[randomInt(AGENTS)] as TestAgent
    const to = this.#agents.filter(agent => agent !== from)[randomInt(AGENTS - 1)] as TestAgent
    const way = this.#ways++ % HOLD_EVERY === 0 ? this.#held(from, to) : this.#paid(from, to)
    this.#open.add(way)
    await this.#go(way, at)
  }

  #paid(from: TestAgent, to: TestAgent): Way {
    const amount = 1 + randomInt(AMOUNT_MAX)
    const { request } = payment(from, to, amount)
    return { steps: [at => succeeds(at, 'x402Settle', request)], done: () => this.#moved(from, to, amount) }
  }

  #held(from: TestAgent, to: TestAgent): Way {
    const amount = 1 + randomInt(AMOUNT_MAX)
    const taken = randomInt(amount + 1)
    const paid = payment(from, to, amount, { holdSeconds: HOLD_SECONDS })
    const end = order(to, paid, taken)
    return {
      steps: [
        at => succeeds(at, 'x402Settle', paid.request),
        at => succeeds(at, taken === 0 ? 'x402Release' : 'x402Capture', end),
      ],
      done: () => this.#moved(from, to, taken),
    }
  }

  async #go(way: Way, at: ClusterProcess): Promise<void> {
    for (let step = way.steps[0]; step !== undefined; step = way.steps[0]) {
      await step(at)
      way.steps.shift()
    }
    this.#open.delete(way)
    this.answered += 1
    way.done()
  }

  #moved(from: TestAgent, to: TestAgent, amount: number): void {
    this.#expected.set(from, (this.#expected.get(from) ?? 0) - amount)
    this.#expected.set(to, (this.#expected.get(to) ?? 0) + amount)
  }

  /** Asks again for all that had no answer, then compares what each has with what was answered. */
  async compare(at: ClusterProcess): Promise<string[]> {
    for (const way of this.#open) await this.#go(way, at)
    const faults: string[] = []
    for (const agent of this.#agents) {
      agent.target = at
      const { balance, held } = await balanceOf(agent)
      const expected = this.#expected.get(agent)
      if (balance !== expected || held !== 0)
        faults.push(`an agent has ${balance} and ${held} held; answers come to ${expected}`)
    }
    return faults
  }
}

async function succeeds(
  at: ClusterProcess,
  route: Parameters<typeof ask>[1],
  request: unknown,
): Promise<void> {
  const { status, json } = await ask(at, route, request)
  if (json['success'] !== true) throw new Error(`${route} was answered ${status}: ${JSON.stringify(json)}`)
}
