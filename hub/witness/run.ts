/** `svc-hub witness run`: looks at the supply chain of another hub once, or every hour until it is ended. */
import { Failure, Refusal, wordsOf } from '../../protocol/encoding/errors.ts'
import { sleep, systemNow, systemTimers } from '../../protocol/timers.ts'
import { readIdentity } from '../core/identity.ts'
import { HOUR_MS } from '../core/limits.ts'
import { partsOf, refuseForeign, refuseUnusable } from '../data-dir.ts'
import { engine } from '../engine.ts'
import type { DatabasePlace } from '../places-config.ts'
import { StoreRefused } from '../store/port.ts'
import type { WatchedChains } from '../store/witness-port.ts'
import { EXIT_FAILED, keepPrivate, print } from '../terminal.ts'
import { OtherHub } from './other-hub.ts'
import { lookAt } from './watch.ts'

type Given = {
  url: string
  directory: string
  /** Where the rows of the hub lie in one: all of its processes show there what is watched. */
  database: DatabasePlace | undefined
  isOnce: boolean
  ended: Promise<unknown>
}

export async function runWitness({ url, directory, database, isOnce, ended }: Given): Promise<number> {
  keepPrivate()
  const chains = await chainsOf(directory, database)
  const other = new OtherHub(url, systemTimers)
  try {
    if (isOnce) return await lookOnce(other, directory, chains)
    const gone = new AbortController()
    void ended.then(() => gone.abort())
    while (!gone.signal.aborted) {
      await lookOnce(other, directory, chains)
      await sleep(systemTimers, HOUR_MS, gone.signal).catch(() => undefined)
    }
    return 0
  } finally {
    await chains.close()
  }
}

async function chainsOf(directory: string, database: DatabasePlace | undefined): Promise<WatchedChains> {
  if (database !== undefined)
    return await (await import('../over-database.ts')).openWatched(database, directory)
  requireIdentity(directory)
  return await engine.watchedChains(directory)
}

/** The identity is read anew each time: its hub may have rotated the key. */
async function lookOnce(other: OtherHub, directory: string, chains: WatchedChains): Promise<number> {
  try {
    const identity = readIdentity(directory)
    return await print(await lookAt(other, { identity, chains, now: systemNow }))
  } catch (error) {
    if (!(error instanceof Refusal) && !(error instanceof Failure)) throw error
    process.stderr.write(`svc-hub: ${wordsOf(error)}\n`)
    return EXIT_FAILED
  }
}

function requireIdentity(directory: string): void {
  const parts = partsOf(directory)
  refuseUnusable(parts)
  refuseForeign(directory)
  if (parts.state !== 'whole')
    throw new StoreRefused(
      `${directory} holds no identity to sign with; make one: svc-hub init --data-dir ${directory}`,
    )
}
