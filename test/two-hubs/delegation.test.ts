// project: programs

/** Two hubs that list each other, and a node at each: the built programs, started as their users start them. */
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { World } from '../../cli/demo/world.ts'

const root = new URL('../..', import.meta.url).pathname
const programs = { svc: join(root, 'dist', 'svc.js'), hub: join(root, 'hub', 'dist', 'svc-hub.js') }
const NO_PROBATION = { SVC_HUB_LIMITS: '{"probation_hours":0}' }
const LOOK_MS = 200
const LOOKS_MAX = 150

type Reply = Record<string, unknown>
type Hub = Awaited<ReturnType<World['startHub']>>
let here: World
let there: World
let third: World
let hubs: Hub[]
let bob: string
let finished: string

const alices = (...args: string[]): Promise<Reply> => here.svc('alice', ...args)
const bobs = (...args: string[]): Promise<Reply> => there.svc('bob', ...args)

/** Asks until the answer holds what is waited for. */
async function until(ask: () => Promise<Reply>, holds: (reply: Reply) => boolean): Promise<Reply> {
  for (let look = 0; ; look++) {
    const reply = await ask()
    if (holds(reply)) return reply
    if (look === LOOKS_MAX) throw new Error(`waited in vain: ${JSON.stringify(reply)}`)
    await pause(LOOK_MS)
  }
}

beforeAll(async () => {
  ;[here, there, third] = [new World(programs), new World(programs), new World(programs)]
  hubs = [await here.startHub(NO_PROBATION), await there.startHub(NO_PROBATION)]
  const [first, second] = hubs as [Hub, Hub]
  await here.hub('peers', 'add', second.url, '--yes', second.aid)
  await there.hub('peers', 'add', first.url, '--yes', first.aid)
  for (const [world, name, hub] of [
    [here, 'alice', first],
    [there, 'bob', second],
  ] as const) {
    await world.hub('admit', String((await world.startNode(name))['aid']))
    await world.svc(name, 'hub-register', hub.url, '--name', name)
    await world.svc(name, 'visibility', 'federated')
  }
  bob = String((await bobs('status'))['aid'])
})
afterAll(async () => {
  await here?.[Symbol.asyncDispose]()
  await there?.[Symbol.asyncDispose]()
  await third?.[Symbol.asyncDispose]()
})

test('an agent of the other hub is found by its AID, with the hub where it lives, and not by words', async () => {
  const [first, second] = hubs as [Hub, Hub]
  const found = { searched: 'all_hubs', agents: [{ aid: bob, hub: first.aid, home: second.aid }] }
  expect(await alices('find', bob)).toMatchObject(found)
  expect(await alices('find', 'bob')).toMatchObject({ searched: 'own_hub', agents: [] })
  const { agents } = (await alices('find', 'alice')) as { agents: Reply[] }
  expect(agents).toHaveLength(1)
  expect(agents[0]).not.toHaveProperty('home')
})

test('a task and its file go from one hub to the other, the answer comes back, and both verify the receipt', async () => {
  const file = here.dir('numbers.txt')
  writeFileSync(file, '1234567890\n'.repeat(30_000))
  await alices('contact', 'add', bob, 'bob')
  const { interaction_id: id } = await alices('delegate', 'bob', 'add these up', '--attach', file)
  await until(
    () => bobs('inbox'),
    reply => JSON.stringify(reply).includes(String(id)),
  )
  await bobs('approve', String(id))
  await bobs('message', String(id), 'they are 37037034', '--end')
  await until(
    () => alices('thread', String(id)),
    ({ state }) => state === 'end_proposed',
  )
  await alices('accept-end', String(id))
  const verdict = { verdict: 'valid', counter_signed: true }
  const verified = (ask: typeof alices) =>
    until(
      () => ask('verify', String(id)).catch(() => ({})),
      reply => reply['verdict'] === 'valid' && reply['counter_signed'] === true,
    )
  expect(await verified(alices)).toMatchObject(verdict)
  expect(await verified(bobs)).toMatchObject(verdict)
  const out = there.dir('pulled')
  finished = String(id)
  await bobs('pull', finished, '--out', out)
  expect(readFileSync(join(out, 'numbers.txt'))).toEqual(readFileSync(file))
})

test('a review that is given at one hub counts at the other one, as attested by the first', async () => {
  await alices('review', finished, '4', 'done well')
  const [first, second] = hubs as [Hub, Hub]
  const reputation = async () =>
    (await (await fetch(`${second.url}/agents/${bob}/reputation`)).json()) as Reply
  const seen = await until(reputation, ({ peers }) => JSON.stringify(peers) !== '[]')
  expect(seen).toMatchObject({
    local: { reviews: 0 },
    peers: [{ hub: first.aid, reviews: 1, avg_rating: 4 }],
    combined: { reviews: 1, avg_rating: 4 },
  })
  const stats = async () => (await (await fetch(`${first.url}/stats`)).json()) as Reply
  expect(await until(stats, reply => reply['federated_agents'] !== 0)).toMatchObject({ federated_agents: 1 })
  await there.hub('peers', 'rm', first.aid)
  expect(await reputation()).toMatchObject({ peers: [], combined: { reviews: 0 } })
  await there.hub('peers', 'add', first.url, '--yes', first.aid)
  expect(await reputation()).toMatchObject({ combined: { reviews: 1 } })
})

test('a third hub that lists the first alone sees the review of an agent that the second one tells of', async () => {
  const [first] = hubs as [Hub]
  const last = await third.startHub()
  await third.hub('peers', 'add', first.url, '--yes', first.aid)
  await here.hub('peers', 'add', last.url, '--yes', last.aid)
  const reputation = async () => (await (await fetch(`${last.url}/agents/${bob}/reputation`)).json()) as Reply
  const seen = await until(reputation, reply => reply['reason'] === undefined)
  expect(seen).toMatchObject({ peers: [{ hub: first.aid, reviews: 1, avg_rating: 4 }] })
  await here.hub('peers', 'rm', last.aid)
})

test('while the hub of the recipient is down the thread names it, and the task arrives once it is back', async () => {
  const second = hubs[1] as Hub
  const ended = once(second.child, 'exit')
  second.child.kill('SIGKILL')
  await ended
  const { interaction_id: id } = await alices('delegate', 'bob', 'while you are away')
  await until(
    () => alices('thread', String(id)),
    reply => JSON.stringify(reply).includes(`the hub of the recipient, ${second.aid}, did not answer`),
  )
  expect(await alices('find', bob)).toEqual({ agents: [], searched: 'all_hubs', partial: true })
  const shown = async () => ((await here.hub('peers', 'ls'))['peers'] as Reply[])[0]
  expect(await shown()).toMatchObject({ aid: second.aid, fault: { why: expect.stringContaining('listens') } })

  hubs[1] = await there.startHub(NO_PROBATION, new URL(second.url).host)
  const states: unknown[] = []
  await until(
    async () => {
      const thread = await alices('thread', String(id))
      states.push(thread['state'])
      return thread
    },
    ({ state }) => state === 'delivered',
  )
  expect(states).not.toContain('failed')
  expect(await alices('find', bob)).toMatchObject({ agents: [{ home: second.aid }] })
  const { items } = (await bobs('inbox')) as { items: { interaction_id: string }[] }
  expect(items.filter(({ interaction_id }) => interaction_id === id)).toHaveLength(1)
  expect(await shown()).toMatchObject({ answered_at: expect.any(String) })
  expect(await shown()).not.toHaveProperty('fault')
})

test('what the other hub has stays there while that one is silent: thread and status name it, after a restart too', async () => {
  const second = hubs[1] as Hub
  await bobs('stop')
  const { interaction_id: id } = await alices('delegate', 'bob', 'taken before the silence')
  const thread = () => alices('thread', String(id))
  const isNamed = (reply: Reply) => JSON.stringify(reply).includes(`${second.aid}, has it and did not answer`)
  await until(thread, reply => JSON.stringify(reply).includes('"at_hub"'))
  second.child.kill('SIGSTOP')
  await until(thread, isNamed)
  await alices('stop')
  await here.startNode('alice')
  const shown = await thread()
  expect([isNamed(shown), JSON.stringify(shown).includes('"at_hub"')]).toEqual([true, true])
  expect((await alices('status'))['warnings']).toContainEqual(
    expect.stringContaining(`the hub ${second.aid} does not answer`),
  )
  second.child.kill('SIGCONT')
  await there.startNode('bob')
  await until(thread, ({ state }) => state === 'delivered')
  expect(JSON.stringify((await alices('status'))['warnings'])).not.toContain(second.aid)
})

test('a hub that takes the other one off its list hands nothing on to it any more, and says who is listed', async () => {
  const [, second] = hubs as [Hub, Hub]
  expect(await here.hub('peers', 'rm', second.aid)).toMatchObject({ peers: [] })
  await expect(here.hub('peers', 'rm', second.aid)).rejects.toThrow('is no peer of this hub')
  const alice = String((await alices('status'))['aid'])
  // one way is closed here, the other one there: neither sender reads that a hub did not answer
  for (const [ask, to] of [
    [alices, bob],
    [bobs, alice],
  ] as const) {
    const { interaction_id: id } = await ask('delegate', to, 'one more')
    const thread = await until(
      () => ask('thread', String(id)),
      reply => JSON.stringify(reply).includes('the two hubs do not list each other'),
    )
    expect(thread['state']).toBe('queued')
  }
})
