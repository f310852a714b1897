/** Joining a hub, which is a rotation that names it: durable before it is sent. */
import { type HubClient, HubStopped, type RegisterReply } from '../hubs/hub.ts'
import { refuse } from '../refusal.ts'
import { highestWire } from '../store/hubs.ts'
import type { Store } from '../store/open.ts'
import type { Admission } from './clock-ahead.ts'
import type { HomeHub } from './home-hub.ts'
import type { KeyState } from './key-state.ts'
import type { KnownHubs } from './known-hubs.ts'
import type { Newest } from './newest.ts'
import type { Sync } from './sync.ts'

type JoiningParts = {
  home: HomeHub
  known: KnownHubs
  admission: Admission
  keyState: KeyState
  newest: Newest
  sync: Sync
}

/** `wire`: the one that is meant; `invite`: the code of the hub's operator. */
export type JoinOptions = { wire?: number | undefined; invite?: string | undefined }
export type Joined = { hub: HubClient; reply: RegisterReply }

export class Joining {
  readonly #parts: JoiningParts
  readonly #store: Store
  readonly #wakeMail: () => void

  constructor(parts: JoiningParts, store: Store, wakeMail: () => void) {
    this.#parts = parts
    this.#store = store
    this.#wakeMail = wakeMail
  }

  /** Asks first whether the hub would take us, then rotates to it where needed, then registers. */
  async join(url: string, signal: AbortSignal, { wire: meant, invite }: JoinOptions = {}): Promise<Joined> {
    const { known, admission, sync } = this.#parts
    const hub = await known.meet(url.replace(/\/+$/, ''), meant)
    const { aid, wire } = hub.identity
    const seen = highestWire(this.#store, aid)
    if (seen !== undefined && wire < seen)
      throw new HubStopped(
        `this hub spoke wire ${seen} with this node before, which never goes back to wire ${wire}; use the address at which it speaks wire ${seen}`,
      )
    await admission.check(hub, invite)
    this.#settleAt(hub)
    const reply = await sync.run({ signal, profile: true })
    if (reply === undefined) return refuse('identity_deactivated', 'this identity is deactivated')
    return { hub, reply }
  }

  /** Makes a hub the home: row and duties in one transaction, then the duties, which a start repeats. */
  #settleAt(hub: HubClient): void {
    const { home, keyState, newest } = this.#parts
    keyState.requireNameable(hub)
    if (home.take(hub)) newest.waive()
    keyState.settle(hub)
    this.#wakeMail()
  }
}
