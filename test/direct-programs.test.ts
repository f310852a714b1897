// project: programs

/** Direct delivery as it is run: a hub, two nodes and the process of each that takes letters, as the programs are built. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type StartedHub, World } from '../cli/demo/world.ts'

const root = new URL('..', import.meta.url).pathname
const HOST = '127.0.0.1'
const WAIT_MS = 60_000
type Name = 'alice' | 'bob'
type Turn = { mine: boolean; text: string; delivery?: { state: string; direct?: boolean } }

let world: World
let hub: StartedHub
const aids = {} as Record<Name, string>
const serving = {} as Record<Name, ChildProcess>
beforeAll(async () => {
  world = new World({ svc: join(root, 'dist', 'svc.js'), hub: join(root, 'hub', 'dist', 'svc-hub.js') })
  hub = await world.startHub({}, `${HOST}:0`, ['--wire', '1'])
  for (const name of ['alice', 'bob'] as const) {
    await world.startNode(name)
    const { code } = await world.hub('invite', 'new')
    const joined = await world.svc(name, 'hub-register', hub.url, '--wire', '1', '--token', String(code))
    aids[name] = String(joined['aid'])
  }
  await world.svc('alice', 'contact', 'add', aids.bob, 'bob')
  await world.svc('bob', 'contact', 'add', aids.alice, 'alice')
})
afterAll(async () => {
  for (const child of Object.values(serving)) child.kill('SIGTERM')
  await world[Symbol.asyncDispose]()
})

/** `svc p2p serve` of a node; resolves to where it listens. */
async function serve(name: Name): Promise<string> {
  const args = [world.programs.svc, 'p2p', 'serve', '--listen', `${HOST}:0`]
  const child = spawn(world.node, args, { env: world.env(name), stdio: ['ignore', 'pipe', 'inherit'] })
  serving[name] = child
  let printed = ''
  for await (const chunk of child.stdout) {
    printed += String(chunk)
    const address = /"address": "([^"]+)"/.exec(printed)?.[1]
    if (address !== undefined) return address
  }
  throw new Error(`nothing listens: ${printed}`)
}

async function until<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
  for (const end = Date.now() + WAIT_MS; Date.now() < end; ) {
    const found = await look()
    if (found !== undefined) return found
    await new Promise(resolve => setTimeout(resolve, 100))
  }
  throw new Error(`did not happen: ${what}`)
}
const turns = async (name: Name, id: string): Promise<Turn[]> => {
  const { code, stdout } = await world.run(world.programs.svc, ['thread', id], world.env(name))
  return code === 0 ? (JSON.parse(stdout) as { turns: Turn[] }).turns : []
}
const heard = (name: Name, id: string, words: string) =>
  until(`${name} reads "${words}"`, async () =>
    (await turns(name, id)).find(({ mine, text }) => !mine && text.includes(words)),
  )
const first = async (id: string) => (await turns('alice', id))[0]?.delivery
async function delegate(task: string): Promise<string> {
  const { interaction_id } = await world.svc('alice', 'delegate', aids.bob, task)
  return String(interaction_id)
}

test('is refused where no node runs', async () => {
  const env = { ...world.env('alice'), SVC_HOME: world.dir('home', 'nobody') }
  const { code, stderr } = await world.run(world.programs.svc, ['p2p', 'serve'], env)
  expect([code, stderr]).toEqual([1, expect.stringContaining('there is no identity in')])
})

test('a task is begun over the hub, and another one is done while the hub is gone', async () => {
  for (const name of ['alice', 'bob'] as const) {
    const address = await serve(name)
    expect(await world.svc(name, 'p2p-advertise', address)).toEqual({ status: 'published', address })
    await world.svc(name, 'p2p', 'on', '--host', HOST)
  }
  const before = await delegate('while the hub is here')
  await heard('bob', before, 'while the hub is here')
  await world.svc('bob', 'message', before, 'here I am')
  await heard('alice', before, 'here I am')

  hub.child.kill('SIGKILL')
  await once(hub.child, 'exit')
  const id = await delegate('while it is gone')
  await heard('bob', id, 'while it is gone')
  expect(await first(id)).toMatchObject({ state: 'delivered', direct: true })
  await world.svc('bob', 'message', id, 'done', '--end')
  await heard('alice', id, 'done')
  await world.svc('alice', 'accept-end', id)
  const verdict = await until('both have signed', async () => {
    const { stdout } = await world.run(world.programs.svc, ['verify', id], world.env('alice'))
    const said = JSON.parse(stdout || '{}') as { verdict?: string; counter_signed?: boolean }
    return said.counter_signed === true ? said.verdict : undefined
  })
  expect(verdict).toBe('valid')
})

test('where the address is dead, the hub carries the task', async () => {
  serving.bob.kill('SIGTERM')
  await once(serving.bob, 'exit')
  hub = await world.startHub({}, new URL(hub.url).host, ['--wire', '1'])
  const id = await delegate('by the hub again')
  await heard('bob', id, 'by the hub again')
  const delivery = await first(id)
  expect(delivery?.direct).toBeUndefined()
  await world.svc('bob', 'message', id, 'it came')
  await heard('alice', id, 'it came')
  expect(await first(id)).toMatchObject({ state: 'delivered' })
})

test('what takes letters ends with its node', async () => {
  const { alice } = serving
  const ended = once(alice, 'exit')
  await world.svc('alice', 'stop')
  expect(await ended).toEqual([0, null])
})
