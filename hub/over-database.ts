/**
 * A hub whose rows lie in a database that several processes share: each has a data directory of its own, which holds a copy
 * of the identity and of the secret, and nothing that another process needs.
 */
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { RELEASE } from '../protocol/build-info.ts'
import { sha256 } from '../protocol/crypto/engine.node.ts'
import { concat, fromHex, toHex, utf8 } from '../protocol/encoding/bytes.ts'
import { CLOCK_OFF_MS } from './cluster/clock.ts'
import { type Cluster, joinCluster } from './cluster/memory.ts'
import { mendHistory, rotateAsOne } from './cluster/one-history.ts'
import { copiesIn, historyIn } from './copies.ts'
import { ensureIdentity, IDENTITY_FILE, NEXT_FILE, readIdentity, settleRotation } from './core/identity.ts'
import { MODE_SETTING } from './core/membership/admission.ts'
import {
  type DataDirectory,
  type DataDirectoryOptions,
  type Remembered,
  refuseMoving,
  SECRET_FILE,
} from './data-dir.ts'
import { closeToOthers, makeWritable, refuseRoot } from './directory-access.ts'
import { lockDirectory } from './directory-lock.ts'
import { engine } from './engine.ts'
import { missingFolders } from './files.ts'
import { claimFiles, sharedBlobs } from './long-mail.ts'
import { keepOwnSetting, ownSettings } from './own-settings.ts'
import type { DatabasePlace } from './places-config.ts'
import { type BlobPlace, blobPlaces } from './store/blob-port.ts'
import type { Store } from './store/port.ts'
import { madeOnce } from './store/postgres/accounts.ts'
import type { Connections, Queries } from './store/postgres/connections.ts'
import { noHubThere, schemaIn } from './store/postgres/migrate.ts'
import { openPostgres } from './store/postgres/open.ts'
import { settingIn } from './store/postgres/restored.ts'
import { standbysOf } from './store/postgres/state.ts'
import { WatchedConnections } from './store/postgres/watched.ts'
import { watchedChainsOver } from './store/postgres/watched-chains.ts'
import { connectionsTo, linkTo } from './store/postgres/way.ts'
import { SetupRefused } from './store/setup-refused.ts'
import type { WatchedChains } from './store/witness-port.ts'

export { CLOCK_OFF_MS } from './cluster/clock.ts'
export { SECRET_FILE } from './data-dir.ts'
export { grantServing } from './store/postgres/grants.ts'

const SECRET_BYTES = 32
const MARK_DIGITS = 32
/** Which hub a database belongs to: its AID, and a hash that tells its secret from others. */
export const HUB_SETTING = 'hub'
/** What this process has seen of the database, so that it knows one that was put back. */
export const SEEN_FILE = 'database.seen'
/** What each machine of a hub has a copy of. */
const IDENTITY_FILES = `${IDENTITY_FILE} and ${NEXT_FILE}`
export const NEEDED = [IDENTITY_FILE, NEXT_FILE, SECRET_FILE]

type Options = DataDirectoryOptions & { database: DatabasePlace }

export async function openOverDatabase(options: Options): Promise<DataDirectory> {
  const { directory, database, now, random } = options
  /** Signs calls of a bucket by the clock of the database as soon as that is known. */
  let agreedNow = now
  const connections = new WatchedConnections(connectionsTo(database), options.onAway)
  const made = missingFolders(directory)
  makeWritable(directory)
  refuseRoot(directory)
  const lock = lockDirectory(directory, made)
  let cluster: Cluster | undefined
  try {
    refuseMoving(directory)
    refuseFileOfRows(directory)
    const store = (await openPostgres({
      ...options,
      connections,
      release: RELEASE,
    })) as unknown as Store
    const isNew = await isForNew(store, options)
    if (isNew) closeToOthers(directory)
    const { identity, created } = ensureIdentity(directory, now, random)
    settleRotation(directory, identity.kel)
    if (isNew && !existsSync(join(directory, SECRET_FILE))) keepSecret(directory, random(SECRET_BYTES))
    const secret = readSecret(directory)
    await claim(connections, claimOf(identity.aid, secret), directory)
    await madeOnce(connections, MODE_SETTING, options.admission ?? 'closed')
    const files = { place: database.files ?? directory, isGiven: database.files !== undefined }
    const blobsAt = (kind: BlobPlace) =>
      sharedBlobs(files, kind, {
        ...{ timers: options.timers, now: () => agreedNow() },
        onBroken: error => void store.fail(error),
      })
    return {
      ...{ identity, created, store, secret },
      blobs: blobsAt(blobPlaces.envelopes),
      openBlobs: blobsAt(blobPlaces.letters),
      own: {
        setting: async name => ownSettings(directory).get(name),
        putSetting: async (name, value) => keepOwnSetting(directory, name, value),
      },
      async remember() {
        if (options.keepsOlder !== true) await claimFiles(connections, files, random)
        cluster = await joinCluster({
          ...{ ...options, connections, store, secret },
          openLink: () => linkTo(database),
          release: RELEASE,
          copies: copiesIn(directory),
          seenFile: join(directory, SEEN_FILE),
          onStanding: standing =>
            options.onHistory?.(standing === 'held' ? undefined : mendHistory(standing, IDENTITY_FILES)),
          serves: options.keepsOlder !== true,
        })
        const { clock } = cluster
        agreedNow = () => clock.now()
        return rememberOver(cluster, connections, directory)
      },
      async close(isRefused) {
        await cluster?.close()
        await store.close()
        if (isRefused === true) lock.undo()
        else lock.release()
      },
    }
  } catch (error) {
    await connections.close().catch(() => undefined)
    lock.undo()
    throw error
  }
}

function refuseFileOfRows(directory: string): void {
  const path = join(directory, engine.files.rows)
  if (existsSync(path))
    throw new SetupRefused(
      `${path} holds the rows of a hub already; move them first: svc-hub migrate --to <URL>`,
    )
}

/** Whether neither the database nor the directory has a hub; refuses a half of one. */
async function isForNew(store: Store, { directory, existing }: Options): Promise<boolean> {
  const [hub] = ((await store.setting(HUB_SETTING)) ?? '').split(' ')
  const missing = NEEDED.filter(name => !existsSync(join(directory, name)))
  if (missing.length === 0) return false
  if (hub !== '')
    throw new SetupRefused(
      `the database belongs to hub ${hub}, and ${directory} lacks ${missing.join(', ')}; copy ${NEEDED.join(', ')} there from a machine that serves it`,
    )
  // a first start that was cut short has left a part, which nobody serves yet
  if (missing.includes(NEXT_FILE) && !missing.includes(IDENTITY_FILE))
    throw new SetupRefused(
      `${directory} lacks ${missing.join(', ')}, without which this would be another hub; copy it there from a backup`,
    )
  if (existing === true) throw noHubThere()
  return true
}

/** The first process claims the database for its hub; whoever has another identity or secret is refused. */
async function claim(connections: Connections, own: string, directory: string): Promise<void> {
  const held = await madeOnce(connections, HUB_SETTING, own)
  if (held === own) return
  if (held.startsWith('moved '))
    throw new SetupRefused(
      'the rows of this hub went from the database to a file; serve that one, or move it here: svc-hub migrate --to <URL>',
    )
  const [aid] = held.split(' ')
  const what = own.startsWith(`${aid} `) ? 'another secret' : `hub ${own.split(' ')[0]}`
  throw new SetupRefused(
    `the database belongs to hub ${aid}, and ${directory} holds ${what}; name the database of that one with --store, or another --data-dir with the ${NEEDED.join(', ')} of a machine that serves this one`,
  )
}

/** Tells an identity and its secret from others. */
export function claimOf(aid: string, secret: Uint8Array): string {
  const mark = toHex(sha256(concat(utf8('svc-hub secret\n'), secret)))
  return `${aid} ${mark.slice(0, MARK_DIGITS)}`
}

/** The AID of the hub of a data directory; refuses a database that holds the rows of another one. */
export async function requireOwn(db: Queries, directory: string): Promise<string> {
  const { aid } = readIdentity(directory)
  if ((await settingIn(db, HUB_SETTING)) !== claimOf(aid, readSecret(directory)))
    throw new SetupRefused('the database does not hold the rows of the hub whose data directory this is')
  return aid
}

/** The chains of other hubs that are watched from a database, whether or not a process serves there. */
export async function openWatched(database: DatabasePlace, directory: string): Promise<WatchedChains> {
  const connections = connectionsTo(database)
  try {
    const { held, newest } = await schemaIn(connections)
    if (held !== newest) throw noHubThere()
    await requireOwn(connections, directory)
    return watchedChainsOver(connections)
  } catch (error) {
    await connections.close()
    throw error
  }
}

/** Keeps a secret in a data directory that has none. */
export function keepSecret(directory: string, secret: Uint8Array): void {
  const draft = join(directory, `${SECRET_FILE}.new`)
  const file = openSync(draft, 'w', 0o600)
  try {
    writeSync(file, `${toHex(secret)}\n`)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  renameSync(draft, join(directory, SECRET_FILE))
}

export function readSecret(directory: string): Uint8Array {
  const path = join(directory, SECRET_FILE)
  const text = readFileSync(path, 'utf8').trim()
  if (/^[0-9a-f]{64}$/.test(text)) return fromHex(text, SECRET_FILE)
  throw new SetupRefused(`${path} holds no secret of a hub; copy it from a machine that serves this hub`)
}

function rememberOver(cluster: Cluster, db: WatchedConnections, directory: string): Remembered {
  const own = historyIn(directory)
  return {
    rotating: rotate => rotateAsOne(db, { own, files: IDENTITY_FILES, rotate }),
    memory: cluster.memory,
    now: () => cluster.clock.now(),
    database: async () => ({
      processes: cluster.processes.live,
      clockAheadMs: cluster.clock.aheadMs,
      standbys: (await standbysOf(db)).all,
    }),
    away: () => db.denial,
    trouble() {
      if (cluster.denied !== undefined) return cluster.denied
      if (!cluster.isLinked) return 'the database does not answer'
      const { aheadMs } = cluster.clock
      const { standing } = cluster.processes
      if (standing !== 'held') return mendHistory(standing, IDENTITY_FILES)
      return Math.abs(aheadMs) > CLOCK_OFF_MS
        ? `the clock of this machine is ${Math.abs(aheadMs)} ms ${aheadMs > 0 ? 'ahead of' : 'behind'} that of the database; set it`
        : undefined
    },
  }
}
