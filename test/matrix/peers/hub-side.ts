/** One hub of a world of peers: a real one over its own directory, which can be stopped, killed and put back. */
import { cpSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DAY_MS, defaultLimits, type Limits } from '../../../hub/core/limits.ts'
import { Verifier } from '../../../hub/core/verifier.ts'
import { writeBackup } from '../../../hub/operator/backup.ts'
import { restoreBackup } from '../../../hub/operator/restore.ts'
import { type RunningHub, startHub } from '../../../hub/serve.ts'
import type { Store } from '../../../hub/store/port.ts'
import { writes } from '../../../hub/store/sqlite/writes.ts'
import { random, type Target, type TestClock } from '../../../hub/testing/hub.ts'
import { KeptThreads } from '../../../hub/testing/kept-threads.ts'
import { RELEASE } from '../../../protocol/build-info.ts'
import type { VerifiedKel } from '../../../protocol/identity/kel.ts'
import type { TestTimers } from '../../../protocol/testing/timers.ts'
import { nextTurn } from '../../../protocol/timers.ts'
import type { Restore, Side } from './side.ts'

/** Small buckets, so that a flood is one after few requests. */
const limits: Limits = {
  ...defaultLimits,
  trialCredits: 0,
  probationMs: 0,
  peerRate: { perSecond: 2, burst: 60 },
  // time is skipped while answers are on their way
  bodyGraceMs: 30 * DAY_MS,
}
/** One thread checks the signatures of all hubs of this process: they come and go too often for one each. */
const verifier = new Verifier(1000)
const threads = new KeptThreads()
/** No answer depends on these alone. */
const BESIDE = new Set(['putSetting', 'markSeen', 'raiseFloor'])

const TURNS_OF_STOP = 100
const STOP_STEP_MS = 500

export type Killed = 'before' | 'after'

export class HubSide implements Side {
  readonly name: string
  readonly directory: string
  readonly #timers: TestTimers
  #running: RunningHub | undefined
  /** By how much its clock is wrong. */
  skewMs = 0
  /** What its operator was told. */
  readonly alerts: { event: string; facts: Record<string, unknown> }[] = []
  readonly restores: Restore[] = []
  kills = 0
  readonly clock: TestClock = { now: () => this.#timers.now() + this.skewMs, advance: () => undefined }

  constructor(name: string, directory: string, timers: TestTimers) {
    this.name = name
    this.directory = directory
    this.#timers = timers
  }

  get running(): RunningHub {
    if (this.#running === undefined) throw new Error(`the hub ${this.name} is down`)
    return this.#running
  }

  get isUp(): boolean {
    return this.#running !== undefined
  }

  get hub() {
    return this.running.hub
  }

  now(): number {
    return this.#timers.now()
  }

  get kel(): VerifiedKel {
    return this.hub.context.identity.kel
  }

  wasTold(words: string): boolean {
    return this.alerts.some(({ event }) => event.includes(words))
  }

  get calls(): number {
    const { peers } = this.hub.context
    return peers.all.reduce((sum, { aid }) => sum + peers.contact(aid).waiting, 0)
  }

  get store(): Store {
    return this.running.hub.context.store
  }

  get aid(): string {
    return this.running.aid
  }

  /** Where it listens. */
  get url(): string {
    return this.running.url
  }

  /** As agents see it, whose clocks are right. */
  get target(): Target {
    const hub = this
    const { now } = this.#timers
    return {
      get url() {
        return hub.url
      },
      get aid() {
        return hub.aid
      },
      clock: { now, advance: () => undefined },
    }
  }

  async start(): Promise<void> {
    const note = (event: string, facts: Record<string, unknown>): void =>
      void this.alerts.push({ event, facts })
    this.#running = await startHub({
      config: {
        wires: [3],
        listen: { host: '127.0.0.1', port: 0 },
        baseUrl: undefined,
        dataDir: this.directory,
        limits,
      },
      log: { info: () => undefined, warn: note, error: note },
      now: this.clock.now,
      timers: this.#timers,
      onBroken: () => undefined,
      threads,
    })
    this.hub.context.verifier.verify = (...check) => verifier.verify(...check)
  }

  async stop(): Promise<void> {
    const running = this.#running
    this.#running = undefined
    if (running === undefined) return
    let isOpen = true
    const closed = running.close().finally(() => {
      isOpen = false
    })
    for (let turn = 0; isOpen; turn++) {
      await nextTurn()
      // what is under way is given its time, and no longer
      if (turn % TURNS_OF_STOP === 0) await this.#timers.skip(STOP_STEP_MS)
    }
    await closed
  }

  /** Dies at its next commit: from then on nothing is kept and nothing leaves it, until it is started again. */
  killAt(place: Killed, onDeath: () => void): void {
    const { store } = this
    const changes = store as unknown as Record<string, (...given: unknown[]) => Promise<unknown>>
    for (const name of Object.keys(writes)) {
      const real = changes[name]
      if (real === undefined) continue
      changes[name] = async (...given) => {
        const isFirst = this.kills === 0 && !BESIDE.has(name)
        if (isFirst) {
          this.kills += 1
          if (place === 'after') await real.apply(store, given)
          onDeath()
        }
        if (this.kills > 0) throw new Error('killed')
        return await real.apply(store, given)
      }
    }
  }

  /** Copies it as it is now; what comes out puts it back to this moment. */
  async backUp(folder: string): Promise<() => Promise<void>> {
    const target = join(folder, `${this.name}-backup-${this.#timers.now()}`)
    const { aid, clock, directory } = this
    await writeBackup({ directory, target, hub: aid, now: clock.now, random, alone: false })
    const savedMs = this.#timers.now()
    return async () => {
      await this.stop()
      rmSync(directory, { recursive: true })
      await restoreBackup({ backup: target, directory, now: clock.now, release: RELEASE })
      this.restores.push({ savedMs, restoredMs: this.#timers.now() })
      await this.start()
    }
  }

  /** A folder with its keys alone. */
  copyKeys(folder: string): string {
    const target = join(folder, `${this.name}-keys`)
    mkdirSync(target, { recursive: true })
    for (const name of ['identity.kel', 'identity.next'])
      cpSync(join(this.directory, name), join(target, name))
    return target
  }
}
