/** The hub's signed word on our own key state. */
import type { Logger } from 'pino'
import { Malformed } from '../../protocol/encoding/bytes.ts'
import { KeyStateNotice, noticeAgrees, noticeIsOf } from '../../protocol/identity/keyset.ts'
import type { HubClient } from '../hubs/hub.ts'
import { learnHubKey } from '../hubs/log.ts'
import type { Identity } from '../identity/identity.ts'
import { count } from '../store/counters.ts'
import type { Store } from '../store/open.ts'

export class KeyNotices {
  readonly #identity: Identity
  readonly #store: Store
  readonly #log: Logger

  constructor(identity: Identity, store: Store, log: Logger) {
    this.#identity = identity
    this.#store = store
    this.#log = log
  }

  /** A head that is not ours is shown as a warning. */
  async check(hub: HubClient, encoded: Uint8Array): Promise<void> {
    const identity = this.#identity
    try {
      const notice = KeyStateNotice.decode(encoded)
      await learnHubKey(hub, notice.body.hubSeq)
      // what it did not sign says nothing of it: a bit was another one on its way
      if (!noticeIsOf(notice, hub.identity.log)) return
      if (notice.body.seq !== identity.log.seq || noticeAgrees(notice, identity.log, hub.identity.log)) return
      count(this.#store, 'notice_differs')
      this.#log.warn({ seq: notice.body.seq }, 'the hub shows another key state for this identity')
    } catch (error) {
      if (!(error instanceof Malformed)) throw error
    }
  }
}
