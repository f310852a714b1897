/** What goes wrong, or is done to a node or a hub, while there is work. */
import { rmSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import type { Dice } from './dice.ts'
import type { Restore } from './history.ts'
import { Asked } from './processes.ts'
import { type ChaosWorld, hubNames, type NodeName, nodeNames } from './world.ts'

export type Ground = { world: ChaosWorld; dice: Dice; n: number; restores: Restore[]; faults: string[] }
export type Disturbance = { name: string; weight: number; run(ground: Ground): Promise<string> }

/** A copy has shown within this time what it takes itself for; it looks for ten seconds. */
const COPY_KNOWS_MS = 60_000
const SETTLED_MS = 60_000
const ACCEPTED_MAX = 3
const LOOK_MS = 500

const someMs = (dice: Dice, most: number) => pause(dice.between(50, most))
const otherHub = (world: ChaosWorld) => hubNames.find(name => name !== world.home) as 'east' | 'west'

async function killNode({ world, dice }: Ground): Promise<string> {
  const who = dice.pick(nodeNames)
  for (let times = dice.between(1, 2); times > 0; times--) {
    await someMs(dice, 2000)
    world.kill(who)
  }
  return who
}

async function killHub({ world, dice }: Ground): Promise<string> {
  await someMs(dice, 2500)
  world.kill(world.home)
  return world.home
}

async function pauseHub({ world, dice }: Ground): Promise<string> {
  await someMs(dice, 1500)
  const hub = world.home
  world.pause(hub)
  await pause(dice.between(1000, 6000))
  world.resume(hub)
  return hub
}

async function pauseNode({ world, dice }: Ground): Promise<string> {
  const who = dice.pick(nodeNames)
  await someMs(dice, 1500)
  world.pause(who)
  await pause(dice.between(1000, 4000))
  world.resume(who)
  return who
}

async function cut({ world, dice }: Ground): Promise<string> {
  const who = dice.pick(nodeNames)
  await someMs(dice, 1500)
  const line = world.line(who, world.home)
  line.cut()
  await pause(dice.between(500, 5000))
  line.mend()
  return who
}

async function deafen({ world, dice }: Ground): Promise<string> {
  const who = dice.pick(nodeNames)
  await someMs(dice, 1500)
  const line = world.line(who, world.home)
  line.deafen()
  await pause(dice.between(300, 3000))
  line.mend()
  return who
}

async function rotate({ world, dice }: Ground): Promise<string> {
  const who = dice.pick(nodeNames)
  await someMs(dice, 2000)
  if (world.restoring.has(who)) return `${who} (not now)`
  await world.ask(who, 'POST', '/id/rotate', {})
  return who
}

async function rotateWhileAway({ world, dice }: Ground): Promise<string> {
  const who = dice.pick(nodeNames)
  await someMs(dice, 1500)
  if (world.restoring.has(who)) return `${who} (not now)`
  const line = world.line(who, world.home)
  line.cut()
  try {
    await world.ask(who, 'POST', '/id/rotate', {})
    await someMs(dice, 1500)
  } catch (error) {
    // one that was started while its hub is away, and has seen a copy of itself, signs nothing before the hub answers
    if (!(error instanceof Asked) || error.reply['reason'] !== 'old_copy') throw error
  } finally {
    line.mend()
  }
  return who
}

async function moveAndReturn({ world, dice }: Ground): Promise<string> {
  const who = dice.pick(nodeNames)
  await someMs(dice, 1500)
  await world.register(who, otherHub(world))
  await someMs(dice, 3000)
  await world.register(who, world.home)
  return who
}

async function allMove({ world, dice }: Ground): Promise<string> {
  const hub = otherHub(world)
  await someMs(dice, 1500)
  for (const who of nodeNames) await world.register(who, hub)
  world.home = hub
  return hub
}

async function leaveAndReturn({ world, dice }: Ground): Promise<string> {
  const who = dice.pick(nodeNames)
  await someMs(dice, 1500)
  await world.ask(who, 'POST', '/hub/leave', {})
  await someMs(dice, 2500)
  await world.register(who, world.home)
  return who
}

async function restoreNode({ world, dice, n, restores }: Ground): Promise<string> {
  const who = dice.pick(nodeNames)
  await someMs(dice, 1000)
  const savedMs = Date.now()
  world.restoring.add(who)
  const file = await world.backUpNode(who, n)
  await someMs(dice, 4000)
  // what was said from here on may be lost, also what is answered while it stops
  const restore: Restore = { who, savedMs, restoredMs: Number.POSITIVE_INFINITY }
  restores.push(restore)
  if (dice.next() < 0.5) world.forgetMachine(who)
  await world.restoreNode(who, file)
  await untilSettled(world, who)
  world.restoring.delete(who)
  restore.restoredMs = Date.now()
  return who
}

/** Until a restored node goes on, which its people have to allow where the newer copy had signed something. */
async function untilSettled(world: ChaosWorld, who: NodeName): Promise<void> {
  const end = Date.now() + SETTLED_MS
  for (let accepted = 0; Date.now() < end; ) {
    const status = await world.ask(who, 'GET', '/status')
    const isUnsettled = (status['warnings'] as string[]).some(warning => warning.includes('restored from an'))
    if (status['old_copy'] === true && accepted++ < ACCEPTED_MAX) await world.acceptNode(who)
    else if (status['old_copy'] !== true && !isUnsettled) return
    await pause(LOOK_MS)
  }
  throw new Error(`${who} did not settle: ${JSON.stringify(await world.ask(who, 'GET', '/status'))}`)
}

async function restoreHub({ world, dice, n, restores }: Ground): Promise<string> {
  const hub = world.home
  await someMs(dice, 1000)
  const savedMs = Date.now()
  const folder = await world.backUpHub(hub, n)
  await someMs(dice, 4000)
  const restore: Restore = { who: hub, savedMs, restoredMs: Number.POSITIVE_INFINITY }
  restores.push(restore)
  await world.restoreHub(hub, folder)
  restore.restoredMs = Date.now()
  return hub
}

/** The copy says that it is one and signs nothing; the first one goes on. */
async function copy({ world, dice, faults }: Ground): Promise<string> {
  const who = dice.pick(nodeNames) as NodeName
  await someMs(dice, 1500)
  const name = await world.startCopy(who)
  const end = Date.now() + COPY_KNOWS_MS
  for (;;) {
    const status = await world.ask(name, 'GET', '/status')
    if (status['old_copy'] === true) break
    if (Date.now() > end) {
      faults.push(`a copy of ${who} does not know that it is one: ${JSON.stringify(status['warnings'])}`)
      break
    }
    await pause(LOOK_MS)
  }
  await world.end(name)
  rmSync(world.dir(name), { recursive: true, force: true })
  const status = await world.ask(who, 'GET', '/status')
  if (status['old_copy'] === true)
    faults.push(`${who} takes itself for a copy: ${JSON.stringify(status['warnings'])}`)
  return who
}

export const disturbances: readonly Disturbance[] = [
  { name: 'node killed', weight: 4, run: killNode },
  { name: 'hub killed', weight: 3, run: killHub },
  { name: 'hub paused', weight: 2, run: pauseHub },
  { name: 'node paused', weight: 1, run: pauseNode },
  { name: 'network cut', weight: 3, run: cut },
  { name: 'answers lost', weight: 3, run: deafen },
  { name: 'rotation', weight: 3, run: rotate },
  { name: 'rotation while cut', weight: 2, run: rotateWhileAway },
  { name: 'moved and returned', weight: 2, run: moveAndReturn },
  { name: 'all moved', weight: 1, run: allMove },
  { name: 'left and returned', weight: 2, run: leaveAndReturn },
  { name: 'node restored', weight: 2, run: restoreNode },
  { name: 'hub restored', weight: 1.5, run: restoreHub },
  { name: 'copy', weight: 1, run: copy },
]

/** Not two of these at once, which end or move the same processes. */
const alone = new Set([
  'moved and returned',
  'all moved',
  'left and returned',
  'node restored',
  'hub restored',
  'copy',
])

export function draw(dice: Dice): Disturbance[] {
  const first = one(dice, disturbances)
  // nobody sees a node whose network is away, and its copy goes on
  if (first.name === 'copy' || dice.next() < 0.5) return [first]
  const beside = disturbances.filter(({ name }) => !alone.has(name))
  return [first, one(dice, beside)]
}

function one(dice: Dice, list: readonly Disturbance[]): Disturbance {
  const lots = list.flatMap(each => Array<Disturbance>(2 * each.weight).fill(each))
  return dice.pick(lots)
}
