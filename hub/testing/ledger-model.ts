/**
 * For tests: a ledger under random operations, and a model of it in a few maps. Each step tells what it did; what the
 * ledger answers is compared with what the model expects.
 */
import { labelledSign } from '../../protocol/crypto/hash.ts'
import {
  Authorization,
  type AuthorizationBody,
  HoldOrder,
  networkOf,
  redemptionPurpose,
  transactionOf,
} from '../../protocol/proof/payment.ts'
import { type Agent, Agents } from '../core/agents.ts'
import { Credits } from '../core/ledger/credits.ts'
import { HoldClock } from '../core/ledger/hold-clock.ts'
import { Issuance } from '../core/ledger/issuance.ts'
import { PaymentRefused } from '../core/ledger/refused.ts'
import type { PaymentRequest } from '../core/ledger/terms.ts'
import { HOUR_MS } from '../core/limits.ts'
import { Admission } from '../core/membership/admission.ts'
import { KeyLogs } from '../core/membership/key-logs.ts'
import { Registry } from '../core/membership/registry.ts'
import { SupplyChain } from '../core/supply/chain.ts'
import { agentOf, openCore, type TestCore } from './core.ts'
import type { TestAgent } from './hub.ts'

const START_MS = 1_800_000_000_000
const AGENTS = 6
const HOLD_SECONDS = 600
const ROTATIONS_MAX = 200

type Held = { agent: TestAgent; payee: TestAgent; amount: number; untilMs: number; request: PaymentRequest }

/** The parts of a hub that a ledger needs, over one core. */
type Parts = { core: TestCore; credits: Credits; issuance: Issuance; registry: Registry; known: Agents }

export type Model = Parts & {
  agents: TestAgent[]
  /** Who is registered nowhere at the moment. */
  left: Set<string>
  /** Of so many crashes that are drawn one happens: starting again takes as long as a thousand payments. */
  crashEvery: number
  /** Transfers that were posted. */
  posted: number
  balances: Map<string, number>
  holds: Map<string, Held>
  /** Payments that may be given back, and how much of each. */
  paid: { from: TestAgent; to: TestAgent; transaction: Uint8Array; left: number }[]
  requests: PaymentRequest[]
  /** How often each kind of step was taken. */
  counts: Map<string, number>
  kinds: readonly string[]
  draw(below: number): number
  total(): number
  balanceOf(aid: string): Promise<number>
}

/** Draws that follow from a seed alone. */
function drawing(seed: number): (below: number) => number {
  let state = seed >>> 0 || 1
  return below => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
}

async function partsOver(core: TestCore): Promise<Parts> {
  const supply = await SupplyChain.open(core.context)
  const agents = new Agents(core.context)
  const issuance = new Issuance(core.context, supply)
  const credits = new Credits(core.context, { agents, supply, clock: await HoldClock.open(core.context, 0) })
  const keyLogs = new KeyLogs(core.context)
  const registry = new Registry(core.context, agents, {
    keyLogs,
    endSigner: async () => undefined,
    issuance,
    admission: new Admission(core.context),
  })
  return { core, credits, issuance, registry, known: agents }
}

export async function openModel(seed: number, crashEvery: number): Promise<Model> {
  const parts = await partsOver(await openCore(START_MS, { trialCredits: 0 }))
  const { core } = parts
  const agents: TestAgent[] = []
  for (let i = 0; i < AGENTS; i++) {
    const agent = agentOf(core)
    agent.rotate()
    await core.context.store.admit(agent.aid, true)
    await enrol(parts, agent)
    agents.push(agent)
  }
  const balances = new Map(agents.map(agent => [agent.aid, 0]))
  return {
    ...parts,
    agents,
    left: new Set(),
    crashEvery,
    posted: 0,
    balances,
    holds: new Map(),
    paid: [],
    requests: [],
    counts: new Map(),
    kinds: Object.keys(steps),
    draw: drawing(seed),
    total: () => [...balances.values()].reduce((sum, balance) => sum + balance, 0),
    async balanceOf(this: Model, aid) {
      return (await this.core.context.store.holdings(aid, 0)).balance
    },
  }
}

export const closeModel = (model: Model): Promise<void> => model.core.close()

/** Registers an agent with its log as it now stands. */
async function enrol({ registry }: Pick<Parts, 'registry'>, agent: TestAgent): Promise<void> {
  const kel = new Uint8Array(Buffer.from(agent.kel, 'base64url'))
  const given = { aid: agent.aid, kel, profile: {}, keys: undefined, prevSeq: undefined, pow: undefined }
  await registry.register({ ...given, checkOnly: false }, '192.0.2.1', async () => undefined)
}

/** Takes one random step; throws where the ledger does something else than the model. */
export async function step(model: Model): Promise<string> {
  const kinds = Object.keys(steps) as (keyof typeof steps)[]
  const kind = kinds[model.draw(kinds.length)] as keyof typeof steps
  model.counts.set(kind, (model.counts.get(kind) ?? 0) + 1)
  await steps[kind](model)
  return kind
}

const one = <T>(model: Model, of: readonly T[]): T | undefined => of[model.draw(of.length)]
const amountOf = (model: Model): number => 1 + model.draw(40)

function add(model: Model, aid: string, amount: number): void {
  model.balances.set(aid, (model.balances.get(aid) ?? 0) + amount)
}

/** Two different agents. */
function two(model: Model): [TestAgent, TestAgent] {
  const at = model.draw(AGENTS)
  const other = (at + 1 + model.draw(AGENTS - 1)) % AGENTS
  return [model.agents[at] as TestAgent, model.agents[other] as TestAgent]
}

function requestFor(
  { core }: Model,
  from: TestAgent,
  payTo: string,
  amount: number,
  more: Partial<AuthorizationBody> = {},
): { request: PaymentRequest; authorization: Authorization } {
  const nowMs = core.clock.ms
  const network = networkOf(core.context.identity.aid)
  const nonce = core.context.random(16)
  const authorization = Authorization.sign(from.seed, {
    v: 1,
    payer: from.aid,
    payerKelSeq: from.log.seq,
    payTo,
    amount,
    network,
    nonce,
    notBefore: nowMs,
    notAfter: nowMs + HOUR_MS / 2,
    ...more,
  })
  const extra = more.holdUntil === undefined ? undefined : { hold_s: HOLD_SECONDS }
  const terms = { scheme: 'svc-credit', network, asset: 'credit', amount: String(amount), payTo, extra }
  const bytes = Authorization.encode(authorization)
  return {
    request: { versions: [2, 2], accepted: terms, required: terms, authorization: bytes },
    authorization,
  }
}

/** Whether it was made; anything but a refused payment is a fault of the ledger. */
async function made(work: () => Promise<unknown>): Promise<boolean> {
  try {
    await work()
    return true
  } catch (error) {
    if (error instanceof PaymentRefused) return false
    throw error
  }
}

function agree(what: string, made: boolean, expected: boolean): void {
  if (made !== expected) throw new Error(`${what}: the ledger says ${made}, the model ${expected}`)
}

/** What has lapsed goes back when its payer's credits are touched. */
function lapse(model: Model, payer: string): void {
  for (const [id, { agent, amount, untilMs }] of model.holds) {
    if (agent.aid !== payer || untilMs > model.core.clock.ms) continue
    model.holds.delete(id)
    model.posted += 1
    add(model, payer, amount)
  }
}

const steps = {
  async grant(model: Model) {
    const agent = one(model, model.agents) as TestAgent
    const amount = amountOf(model)
    if (model.left.has(agent.aid)) return
    await model.issuance.grant(agent.aid, amount, model.core.context.random(16))
    model.posted += 1
    add(model, agent.aid, amount)
  },
  async pay(model: Model) {
    const [from, to] = two(model)
    const amount = amountOf(model)
    const { request, authorization } = requestFor(model, from, to.aid, amount)
    const isHere = !model.left.has(to.aid)
    // who is paid is judged before anybody's credits are touched
    if (isHere) lapse(model, from.aid)
    const expected = isHere && (model.balances.get(from.aid) ?? 0) >= amount
    agree('pay', await made(() => model.credits.settle(request)), expected)
    if (!expected) return
    model.posted += 1
    add(model, from.aid, -amount)
    add(model, to.aid, amount)
    model.paid.push({ from, to, transaction: transactionOf(authorization), left: amount })
    model.requests.push(request)
  },
  async hold(model: Model) {
    const [agent, payee] = two(model)
    const amount = amountOf(model)
    const untilMs = model.core.clock.ms + HOUR_MS / 2 + HOLD_SECONDS * 1000
    const { request, authorization } = requestFor(model, agent, payee.aid, amount, { holdUntil: untilMs })
    const isHere = !model.left.has(payee.aid)
    if (isHere) lapse(model, agent.aid)
    const expected = isHere && (model.balances.get(agent.aid) ?? 0) >= amount
    agree('hold', await made(() => model.credits.settle(request)), expected)
    if (!expected) return
    model.posted += 1
    add(model, agent.aid, -amount)
    const id = Buffer.from(transactionOf(authorization)).toString('hex')
    model.holds.set(id, { agent, payee, amount, untilMs, request })
  },
  capture: (model: Model) => end(model, amount => 1 + model.draw(amount)),
  release: (model: Model) => end(model, () => 0),
  async time(model: Model) {
    model.core.clock.ms += model.draw(20) * 60_000
    // a hub looks at its clock all the time: several steps are no jump
    model.credits.holds.clock.now()
  },
  async sweep(model: Model) {
    await model.credits.holds.lapse()
    for (const agent of model.agents) lapse(model, agent.aid)
  },
  async refund(model: Model) {
    const paid = one(model, model.paid)
    if (paid === undefined) return
    const amount = amountOf(model)
    const { from, to, transaction } = paid
    const { request } = requestFor(model, to, from.aid, amount, { refundOf: transaction })
    lapse(model, to.aid)
    const expected = amount <= paid.left && (model.balances.get(to.aid) ?? 0) >= amount
    agree('refund', await made(() => model.credits.settle(request)), expected)
    if (!expected) return
    model.posted += 1
    paid.left -= amount
    add(model, to.aid, -amount)
    add(model, from.aid, amount)
  },
  async redeem(model: Model) {
    const agent = one(model, model.agents) as TestAgent
    const amount = amountOf(model)
    const reference = `reference ${model.draw(1_000_000)}`
    const hub = model.core.context.identity.aid
    const { request } = requestFor(model, agent, hub, amount, { purpose: redemptionPurpose(reference) })
    lapse(model, agent.aid)
    const expected = (model.balances.get(agent.aid) ?? 0) >= amount
    const redeem = () => model.credits.redeem({ ...request, required: undefined, reference })
    agree('redeem', await made(redeem), expected)
    if (!expected) return
    model.posted += 1
    add(model, agent.aid, -amount)
    agree('redeem again', await made(redeem), true)
  },
  async repeat(model: Model) {
    const request = one(model, model.requests)
    if (request !== undefined) agree('repeat', await made(() => model.credits.settle(request)), true)
  },
  /** A new key of an agent; what it signed before is answered as it was. */
  async rotate(model: Model) {
    const agent = one(model, model.agents) as TestAgent
    if (model.left.has(agent.aid) || agent.log.seq >= ROTATIONS_MAX) return
    model.core.clock.ms += 1000
    agent.rotate()
    await enrol(model, agent)
  },
  /** An agent leaves, or comes back; its account stays. */
  async leave(model: Model) {
    const agent = one(model, model.agents) as TestAgent
    if (model.left.delete(agent.aid)) return enrol(model, agent)
    await model.registry.deregister((await model.known.find(agent.aid)) as Agent)
    model.left.add(agent.aid)
  },
  /** The hub goes down while a payment is under way: made or not, it is made once. */
  async crash(model: Model) {
    if (model.draw(model.crashEvery) > 0) return
    const [from, to] = two(model)
    const { request } = requestFor(model, from, to.aid, 1)
    const isHere = !model.left.has(to.aid)
    if (isHere) lapse(model, from.aid)
    const expected = isHere && (model.balances.get(from.aid) ?? 0) >= 1
    // nobody ever hears what became of it
    void model.credits.settle(request).catch(() => undefined)
    const core = await model.core.restart()
    Object.assign(model, await partsOver(core))
    agree('settled after the crash', await made(() => model.credits.settle(request)), expected)
    if (!expected) return
    model.posted += 1
    add(model, from.aid, -1)
    add(model, to.aid, 1)
  },
  async forge(model: Model) {
    const [from, to] = two(model)
    const { request, authorization } = requestFor(model, from, to.aid, 1)
    const { bodyBytes } = authorization
    const signature = labelledSign(Authorization.label, to.seed, bodyBytes)
    const bytes = Authorization.encode({ ...authorization, signature })
    agree('forge', await made(() => model.credits.settle({ ...request, authorization: bytes })), false)
  },
} satisfies Record<string, (model: Model) => Promise<void>>

async function end(model: Model, amountOf: (held: number) => number): Promise<void> {
  const id = one(model, [...model.holds.keys()])
  if (id === undefined) return
  const held = model.holds.get(id) as Held
  const captured = amountOf(held.amount)
  const order = HoldOrder.sign(held.payee.seed, {
    v: 1,
    transaction: new Uint8Array(Buffer.from(id, 'hex')),
    amount: captured,
    payee: held.payee.aid,
    payeeKelSeq: held.payee.log.seq,
    madeAt: model.core.clock.ms,
  })
  const lapsed = held.untilMs <= model.core.clock.ms
  const given = () => model.credits.end(HoldOrder.encode(order), captured === 0)
  agree('end', await made(given), !lapsed || captured === 0)
  model.holds.delete(id)
  model.posted += 1
  const taken = lapsed ? 0 : captured
  add(model, held.payee.aid, taken)
  add(model, held.agent.aid, held.amount - taken)
}
