// project: programs

/** Direct delivery of sealed mail as it is run: a hub, two nodes and the process of each that takes mail, as they are built. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type StartedHub, World } from '../cli/demo/world.ts'

const root = new URL('..', import.meta.url).pathname
const HOST = '127.0.0.1'
const WAIT_MS = 60_000
type Name = 'alice' | 'bob'
type Turn = { mine: boolean; text: string; delivery?: { state: string } }

let world: World
let hub: StartedHub
const aids = {} as Record<Name, string>
const serving = {} as Record<Name, ChildProcess>
const addresses = {} as Record<Name, string>
beforeAll(async () => {
  world = new World({ svc: join(root, 'dist', 'svc.js'), hub: join(root, 'hub', 'dist', 'svc-hub.js') })
  hub = await world.startHub({}, `${HOST}:0`)
  for (const name of ['alice', 'bob'] as const) {
    await world.startNode(name)
    aids[name] = String((await world.svc(name, 'status'))['aid'])
    await world.hub('admit', aids[name])
    await world.svc(name, 'hub-register', hub.url)
  }
  await world.svc('alice', 'contact', 'add', aids.bob, 'bob')
  await world.svc('bob', 'contact', 'add', aids.alice, 'alice')
})
afterAll(async () => {
  for (const child of Object.values(serving)) child.kill('SIGTERM')
  await world[Symbol.asyncDispose]()
})

/** `svc p2p serve` of a node; resolves to where it listens. */
async function serve(name: Name, at = `${HOST}:0`): Promise<string> {
  const args = [world.programs.svc, 'p2p', 'serve', '--listen', at]
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
const isDelivered = (id: string) =>
  until('it is delivered', async () =>
    (await turns('alice', id))[0]?.delivery?.state === 'delivered' ? true : undefined,
  )
async function delegate(task: string): Promise<string> {
  const { interaction_id } = await world.svc('alice', 'delegate', aids.bob, task)
  return String(interaction_id)
}
async function signedByBoth(id: string): Promise<string> {
  return until('both have signed', async () => {
    const { stdout } = await world.run(world.programs.svc, ['verify', id], world.env('alice'))
    const said = JSON.parse(stdout || '{}') as { verdict?: string; counter_signed?: boolean }
    return said.counter_signed === true ? said.verdict : undefined
  })
}
const knows = (name: Name, peer: string, address: string) =>
  until(`${name} knows where ${peer} is`, async () => {
    const { contacts } = (await world.svc(name, 'p2p', 'status')) as { contacts?: unknown[] }
    return JSON.stringify(contacts).includes(address) ? true : undefined
  })

test('two contacts who have met by the hub do a task while the hub is gone', async () => {
  const before = await delegate('while the hub is here')
  await heard('bob', before, 'while the hub is here')
  await world.svc('bob', 'message', before, 'here I am')
  await heard('alice', before, 'here I am')
  for (const name of ['alice', 'bob'] as const) {
    addresses[name] = await serve(name)
    const said = await world.svc(name, 'p2p-advertise', addresses[name])
    expect(said).toEqual({ status: 'published', address: addresses[name], told: 1 })
    await world.svc(name, 'p2p', 'on', '--host', HOST)
  }
  await knows('alice', 'bob', addresses.bob)
  await knows('bob', 'alice', addresses.alice)

  hub.child.kill('SIGKILL')
  await once(hub.child, 'exit')
  const id = await delegate('while it is gone')
  await heard('bob', id, 'while it is gone')
  await isDelivered(id)
  expect((await turns('alice', id))[0]?.delivery).toEqual({ state: 'delivered' })
  await world.svc('bob', 'message', id, 'done', '--end')
  await heard('alice', id, 'done')
  await world.svc('alice', 'accept-end', id)
  expect(await signedByBoth(id)).toBe('valid')
})

test('a node that was killed has what came directly after its start', async () => {
  const id = await delegate('kept')
  await isDelivered(id)
  const { pid } = await world.svc('bob', 'status')
  process.kill(Number(pid), 'SIGKILL')
  await world.startNode('bob')
  await heard('bob', id, 'kept')
})

test('where the address is dead, the hub carries the task, and nothing comes twice', async () => {
  if (serving.bob.exitCode === null) serving.bob.kill('SIGKILL')
  hub = await world.startHub({}, new URL(hub.url).host)
  const id = await delegate('by the hub again')
  await heard('bob', id, 'by the hub again')
  await world.svc('bob', 'message', id, 'it came')
  await heard('alice', id, 'it came')
  expect((await turns('bob', id)).filter(({ text }) => text.includes('by the hub again'))).toHaveLength(1)
})

test('what takes mail ends with its node', async () => {
  const { alice } = serving
  const ended = once(alice, 'exit')
  await world.svc('alice', 'stop')
  expect(await ended).toEqual([0, null])
})
