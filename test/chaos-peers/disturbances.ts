/** What goes wrong with three hubs, the lines between them and the nodes at them. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Dice } from '../chaos/dice.ts'
import type { Restore } from '../chaos/history.ts'
import { type HubName, hubNames, nodeNames, type PeersChaos } from './world.ts'

export type Ground = { world: PeersChaos; dice: Dice; n: number; restores: Restore[] }
type Disturbance = { name: string; weight: number; run(ground: Ground): Promise<string> }

const BETWEEN_MS = 4000

/** One way between two hubs, or both. */
async function onLine(
  { world, dice }: Ground,
  most: number,
  change: (line: ReturnType<PeersChaos['line']>) => void,
): Promise<string> {
  const from = dice.pick(hubNames)
  const to = dice.pick(hubNames.filter(one => one !== from))
  const lines = [world.line(from, to), ...(dice.next() < 0.5 ? [world.line(to, from)] : [])]
  await pause(dice.between(0, 1500))
  for (const line of lines) change(line)
  await pause(dice.between(300, most))
  for (const line of lines) line.mend()
  return `${from}-${to}${lines.length > 1 ? ', both ways' : ''}`
}

async function kill({ world, dice }: Ground, names: readonly string[]): Promise<string> {
  const who = dice.pick(names)
  for (let times = dice.between(1, 2); times > 0; times--) {
    await pause(dice.between(50, 2000))
    world.kill(who)
  }
  return who
}

async function hang({ world, dice }: Ground): Promise<string> {
  const who = dice.pick(hubNames)
  await pause(dice.between(50, 1500))
  world.pause(who)
  // some calls are given up meanwhile
  await pause(dice.between(1000, 14_000))
  world.resume(who)
  return who
}

async function putBack({ world, dice, n, restores }: Ground): Promise<string> {
  const who = dice.pick(hubNames)
  const savedMs = Date.now()
  const restore = await world.backUpHub(who, n)
  await pause(dice.between(500, BETWEEN_MS))
  await restore()
  restores.push({ who, savedMs, restoredMs: Date.now() })
  return who
}

async function rotate({ world, dice }: Ground): Promise<string> {
  const who: HubName = dice.pick(hubNames)
  await pause(dice.between(50, 2000))
  await world.order(who, { command: 'rotate' })
  return who
}

async function unlist({ world, dice }: Ground): Promise<string> {
  const from = dice.pick(hubNames)
  const to = dice.pick(hubNames.filter(one => one !== from))
  await world.order(from, { command: 'peers', remove: world.hub(to).aid })
  await pause(dice.between(300, BETWEEN_MS))
  await world.list(from, to)
  return `${from} of ${to}`
}

const disturbances: readonly Disturbance[] = [
  { name: 'hub killed', weight: 5, run: ground => kill(ground, hubNames) },
  { name: 'node killed', weight: 2, run: ground => kill(ground, nodeNames) },
  { name: 'hub hangs', weight: 2, run: hang },
  { name: 'line cut', weight: 4, run: ground => onLine(ground, 6000, line => line.cut()) },
  { name: 'answers lost', weight: 4, run: ground => onLine(ground, 4000, line => line.deafen()) },
  { name: 'slow line', weight: 3, run: ground => onLine(ground, 8000, line => line.slow(2500)) },
  { name: 'hub restored', weight: 2, run: putBack },
  { name: 'key of a hub rotated', weight: 1, run: rotate },
  { name: 'peer unlisted', weight: 1, run: unlist },
]

/** A backup that is made while a peer is off the list takes that peer away for ever, as its operator would have asked. */
const forgetsPeer = (...both: [Disturbance, Disturbance]): boolean => {
  const names = both.map(({ name }) => name)
  return names.includes('hub restored') && names.includes('peer unlisted')
}

/** One of them, or two that go on at once. */
export function draw(dice: Dice): Disturbance[] {
  const bag = disturbances.flatMap(one => Array.from({ length: one.weight }, () => one))
  const first = dice.pick(bag)
  const rest = bag.filter(one => one !== first && !forgetsPeer(one, first))
  return dice.next() < 0.4 ? [first, dice.pick(rest)] : [first]
}
