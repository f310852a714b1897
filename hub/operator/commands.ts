/** Saving a hub, looking at what was saved, and making a hub of it again. Loaded only for these commands. */
import { join, resolve } from 'node:path'
import { RELEASE } from '../../protocol/build-info.ts'
import { present } from '../../protocol/encoding/present.ts'
import { shellWord } from '../../protocol/shell.ts'
import { systemNow, systemTimers } from '../../protocol/timers.ts'
import type { Config } from '../config.ts'
import { type HubIdentity, readIdentity, settleRotation } from '../core/identity.ts'
import { systemRandom } from '../core/random.ts'
import { partsOf, refuseForeign, refuseUnusable } from '../data-dir.ts'
import { refuseUnwritable } from '../directory-access.ts'
import { lockDirectory, whenFree } from '../directory-lock.ts'
import { engine } from '../engine.ts'
import { makeFolder } from '../files.ts'
import type { DatabasePlace } from '../places-config.ts'
import { StoreRefused } from '../store/port.ts'
import { EXIT_FAILED, keepPrivate, print } from '../terminal.ts'
import { writeBackup } from './backup.ts'
import { nameOfNow, ofFuture, removeOlder } from './kept-backups.ts'
import { atHub } from './last-start.ts'
import type { Manifest } from './manifest.ts'
import type { RunningState } from './order-shapes.ts'
import { backupFaults, floorOf, restoreBackup } from './restore.ts'
import { orderRunningHub } from './socket.ts'

/** Well before a promise of an hour ends. */
const LEASE_RENEWAL_MS = 20 * 60_000

const IN_DATABASE =
  'the rows of this hub lie in a database, which has backups of its own: pg_basebackup and a log archive, as docs/host/many-processes.md shows'

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
  const hub = identityOf(config.dataDir).aid
  const nowMs = systemNow()
  const made = nameOfNow(nowMs)
  const code = await save(join(collection, made), config, () => ofFuture(collection, hub, made))
  await removeOlder(collection, { keep, hub, made, nowMs })
  return code
}

/** Saves a running hub, which keeps its files meanwhile, or a stopped one under its lock. */
async function save(
  target: string,
  { dataDir, database, outside = [] }: Config,
  ahead: () => string[] = () => [],
): Promise<number> {
  if (database !== undefined) throw new StoreRefused(IN_DATABASE)
  const identity = identityOf(dataDir)
  const source = { directory: dataDir, target, hub: identity.aid, now: systemNow, random: systemRandom }
  const report = (manifest: Manifest): number => {
    const notes = notesOn(manifest, ahead())
    return print({ backup: target, ...facts(manifest), faults: [], ...present({ notes }) })
  }
  const answer = await orderRunningHub(dataDir, { command: 'keep_files' })
  if (answer === undefined) {
    const lock = await whenFree(() => lockDirectory(dataDir))
    settleRotation(dataDir, identity.kel)
    const written = writeBackup({ ...source, outside, alone: true })
    return report(await written.finally(() => lock.release()))
  }
  if (!answer.ok) throw new StoreRefused(`the running hub refused: ${answer.error}; see its log`)
  const kept = keepRenewed(dataDir, String(answer.result['lease']))
  const written = settingsOfRunning(dataDir).then(given =>
    writeBackup({ ...source, outside: given, alone: false }),
  )
  return report(await written.finally(() => kept.letGo()))
}

/** What the hub that runs was given, whatever this command was. */
async function settingsOfRunning(dataDir: string): Promise<string[]> {
  const answer = await orderRunningHub(dataDir, { command: 'running' })
  return answer?.ok === true ? ((answer.result as RunningState).outside ?? []) : []
}

/** Takes the promise to keep files anew while a long backup runs; one that was killed loses it by itself. */
function keepRenewed(dataDir: string, first: string): { letGo(): Promise<unknown> } {
  let lease = first
  const renew = async (): Promise<void> => {
    const answer = await orderRunningHub(dataDir, { command: 'keep_files' })
    if (answer?.ok !== true) return
    const previous = lease
    lease = String(answer.result['lease'])
    await orderRunningHub(dataDir, { command: 'let_go', lease: previous })
  }
  const timer = systemTimers.every(LEASE_RENEWAL_MS, () => void renew().catch(() => undefined))
  return {
    letGo() {
      systemTimers.clear(timer)
      return orderRunningHub(dataDir, { command: 'let_go', lease })
    },
  }
}

function identityOf(directory: string): HubIdentity {
  const parts = partsOf(directory)
  refuseUnusable(parts)
  refuseForeign(directory)
  if (parts.state !== 'whole')
    throw new StoreRefused(`${directory} contains no hub; give its data directory with --data-dir`)
  refuseUnwritable(directory)
  return readIdentity(directory)
}

/** Tells whether a backup can be restored; changes nothing. */
export async function check(folder: string): Promise<number> {
  const { manifest, faults } = await backupFaults(folder)
  print({ backup: resolve(folder), ...facts(manifest), faults, ...present({ notes: notesOn(manifest) }) })
  if (faults.length === 0) return 0
  process.stderr.write(
    `svc-hub: ${folder} can not be restored: ${faults.join(', ')}; make or use another backup\n`,
  )
  return EXIT_FAILED
}

export async function restore(folder: string, { dataDir }: Config): Promise<number> {
  keepPrivate()
  const nowMs = systemNow()
  const manifest = await restoreBackup({
    backup: folder,
    directory: dataDir,
    now: () => nowMs,
    release: RELEASE,
  })
  return print({
    data_dir: dataDir,
    ...facts(manifest),
    notes: [
      ...(notesOn(manifest) ?? []),
      floorNote(manifest, nowMs),
      ordersNote(manifest.made_ms),
      chainNote(await hasWitness(dataDir)),
    ],
    next: `svc-hub serve --data-dir ${shellWord(dataDir)}`,
  })
}

/** The operator has put a database back with the means of its server. */
export async function restoreDatabase(database: DatabasePlace, { dataDir }: Config): Promise<number> {
  keepPrivate()
  const { putBack } = await import('../putting-back.ts')
  const nowMs = systemNow()
  const given = { database, directory: dataDir, now: () => nowMs, timers: systemTimers }
  const { hub, lostSinceMs, isWitnessed } = await putBack(given)
  return print({
    ...{ data_dir: dataDir, hub, lost_since: shownTime(lostSinceMs) },
    notes: [
      `nothing signed before ${shownTime(nowMs)} is accepted`,
      ordersNote(lostSinceMs),
      chainNote(isWitnessed),
    ],
    next: `svc-hub serve${atHub({ dataDir, database })}`,
  })
}

const shownTime = (ms: number): string => new Date(ms).toISOString()

/** Up to which time the restored hub accepts nothing, and whether the clocks of backup and restore agree. */
function floorNote(manifest: Manifest, nowMs: number): string {
  const floorMs = floorOf(manifest, nowMs)
  const refused = `nothing signed before ${shownTime(floorMs)}`
  return floorMs === nowMs
    ? `${refused}, the time of this machine, is accepted; if its clock is wrong, set it and restore again, to another new folder, before you serve`
    : `${refused}, the time of the backup, is accepted, because the clock of this machine is behind it at ${shownTime(nowMs)}; set the clock and restore again, to another new folder, before you serve; if it is right, the backup was made while a clock ran ahead, so restore an older one`
}

/** The operator's own word is older now, too. */
const ordersNote = (sinceMs: number): string =>
  `orders given since ${shownTime(sinceMs)} are undone (admit, block, remove, quota, ranges, admission, witness, peers): the lines "event":"order" of the log have them, repeat them; whoever was admitted since can't register before that, and grants are repeated with --id`

/** Whoever followed the chain further than the backup sees another history in what is signed from here on. */
const chainNote = (isWitnessed: boolean): string =>
  isWitnessed
    ? 'the supply chain ends where the backup was made; before you serve, take the rest back from a witness: svc-hub restore --from-witness <url>'
    : 'the supply chain ends where the backup was made, and this backup names no witness; if credits were granted or redeemed since, nodes that saw it pay nothing more here until their person accepts (svc audit-hub --accept), so before you serve take the rest back from any witness that followed this hub: svc-hub restore --from-witness <url> – then name that witness: svc-hub witness add <AID>'

async function hasWitness(dataDir: string): Promise<boolean> {
  const named = await engine.inspectSupply(
    join(dataDir, engine.files.rows),
    { alone: false },
    async store => (await store.witnesses()).length,
  )
  return (named ?? 0) > 0
}

function facts(manifest: Manifest): Record<string, unknown> {
  const { hub, release, schema, files, missing, outside = [] } = manifest
  return {
    hub,
    release,
    schema,
    made: shownTime(manifest.made_ms),
    files: files.length,
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    missing,
    ...present({ outside: outside.length === 0 ? undefined : outside }),
  }
}

/** What the figures don't say by themselves; undefined where there is nothing. */
function notesOn({ missing, outside = [] }: Manifest, ahead: string[] = []): string[] | undefined {
  const notes = [
    ahead.length > 0 &&
      `future: ${ahead.join(', ')} beside it ${ahead.length === 1 ? 'is' : 'are'} dated later than this backup, so a clock is or was wrong; they are kept and not counted, so remove them yourself`,
    missing > 0 &&
      `missing: ${missing} waiting envelopes had lost their files before the backup; they cannot be delivered and will expire`,
    outside.length > 0 &&
      'outside: these settings stood outside the data directory and are not in the backup; save them beside it, and give them to the restored hub',
  ].filter(note => note !== false)
  return notes.length === 0 ? undefined : notes
}
