/** Work that has begun: calls, agents, tasks of A2A. */
import { setTimeout as pause } from 'node:timers/promises'
import { PAY_KEY } from '../../../daemon/a2a/shapes.ts'
import { paymentOf } from '../../../daemon/store/payments.ts'
import { quoteOf } from '../../../daemon/store/quotes.ts'
import type { JsonValue } from '../../../protocol/encoding/json.ts'
import { present } from '../../../protocol/encoding/present.ts'
import { delegate, joined, type Row, stage, tell, undecided, unsent, type Waiting } from '../row.ts'
import { COUNT } from '../side.ts'
import { type MatrixWorld, PRICE } from '../world.ts'

const callSent = stage(async world => {
  await joined(world)
  const { alice, bob } = world
  const id = alice.tasks.delegation.delegate({
    to: bob.aid,
    capability: COUNT,
    args: { text: 'one two three' },
  })
  await alice.turn()
  return id
})

const taskSent = stage(async world => {
  await joined(world)
  const id = delegate(world, { to: world.bob })
  await world.alice.turn()
  return id
})

/** A call of alice's that bob's provider has begun. */
async function calling(world: MatrixWorld): Promise<Waiting> {
  const id = await callSent(world)
  const { alice, bob } = world
  await world.turns(2)
  if (bob.running.length !== 1) throw new Error('the call did not begin')
  return { world, here: bob, there: alice, id }
}

const paidCall = stage(async world => {
  await joined(world)
  const { alice, bob } = world
  world.grant({ [COUNT]: PRICE })
  const given = { to: bob.aid, capability: COUNT, args: { text: 'one two' }, pay: true, max_credits: PRICE }
  const id = alice.tasks.delegation.delegate(given)
  for (let turn = 0; turn < 6; turn++) {
    await alice.turn()
    if (paidAs(world, id) !== undefined) return id
    await bob.turn()
    world.pass(60_000)
  }
  throw new Error('the call was not paid for')
})

const clientSent = stage(async world => {
  await joined(world)
  const id = await overA2a(world)
  await world.alice.send()
  return id
})

const pushUntaken = stage(async world => {
  await joined(world)
  const { alice, bob } = world
  const { host } = await world.openOutside()
  alice.ctx.settings.change({ a2a: { enabled: false, addr: '127.0.0.1:0', push_hosts: [host] } })
  const id = await overA2a(world, {
    configuration: { taskPushNotificationConfig: { url: `http://${host}/told` } },
  })
  await world.turns(2)
  tell(world, bob, id, 'an answer')
  await world.turns(1)
  return id
})

const clientAsked = stage(async world => {
  await joined(world)
  world.grant()
  const id = await overA2a(world)
  await world.turns(3)
  return id
})

const clientPaid = stage(async world => {
  await joined(world)
  world.grant()
  world.alice.ctx.settings.change({
    spend: { auto_max: 0, agent_max: PRICE, day_max: PRICE, payee_day_max: PRICE },
  })
  const quoted = await overA2a(world, { metadata: { [PAY_KEY]: PRICE } })
  const { alice, bob } = world
  for (let turn = 0; turn < 8; turn++) {
    await world.turns(1)
    const id = paidAs(world, quoted)
    const taken = id === undefined ? undefined : bob.ctx.threads.findById(id)
    const isHeld = paymentOf(bob.ctx.store, taken?.key ?? -1)?.state === 'held'
    if (id === undefined || !isHeld || toldState(world) !== 'TASK_STATE_WORKING') continue
    world.said.push({ by: alice, to: bob, id, text: 'asked over A2A' })
    return id
  }
  throw new Error('the credits are not held')
})

/** The task that was delegated anew with the payment of one that was answered with its price. */
function paidAs({ alice }: MatrixWorld, quoted: string): string | undefined {
  const key = quoteOf(alice.ctx.store, alice.node.thread(quoted).key)?.paidAs ?? null
  return key === null ? undefined : alice.ctx.threads.byKey(key).id
}

export const calls: Row[] = [
  { name: 'a call at work', begin: calling },
  {
    name: 'a paid call at work',
    like: 'a call at work',
    async begin(world) {
      const quoted = await paidCall(world)
      const { alice, bob } = world
      for (let turn = 0; turn < 8 && bob.running.length === 0; turn++) await world.turns(1)
      const id = paidAs(world, quoted)
      if (id === undefined) throw new Error('the call was not paid for')
      return { world, here: bob, there: alice, id }
    },
  },
]

export const agents: Row[] = [
  {
    name: 'an agent at work',
    async begin(world) {
      const id = await taskSent(world)
      const { alice, bob } = world
      const { host } = await world.openOutside()
      bob.ctx.settings.change({
        auto_reply: { backend: 'openai', api_base: `http://${host}/v1`, model: 'm' },
      })
      await bob.parts.autoReply.start()
      await world.turns(1)
      for (let n = 0; n < 200 && world.outside?.asked === 0; n++) await pause(1)
      if (world.outside?.asked !== 1) throw new Error('the agent was not asked')
      return { world, here: bob, there: alice, id }
    },
  },
]

/** What programs ask of a node over A2A. */
export const clients: Row[] = [
  {
    name: 'a task of A2A',
    cannot: unsent,
    async begin(world) {
      const id = await clientSent(world)
      return { world, here: world.alice, there: world.bob, id }
    },
  },
  {
    name: 'a price that a client of A2A was told',
    like: 'a task of A2A',
    cannot: undecided,
    async begin(world) {
      const id = await clientAsked(world)
      if (toldState(world) !== 'TASK_STATE_AUTH_REQUIRED')
        throw new Error('the client was not told the price')
      return { world, here: world.alice, there: world.bob, id }
    },
  },
  {
    name: 'a hold for a task of A2A',
    like: 'a task of A2A',
    async begin(world) {
      const id = await clientPaid(world)
      if (toldState(world) !== 'TASK_STATE_WORKING') throw new Error('the client was told of no work')
      return { world, here: world.bob, there: world.alice, id }
    },
  },
  {
    name: 'a push of A2A that nobody takes',
    async begin(world) {
      const id = await pushUntaken(world)
      await world.openOutside()
      const { alice, bob } = world
      const [push] = alice.ctx.store.all<{ told: number }>('SELECT told FROM a2a_pushes')
      world.pushesFrom = push?.told ?? 0
      return { world, here: alice, there: bob, id }
    },
  },
]

type Asked = { configuration?: Record<string, JsonValue>; metadata?: Record<string, JsonValue> }

/** A task that a client of A2A gave alice for bob. */
async function overA2a(world: MatrixWorld, { configuration, metadata }: Asked = {}): Promise<string> {
  const { alice, bob } = world
  await alice.parts.a2a.call('SendMessage', bob.aid, {
    message: {
      messageId: 'm-1',
      role: 'ROLE_USER',
      parts: [{ text: 'asked over A2A' }],
      ...present({ metadata }),
    },
    configuration: { returnImmediately: true, ...configuration },
  })
  const [{ id } = { id: '' }] = alice.ctx.store.all<{ id: string }>('SELECT id FROM interactions')
  world.said.push({ by: alice, to: bob, id, text: 'asked over A2A' })
  return id
}

/** The state that alice's client was told. */
const toldState = ({ alice }: MatrixWorld): string | undefined =>
  alice.ctx.store.get<{ state: string }>('SELECT state FROM a2a_tasks')?.state
