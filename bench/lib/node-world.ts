/** Nodes and a hub as built programs for measurements, and what the kernel says of a process. */
import { existsSync, readFileSync } from 'node:fs'
import * as http from 'node:http'
import { type StartedHub, World } from '../../cli/demo/world.ts'
import { endedWith } from './ended-with.ts'
import type { HubProcess } from './hub-load.ts'

const MIB = 1024 * 1024
const TICKS_PER_SECOND = 100

export function benchWorld(): World {
  const at = (path: string) => new URL(`../../${path}`, import.meta.url).pathname
  const programs = { svc: at('dist/svc.js'), hub: at('hub/dist/svc-hub.js') }
  for (const program of Object.values(programs)) {
    if (!existsSync(program)) throw new Error(`${program} is not built; run: npm run build`)
  }
  const world = new World(programs)
  endedWith(() => world[Symbol.asyncDispose]())
  return world
}

type Meeting = { world: World; hub: StartedHub; alice: Running; bob: Running }

/** Hub, alice and bob, admitted and registered; bob knows alice. */
export async function meetingWorld(): Promise<Meeting> {
  const world = benchWorld()
  const hub = await world.startHub()
  const [alice, bob] = [await world.startNode('alice'), await world.startNode('bob')]
  for (const node of [alice, bob]) await world.hub('admit', String(node['aid']))
  await world.svc('alice', 'hub-register', hub.url, '--name', 'alice')
  await world.svc('bob', 'hub-register', hub.url, '--name', 'bob')
  await world.svc('bob', 'contact', 'add', String(alice['aid']), 'alice')
  return { world, hub, alice: running(world, 'alice', alice), bob: running(world, 'bob', bob) }
}

/** The same at two hubs that list each other, alice here and bob there. */
export async function meetingWorlds(): Promise<{ here: World; there: World; alice: Running; bob: Running }> {
  const [here, there] = [benchWorld(), benchWorld()]
  const [first, second] = [await here.startHub(), await there.startHub()]
  await here.hub('peers', 'add', second.url, '--yes', second.aid)
  await there.hub('peers', 'add', first.url, '--yes', first.aid)
  const [alice, bob] = [await here.startNode('alice'), await there.startNode('bob')]
  for (const [world, name, node, { url }] of [
    [here, 'alice', alice, first],
    [there, 'bob', bob, second],
  ] as const) {
    await world.hub('admit', String(node['aid']))
    await world.svc(name, 'hub-register', url, '--name', name)
    await world.svc(name, 'visibility', 'federated')
  }
  await there.svc('bob', 'contact', 'add', String(alice['aid']), 'alice')
  return { here, there, alice: running(here, 'alice', alice), bob: running(there, 'bob', bob) }
}

/** Alice at one process of a hub, bob at another or the same. */
export async function meetAt(first: HubProcess, second: HubProcess) {
  const world = benchWorld()
  const [alice, bob] = [await world.startNode('alice'), await world.startNode('bob')]
  for (const [name, node, hub] of [
    ['alice', alice, first],
    ['bob', bob, second],
  ] as const) {
    const admit = ['admit', String(node['aid']), '--data-dir', first.directory]
    const { code, stderr } = await world.run(world.programs.hub, admit, world.env(name))
    if (code !== 0) throw new Error(`svc-hub admit: ${stderr.trim()}`)
    await world.svc(name, 'hub-register', hub.url, '--name', name)
  }
  await world.svc('bob', 'contact', 'add', String(alice['aid']), 'alice')
  return {
    alice: running(world, 'alice', alice),
    bob: running(world, 'bob', bob),
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  }
}

export type Running = { aid: string; pid: number; address: string; token: string }

export function running(world: World, name: 'alice' | 'bob', up: Record<string, unknown>): Running {
  return {
    aid: String(up['aid']),
    pid: Number(up['pid']),
    address: String(up['control_addr']),
    token: readFileSync(world.dir(name, 'control_token.txt'), 'utf8').trim(),
  }
}

/** One operation over a kept connection. */
const agent = new http.Agent({ keepAlive: true })
export function operate(node: Running, path: string, body: unknown): Promise<Record<string, unknown>> {
  return new Promise((resolve, reject) => {
    const request = http.request(
      `http://${node.address}${path}`,
      {
        method: 'POST',
        agent,
        headers: { Authorization: `Bearer ${node.token}`, 'Content-Type': 'application/json' },
      },
      response => {
        let text = ''
        response.setEncoding('utf8').on('data', chunk => {
          text += chunk
        })
        response.on('end', () => {
          const json = JSON.parse(text) as Record<string, unknown>
          if (response.statusCode === 200) resolve(json)
          else reject(new Error(`${path}: ${text}`))
        })
      },
    )
    request.on('error', reject).end(JSON.stringify(body))
  })
}

/** Calls `seen` with the data of every event of a node, as it comes. */
export function follow(
  node: Running,
  seen: (event: string, data: Record<string, unknown>) => void,
): () => void {
  const request = http.get(
    `http://${node.address}/events`,
    { headers: { Authorization: `Bearer ${node.token}` }, agent: false },
    response => {
      let pending = ''
      response.setEncoding('utf8').on('data', chunk => {
        const blocks = (pending + String(chunk)).split('\n\n')
        pending = blocks.pop() as string
        for (const block of blocks) {
          const event = /^event: (.+)$/m.exec(block)?.[1]
          const data = /^data: (.+)$/m.exec(block)?.[1]
          if (event !== undefined && data !== undefined)
            seen(event, JSON.parse(data) as Record<string, unknown>)
        }
      })
    },
  )
  request.on('error', () => {})
  return () => request.destroy()
}

const statusField = (pid: number, field: string) =>
  (Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) *
    1024) /
  MIB

export const residentMib = (pid: number) => statusField(pid, 'VmRSS')
export const peakMib = (pid: number) => statusField(pid, 'VmHWM')

/** Seconds of processor time that a process has used. */
export function cpuSeconds(pid: number): number {
  const fields = (readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1] ?? '').split(' ')
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] as number
}
