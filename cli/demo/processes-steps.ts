/** The steps of the demo with one hub of three processes over one database: one process is lost, then the database's server. */

import { copyFileSync, mkdirSync } from 'node:fs'
import { Database } from './database.ts'
import { getJson, type Step, same, until } from './step.ts'
import { processesStepNames } from './step-names.ts'
import { alice, bob, CAPABILITY, delegate, end, reply, verify } from './steps.ts'
import { Way } from './way.ts'
import type { StartedHub, World } from './world.ts'

const FOLDERS = ['hub', 'hub2', 'hub3'] as const
/** What each machine of a hub has a copy of. */
const COPIED = ['identity.kel', 'identity.next', 'secret']
const AFTER_KILL = 'Count the words of this line: one process less.'
const AFTER_LOSS = 'Count the words of this line: another server now.'
/** A node that met nobody asks again within half a minute. */
const BACK_WAIT_MS = 60_000

/** What the steps of this demo hand on beside the others. */
type Processes = { database: Database; toDatabase: Way; hubs: StartedHub[]; ways: Map<'alice' | 'bob', Way> }
const own = new WeakMap<World, Processes>()
function heldBy(world: World): Processes {
  const held = own.get(world)
  if (held === undefined) throw new Error('the database was not started')
  return held
}

const database: Step = {
  name: 'database',
  title: 'a PostgreSQL server, and a standby that has each commit before it is answered',
  async run(world, _facts, spoiled) {
    const server = new Database()
    world.atEnd(() => server.close())
    await server.start({ isSynchronous: !spoiled })
    const toDatabase = await Way.open([{ path: server.socket('primary') }])
    world.atEnd(() => toDatabase.close())
    own.set(world, { database: server, toDatabase, hubs: [], ways: new Map() })
    const state = () => server.ask('primary', 'SELECT sync_state FROM pg_stat_replication')
    await until('a standby that follows', async () => ((await state()) === '' ? undefined : true))
    const last = await until('its state', async () => {
      const seen = await state()
      return seen === 'sync' || spoiled ? seen : undefined
    })
    same('the state of the standby', last, 'sync')
    return `PostgreSQL ${await server.ask('primary', 'SHOW server_version')}`
  },
}

const processes: Step = {
  name: 'processes',
  title: 'three processes of one hub over it',
  async run(world, facts, spoiled) {
    const { database: server, toDatabase, hubs, ways } = heldBy(world)
    const store = `postgres://postgres:${server.password}@127.0.0.1:${toDatabase.port}/postgres`
    for (const folder of FOLDERS) {
      mkdirSync(world.dir(folder), { recursive: true, mode: 0o700 })
      if (folder !== FOLDERS[0])
        for (const name of COPIED) copyFileSync(world.dir(FOLDERS[0], name), world.dir(folder, name))
      const flags = ['--files', world.dir('files')]
      hubs.push(await world.startHub({ SVC_HUB_STORE: store }, '127.0.0.1:0', flags, folder))
    }
    if (spoiled) hubs[2]?.child.kill('SIGKILL')
    const aids: unknown[] = []
    for (const { url } of hubs) aids.push((await getJson(`${url}/hub/identity`))['aid'])
    same('the hub AIDs that they tell', new Set(aids).size, 1)
    const port = ({ url }: StartedHub) => ({ host: '127.0.0.1', port: Number(new URL(url).port) })
    const [first, second, third] = hubs.map(port) as [
      ReturnType<typeof port>,
      ReturnType<typeof port>,
      ReturnType<typeof port>,
    ]
    ways.set('alice', await Way.open([first, third]))
    ways.set('bob', await Way.open([second, third]))
    for (const way of ways.values()) world.atEnd(() => way.close())
    facts.hubUrl = urlOf(ways.get('alice'))
    return `one AID at ${hubs.map(({ url }) => url).join(', ')}`
  },
}

const urlOf = (way: Way | undefined): string => `http://127.0.0.1:${way?.port}`

const join: Step = {
  name: 'join',
  title: 'alice joins at the first process, bob at the second',
  async run(world, facts, spoiled) {
    const { ways } = heldBy(world)
    await world.hubAt(FOLDERS[0], 'admit', facts.alice)
    // an order at one process holds at all of them
    if (!spoiled) await world.hubAt(FOLDERS[2], 'admit', facts.bob)
    await world.svc('alice', 'hub-register', urlOf(ways.get('alice')), '--name', 'alice')
    await world.svc('bob', 'hub-register', urlOf(ways.get('bob')), '--name', 'bob', '--caps', CAPABILITY)
    await world.svc('bob', 'contact', 'add', facts.alice, 'alice')
    await world.svc('alice', 'contact', 'add', facts.bob, 'bob')
    facts.tools = await (await import('./tool-client.ts')).startToolClient(
      world.node,
      [world.programs.svc, 'mcp'],
      world.env('alice'),
    )
    same('the process that alice talks to', ways.get('alice')?.last, 0)
    same('the process that bob talks to', ways.get('bob')?.last, 0)
    return 'each order of the operator was given at another process'
  },
}

const killed: Step = {
  name: 'killed',
  title: "bob's process is killed; the next task reaches him through the third one",
  async run(world, _facts, spoiled) {
    const { hubs, ways } = heldBy(world)
    const lost = spoiled ? hubs : hubs.slice(1, 2)
    for (const { child } of lost) await endOf(child)
    await arrives(world, AFTER_KILL, spoiled)
    same('the process that bob talks to', ways.get('bob')?.last, 1)
    return 'word for word, answered by itself'
  },
}

const promoted: Step = {
  name: 'promoted',
  title: 'the server of the database is lost; its standby takes its place',
  async run(world, _facts, spoiled) {
    const { database: server, toDatabase } = heldBy(world)
    await server.lose('primary')
    if (!spoiled) {
      await server.ask('standby', 'SELECT 1')
      await server.promote()
      await server.ask('standby', "ALTER SYSTEM SET synchronous_standby_names = ''")
      await server.ask('standby', 'SELECT pg_reload_conf()')
    }
    toDatabase.leadTo([{ path: server.socket('standby') }])
    await arrives(world, AFTER_LOSS, spoiled)
    return 'what was acknowledged before is there, and the next task arrived'
  },
}

/** A new task of alice, in bob's store word for word, and his answer in hers. */
async function arrives(world: World, task: string, spoiled: boolean): Promise<void> {
  const wait = spoiled ? undefined : BACK_WAIT_MS
  const { interaction_id: id } = await world.svc('alice', 'delegate', 'bob', task)
  type Turn = { text: string; mine: boolean }
  const turns = async (name: 'alice' | 'bob') =>
    ((await world.svc(name, 'thread', String(id)).catch(() => ({ turns: [] }))) as { turns: Turn[] }).turns
  const first = await until("the task in bob's store", async () => (await turns('bob'))[0], wait)
  same('the task as bob holds it', first.text, task)
  const mine = await until("bob's answer", async () => (await turns('bob')).find(turn => turn.mine), wait)
  const theirs = await until(
    "the answer in alice's store",
    async () => (await turns('alice')).find(turn => !turn.mine),
    wait,
  )
  same('the answer as alice holds it', theirs.text, mine.text)
}

function endOf(child: StartedHub['child']): Promise<void> {
  return new Promise(resolve => {
    child.once('exit', () => resolve())
    child.kill('SIGKILL')
  })
}

const byName: Readonly<Record<(typeof processesStepNames)[number], Step>> = {
  database,
  processes,
  alice,
  bob,
  join,
  delegate,
  reply,
  killed,
  promoted,
  end,
  verify,
}

export const processesSteps: readonly Step[] = processesStepNames.map(name => byName[name])
