/** For tests of codes: the hub that they ask, and asking it under other limits. */
import { HOUR_MS, type Limits } from '../core/limits.ts'
import { type Reply, registeredAgent, startTestHub, type TestAgent, type TestHub } from './hub.ts'

const MIB = 1024 * 1024

/** A hub that `startCodesHub` started, and an agent of it. */
export type World = { hub: TestHub; agent: TestAgent }
export type Case = (world: World) => Promise<Reply>

/** One request of an address at once, room for 2 MiB of bodies, no probation. */
export async function startCodesHub(): Promise<World> {
  const hub = await startTestHub({
    limits: { requestRate: { perSecond: 0.01, burst: 1 }, bytesInFlightMax: 2 * MIB, probationMs: 0 },
  })
  return { hub, agent: await registeredAgent(hub) }
}

export const json = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value))

export const limitsOf = ({ hub }: World): Limits => hub.running.hub.context.limits
/** Runs under other limits, of those that are read when they are used. */
export async function under(
  world: World,
  limits: Partial<Limits>,
  ask: () => Promise<Reply>,
): Promise<Reply> {
  const before = { ...limitsOf(world) }
  Object.assign(limitsOf(world), limits)
  try {
    return await ask()
  } finally {
    Object.assign(limitsOf(world), before)
  }
}

export const hourOf = ({ hub }: World): number => Math.floor(hub.clock.now() / HOUR_MS) * HOUR_MS
