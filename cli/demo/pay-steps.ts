/** The steps of the demo in which one agent pays the other; each compares what it read on another side with what was said. */

import { writeFileSync } from 'node:fs'
import { type Sensor, sensorStep } from './sensor.ts'
import {
  type Facts,
  getJson,
  refusesAlteredChain,
  rewriteRecord,
  type Step,
  same,
  short,
  startNode,
  until,
} from './step.ts'
import { payStepNames } from './step-names.ts'
import { admit, alice, hub } from './steps.ts'
import type { World } from './world.ts'

const SENSOR = 'sensor.temperature'
const BROKEN = 'sensor.broken'
const PRICE = 5
const GRANTED = 50

/** What the steps of this demo hand on beside the others. */
type Paying = { sensor: Sensor; url: string; paid: string; before: Balance; transaction: string }
type Balance = {
  balance: number
  held: number
  entries: { delta: number; reason: string; transaction?: string }[]
}
const own = new WeakMap<World, Partial<Paying>>()
const payingOf = (world: World): Partial<Paying> => {
  const held = own.get(world) ?? {}
  own.set(world, held)
  return held
}

const balance = async (world: World, name: 'alice' | 'bob') =>
  (await world.svc(name, 'balance')) as unknown as Balance
const credits = async (world: World) => {
  const [mine, theirs] = [await balance(world, 'alice'), await balance(world, 'bob')]
  return `${mine.balance}+${mine.held} / ${theirs.balance}+${theirs.held}`
}

type Reply = { interaction_id: string; effect?: { status: string; message: string } }
type Shown = {
  state: string
  payment?: { state: string; amount: number; reason?: string; paid_as?: string }
  receipt?: { id: string; verified: boolean; status: string }
}
const delegate = async (world: World, facts: Facts, ...more: string[]) =>
  (await world.svc('alice', 'delegate', facts.bob, ...more)) as unknown as Reply
const shown = async (world: World, name: 'alice' | 'bob', id: string) =>
  (await world.svc(name, 'thread', id)) as unknown as Shown
const signed = (world: World, id: string) =>
  until('the receipt', async () => {
    const { receipt } = await shown(world, 'alice', id)
    return receipt?.verified === true ? receipt : undefined
  })

const sensor = sensorStep('a local service, which bob will serve for a price', (world, service, url) => {
  Object.assign(payingOf(world), { sensor: service, url })
})

const bob: Step = {
  name: 'bob',
  title: `a node for bob, who asks ${PRICE} credits for it`,
  async run(world, facts, spoiled) {
    const { url } = payingOf(world)
    const service = [
      { id: SENSOR, url: `${url}/`, timeout_seconds: 30 },
      { id: BROKEN, url: `${url}/broken` },
    ]
    writeFileSync(world.dir('bob', 'config.json'), JSON.stringify({ modules: { service } }), { mode: 0o600 })
    facts.bob = await startNode(world, 'bob', {}, spoiled)
    for (const capability of [SENSOR, BROKEN])
      await world.svc('bob', 'price', 'set', capability, String(PRICE))
    const { prices } = (await world.svc('bob', 'price', 'ls')) as { prices: { amount: number }[] }
    same('prices', prices.map(({ amount }) => amount).join(), `${PRICE},${PRICE}`)
    return `identity ${short(facts.bob)}, ${SENSOR} costs ${PRICE}`
  },
}

const grant: Step = {
  name: 'grant',
  title: 'the operator grants alice credits',
  async run(world, facts, spoiled) {
    const first = await balance(world, 'alice')
    const granted = await world.hub('grant', facts.alice, String(GRANTED), '--reason', 'a demo')
    const expected = first.balance + GRANTED + (spoiled ? 1 : 0)
    same("alice's balance, as her node reads it", (await balance(world, 'alice')).balance, expected)
    same("alice's balance, as the operator reads it", granted['balance'], expected)
    return `${first.balance} for trial, ${GRANTED} granted`
  },
}

const quote: Step = {
  name: 'quote',
  title: 'a call without payment: the answer is its price, signed by both',
  async run(world, facts, spoiled) {
    if (spoiled) await world.svc('bob', 'price', 'rm', SENSOR)
    const { interaction_id: id } = await delegate(world, facts, '--capability', SENSOR)
    const receipt = await signed(world, id)
    same('status in the receipt', receipt.status, 'PAYMENT_REQUIRED')
    const { payment } = await shown(world, 'alice', id)
    same('the price', payment?.amount, PRICE)
    same('times that the service was asked', payingOf(world).sensor?.asked, 0)
    return `${PRICE} credits; nothing ran`
  },
}

const limit: Step = {
  name: 'limit',
  title: 'a payment above its limit is not made',
  async run(world, facts, spoiled) {
    const before = await credits(world)
    const most = spoiled ? PRICE : PRICE - 1
    const call = ['--capability', SENSOR, '--pay', '--max-credits', String(most)]
    const { svc } = world.programs
    const ran = await world.run(svc, ['delegate', facts.bob, ...call], world.env('alice'))
    const { interaction_id: id } = JSON.parse(ran.stdout) as Reply
    const { payment } = await shown(world, 'alice', id)
    same('what became of the price', payment?.state, 'open')
    same('exit code of what was not bought', ran.code, 1)
    same('balances', await credits(world), before)
    return payment?.reason ?? ''
  },
}

const held: Step = {
  name: 'held',
  title: 'alice pays: the hub holds the credits while the work runs',
  async run(world, facts, spoiled) {
    const paying = payingOf(world)
    const { sensor: service } = paying
    if (service !== undefined) service.holds = !spoiled
    paying.before = await balance(world, 'alice')
    const { interaction_id: quoted } = await delegate(world, facts, '--capability', SENSOR)
    await signed(world, quoted)
    const approved = await world.svc('alice', 'approve', quoted)
    paying.paid = String(approved['interaction_id'])
    facts.interaction = paying.paid
    await until('the service is asked', async () => service?.asked || undefined)
    const now = await balance(world, 'alice')
    same('credits held', now.held, PRICE)
    same('credits left', now.balance, paying.before.balance - PRICE)
    return `${PRICE} held, ${now.balance} left`
  },
}

const captured: Step = {
  name: 'captured',
  title: 'the work is done: bob takes the credits',
  async run(world, _facts, spoiled) {
    const { sensor: service, paid = '', before } = payingOf(world)
    const theirs = await balance(world, 'bob')
    if (!spoiled) service?.release()
    const receipt = await signed(world, paid)
    same('status', receipt.status, 'UNVERIFIED')
    same("alice's credits", (await balance(world, 'alice')).balance, (before?.balance ?? 0) - PRICE)
    same("bob's credits", (await balance(world, 'bob')).balance, theirs.balance + PRICE)
    same('times that the service was asked', service?.asked, 1)
    return `${PRICE} went over, for one run`
  },
}

const failed: Step = {
  name: 'failed',
  title: 'work that fails gives the credits back',
  async run(world, facts, spoiled) {
    const before = await credits(world)
    const capability = spoiled ? SENSOR : BROKEN
    const reply = await delegate(
      world,
      facts,
      '--capability',
      capability,
      '--pay',
      '--max-credits',
      String(PRICE),
    )
    same('status', reply.effect?.status, 'FAILED')
    await signed(world, reply.interaction_id)
    same('balances', await credits(world), before)
    return `FAILED, and ${before} as before`
  },
}

type Records = { records: { payload: Record<string, unknown> }[] }
const recordsOf = async (world: World, name: 'alice' | 'bob', type: string, id: string) => {
  const { records } = (await world.svc(name, 'evidence', '--type', type)) as unknown as Records
  return records.map(({ payload }) => payload).filter(payload => payload['interaction_id'] === id)
}

const receipts: Step = {
  name: 'receipts',
  title: "both signed the task's receipt; the hub signed hold and capture",
  async run(world, _facts, spoiled) {
    const paying = payingOf(world)
    const { paid = '' } = paying
    const mine = (await shown(world, 'alice', paid)).receipt
    const theirs = await until("bob's receipt", async () => {
      const { receipt } = await shown(world, 'bob', paid)
      return receipt?.verified === true ? receipt : undefined
    })
    same('one receipt on both sides', theirs.id, mine?.id)
    same('verdict', (await world.svc('alice', 'verify', paid))['verdict'], 'valid')
    const settled = await until('both receipts of the hub', async () => {
      const found = await recordsOf(world, 'alice', 'svc.payment.settled', paid)
      return found.length === 2 ? found : undefined
    })
    same('receipts that hold', settled.filter(record => record['verified'] === !spoiled).length, 2)
    paying.transaction = String(settled[0]?.['transaction'])
    const served = await recordsOf(world, 'bob', 'svc.payment.settled', paid)
    same("the payment in bob's chain", served[0]?.['transaction'], paying.transaction)
    return `payment ${paying.transaction.slice(0, 16)}…`
  },
}

const balances: Step = {
  name: 'balances',
  title: "the hub's ledger is what both signed",
  async run(world, _facts, spoiled) {
    const { transaction } = payingOf(world)
    for (const name of ['alice', 'bob'] as const) {
      const { entries } = await balance(world, name)
      const found = entries.some(entry => entry.transaction === (spoiled ? 'none' : transaction))
      same(`${name}'s ledger has the payment`, found, true)
      const compared = await world.svc(name, 'reconcile')
      same(`${name}'s ledger holds nothing unsigned`, compared['agrees'], true)
    }
    return 'each debit has an authorization in its chain'
  },
}

type Issued = { entries: { kind: string; amount?: number }[] }

const supply: Step = {
  name: 'supply',
  title: 'what the hub published of its issue sums up to what it owes',
  async run(world, facts, spoiled) {
    const { entries } = (await getJson(`${facts.hubUrl}/x402/issuance`)) as unknown as Issued
    const sum = (kind: string) =>
      entries.filter(entry => entry.kind === kind).reduce((total, { amount = 0 }) => total + amount, 0)
    const outstanding = sum('credit.issued') - sum('credit.retired') + (spoiled ? 1 : 0)
    const [mine, theirs] = [await balance(world, 'alice'), await balance(world, 'bob')]
    same('issued less retired', outstanding, mine.balance + mine.held + theirs.balance + theirs.held)
    return `${entries.length} records, ${outstanding} credits outstanding`
  },
}

export const chains: Step = {
  name: 'chains',
  title: 'an altered evidence chain does not open',
  async run(world, facts, spoiled) {
    await world.svc('bob', 'stop')
    if (spoiled) rewriteRecord(world.dir('bob', 'evidence.ael.jsonl'), facts.alice)
    await refusesAlteredChain(world, facts.alice)
    const again = await startNode(world, 'bob', {}, false)
    same('the node of the whole one', again, facts.bob)
    return 'the altered copy ends with a sentence, the whole one opens'
  },
}

const byName: Readonly<Record<(typeof payStepNames)[number], Step>> = {
  hub,
  sensor,
  alice,
  bob,
  admit,
  grant,
  quote,
  limit,
  held,
  captured,
  failed,
  receipts,
  balances,
  supply,
  chains,
}

export const paySteps: readonly Step[] = payStepNames.map(name => byName[name])
