/** What a process keeps of the store so as not to read it again, and verdicts that it need not reach again. */

/** What changes: another process may write it. */
export interface Cache<T> {
  /**
   * What is remembered of a key, else what `read` finds, which is remembered then, but not where the key was put or
   * forgotten while it was read: an older value never takes the place of a newer one. What another process changed may be
   * found as it was for a second at most, so each write that was judged by it names its version.
   */
  find(key: string, read: () => Promise<T | undefined>): Promise<T | undefined>
  /** This process has written a value; every other forgets what it had. */
  put(key: string, value: T): void
  /** A value is not to be trusted any more, in any process. */
  forget(key: string): void
  /** What this process has of a key may be older than what another one wrote. */
  refresh(key: string): void
  /** Frees memory, here alone. */
  clear(): void
}

/** What follows from bytes alone and so never changes. Each process may keep its own. */
export interface Facts<T> {
  /** What is remembered of a key, else what `reach` gives; undefined is not remembered. */
  find(key: string, reach: () => Promise<T | undefined>): Promise<T | undefined>
  put(key: string, fact: T): void
}

export interface Caches {
  /** At most `keysMax` keys are remembered; a name is one cache for all who ask. */
  of<T>(name: 'agents' | 'accounts', keysMax: number): Cache<T>
  facts<T>(name: 'key logs' | 'capabilities', keysMax: number): Facts<T>
}
