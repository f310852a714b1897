/**
 * Two hubs whose network is really cut: packets are lost without a word, in both directions or in one, while mail and
 * money are on their way. What was taken arrives once, and nobody else waits.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { World } from '../../cli/demo/world.ts'
import { addresses, hasNetworks, SeparateNetworks } from './separate-networks.ts'

const root = new URL('../..', import.meta.url).pathname
const programs = { svc: join(root, 'dist', 'svc.js'), hub: join(root, 'hub', 'dist', 'svc-hub.js') }
const PRICE = 5
const NO_TRIAL = { SVC_HUB_LIMITS: '{"trial_credits":0}' }
const GRANTED = 50
const LOOK_MS = 250
const WITHIN_MS = 300_000
/** A look-up waits two seconds for a peer; a command takes about one. */
const FIND_MS_MAX = 5000

type Reply = Record<string, unknown>
type Hub = Awaited<ReturnType<World['startHub']>>

describe.skipIf(!hasNetworks)('two hubs (skipped where nobody may have a network of his own)', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-networks-'))
  let networks: SeparateNetworks
  let here: World
  let there: World
  let hubs: readonly [Hub, Hub]
  let bob: string

  const alices = (...args: string[]): Promise<Reply> => here.svc('alice', ...args)
  const bobs = (...args: string[]): Promise<Reply> => there.svc('bob', ...args)

  async function until<T>(ask: () => Promise<T>, holds: (reply: T) => boolean): Promise<T> {
    const end = Date.now() + WITHIN_MS
    for (;;) {
      const reply = await ask()
      if (holds(reply)) return reply
      if (Date.now() > end) throw new Error(`waited in vain: ${JSON.stringify(reply)}`)
      await pause(LOOK_MS)
    }
  }
  const untilState = (id: string, state: string) =>
    until(
      () => alices('thread', id),
      reply => reply['state'] === state,
    )
  const untilPaid = (ask: typeof alices, id: string, state: string) =>
    until(
      async () => (await ask('thread', id))['payment'] as Reply | undefined,
      payment => payment?.['state'] === state,
    )
  const delegate = async (...args: string[]) =>
    String((await alices('delegate', 'bob', ...args))['interaction_id'])
  const taken = async (id: string) =>
    ((await bobs('inbox')) as { items: Reply[] }).items.filter(item => item['interaction_id'] === id).length

  beforeAll(async () => {
    networks = await SeparateNetworks.make()
    ;[here, there] = [
      new World(programs, 'svc-here-', networks.nodeOf(0, join(folder, 'first'))),
      new World(programs, 'svc-there-', networks.nodeOf(1, join(folder, 'second'))),
    ]
    hubs = [
      await here.startHub(NO_TRIAL, `${addresses[0]}:8088`),
      await there.startHub(NO_TRIAL, `${addresses[1]}:8088`),
    ]
    const [first, second] = hubs
    await here.hub('peers', 'add', second.url, '--yes', second.aid)
    await there.hub('peers', 'add', first.url, '--yes', first.aid)
    await there.hub('peers', 'limit', first.aid, '100')
    for (const [world, name, hub] of [
      [here, 'alice', first],
      [there, 'bob', second],
    ] as const) {
      await world.hub('admit', String((await world.startNode(name))['aid']))
      await world.svc(name, 'hub-register', hub.url, '--name', name)
      await world.svc(name, 'visibility', 'federated')
    }
    bob = String((await bobs('status'))['aid'])
    const alice = String((await alices('status'))['aid'])
    await here.hub('grant', alice, String(GRANTED), '--reason', 'to pay with')
    await alices('contact', 'add', bob, 'bob')
    await bobs('contact', 'add', alice, 'alice')
    await untilState(await delegate('hello'), 'delivered')
  })
  afterAll(async () => {
    await here?.[Symbol.asyncDispose]()
    await there?.[Symbol.asyncDispose]()
    networks?.[Symbol.dispose]()
    rmSync(folder, { recursive: true, force: true })
  })
  afterEach(() => networks.heal())

  test('that lose each other name the silent one, keep what is sent, and deliver it once when the cable is back', async () => {
    networks.cut()
    const id = await delegate('while the cable is out')
    await until(
      () => alices('thread', id),
      reply => JSON.stringify(reply).includes(`the hub of the recipient, ${hubs[1].aid}, did not answer`),
    )
    const asked = Date.now()
    expect(await alices('find', bob)).toEqual({ agents: [], searched: 'all_hubs', partial: true })
    expect(Date.now() - asked).toBeLessThan(FIND_MS_MAX)
    networks.heal()
    await untilState(id, 'delivered')
    expect(await taken(id)).toBe(1)
    await until(
      () => alices('find', bob),
      reply => reply['partial'] !== true,
    )
  })

  test('of which only the answers are lost deliver a task once, whose sender did not know that it had arrived', async () => {
    networks.cutAnswers()
    const id = await delegate('of which no answer comes')
    await until(
      () => alices('thread', id),
      reply => JSON.stringify(reply).includes('did not answer'),
    )
    networks.heal()
    await untilState(id, 'delivered')
    expect(await taken(id)).toBe(1)
  })

  test('that are cut while a file is half over deliver all of it afterwards', async () => {
    const file = here.dir('large.bin')
    writeFileSync(file, Buffer.alloc(24 * 1024 * 1024, 7))
    const sending = delegate('read this', '--attach', file)
    await pause(1000)
    networks.cut()
    const id = await sending
    await until(
      () => alices('thread', id),
      reply => JSON.stringify(reply).includes('did not answer'),
    )
    networks.heal()
    await untilState(id, 'delivered')
    expect(await taken(id)).toBe(1)
  })

  test('that are cut while money crosses make the payment once, and both books agree', async () => {
    await bobs('price', 'set', 'task', String(PRICE))
    const asked = await delegate('a poem')
    await untilPaid(alices, asked, 'open')
    networks.cutAnswers()
    const approving = alices('approve', asked)
    await pause(3000)
    networks.heal()
    const id = String((await approving)['interaction_id'])
    await untilPaid(alices, id, 'held')
    await untilPaid(bobs, id, 'held')
    networks.cut()
    await bobs('message', id, 'roses are red', '--end')
    await pause(12_000)
    networks.heal()
    await untilPaid(alices, id, 'taken')
    await untilPaid(bobs, id, 'taken')
    const { balance, held } = await alices('balance')
    expect([balance, held]).toEqual([GRANTED - PRICE, 0])
    expect(await bobs('balance')).toMatchObject({ balance: PRICE })
    for (const ask of [alices, bobs]) expect(await ask('reconcile')).toMatchObject({ agrees: true, open: [] })
    const owes = async (world: World) => ((await world.hub('peers', 'ls'))['peers'] as Reply[])[0]?.['owes']
    expect([await owes(here), await owes(there)]).toEqual([-PRICE, PRICE])
  })
})
