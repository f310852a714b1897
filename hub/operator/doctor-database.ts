/** The doctor on the database of a hub: its server, its rows, the processes over it, and what copies it. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { RELEASE } from '../../protocol/build-info.ts'
import { wordsOf } from '../../protocol/encoding/errors.ts'
import { type Finding, note, ok, wrong } from '../../protocol/encoding/finding.ts'
import { systemNow, systemTimers } from '../../protocol/timers.ts'
import { CLOCK_SETTING } from '../core/clocks.ts'
import { FEDERATION_FILE } from '../core/federation/peers.ts'
import { IDENTITY_FILE, NEXT_FILE } from '../core/identity.ts'
import { systemRandom } from '../core/random.ts'
import { heldFinding } from '../core/supply/held.ts'
import { type DatabaseState, lookAtDatabase, type RowsState } from '../database-state.ts'
import { FILES_SETTING } from '../long-mail.ts'
import { CLOCK_OFF_MS, NEEDED, readSecret } from '../over-database.ts'
import { ownSettings } from '../own-settings.ts'
import type { DatabasePlace } from '../places-config.ts'
import { newerBuild } from '../store/engine-port.ts'
import { checkLongMail } from './doctor-long-mail.ts'
import { atHub, type LastStart, lastStartOf } from './last-start.ts'

const CHECK = 'database'
const PAGE = 'docs/host/many-processes.md'
const MIB = 1024 * 1024
const MS_PER_SECOND = 1000
const LAG_BYTES_MAX = 64 * MIB
const LAG_MS_MAX = 30_000
const OLDEST_SECONDS_MAX = 600
/** Below that a table is small, however much of it is gone. */
const DEAD_MIN = 100_000

type Found = {
  findings: Finding[]
  clockMs: number | undefined
  last: LastStart | undefined
  /** Processes that served this hub lately; undefined where that is not known. */
  serving: number | undefined
}

export async function checkDatabase(database: DatabasePlace, directory: string): Promise<Found> {
  const at = atHub({ dataDir: directory, database })
  const ofFiles = checkFiles(directory, at)
  const files = { place: database.files ?? directory, isGiven: database.files !== undefined }
  let state: DatabaseState
  try {
    const outside = { now: systemNow, timers: systemTimers, random: systemRandom }
    state = await lookAtDatabase(database, directory, outside)
  } catch (error) {
    return {
      findings: [...ofFiles, checkAway(error), ...(await checkLongMail(files, undefined))],
      ...{ clockMs: undefined, last: lastStartOf(ownSettings(directory)), serving: undefined },
    }
  }
  const { rows } = state
  return {
    findings: [
      ...ofFiles,
      checkServer(state),
      ...checkPages(state),
      checkSchema(state, at),
      ...(rows === undefined ? [] : checkRows(rows, directory, at)),
      ...(await checkLongMail(files, rows?.settings.get(FILES_SETTING))),
      checkWord(state),
      checkServerClock(state),
      ...checkStandbys(state),
      ...checkOldest(state),
    ],
    clockMs: rows && Number(rows.settings.get(CLOCK_SETTING) ?? 0),
    last: lastStartOf(ownSettings(directory)),
    serving: rows?.owner === 'own' ? rows.processes.length : undefined,
  }
}

function checkAway(error: unknown): Finding {
  const [found, next] = halvesOf(wordsOf(error))
  return wrong(CHECK, found, next ?? 'look whether its server runs, and what it logs')
}

/** What happened, and what to do where the sentence says that. */
function halvesOf(sentence: string): [found: string, next: string | undefined] {
  const at = sentence.indexOf('; ')
  return at === -1 ? [sentence, undefined] : [sentence.slice(0, at), sentence.slice(at + 2)]
}

/** What each machine has a copy of. */
function checkFiles(directory: string, at: string): Finding[] {
  const missing = NEEDED.filter(name => !existsSync(join(directory, name)))
  if (missing.length === 0) return checkSecret(directory)
  return [
    wrong(
      'data directory',
      `${directory} lacks ${missing.join(', ')}`,
      `copy them there from a machine that serves this hub; a new hub is made with: svc-hub init${at}`,
    ),
  ]
}

function checkSecret(directory: string): Finding[] {
  try {
    readSecret(directory)
    return []
  } catch (error) {
    const [found, next] = halvesOf(wordsOf(error))
    return [wrong('data directory', found, next ?? 'copy it from a machine that serves this hub')]
  }
}

function checkServer({ release, unfit, isReadOnly }: DatabaseState): Finding {
  if (unfit !== undefined) {
    const [found, next] = halvesOf(unfit)
    return wrong(CHECK, found, next ?? 'correct it')
  }
  if (isReadOnly)
    return wrong(
      CHECK,
      'is a standby, which takes no changes',
      `name the primary in the address, or promote this one as ${PAGE} shows`,
    )
  return ok(CHECK, `PostgreSQL ${release} answers, and keeps what a hub promises`)
}

/** Some file systems keep pages whole by themselves. */
function checkPages({ tearsPages }: DatabaseState): Finding[] {
  if (!tearsPages) return []
  const found = 'full_page_writes is off, so a crash of the server may leave half a page'
  return [note('pages', found, 'set full_page_writes to on, unless its file system never tears a page')]
}

function checkSchema({ schema: { held, newest, wrote } }: DatabaseState, at: string): Finding {
  if (held === newest) return ok('schema', `${held}`)
  if (held === 0)
    return wrong('schema', 'there is no hub in this database', `make one there: svc-hub init${at}`)
  if (held < newest)
    return note(
      'schema',
      `schema ${held}; this build knows ${newest}`,
      `the next start of a role that owns it brings it up, or: svc-hub init${at}`,
    )
  return wrong(
    'schema',
    `schema ${held} is newer than svc-hub ${RELEASE}, which knows up to ${newest}`,
    newerBuild(wrote, RELEASE),
  )
}

function checkRows(rows: RowsState, directory: string, at: string): Finding[] {
  return [
    checkOwner(rows, directory),
    checkRights(rows, at),
    ...checkProcesses(rows, at),
    ...checkDead(rows),
    ...checkPutBack(rows, at),
    ...checkSupply(rows),
  ]
}

function checkOwner({ owner, hub }: RowsState, directory: string): Finding {
  switch (owner) {
    case 'own':
      return ok('hub of the database', 'is the one whose identity and secret lie here')
    case 'unknown':
      return note(
        'hub of the database',
        `is ${hub}, and whether ${directory} is of that one is not known`,
        'bring its files in order first, as said above',
      )
    case 'none':
      return note('hub of the database', 'is none yet', 'the first start claims it')
    case 'moved':
      return wrong(
        'hub of the database',
        'its rows went from here to a file',
        'serve that file, or move it here: svc-hub migrate --to <URL>',
      )
    case 'other':
      return wrong(
        'hub of the database',
        `is another one than that of ${directory}`,
        `name its own database with --store, or another --data-dir with the ${NEEDED.join(', ')} of a machine that serves this one`,
      )
  }
}

function checkPutBack({ isPutBack }: RowsState, at: string): Finding[] {
  if (!isPutBack) return []
  return [
    note(
      'line',
      'the database was restored, promoted or copied since a process served last',
      `the next start raises its numbers; if it was put back to an earlier time, start with: svc-hub restore${at}`,
    ),
  ]
}

function checkSupply({ held }: RowsState): Finding[] {
  if (held === undefined) return []
  const { found, next } = heldFinding(held)
  return [wrong('supply chain', found, next)]
}

function checkRights({ lackingRights }: RowsState, at: string): Finding {
  if (lackingRights === 0) return ok('rights', 'the role may read and write every table')
  return wrong(
    'rights',
    `the role may not read and write ${lackingRights} of the tables`,
    `run with the role that owns them: svc-hub init${at} --grant <ROLE>`,
  )
}

function checkProcesses({ processes }: RowsState, at: string): Finding[] {
  const releases = [...new Set(processes.map(({ release }) => release))].sort()
  if (processes.length === 0)
    return [note('processes', 'none serves this database', `start one: svc-hub serve${at}`)]
  const found = `${processes.length} ${processes.length === 1 ? 'serves' : 'serve'} this database`
  const ofReleases =
    releases.length === 1
      ? ok('processes', `${found}, of release ${releases[0]}`)
      : note(
          'processes',
          `${found}, of releases ${releases.join(' and ')}`,
          'start those of the older release again with the newer one',
        )
  return [ofReleases, ...checkCopies(processes)]
}

/** Two things are files of each machine, and have to be the same everywhere. */
function checkCopies(processes: RowsState['processes']): Finding[] {
  const findings: Finding[] = []
  const newest = Math.max(...processes.map(({ keyEvents }) => keyEvents))
  const behind = processes.filter(({ keyEvents }) => keyEvents < newest).length
  if (behind > 0)
    findings.push(
      wrong(
        'identity',
        `${behind} of ${processes.length} processes sign with a key from before a rotation`,
        `copy ${IDENTITY_FILE} and ${NEXT_FILE} there from the machine where it was rotated, and start them again`,
      ),
    )
  const heads = new Set(processes.filter(({ keyEvents }) => keyEvents === newest).map(({ head }) => head))
  if (heads.size > 1)
    findings.push(
      wrong(
        'identity',
        'the processes of this hub have key histories that contradict each other',
        `stop those that /readyz calls not ready, copy ${IDENTITY_FILE} and ${NEXT_FILE} there from a machine that is ready, and start them again`,
      ),
    )
  if (new Set(processes.map(({ peers }) => peers)).size > 1)
    findings.push(
      wrong(
        'list of peers',
        'the processes of this hub list different peers',
        `copy ${FEDERATION_FILE} from the machine where it was changed last to the other data directories`,
      ),
    )
  return findings
}

function checkDead({ dead }: RowsState): Finding[] {
  if (dead === undefined || dead.dead < DEAD_MIN || dead.dead < dead.live) return []
  return [
    note(
      'rows',
      `table ${dead.table} has ${dead.live} rows, and ${dead.dead} that are gone and take room`,
      `look for a transaction that stays open, then: psql -c 'VACUUM ${dead.table}'`,
    ),
  ]
}

function checkWord({ isWordHeard }: DatabaseState): Finding {
  if (isWordHeard) return ok('word', 'of other processes comes through')
  return wrong(
    'word',
    'of other processes does not come through: a pooler stands in between',
    'name the server itself with store_listen (SVC_HUB_STORE_LISTEN)',
  )
}

function checkServerClock({ aheadMs }: DatabaseState): Finding {
  const off = `${Math.abs(aheadMs)} ms ${aheadMs > 0 ? 'ahead of' : 'behind'} that of the database`
  if (Math.abs(aheadMs) <= CLOCK_OFF_MS) return ok('clocks', `this machine's is ${off}`)
  return wrong('clocks', `this machine's is ${off}`, 'set the clock: timedatectl set-ntp true')
}

function checkStandbys({ standbys: { names, all } }: DatabaseState): Finding[] {
  const findings = all.map(({ name, isSynchronous, lagBytes, lagMs }) => {
    const what = `${name} is ${isSynchronous ? 'synchronous' : 'asynchronous'}`
    if (lagBytes === undefined || lagMs === undefined)
      return note('standby', 'this role sees no standby in full', 'GRANT pg_monitor TO this role')
    const behind = `${what}, and ${Math.ceil(lagBytes / MIB)} MiB and ${Math.ceil(lagMs / MS_PER_SECOND)} s behind`
    return lagBytes > LAG_BYTES_MAX || lagMs > LAG_MS_MAX
      ? wrong('standby', behind, 'look at the network between both and at the disk of the standby')
      : ok('standby', behind)
  })
  if (all.length === 0 && names === '')
    findings.push(
      note('standby', 'none: what is acknowledged is lost with this server', `make one, as ${PAGE} shows`),
    )
  else if (
    names !== '' &&
    !all.some(({ isSynchronous, lagBytes }) => isSynchronous || lagBytes === undefined)
  )
    findings.push(
      wrong(
        'standby',
        'none confirms what is written, so every change waits',
        `start the standby, or go on without it: psql -c "ALTER SYSTEM SET synchronous_standby_names = ''" -c 'SELECT pg_reload_conf()'`,
      ),
    )
  else if (names === '')
    findings.push(
      note(
        'standby',
        'none has to confirm, so the latest changes may be lost with this server',
        `set synchronous_standby_names, as ${PAGE} shows`,
      ),
    )
  return findings
}

function checkOldest({ oldestSeconds }: DatabaseState): Finding[] {
  if (oldestSeconds < OLDEST_SECONDS_MAX) return []
  return [
    note(
      'transactions',
      `one has been open for ${oldestSeconds} s, and no row that went since gives its room back`,
      'find it in pg_stat_activity by xact_start, and end it',
    ),
  ]
}
