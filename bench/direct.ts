/**
 * From `delegate` to the provider's store by the hub, and past it: two daemons, a hub and what takes mail of each as processes,
 * 8 KiB texts. The hub is killed before the second half, so nothing of that went by it.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { World } from '../cli/demo/world.ts'
import { Delegations } from './lib/delegations.ts'
import { endedWith } from './lib/ended-with.ts'
import { atMost, type Row } from './lib/hub-load.ts'
import { meetingWorld, percentile, type Running } from './lib/node-world.ts'

const HOST = '127.0.0.1'
const WARM_UP = 200
const DELEGATIONS = 400
const KNOWN_MS_MAX = 30_000
type Name = 'alice' | 'bob'

/** Starts what takes mail of a node, and has it said to the other one. */
async function serve(world: World, name: Name): Promise<{ child: ChildProcess; at: string }> {
  const args = [world.programs.svc, 'p2p', 'serve', '--listen', `${HOST}:0`]
  const child = spawn(world.node, args, { env: world.env(name), stdio: ['ignore', 'pipe', 'ignore'] })
  child.once(
    'exit',
    endedWith(() => child.kill()),
  )
  let printed = ''
  for await (const chunk of child.stdout) {
    printed += String(chunk)
    const at = /"address": "([^"]+)"/.exec(printed)?.[1]
    if (at !== undefined) return { child, at }
  }
  throw new Error(`nothing listens: ${printed}`)
}

async function known(world: World, name: Name, at: string): Promise<void> {
  for (const end = Date.now() + KNOWN_MS_MAX; Date.now() < end; ) {
    if (JSON.stringify(await world.svc(name, 'p2p', 'status')).includes(at)) return
    await new Promise(resolve => setTimeout(resolve, 100))
  }
  throw new Error(`${name} was not told ${at}`)
}

async function measured(of: string, from: Running, to: Running): Promise<Row[]> {
  const delegations = new Delegations(from, to)
  const times = await delegations.times(WARM_UP + DELEGATIONS).finally(delegations.close)
  const running = times.slice(WARM_UP)
  return [
    atMost(`delegate -> provider's store ${of}, p50`, percentile(running, 0.5), 'ms', 50),
    atMost(`delegate -> provider's store ${of}, p95`, percentile(running, 0.95), 'ms', 250),
  ]
}

export async function run(): Promise<Row[]> {
  const { world, hub, alice, bob } = await meetingWorld()
  await using _world = world
  await world.svc('alice', 'contact', 'add', bob.aid, 'bob')
  const byHub = await measured('by the hub', alice, bob)
  const serving = [await serve(world, 'alice'), await serve(world, 'bob')] as const
  try {
    for (const [name, { at }] of [
      ['alice', serving[0]],
      ['bob', serving[1]],
    ] as const) {
      await world.svc(name, 'p2p-advertise', at)
      await world.svc(name, 'p2p', 'on', '--host', HOST)
    }
    await known(world, 'alice', serving[1].at)
    await known(world, 'bob', serving[0].at)
    hub.child.kill('SIGKILL')
    await once(hub.child, 'exit')
    return [...byHub, ...(await measured('directly', alice, bob))]
  } finally {
    for (const { child } of serving) child.kill('SIGTERM')
  }
}
