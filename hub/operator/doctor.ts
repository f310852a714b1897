/**
 * `svc-hub doctor`: examines a hub, running or stopped, from outside and names each problem with its fix. It changes
 * nothing.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Finding, note, ok, wrong } from '../../protocol/encoding/finding.ts'
import { present } from '../../protocol/encoding/present.ts'
import { systemNow } from '../../protocol/timers.ts'
import type { Config } from '../config.ts'
import { ConfigRefused } from '../config-refused.ts'
import { foreignFile, type Parts, partsOf } from '../data-dir.ts'
import { isEnterable, isWritable, unwritable } from '../directory-access.ts'
import { DirectoryBusy, LOCK_FILE, lockDirectory, lockHolder, whenFree } from '../directory-lock.ts'
import { secretOpenness } from '../files.ts'
import { openSite } from '../pages/documents.ts'
import { flagOpenness, secretFilesOf } from '../places-config.ts'
import { StoreRefused } from '../store/port.ts'
import { asCalled, EXIT_FAILED, keepPrivate, say } from '../terminal.ts'
import { checkDirectory } from './doctor-directory.ts'
import {
  checkClock,
  checkGiven,
  checkNetwork,
  checkRoom,
  checkRuntime,
  checkSignatures,
  type GivenAddresses,
} from './doctor-machine.ts'
import { checkPeers } from './doctor-peers.ts'
import { checkStore, checkSupply, clearingInFile } from './doctor-store.ts'
import { type LastStart, startAgain } from './last-start.ts'
import type { RunningState } from './order-shapes.ts'
import { hasSocket, orderRunningHub } from './socket.ts'

/** Looks at everything and prints it; the exit code is 1 when anything is wrong. */
export async function doctor(
  read: () => Config,
  options: { json: boolean; given?: GivenAddresses; usual?: Config | undefined },
): Promise<number> {
  keepPrivate()
  const findings = (await examine(read, options.given, options.usual)).map(withCalls)
  const bad = findings.filter(({ state }) => state === 'wrong').length
  say(options.json ? asJson(findings, bad) : asText(findings, bad))
  return bad === 0 ? 0 : EXIT_FAILED
}

const withCalls = (finding: Finding): Finding => ({
  ...finding,
  ...present({ mend: finding.mend === undefined ? undefined : asCalled(finding.mend) }),
})

/**
 * Everything that can be seen from outside, one finding a thing. Where the configuration is wrong the rest is looked at
 * under the `usual` one, which says no more than where the hub is.
 */
export async function examine(
  read: () => Config,
  given: GivenAddresses = {},
  usual?: Config,
): Promise<Finding[]> {
  let config: Config
  let isKnown = true
  const machine: Finding[] = []
  try {
    config = read()
    machine.push(checkConfiguration(config.dataDir), ...checkSecrets(config), ...checkDocuments(config))
  } catch (error) {
    if (!(error instanceof ConfigRefused)) throw error
    machine.push(wrong('configuration', error.found, error.next))
    if (usual === undefined) return machine
    config = usual
    isKnown = false
  }
  const { dataDir } = config
  machine.push(checkRuntime(process.versions.node))
  const parts: Parts = config.database === undefined ? partsOf(dataDir) : { state: 'whole' }
  if (parts.state === 'unusable') return [...machine, wrong('data directory', parts.found, parts.next)]
  if (existsSync(dataDir) && !isWritable(dataDir)) {
    const { found, next } = unwritable(dataDir)
    return [...machine, wrong('data directory', found, next)]
  }
  const foreign = foreignFile(dataDir)
  if (foreign !== undefined) return [...machine, wrong('owner', foreign.found, foreign.next)]
  if (parts.state !== 'whole') {
    const mend = `give the right folder with --data-dir, or make a hub in this one: svc-hub init --data-dir ${dataDir}`
    return [...machine, wrong('data directory', `${dataDir} contains no hub`, mend)]
  }
  return [...machine, ...(await examineHub(config, given, isKnown))]
}

/** In a directory that this user can't enter a configuration file is not seen. */
function checkConfiguration(dataDir: string): Finding {
  if (isEnterable(dataDir)) return ok('configuration', 'is valid')
  const found = `was not read: this user cannot look into ${dataDir}, where config.json may be`
  return note('configuration', found, 'run svc-hub doctor as the user whose hub it is')
}

/** Who reads one of them may do what the hub may. */
function checkSecrets({ database }: Config): Finding[] {
  const shown = database && flagOpenness(database)
  const flags = shown === undefined ? [] : [wrong('secret flags', shown.found, shown.next)]
  return [...flags, ...checkSecretFiles(database)]
}

function checkSecretFiles(database: Config['database']): Finding[] {
  const files = database === undefined ? [] : secretFilesOf(database)
  if (files.length === 0) return []
  const open = files.map(secretOpenness).filter(one => one !== undefined)
  if (open.length > 0) return open.map(({ found, next }) => wrong('secret files', found, next))
  return [ok('secret files', `nobody else may read ${files.join(', ')}`)]
}

/** A folder that is no site of the documents refuses the start. */
function checkDocuments({ docs }: Config): Finding[] {
  if (docs === undefined) return []
  try {
    openSite(docs)
    return [ok('documents', `are served from ${docs}`)]
  } catch (error) {
    if (!(error instanceof ConfigRefused)) throw error
    return [wrong('documents', error.found, error.next)]
  }
}

/** Of a stopped hub whose configuration is not known, nothing is known of its addresses either. */
async function examineHub(config: Config, given: GivenAddresses, isKnown: boolean): Promise<Finding[]> {
  const { dataDir } = config
  if (!existsSync(dataDir)) return (await checkRows(config, true)).findings
  const { running, alone, lock, finding } = await findRunning(dataDir)
  try {
    const { findings: ofDirectory, aid } = checkDirectory(dataDir, alone)
    const { findings: ofStore, clockMs, last, serving } = await checkRows(config, alone)
    const clock = checkClock(clockMs, systemNow(), running)
    const clockBehind = clock.state === 'wrong'
    return [
      finding ?? noneRuns(config, last, serving),
      ...ofDirectory,
      ...ofStore,
      await checkRoom(config, running),
      clock,
      checkSignatures(running),
      ...(running !== undefined || isKnown
        ? await checkNetwork(config, running, { aid, clockBehind, last })
        : []),
      ...(running === undefined ? [] : checkGiven(given, running)),
      ...(await checkPeers(dataDir, aid, {
        clearingOf: clearingFrom(config, alone),
        own: servedAt(running),
      })),
    ]
  } finally {
    lock?.release()
  }
}

type OfRows = Awaited<ReturnType<typeof checkStore>> & { serving?: number | undefined }

/** Rows in the data directory, or in a database. */
async function checkRows({ dataDir, database }: Config, alone: boolean): Promise<OfRows> {
  if (database !== undefined)
    return await (await import('./doctor-database.ts')).checkDatabase(database, dataDir)
  const { findings, ...known } = await checkStore(dataDir, alone)
  return { findings: [...findings, ...(await checkSupply(dataDir, alone))], ...known }
}

const clearingFrom = ({ dataDir, database }: Config, alone: boolean) =>
  database === undefined
    ? clearingInFile(dataDir, alone)
    : async (peers: readonly string[]) => (await import('../database-state.ts')).clearingIn(database, peers)

/** Addresses at which a hub serves now. */
const servedAt = (running: RunningState | undefined): string[] =>
  running === undefined ? [] : [running.url, running.besideUrl].filter(url => url !== undefined)

type Found = {
  running: RunningState | undefined
  /** Nobody else works in the directory. */
  alone: boolean
  lock: ReturnType<typeof lockDirectory> | undefined
  /** Undefined where nobody works in the directory. */
  finding: Finding | undefined
}

/** What most commands need. */
const COMMAND_MS = 1000

/** A hub that answers on its socket runs; one that holds the lock and does not answer is stuck. Commands hold it for moments, or have no socket. */
async function findRunning(directory: string): Promise<Found> {
  const answer = await orderRunningHub(directory, { command: 'running' }).catch(() => undefined)
  if (answer?.ok === true) {
    const running = answer.result as RunningState
    const found = `process ${running.pid} serves at ${running.url}`
    return { running, alone: false, lock: undefined, finding: ok('process', found) }
  }
  try {
    // Where no lock lies nobody holds it, and none is made.
    const isLocked = existsSync(join(directory, LOCK_FILE))
    const lock = isLocked ? await whenFree(() => lockDirectory(directory), COMMAND_MS) : undefined
    return { running: undefined, alone: true, lock, finding: undefined }
  } catch (error) {
    if (!(error instanceof StoreRefused)) throw error
    if (error instanceof DirectoryBusy && !hasSocket(directory)) {
      const finding = note('process', 'a command such as backup works on the directory', 'wait for it to end')
      return { running: undefined, alone: false, lock: undefined, finding }
    }
    const holder = lockHolder(directory)
    const found = `${holder === undefined ? 'a process' : `process ${holder}`} holds the directory but does not answer`
    const look = holder === undefined ? `find it with: fuser ${join(directory, LOCK_FILE)}; ` : ''
    const finding = wrong('process', found, `${look}stop it and restart the hub`)
    return { running: undefined, alone: false, lock: undefined, finding }
  }
}

/** A hub that stops in order takes its socket with it. Over a database, other processes may serve it meanwhile. */
function noneRuns(config: Config, last: LastStart | undefined, serving: number | undefined): Finding {
  const { dataDir, database } = config
  const [what, kept, others] =
    database === undefined
      ? ['no hub is running on this directory', '; what it acknowledged is on the disk', '']
      : ['no process runs on this directory', '', othersServing(serving)]
  const next = startAgain(config, last)
  return hasSocket(dataDir)
    ? wrong(
        'process',
        `${what}, and the last one did not stop in order: it was killed, or the machine went down${kept}${others}`,
        next,
      )
    : note('process', `${what}${others}`, next)
}

function othersServing(serving: number | undefined): string {
  if (serving === undefined) return ''
  return `; within the last 10 s ${serving} ${serving === 1 ? 'process' : 'processes'} did serve this hub`
}

function asJson(findings: Finding[], bad: number): string {
  return `${JSON.stringify({ ok: bad === 0, wrong: bad, findings }, null, 2)}\n`
}

const MARKS = { ok: 'ok   ', note: 'note ', wrong: 'WRONG' } as const

function asText(findings: Finding[], bad: number): string {
  const lines = findings.map(({ check, state, found, mend }) => {
    const after = mend === undefined ? '' : `\n        fix: ${mend}`
    return `${MARKS[state]} ${check}: ${found}${after}`
  })
  const summary = bad === 0 ? 'no problems found' : `${bad} of ${findings.length} checks found a problem`
  return `${[...lines, summary].join('\n')}\n`
}
