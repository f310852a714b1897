/** For tests of the core: its context over a real store in a temporary folder, with a clock that is set by hand. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemTimers } from '../../protocol/timers.ts'
import { lastStoredMs } from '../core/clocks.ts'
import type { HubContext } from '../core/context.ts'
import { Peers } from '../core/federation/peers.ts'
import { memoryInProcess } from '../core/in-process/memory.ts'
import { defaultLimits, type Limits } from '../core/limits.ts'
import { Verifier } from '../core/verifier.ts'
import { openDataDirectory } from '../data-dir.ts'
import { random, TestAgent, threads } from './hub.ts'

export type TestCore = {
  context: HubContext
  clock: { ms: number }
  directory: string
  /** Another core over the same directory, with the same clock; work that is under way is not waited for. */
  restart(): Promise<TestCore>
  close(): Promise<void>
}

export function openCore(startMs: number, limits: Partial<Limits> = {}): Promise<TestCore> {
  return openCoreIn(mkdtempSync(join(tmpdir(), 'svc-hub-core-')), { ms: startMs }, limits)
}

async function openCoreIn(
  directory: string,
  clock: { ms: number },
  limits: Partial<Limits>,
): Promise<TestCore> {
  const now = () => clock.ms
  const data = await openDataDirectory({
    directory,
    now,
    timers: systemTimers,
    random,
    threads,
    onBroken: () => undefined,
  })
  const verifier = new Verifier(100)
  const { identity, store, blobs, openBlobs, secret } = data
  return {
    context: {
      identity,
      store,
      blobs,
      openBlobs,
      peers: new Peers(),
      memory: memoryInProcess({ store, random, nowMs: now(), lastMs: await lastStoredMs(store) }),
      secret,
      verifier,
      limits: { ...defaultLimits, ...limits },
      now,
      timers: systemTimers,
      random,
      alert: () => undefined,
    },
    clock,
    directory,
    async restart() {
      await verifier.close()
      await data.close()
      return await openCoreIn(directory, clock, limits)
    },
    async close() {
      await verifier.close()
      await data.close()
      rmSync(directory, { recursive: true })
    },
  }
}

/** Somebody whose clock is that of the core. */
export function agentOf({ context, clock }: TestCore): TestAgent {
  const told = { now: () => clock.ms, advance: () => undefined }
  return new TestAgent({ url: '', aid: context.identity.aid, clock: told })
}

/** The code of the refusal that an action ends with, or undefined. */
export async function refusedWith(action: () => unknown): Promise<string | undefined> {
  try {
    await action()
    return undefined
  } catch (error) {
    if (error instanceof Error && 'code' in error) return String(error.code)
    throw error
  }
}
