/** SQLite as the engine of a data directory: each operation ends in what it promises or in an error of the port. */
import type { StoreEngine } from '../engine-port.ts'
import { copyLive, inWords } from './database.ts'
import { inspectClearing, inspectDatabase, inspectSupply, raiseRestored } from './inspect.ts'
import { readMigrations } from './migrate.ts'
import { DATABASE_FILE, openStore, RESERVE_FILE } from './open.ts'
import { snapshotAt } from './snapshot.ts'
import { ChainsFile, WATCHED_FILE } from './watched-chains.ts'

async function told<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw inWords(error)
  }
}

export const sqliteEngine: StoreEngine = {
  files: {
    rows: DATABASE_FILE,
    beside: [`${DATABASE_FILE}-wal`, `${DATABASE_FILE}-shm`],
    reserve: RESERVE_FILE,
    watched: WATCHED_FILE,
  },
  open: options => told(() => openStore(options)),
  newestSchema: async () => readMigrations().length,
  snapshot: path => told(() => snapshotAt(path)),
  inspect: (path, options) => told(() => inspectDatabase(path, options)),
  inspectSupply: (path, options, read) => told(() => inspectSupply(path, options, read)),
  inspectClearing: (path, options, peers) => told(() => inspectClearing(path, options, peers)),
  copy: (path, target, { alone }) => told(() => copyLive(path, target, alone)),
  raiseRestored: (path, given) => told(() => raiseRestored(path, given)),
  watchedChains: directory => told(() => ChainsFile.open(directory)),
}
