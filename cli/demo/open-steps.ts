/** The steps of the demo at a hub of wire 1, which reads what it carries; each compares what it read on another side. */

import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { chains } from './pay-steps.ts'
import { type Sensor, sensorStep } from './sensor.ts'
import { type Facts, filesWith, getJson, type Step, same, short, until } from './step.ts'
import { openStepNames } from './step-names.ts'
import { alice, answerer, bob as answering, CAPABILITY, EXPECTED, end, find, reply, TASK } from './steps.ts'
import type { World } from './world.ts'

const SENSOR = 'sensor.temperature'
const PRICE = 5
const TRIAL = 100
const CARD = 'Count the orders of May'
const COUNTED = '412 orders'
const GUEST_WAIT_MS = 20_000

/** What the steps of this demo hand on beside the others. */
type Open = { sensor: Sensor; serviceUrl: string; redeemUrl: string; voucher: string }
const own = new WeakMap<World, Partial<Open>>()
const openOf = (world: World): Partial<Open> => {
  const held = own.get(world) ?? {}
  own.set(world, held)
  return held
}

type Reply = { status: number; headers: Headers; json: Record<string, unknown> }

/** Asks the hub as any program does. */
async function ask(url: string, body?: unknown, headers: Record<string, string> = {}): Promise<Reply> {
  const answer = await fetch(url, {
    headers: { 'X-Svc-Wire': '1', 'Content-Type': 'application/json', ...headers },
    ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
  })
  return { status: answer.status, headers: answer.headers, json: (await answer.json()) as Reply['json'] }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as { port: number }
  await new Promise(done => server.close(done))
  return port
}

const hub: Step = {
  name: 'hub',
  title: 'a hub of wire 1: it seals nothing, and visitors may write',
  async run(world, facts, spoiled) {
    const { url, aid, child } = await world.startHub({}, '127.0.0.1:0', ['--wire', '1', '--guests'])
    if (spoiled) child.kill('SIGKILL')
    same('hub AID over HTTP', (await getJson(`${url}/hub/identity`, 1))['aid'], aid)
    facts.hubUrl = url
    return `${url}, hub ${short(aid)}`
  },
}

const sensor = sensorStep('a local service, of which bob will sell single uses', (world, service, url) => {
  Object.assign(openOf(world), { sensor: service, serviceUrl: url })
})

const bob: Step = {
  name: 'bob',
  title: 'a node for bob, who answers tasks and visitors, and takes vouchers',
  async run(world, facts, spoiled) {
    const address = `127.0.0.1:${await freePort()}`
    const open = Object.assign(openOf(world), { redeemUrl: `http://${address}/redeem` })
    const service = [{ id: SENSOR, url: `${open.serviceUrl}/` }]
    const config = {
      ...{ modules: { service }, prices: { [SENSOR]: PRICE } },
      ...{ voucher_addr: address, voucher_url: open.redeemUrl },
    }
    writeFileSync(world.dir('bob', 'config.json'), JSON.stringify(config), { mode: 0o600 })
    const started = await answering.run(world, facts, spoiled)
    same('guests', (await world.svc('bob', 'autoreply', 'set', '--guests', 'true'))['enabled'], true)
    return `${started}; ${SENSOR} costs ${PRICE}`
  },
}

const invite: Step = {
  name: 'invite',
  title: 'a code of the operator lets alice in, the operator admits bob',
  async run(world, facts, spoiled) {
    const { code } = await world.hub('invite', 'new')
    const join = ['hub-register', facts.hubUrl, '--wire', '1']
    const refused = await world.run(world.programs.svc, [...join, '--name', 'bob'], world.env('bob'))
    if (refused.code === 0) throw new Error('an AID that is not admitted was let in')
    if (!spoiled) await world.hub('admit', facts.bob)
    const joined = await world.svc('alice', ...join, '--name', 'alice', '--token', String(code))
    same('what alice is told of her mail', joined['sealed'], false)
    await world.svc('bob', ...join, '--name', 'bob', '--caps', `${CAPABILITY},${SENSOR}`)
    await world.svc('bob', 'contact', 'add', facts.alice, 'alice')
    for (const aid of [facts.alice, facts.bob])
      same('status of the agent at the hub', (await ask(`${facts.hubUrl}/agents/${aid}`)).status, 200)
    return 'first refused, then let in by code and by name'
  },
}

const read: Step = {
  name: 'read',
  title: 'one task, which the hub can read while bob is away',
  async run(world, facts, spoiled) {
    await world.svc('bob', 'stop')
    const needle = Buffer.from('quick brown fox')
    same('files of the hub with the text before', filesWith(world.dir('hub'), needle).found.length, 0)
    const task = spoiled ? 'Count something else.' : TASK
    facts.interaction = String(
      (await facts.tools.callTool('task_delegate', { to: facts.bob, task }))['interaction_id'],
    )
    await until('the text in a file of the hub', async () => filesWith(world.dir('hub'), needle).found[0])
    await world.startNode('bob', { SVC_EXEC_COMMAND: answerer(world) })
    const turns = await until("the task in bob's store", async () => {
      const thread = await world.svc('bob', 'thread', facts.interaction).catch(() => undefined)
      return thread?.['turns'] as { text: string }[] | undefined
    })
    same('the task as bob holds it', turns[0]?.text, TASK)
    return "it waits in words at the hub, and is in bob's store word for word"
  },
}

/** What a stranger finds of a folder that alice passed on: without her node and without the hub. */
const found = (world: World, folder: string) =>
  world.run(world.programs.svc, ['verify', folder], {
    PATH: process.env['PATH'] ?? '',
    HOME: world.dir('home'),
  })

const verify: Step = {
  name: 'verify',
  title: 'the folder that proves it, verified by a stranger offline',
  async run(world, facts, spoiled) {
    const folder = world.dir('proof')
    const { files } = await world.svc('alice', 'verify', facts.interaction, '--offline', '--out', folder)
    const [proof, ...contents] = files as string[]
    for (const file of spoiled ? contents : []) writeFileSync(file, 'something else')
    const { code, stdout } = await found(world, folder)
    same('exit code', code, 0)
    same('verdict', (JSON.parse(stdout) as { verdict: string }).verdict, 'valid')
    facts.receipt = readFileSync(String(proof), 'utf8')
    return 'signature and content hold, without node and hub'
  },
}

const tamper: Step = {
  name: 'tamper',
  title: 'one letter of the proof changed is refused',
  async run(world, facts, spoiled) {
    const at = facts.receipt.indexOf('"receipt"') + 100
    const other = facts.receipt[at] === 'A' ? 'B' : 'A'
    const changed = spoiled ? facts.receipt : facts.receipt.slice(0, at) + other + facts.receipt.slice(at + 1)
    writeFileSync(world.dir('proof', 'proof.json'), changed)
    const { code } = await found(world, world.dir('proof'))
    same('exit code for the altered proof', code, 1)
    return `letter ${at} of ${facts.receipt.length} changed`
  },
}

const publish: Step = {
  name: 'publish',
  title: "alice's rating of bob is published with the task, once she lets it be",
  async run(world, facts, spoiled) {
    const shown = async () => {
      const { json } = await ask(`${facts.hubUrl}/agents/${facts.bob}`)
      return (json['reviews'] as { rating: number; goal: string }[])[0]
    }
    const kept = await world.svc('alice', 'review', facts.interaction, '5', 'counted well')
    same('what is uploaded without her word', kept['uploaded'], false)
    same('reviews at the hub without her word', await shown(), undefined)
    if (!spoiled) await world.svc('alice', 'review', facts.interaction, '5', 'counted well', '--publish')
    const review = await until('the review at the hub', shown)
    same('the rating', review.rating, 5)
    same('the task that it publishes', review.goal, TASK)
    return 'five stars, and the task for everybody to read'
  },
}

const guest: Step = {
  name: 'guest',
  title: "a visitor without an account asks bob's agent",
  async run(world, facts, spoiled) {
    if (spoiled) await world.svc('bob', 'autoreply', 'set', '--guests', 'false')
    const at = (path: string, body: object) => ask(`${facts.hubUrl}/guest/${path}`, body)
    const { json: started } = await at('start', { aid: facts.bob })
    same('who answers', started['handler_aid'], facts.bob)
    const { session } = started
    same('status of what the visitor says', (await at('send', { session, body: TASK })).status, 200)
    const answer = await until(
      "bob's answer to the visitor",
      async () => ((await at('poll', { session })).json['messages'] as { body: string }[])[0],
      spoiled ? undefined : GUEST_WAIT_MS,
    )
    same('the answer', answer.body, EXPECTED)
    await at('end', { session })
    return `"${answer.body}"; the page for people is ${facts.hubUrl}/guest`
  },
}

type Card = { title: string; assignee_aid?: string; state: string }

/** A column of the board, as everybody may read it. */
async function column({ hubUrl }: Facts, key: string): Promise<Card[]> {
  const { columns } = (await ask(`${hubUrl}/tasks/board`)).json as {
    columns: { key: string; cards: Card[] }[]
  }
  return columns.find(column => column.key === key)?.cards ?? []
}

const board: Step = {
  name: 'board',
  title: 'a card on the task board: bob takes it, hands in, alice accepts',
  async run(world, facts, spoiled) {
    const task = (name: 'alice' | 'bob', ...args: string[]) => world.svc(name, 'task', ...args)
    const { card_id: id } = await task('alice', 'create', CARD, '--column', 'ready')
    same('cards in ready at the hub', (await column(facts, 'ready'))[0]?.title, CARD)
    await task('bob', 'claim', String(id))
    same('who has the card', (await column(facts, 'in_progress'))[0]?.assignee_aid, facts.bob)
    await task('bob', 'submit', String(id), '--note', COUNTED)
    await task('alice', spoiled ? 'reject' : 'accept', String(id))
    const [done] = await column(facts, 'done')
    same('the card that is done', done?.title, CARD)
    same('its state', done?.state, 'accepted')
    return `${String(id)}: ready, in progress, in review, done`
  },
}

const gateway = ({ hubUrl, bob }: Facts): string => `${hubUrl}/x402/resource/${bob}/${SENSOR}`

const price: Step = {
  name: 'price',
  title: 'the gateway of the hub names the price of one use',
  async run(world, facts, spoiled) {
    const { status, json } = await ask(spoiled ? `${gateway(facts)}.other` : gateway(facts))
    same('status without a payment', status, 402)
    const [terms] = json['accepts'] as { amount: string; payTo: string }[]
    same('the price', terms?.amount, String(PRICE))
    same('who is paid', terms?.payTo, facts.bob)
    same('where vouchers are taken', json['redeem_at'], openOf(world).redeemUrl)
    return `${PRICE} credits, taken at ${String(json['redeem_at'])}`
  },
}

/** Hands a voucher in for one use, as any program does. */
const redeem = (world: World, voucher: string): Promise<Reply> =>
  ask(String(openOf(world).redeemUrl), { voucher, capability: SENSOR, args: {} })

async function buy(world: World, facts: Facts, amount = PRICE): Promise<Reply> {
  const order = ['x402-authorize', '--pay-to', facts.bob, '--amount', String(amount)]
  const { stdout } = await world.run(world.programs.svc, order, world.env('alice'))
  return await ask(gateway(facts), undefined, { 'PAYMENT-SIGNATURE': stdout.trim() })
}

const voucher: Step = {
  name: 'voucher',
  title: 'alice pays it, gets a voucher, and hands it in for one use',
  async run(world, facts, spoiled) {
    const bought = await buy(world, facts, spoiled ? PRICE + 1 : PRICE)
    same('status with a payment', bought.status, 200)
    const open = Object.assign(openOf(world), { voucher: String(bought.json['voucher']) })
    const used = await redeem(world, open.voucher)
    same('status of the use', used.status, 200)
    same('what it says', (used.json['metrics'] as { celsius?: number } | undefined)?.celsius, 21)
    same('times that the service was asked', open.sensor?.asked, 1)
    return '21 °C; the hub never saw what was sold'
  },
}

const once: Step = {
  name: 'once',
  title: 'the voucher is good for nothing else',
  async run(world, facts, spoiled) {
    const { sensor: service, voucher: spent = '' } = openOf(world)
    const shown = spoiled ? String((await buy(world, facts)).json['voucher']) : spent
    const again = await redeem(world, shown)
    same('status of a second use', again.status, 409)
    same('times that the service was asked', service?.asked, 1)
    return String(again.json['reason'])
  },
}

const accounts: Step = {
  name: 'accounts',
  title: "the hub's ledger is what both signed, and its supply adds up",
  async run(world, facts, spoiled) {
    const balance = async (name: 'alice' | 'bob') => Number((await world.svc(name, 'balance'))['balance'])
    same("alice's balance", await balance('alice'), TRIAL - PRICE)
    same("bob's balance", await balance('bob'), TRIAL + PRICE + (spoiled ? 1 : 0))
    for (const name of ['alice', 'bob'] as const)
      same(`${name}'s ledger holds nothing unsigned`, (await world.svc(name, 'reconcile'))['agrees'], true)
    const { supply } = (await ask(`${facts.hubUrl}/x402/supply`)).json as { supply: Record<string, unknown> }
    same('the chain of the supply agrees', supply['chain_agrees'], true)
    same('credits outstanding', supply['outstanding'], 2 * TRIAL)
    return `${TRIAL - PRICE} and ${TRIAL + PRICE} of ${2 * TRIAL} credits`
  },
}

const byName: Readonly<Record<(typeof openStepNames)[number], Step>> = {
  ...{ hub, sensor, alice, bob, invite, find, read, reply, end, verify, tamper, publish },
  ...{ guest, board, price, voucher, once, accounts, chains },
}

export const openSteps: readonly Step[] = openStepNames.map(name => byName[name])
