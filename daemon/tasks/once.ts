/** Work that is committed once for each idempotency key. */
import { sha256 } from '#crypto'
import { equal, utf8 } from '../../protocol/encoding/bytes.ts'
import { canonicalJson, type JsonValue } from '../../protocol/encoding/json.ts'
import { refuse } from '../refusal.ts'
import { committedUnder, keepCommitted } from '../store/idempotency.ts'
import type { Store } from '../store/open.ts'

export class Once {
  readonly #store: Store
  readonly #now: () => number

  constructor(store: Store, now: () => number) {
    this.#store = store
    this.#now = now
  }

  /** The same key with other content is refused. */
  commit(key: string | undefined, what: string, content: JsonValue | object, work: () => string): string {
    const store = this.#store
    const digest = sha256(utf8(`${what}\0${canonicalJson(content as JsonValue)}`))
    return store.transaction(() => {
      if (key !== undefined) {
        const earlier = committedUnder(store, key)
        if (earlier !== undefined && !equal(earlier.digest, digest))
          refuse('idempotency_conflict', `the idempotency key "${key}" was used for other content`)
        if (earlier !== undefined) return earlier.reply
      }
      const reply = work()
      if (key !== undefined) keepCommitted(store, { key, digest, reply, at: this.#now() })
      return reply
    }, 'node.delegate')
  }
}
