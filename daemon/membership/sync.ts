/**
 * Bringing the home hub up to date with log, key set, profile and card: registering with proof of work where the hub
 * asks for it, publishing a renewed set, going above a set that the hub says it holds.
 */
import type { CurrentHub } from '../hubs/current.ts'
import type { RegisterReply } from '../hubs/hub.ts'
import type { OwnKeySet } from './key-set.ts'
import type { KeyState } from './key-state.ts'
import type { OwnProfile } from './profile.ts'
import type { PushedLog } from './push-log.ts'
import type { Registration } from './registration.ts'

/** `profile`: register also where only the profile may have changed. */
export type SyncOptions = { signal: AbortSignal; profile: boolean }

type SyncParts = {
  hub: CurrentHub
  keyState: KeyState
  keySet: OwnKeySet
  profile: OwnProfile
  pushedLog: PushedLog
  registration: Registration
}

export class Sync {
  readonly #parts: SyncParts
  #running: Promise<void> = Promise.resolve()

  constructor(parts: SyncParts) {
    this.#parts = parts
  }

  /** Tells the hub what it does not know yet; one call after another. Undefined when it had not to register. */
  run(options: SyncOptions): Promise<RegisterReply | undefined> {
    return this.#inTurn(() => this.#run(options))
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#running.then(work)
    this.#running = turn.then(
      () => undefined,
      () => undefined,
    )
    return turn
  }

  /** Publishes the profile; the card follows, at the latest with the next round. */
  async updateProfile(signal: AbortSignal): Promise<void> {
    const { hub, profile } = this.#parts
    await hub.last?.updateProfile(profile.current)
    await this.run({ signal, profile: false }).catch(() => undefined)
  }

  async #run(options: SyncOptions): Promise<RegisterReply | undefined> {
    const { hub, keyState, keySet, profile, pushedLog, registration } = this.#parts
    const home = hub.last
    keyState.settle(home)
    if (home === undefined) return undefined
    if (keyState.isEnded) {
      // A registration of a deactivated identity is refused; a push is taken.
      await pushedLog.to(home)
      return undefined
    }
    const set = keySet.ensure()
    const isDue = !pushedLog.isTold(home) || options.profile || profile.isCardDue(home)
    if (isDue) return registration.at(home, options.signal)
    if (!keySet.isConfirmed) await keySet.publish(home, set)
    return undefined
  }

  /** Gives a hub that has registered this node the newest set; any other gets it with the registration. */
  publishSet(): Promise<void> {
    return this.#inTurn(async () => {
      const { hub, keySet, pushedLog } = this.#parts
      if (hub.home === undefined || keySet.isConfirmed) return
      if (pushedLog.isTold(hub.home)) await keySet.publish(hub.home)
    })
  }

  /** A set above every one that this identity gave out; the hub gets it with the next round. */
  raiseSet(): void {
    this.#parts.keySet.raise()
  }
}
