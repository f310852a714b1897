/** Saving a hub, looking at what was saved, and making a hub of it again. Loaded only for these commands. */
import { join, resolve } from 'node:path'
import { RELEASE } from '../../protocol/build-info.ts'
import type { Config } from '../config.ts'
import { ensureIdentity, type HubIdentity, settleRotation } from '../core/identity.ts'
import { partsOf, refuseForeign, refusePart } from '../data-dir.ts'
import { makeFolder } from '../store/files.ts'
import { StoreRefused } from '../store/port.ts'
import { lockDirectory } from '../store/sqlite/lock.ts'
import { EXIT_FAILED, keepPrivate, print } from '../terminal.ts'
import { writeBackup } from './backup.ts'
import { nameOfNow, removeOlder } from './kept-backups.ts'
import type { Manifest } from './manifest.ts'
import { backupFaults, restoreBackup } from './restore.ts'
import { orderRunningHub } from './socket.ts'

/** Well before a promise of an hour ends. */
const LEASE_RENEWAL_MS = 20 * 60_000

/** Saves a hub to a new folder. */
export async function backup(folder: string, config: Config): Promise<number> {
  keepPrivate()
  return await save(resolve(folder), config)
}

/** Saves a hub to a folder named by the time, among the newest `keep` of its backups there; older ones are removed. */
export async function backupKeeping(folder: string, keep: number, config: Config): Promise<number> {
  keepPrivate()
  const collection = resolve(folder)
  makeFolder(collection)
  const code = await save(join(collection, nameOfNow(Date.now())), config)
  await removeOlder(collection, keep, identityOf(config.dataDir).aid)
  return code
}

/** Saves a running hub, which keeps its files meanwhile, or a stopped one under its lock. */
async function save(target: string, { dataDir }: Config): Promise<number> {
  const identity = identityOf(dataDir)
  const write = (alone: boolean): Promise<Manifest> =>
    writeBackup({ directory: dataDir, target, hub: identity.aid, now: Date.now, alone })
  const report = (manifest: Manifest): number => print({ backup: target, ...facts(manifest), faults: [] })
  const answer = await orderRunningHub(dataDir, { command: 'keep_files' })
  if (answer === undefined) {
    const lock = lockDirectory(dataDir)
    settleRotation(dataDir, identity.kel)
    return report(await write(true).finally(() => lock.release()))
  }
  if (!answer.ok) throw new StoreRefused(`the running hub refused: ${answer.error}; see its log`)
  const kept = keepRenewed(dataDir, String(answer.result['lease']))
  return report(await write(false).finally(() => kept.letGo()))
}

/** Takes the promise to keep files anew while a long backup runs; one that was killed loses it by itself. */
function keepRenewed(dataDir: string, first: string): { letGo(): Promise<unknown> } {
  let lease = first
  const renew = async (): Promise<void> => {
    const answer = await orderRunningHub(dataDir, { command: 'keep_files' })
    if (answer?.ok !== true) return
    const former = lease
    lease = String(answer.result['lease'])
    await orderRunningHub(dataDir, { command: 'let_go', lease: former })
  }
  const timer = setInterval(() => void renew().catch(() => undefined), LEASE_RENEWAL_MS)
  return {
    letGo() {
      clearInterval(timer)
      return orderRunningHub(dataDir, { command: 'let_go', lease })
    },
  }
}

function identityOf(directory: string): HubIdentity {
  const never = (): never => {
    throw new Error('no identity is made here')
  }
  const parts = partsOf(directory)
  refusePart(parts)
  refuseForeign(directory)
  if (parts.state !== 'whole')
    throw new StoreRefused(`${directory} contains no hub; give its data directory with --data-dir`)
  return ensureIdentity(directory, never, never).identity
}

/** Tells whether a backup can be restored; changes nothing. */
export async function check(folder: string): Promise<number> {
  const { manifest, faults } = await backupFaults(folder)
  print({ backup: resolve(folder), ...facts(manifest), faults })
  if (faults.length === 0) return 0
  process.stderr.write(
    `svc-hub: ${folder} can not be restored: ${faults.join(', ')}; make or use another backup\n`,
  )
  return EXIT_FAILED
}

export async function restore(folder: string, { dataDir }: Config): Promise<number> {
  keepPrivate()
  const manifest = await restoreBackup({
    backup: folder,
    directory: dataDir,
    now: Date.now,
    release: RELEASE,
  })
  return print({ data_dir: dataDir, ...facts(manifest), next: `svc-hub serve --data-dir ${dataDir}` })
}

function facts(manifest: Manifest): Record<string, unknown> {
  const { hub, release, schema, files, missing } = manifest
  return {
    hub,
    release,
    schema,
    made: new Date(manifest.made_ms).toISOString(),
    files: files.length,
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    missing,
  }
}
