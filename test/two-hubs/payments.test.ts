// project: programs

/** Payments from an agent of one hub to one of another (credits: between hubs), with the built programs. */
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { World } from '../../cli/demo/world.ts'

const root = new URL('../..', import.meta.url).pathname
const programs = { svc: join(root, 'dist', 'svc.js'), hub: join(root, 'hub', 'dist', 'svc-hub.js') }
const NO_TRIAL = { SVC_HUB_LIMITS: '{"trial_credits":0}' }
const GRANTED = 50
const PRICE = 5
const LOOK_MS = 200
const LOOKS_MAX = 200

type Reply = Record<string, unknown>
type Hub = Awaited<ReturnType<World['startHub']>>
let here: World
let there: World
let hubs: readonly [Hub, Hub]
let alice: string
let bob: string
let paid: string

const alices = (...args: string[]): Promise<Reply> => here.svc('alice', ...args)
const bobs = (...args: string[]): Promise<Reply> => there.svc('bob', ...args)
const paymentOf = async (ask: typeof alices, id: string) => (await ask('thread', id))['payment'] as Reply
const balances = async () =>
  [await alices('balance'), await bobs('balance')].map(({ balance, held }) => [balance, held])
const debts = async () =>
  [await here.hub('peers', 'ls'), await there.hub('peers', 'ls')].map(({ peers }) => {
    const [{ owes, open } = {}] = peers as Reply[]
    return [owes, open]
  })

async function until<T>(ask: () => Promise<T>, holds: (reply: T) => boolean): Promise<T> {
  for (let look = 0; ; look++) {
    const reply = await ask()
    if (holds(reply)) return reply
    if (look === LOOKS_MAX) throw new Error(`waited in vain: ${JSON.stringify(reply)}`)
    await pause(LOOK_MS)
  }
}
const untilState = (ask: typeof alices, id: string, state: string) =>
  until(
    () => paymentOf(ask, id),
    payment => payment?.['state'] === state,
  )

/** The task that goes on with its payment, once the rules of the node have paid for it. */
async function delegatePaid(task: string): Promise<string> {
  const { interaction_id: asked } = await alices('delegate', 'bob', task)
  const { paid_as: id } = await until(
    () => paymentOf(alices, String(asked)),
    payment => payment?.['paid_as'] !== undefined,
  )
  return String(id)
}

beforeAll(async () => {
  ;[here, there] = [new World(programs), new World(programs)]
  hubs = [await here.startHub(NO_TRIAL), await there.startHub(NO_TRIAL)]
  const [first, second] = hubs
  await here.hub('peers', 'add', second.url, '--yes', second.aid)
  await there.hub('peers', 'add', first.url, '--yes', first.aid)
  await there.hub('peers', 'limit', first.aid, '20')
  for (const [world, name, hub] of [
    [here, 'alice', first],
    [there, 'bob', second],
  ] as const) {
    await world.hub('admit', String((await world.startNode(name))['aid']))
    await world.svc(name, 'hub-register', hub.url, '--name', name)
    await world.svc(name, 'visibility', 'federated')
  }
  ;[alice, bob] = [String((await alices('status'))['aid']), String((await bobs('status'))['aid'])]
  await here.hub('grant', alice, String(GRANTED), '--reason', 'to pay with')
  await bobs('contact', 'add', alice, 'alice')
  await alices('contact', 'add', bob, 'bob')
  await bobs('price', 'set', 'task', String(PRICE))
  await alices('spend', 'set', '--auto', '10', '--day', '100', '--payee-day', '100')
})
afterAll(async () => {
  await here?.[Symbol.asyncDispose]()
  await there?.[Symbol.asyncDispose]()
})

test('the first payment to an agent of another hub waits for a person, and says what both hubs learn', async () => {
  const [first, second] = hubs
  const { interaction_id: asked } = await alices('delegate', 'bob', 'a poem')
  const price = await untilState(alices, String(asked), 'open')
  expect(price).toMatchObject({
    amount: PRICE,
    network: `hub:${first.aid}`,
    other_hub: second.aid,
    first_across: true,
    reason: expect.stringContaining('both hubs'),
  })
  const { interaction_id: id } = await alices('approve', String(asked))
  paid = String(id)
  expect(await untilState(alices, paid, 'held')).toMatchObject({ other_hub: second.aid })
  expect(await untilState(bobs, paid, 'held')).toMatchObject({
    network: `hub:${first.aid}`,
    other_hub: first.aid,
  })
  expect(await balances()).toEqual([
    [GRANTED - PRICE, PRICE],
    [0, 0],
  ])
  expect(await debts()).toEqual([
    [0, 0],
    [0, PRICE],
  ])
})

test('the answer takes the credits at both hubs, and both accounts agree with what was signed', async () => {
  await bobs('message', paid, 'roses are red', '--end')
  await untilState(alices, paid, 'taken')
  await untilState(bobs, paid, 'taken')
  expect(await balances()).toEqual([
    [GRANTED - PRICE, 0],
    [PRICE, 0],
  ])
  expect(await debts()).toEqual([
    [-PRICE, 0],
    [PRICE, 0],
  ])
  for (const ask of [alices, bobs]) expect(await ask('reconcile')).toMatchObject({ agrees: true, open: [] })
  await alices('accept-end', paid)
  for (const ask of [alices, bobs])
    await until(
      () => ask('verify', paid).catch(() => ({}) as Reply),
      reply => reply['verdict'] === 'valid' && reply['counter_signed'] === true,
    )
})

test('what was taken is given back after the end of the task, by the hub of the requester', async () => {
  const told = await bobs('refund', paid, '2')
  // the hub of the requester may have been quicker
  expect(told['verified'] === true || told['waits_for'] === 'requester').toBe(true)
  await until(
    () => paymentOf(alices, paid),
    payment => payment['given_back'] === 2,
  )
  await until(
    () => paymentOf(bobs, paid),
    payment => payment['given_back'] === 2,
  )
  expect(await balances()).toEqual([
    [GRANTED - 3, 0],
    [3, 0],
  ])
  expect(await debts()).toEqual([
    [-3, 0],
    [3, 0],
  ])
  for (const ask of [alices, bobs]) expect(await ask('reconcile')).toMatchObject({ agrees: true, open: [] })
})

test('later ones are paid by the rules of the node, and one over what the hub of the payer may owe is refused', async () => {
  const id = await delegatePaid('a second poem')
  await untilState(bobs, id, 'held')
  await there.hub('peers', 'limit', hubs[0].aid, '9')
  const refused = await delegatePaid('a third poem')
  expect(await untilState(bobs, refused, 'refused')).toMatchObject({
    reason: 'the hub of the payer would owe this hub too much',
  })
  await there.hub('peers', 'limit', hubs[0].aid, '100')
  await alices('cancel', id)
  await untilState(alices, id, 'returned')
  await untilState(bobs, id, 'returned')
  expect(await debts()).toEqual([
    [-3, 0],
    [3, 0],
  ])
})

test('while the hub of the payer gives no answer the payment is paying, starts nothing, and goes on by itself', async () => {
  const [first] = hubs
  await alices('spend', 'set', '--auto', '0')
  const { interaction_id: asked } = await alices('delegate', 'bob', 'a late poem')
  await untilState(alices, String(asked), 'open')
  await bobs('stop')
  const late = String((await alices('approve', String(asked)))['interaction_id'])
  await until(
    () => alices('thread', late),
    thread => JSON.stringify(thread).includes('at_hub'),
  )
  first.child.kill('SIGSTOP')
  try {
    await there.startNode('bob')
    const waiting = await until(
      () => paymentOf(bobs, late).catch(() => undefined),
      payment => payment?.['problem'] !== undefined,
    )
    expect(waiting).toMatchObject({ state: 'paying', problem: 'other_hub', other_hub: first.aid })
    await expect(bobs('message', late, 'not yet')).rejects.toThrow('is not held yet')
    expect(await paymentOf(alices, late)).toMatchObject({ state: 'paying' })
  } finally {
    first.child.kill('SIGCONT')
  }
  await untilState(bobs, late, 'held')
  await bobs('message', late, 'better late than never')
  await untilState(alices, late, 'taken')
})

test('an agent that moved takes its credits along from the hub that it left, once', async () => {
  const [first, second] = hubs
  await expect(alices('balance', '--move', '7')).rejects.toThrow('it left none')
  await there.hub('admit', alice)
  await alices('hub-register', second.url, '--name', 'alice')
  const before = Number((await alices('balance', '--hub', first.url))['balance'])
  const moved = await alices('balance', '--move', '7')
  expect(moved).toMatchObject({ amount: 7, from: `hub:${first.aid}`, verified: true })
  expect(await alices('balance', '--hub', first.url)).toMatchObject({ balance: before - 7 })
  expect(await alices('balance')).toMatchObject({ balance: 7 })
  await expect(alices('balance', '--move', '1000')).rejects.toThrow('the hub moved nothing')
  for (const at of [[], ['--hub', first.url]])
    expect(await alices('reconcile', ...at)).toMatchObject({ agrees: true })
})
