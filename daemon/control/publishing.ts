/** What this node publishes of itself: checked for secrets before it is kept, then told to its hub. */
import { utf8 } from '../../protocol/encoding/bytes.ts'
import type { CurrentHub } from '../hubs/current.ts'
import type { Publication } from '../hubs/publication.ts'
import type { Sync } from '../membership/sync.ts'
import { type Asker, publishing } from './hub-call.ts'

export class Publishing {
  readonly #asker: Asker
  readonly #hub: CurrentHub
  readonly #publication: Publication
  readonly #sync: Sync
  readonly #lifetime: AbortSignal

  constructor(
    asker: Asker,
    parts: { hub: CurrentHub; publication: Publication; sync: Sync },
    lifetime: AbortSignal,
  ) {
    this.#asker = asker
    this.#hub = parts.hub
    this.#publication = parts.publication
    this.#sync = parts.sync
    this.#lifetime = lifetime
  }

  /** Refuses what would be published before any of it is kept. */
  require(profile: object): void {
    this.#publication.check(profile, () => utf8(JSON.stringify(profile)))
  }

  /** Tells the home what the profile is now. */
  async profile(): Promise<void> {
    if (this.#hub.home !== undefined)
      await publishing(this.#asker, () => this.#sync.updateProfile(this.#lifetime))
  }
}
