/** A database that its operator put back to an earlier time: made safe to serve from while no process serves it. */
import { join } from 'node:path'
import { RELEASE } from '../protocol/build-info.ts'
import type { Timers } from '../protocol/timers.ts'
import { Continuity } from './cluster/continuity.ts'
import { requireAlone } from './cluster/memory.ts'
import { lockDirectory, whenFree } from './directory-lock.ts'
import { requireOwn, SEEN_FILE } from './over-database.ts'
import type { DatabasePlace } from './places-config.ts'
import type { Link } from './store/postgres/link.ts'
import { migrate } from './store/postgres/migrate.ts'
import { WatchedConnections } from './store/postgres/watched.ts'
import { connectionsTo, linkTo } from './store/postgres/way.ts'

/** Of the hub that was put back: its AID, since when it may lack something, and whether a witness was named. */
type Place = { database: DatabasePlace; directory: string; now: () => number; timers: Timers }
export type PutBack = { hub: string; lostSinceMs: number; isWitnessed: boolean }

/** Raises the numbers of a database, and goes on as a hub that was restored. */
export async function putBack(place: Place): Promise<PutBack> {
  const { database, directory, now } = place
  const lock = await whenFree(() => lockDirectory(directory))
  try {
    return await whileNoneServes(database, async db => {
      const hub = await requireOwn(db, directory)
      const restored = await continuityOf(db, place).look({ isToldLost: true })
      return {
        ...{ hub, lostSinceMs: restored?.lostSinceMs ?? now() },
        isWitnessed: (await db.one('SELECT 1 FROM witness')) !== undefined,
      }
    })
  } finally {
    lock.release()
  }
}

/** Works while no process serves, in a database that is noted to be put back where it was. */
export async function afterPuttingBack<T>(place: Place, work: () => Promise<T>): Promise<T> {
  return await whileNoneServes(place.database, async db => {
    await requireOwn(db, place.directory)
    await continuityOf(db, place).look()
    return await work()
  })
}

const continuityOf = (db: WatchedConnections, { directory, now, timers }: Place): Continuity =>
  new Continuity({ db, now, timers, file: join(directory, SEEN_FILE), serves: false })

async function whileNoneServes<T>(
  database: DatabasePlace,
  work: (db: WatchedConnections) => Promise<T>,
): Promise<T> {
  const db = new WatchedConnections(connectionsTo(database))
  let link: Link | undefined
  try {
    link = await linkTo(database)
    await requireAlone(link)
    await migrate(db, { release: RELEASE })
    return await work(db)
  } finally {
    await link?.close()
    await db.close()
  }
}
