/** A look now and then at everything that the home should know or tell. */
import type { Logger } from 'pino'
import type { CurrentHub } from '../hubs/current.ts'
import { describe } from '../hubs/failures.ts'
import type { HubClient } from '../hubs/hub.ts'
import type { Newest } from './newest.ts'
import type { OwnAddress } from './own-address.ts'
import type { OwnProfile } from './profile.ts'
import type { Sync } from './sync.ts'

type RoundsParts = {
  hub: CurrentHub
  newest: Newest
  profile: OwnProfile
  address: OwnAddress
  sync: Sync
  /** Takes back what is to be taken back; true where a new mailbox is due for it. */
  revoke: (hub: HubClient) => Promise<boolean>
}

export class Rounds {
  readonly #parts: RoundsParts
  readonly #log: Logger

  constructor(parts: RoundsParts, log: Logger) {
    this.#parts = parts
    this.#log = log
  }

  /** One look; false when it has to be repeated. */
  async keepInSync(signal: AbortSignal): Promise<boolean> {
    const { hub, newest, profile, address, sync } = this.#parts
    try {
      if (hub.oldCopy !== undefined) return true
      await newest.compare()
      if (hub.oldCopy === undefined) await newest.askOthers(hub.retiredAt)
      if (hub.oldCopy !== undefined) return true
      if (hub.home !== undefined) await profile.watchCard(hub.home)
      await sync.run({ signal, profile: false })
      if (hub.home !== undefined) await address.tell(hub.home)
      await this.#revoke(signal)
      return true
    } catch (error) {
      if (hub.state.keptOut === undefined) hub.noteContact(describe(error))
      this.#log.info({ reason: describe(error) }, 'registration not confirmed')
      return hub.last?.stopped !== undefined
    }
  }

  /** Takes back what is to be taken back, with a new mailbox where the hub's list is full. */
  async #revoke(signal: AbortSignal): Promise<void> {
    const { hub, revoke, sync } = this.#parts
    if (hub.home === undefined || !(await revoke(hub.home))) return
    await sync.run({ signal, profile: false })
  }
}
