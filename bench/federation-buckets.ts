/**
 * Looking agents up through one of three hubs that list each other and have 1,000 agents each: while all of them answer,
 * while one is stopped, and while one takes calls and answers none. Look-ups come at a steady pace, as those of nodes do.
 */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { openDataDirectory } from '../hub/data-dir.ts'
import { orderRunningHub } from '../hub/operator/socket.ts'
import { random } from '../hub/testing/hub.ts'
import { bucketPrefixText, directoryBitsMax } from '../protocol/identity/directory.ts'
import { systemTimers } from '../protocol/timers.ts'
import { atMost, Connection, type HubProcess, type Row, rawRequest, startHubProcess } from './lib/hub-load.ts'
import { addAgents } from './lib/hub-store-items.ts'
import { percentile } from './lib/node-world.ts'

const AGENTS = 1000
const BITS = directoryBitsMax(AGENTS)
const CLIENTS = 8
const EVERY_MS = 50
const WARM_UP = 100
/** In the first seconds a hub does not know yet that a peer hangs. */
const UNNOTICED = 60
/** Longer than a hub leaves a peer alone that gave no answer. */
const LOOKUPS = 600
const P99_MS_MAX = 100

async function startHub(): Promise<HubProcess> {
  const directory = mkdtempSync(join(tmpdir(), 'svc-hub-bench-'))
  const { store, close } = await openDataDirectory({
    directory,
    now: Date.now,
    timers: systemTimers,
    random,
    onBroken: () => undefined,
  })
  await addAgents(store, AGENTS)
  await close()
  return await startHubProcess({ directory })
}

async function list(at: HubProcess, peer: HubProcess): Promise<void> {
  const reply = await fetch(`${peer.url}/hub/identity`, { headers: { 'X-Svc-Wire': '3' } })
  const { kel } = (await reply.json()) as { kel: string }
  await orderRunningHub(at.directory, { command: 'peers', add: { url: peer.url, kel } })
}

function lookup(hub: HubProcess): Uint8Array {
  const body = Buffer.from(JSON.stringify({ prefix: bucketPrefixText(random(32), BITS), bits: BITS }))
  return rawRequest(hub, 'POST', '/directory:bucket', { 'Content-Type': 'application/json' }, body)
}

type Looked = { times: number[]; partial: number; entries: number }

/** Look-ups at a steady pace; one that finds all connections busy waits, and its wait counts. */
async function look(hub: HubProcess, count: number): Promise<Looked> {
  const connections = await Promise.all(Array.from({ length: CLIENTS }, () => Connection.open(hub.url)))
  const looked: Looked = { times: [], partial: 0, entries: 0 }
  const startedMs = performance.now()
  let next = 0
  await Promise.all(
    connections.map(async connection => {
      for (let n = next++; n < count; n = next++) {
        const dueMs = startedMs + n * EVERY_MS
        await pause(Math.max(0, dueMs - performance.now()))
        const { status, body } = await connection.send(lookup(hub))
        if (status !== 200) throw new Error(`a look-up was refused: ${body.toString()}`)
        looked.times.push(performance.now() - dueMs)
        const { entries, partial } = JSON.parse(body.toString()) as { entries: unknown[]; partial?: boolean }
        looked.entries += entries.length
        if (partial === true) looked.partial += 1
      }
    }),
  )
  for (const connection of connections) connection.close()
  return looked
}

export async function run(): Promise<Row[]> {
  const hubs = [await startHub(), await startHub(), await startHub()] as const
  const [here, , third] = hubs
  try {
    for (const at of hubs) for (const peer of hubs) if (at !== peer) await list(at, peer)
    await look(here, WARM_UP)
    const startedMs = await here.mainThreadMs()
    const all = await look(here, LOOKUPS)
    const eachMs = ((await here.mainThreadMs()) - startedMs) / LOOKUPS
    process.kill(third.pid, 'SIGSTOP')
    const unnoticed = await look(here, UNNOTICED)
    const silent = await look(here, LOOKUPS)
    process.kill(third.pid, 'SIGCONT')
    await third.stop()
    const stopped = await look(here, LOOKUPS)
    if (stopped.partial < LOOKUPS) throw new Error('a hub that was stopped answered')
    const ms = (name: string, { times }: Looked, share: number, max: number) =>
      atMost(name, percentile(times, share), 'ms', max)
    const told = Number.POSITIVE_INFINITY
    return [
      ms('look-up through three hubs, p99', all, 0.99, P99_MS_MAX),
      ms('the same, one of them stopped, p99', stopped, 0.99, P99_MS_MAX),
      ms('the same, p50', stopped, 0.5, told),
      ms('the same, one of them hangs, p99', silent, 0.99, P99_MS_MAX),
      ms('the same, p50', silent, 0.5, told),
      ms('the same, its first three seconds, the longest', unnoticed, 1, told),
      atMost('answers that lack a hub while all run', all.partial, '', 0),
      ms('look-up through three hubs, p50', all, 0.5, told),
      atMost('processor time of the hub that asks, each look-up', eachMs, 'ms', told),
      atMost('agents in one answer', all.entries / LOOKUPS, '', told),
    ]
  } finally {
    await Promise.all([hubs[0].stop(), hubs[1].stop()])
  }
}
