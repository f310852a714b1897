/** For tests: a store whose writes fail for want of room, as SQLite says it. */
import type { Store } from '../store/open.ts'

const SQLITE_FULL = 13
const WRITES = /^\s*(INSERT|UPDATE|DELETE|REPLACE)\b/i

export type FailingDisk = {
  /** How many writes have failed. */
  readonly failed: number
  /** How many writes were asked for. */
  readonly written: number
  /** No write fails any more. */
  mend(): void
}

/** Writes number `from`, counted from now, and the `count` − 1 after it fail. */
export function failWrites(store: Store, { from, count }: { from: number; count: number }): FailingDisk {
  const { run } = store
  let [writes, failed] = [0, 0]
  store.run = (sql, ...parameters) => {
    writes += WRITES.test(sql) ? 1 : 0
    if (WRITES.test(sql) && writes >= from && writes < from + count) {
      failed += 1
      const words = 'database or disk is full'
      throw Object.assign(new Error(words), { code: 'ERR_SQLITE_ERROR', errcode: SQLITE_FULL })
    }
    return run.call(store, sql, ...parameters)
  }
  return {
    get failed() {
      return failed
    },
    get written() {
      return writes
    },
    mend() {
      store.run = run
    },
  }
}
