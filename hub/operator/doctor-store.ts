/** The doctor on the store: its schema, its integrity, and whether rows and the files they name agree. */
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { RELEASE } from '../../protocol/build-info.ts'
import { wordsOf } from '../../protocol/encoding/errors.ts'
import { type Finding, note, ok, wrong } from '../../protocol/encoding/finding.ts'
import { systemNow } from '../../protocol/timers.ts'
import { CLOCK_SETTING } from '../core/clocks.ts'
import { heldFinding } from '../core/supply/held.ts'
import { engine } from '../engine.ts'
import { blobPlaces } from '../store/blob-port.ts'
import { type Inspection, newerBuild } from '../store/engine-port.ts'
import { type LastStart, lastStartOf } from './last-start.ts'
import { standstill } from './witness-orders.ts'

/** A file whose row is on its way to the disk is younger than this. */
const ORPHAN_AFTER_MS = 3_600_000

/** Reads the whole store; `alone` says that no hub has it open. */
export async function checkStore(
  directory: string,
  alone: boolean,
): Promise<{ findings: Finding[]; clockMs: number | undefined; last: LastStart | undefined }> {
  let seen: Inspection
  const mend =
    'stop the hub, keep this directory aside, and: svc-hub restore <backup> --data-dir <new folder>'
  try {
    seen = await engine.inspect(join(directory, engine.files.rows), { deep: true, alone })
  } catch (error) {
    const why = wordsOf(error)
    return {
      findings: [wrong('store', `hub.db cannot be read: ${why}`, mend)],
      clockMs: undefined,
      last: undefined,
    }
  }
  const whole =
    seen.faults.length === 0
      ? ok('store', 'hub.db is intact')
      : wrong('store', `hub.db is damaged: ${seen.faults[0]}`, mend)
  return {
    findings: [checkSchema(seen), whole, ...checkBlobs(directory, seen), checkReserve(directory, alone)],
    clockMs: Number(seen.settings.get(CLOCK_SETTING) ?? 0),
    last: lastStartOf(seen.settings),
  }
}

/** Whether the supply chain may go on. */
export async function checkSupply(directory: string, alone: boolean): Promise<Finding[]> {
  try {
    const held = await engine.inspectSupply(join(directory, engine.files.rows), { alone }, async store => {
      const seen = await standstill({ store })
      return seen && heldFinding(seen)
    })
    return held === undefined ? [] : [wrong('supply chain', held.found, held.next)]
  } catch {
    // what is wrong with the store is told of as such
    return []
  }
}

/** What was cleared with peers; `alone` says that no hub has the store open. */
export const clearingInFile = (directory: string, alone: boolean) => (peers: readonly string[]) =>
  engine.inspectClearing(join(directory, engine.files.rows), { alone }, peers)

function checkSchema({ schema, newestSchema, release }: Inspection): Finding {
  if (schema === newestSchema) return ok('schema', `${schema}`)
  if (schema < newestSchema)
    return note('schema', `${schema}; this build knows ${newestSchema}`, 'the next start migrates it')
  return wrong(
    'schema',
    `${schema} is newer than svc-hub ${RELEASE}, which knows up to ${newestSchema}`,
    newerBuild(release, RELEASE),
  )
}

function checkBlobs(directory: string, { blobs }: Inspection): Finding[] {
  const named = new Set(blobs)
  const present = new Set(Object.values(blobPlaces).flatMap(({ folder }) => filesIn(directory, folder)))
  const lost = blobs.filter(path => !present.has(path)).length
  const orphans = [...present].filter(path => !named.has(path) && isOld(join(directory, path))).length
  return [
    lost === 0
      ? ok('envelopes', `${blobs.length} envelopes in files, all present`)
      : wrong(
          'envelopes',
          `the files of ${lost} waiting envelopes are missing, so these cannot be delivered`,
          `copy the files from a backup into ${directory}; otherwise the envelopes expire`,
        ),
    orphans === 0
      ? ok('files', 'every file belongs to an envelope')
      : note('files', `${orphans} files belong to no envelope`, 'the next start removes them'),
  ]
}

/** Paths of the files of a folder and of those in it, as seen from the data directory. */
function filesIn(directory: string, folder: string): string[] {
  const path = join(directory, folder)
  if (!existsSync(path)) return []
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => relative(directory, join(entry.parentPath, entry.name)))
}

function isOld(path: string): boolean {
  try {
    return systemNow() - statSync(path).mtimeMs > ORPHAN_AFTER_MS
  } catch {
    // Collected meanwhile.
    return false
  }
}

function checkReserve(directory: string, alone: boolean): Finding {
  if (existsSync(join(directory, engine.files.reserve)))
    return ok('reserve', 'space is reserved for a full disk')
  if (alone)
    return note(
      'reserve',
      'no space is reserved for a full disk, as after a restore or where it was needed',
      'the next start with enough room reserves it',
    )
  return note(
    'reserve',
    'the space reserved for a full disk was given up',
    'free space on the disk, then restart the hub',
  )
}
