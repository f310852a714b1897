/** For tests: the contract of the store over the engine for PostgreSQL, wherever the database runs. */
import { systemTimers } from '../../protocol/timers.ts'
import { systemRandom } from '../core/random.ts'
import type { Store } from '../store/port.ts'
import type { Connections } from '../store/postgres/connections.ts'
import { openPostgres } from '../store/postgres/open.ts'
import { WatchedConnections } from '../store/postgres/watched.ts'
import { watchedChainsOver } from '../store/postgres/watched-chains.ts'
import type { Opened } from './contract/world.ts'
import { type ContractSubject, storeContract } from './store-contract.ts'
import { type Watched, watchedContract } from './watched-contract.ts'

/** The subjects that this engine has so far. */
const SUBJECTS: readonly ContractSubject[] = [
  'mail',
  'registry',
  'openMail',
  'openCards',
  'openPeers',
  'openReviews',
  'board',
  'invites',
  'moderation',
  'peerCards',
  'peerReviews',
  'operator',
  'ledger',
  'vouchers',
  'peerPayments',
  'clearing',
  'witness',
]

const TABLES =
  "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'schema_held'"

const RESTART = `SELECT setval(format('%I.%I', schemaname, sequencename), start_value, false) FROM pg_sequences
  WHERE schemaname = 'public' AND last_value IS NOT NULL`

/** Empties every table but the one that says which schema this is; one that has no rows takes no time. */
export async function emptyAll(connections: Connections): Promise<void> {
  const names = (await connections.all<{ name: string }>(TABLES)).map(({ name }) => name)
  const looks = names.map(name => `SELECT '${name}' AS name WHERE EXISTS (SELECT 1 FROM ${name})`)
  const used = (await connections.all<{ name: string }>(looks.join(' UNION ALL '))).map(({ name }) => name)
  if (used.length > 0) await connections.run(`TRUNCATE ${used.join(', ')} CASCADE`)
  await connections.run(RESTART)
}

/** What this engine does not have yet is missing in the store. */
export async function openForTest(connections: Connections): Promise<Store> {
  const outside = { timers: systemTimers, random: systemRandom, onBroken: () => undefined }
  const watched = new WatchedConnections(connections)
  return (await openPostgres({ connections: watched, release: 'test', ...outside })) as unknown as Store
}

/** Declares the suite; `connect` opens the same database each time. */
export function postgresContract(engine: string, connect: () => Connections): void {
  const start = () => openForTest(connect())
  const open = async (): Promise<Opened> => {
    let store = await start()
    return {
      store,
      async reopen() {
        await store.close()
        store = await start()
        return store
      },
      async end() {
        await store.close()
        const connections = connect()
        await emptyAll(connections)
        await connections.close()
      },
    }
  }
  storeContract(engine, open, SUBJECTS)
  watchedContract(engine, async () => {
    const { store, end } = await open()
    const chains: Watched['chains'] = [watchedChainsOver(connect()), watchedChainsOver(connect())]
    return {
      ...{ store, chains },
      async end() {
        for (const one of chains) await one.close()
        await end()
      },
    }
  })
}
