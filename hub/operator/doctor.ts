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
import { foreignFile, isEnterable, isWritable, partsOf, unwritable } from '../data-dir.ts'
import { DirectoryBusy, LOCK_FILE, lockDirectory, whenFree } from '../directory-lock.ts'
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
import { checkStore, checkSupply } from './doctor-store.ts'
import type { RunningState } from './order-shapes.ts'
import { hasSocket, orderRunningHub } from './socket.ts'

/** Looks at everything and prints it; the exit code is 1 when anything is wrong. */
export async function doctor(
  read: () => Config,
  options: { json: boolean; given?: GivenAddresses },
): Promise<number> {
  keepPrivate()
  const findings = (await examine(read, options.given)).map(withCalls)
  const bad = findings.filter(({ state }) => state === 'wrong').length
  say(options.json ? asJson(findings, bad) : asText(findings, bad))
  return bad === 0 ? 0 : EXIT_FAILED
}

const withCalls = (finding: Finding): Finding => ({
  ...finding,
  ...present({ mend: finding.mend === undefined ? undefined : asCalled(finding.mend) }),
})

/** Everything that can be seen from outside, one finding a thing. */
export async function examine(read: () => Config, given: GivenAddresses = {}): Promise<Finding[]> {
  let config: Config
  try {
    config = read()
  } catch (error) {
    if (!(error instanceof ConfigRefused)) throw error
    return [wrong('configuration', error.found, error.next)]
  }
  const { dataDir } = config
  const machine = [checkConfiguration(dataDir), checkRuntime(process.versions.node)]
  const parts = partsOf(dataDir)
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
  return [...machine, ...(await examineHub(config, given))]
}

/** In a directory that this user can't enter a configuration file is not seen. */
function checkConfiguration(dataDir: string): Finding {
  if (isEnterable(dataDir)) return ok('configuration', 'is valid')
  const found = `was not read: this user cannot look into ${dataDir}, where config.json may be`
  return note('configuration', found, 'run svc-hub doctor as the user whose hub it is')
}

async function examineHub(config: Config, given: GivenAddresses): Promise<Finding[]> {
  const { dataDir } = config
  const { running, alone, lock, finding } = await findRunning(dataDir)
  try {
    const { findings: ofDirectory, aid } = checkDirectory(dataDir, alone)
    const { findings: ofStore, clockMs } = await checkStore(dataDir, alone)
    const clock = checkClock(clockMs, systemNow())
    const clockBehind = clock.state === 'wrong'
    return [
      finding,
      ...ofDirectory,
      ...ofStore,
      ...(await checkSupply(dataDir, alone)),
      await checkRoom(dataDir, running),
      clock,
      checkSignatures(running),
      ...(await checkNetwork(config, running, { aid, clockBehind })),
      ...(running === undefined ? [] : checkGiven(given, running)),
    ]
  } finally {
    lock?.release()
  }
}

type Found = {
  running: RunningState | undefined
  /** Nobody else works in the directory. */
  alone: boolean
  lock: ReturnType<typeof lockDirectory> | undefined
  finding: Finding
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
    return { running: undefined, alone: true, lock, finding: noneRuns(directory) }
  } catch (error) {
    if (!(error instanceof StoreRefused)) throw error
    if (error instanceof DirectoryBusy && !hasSocket(directory)) {
      const finding = note('process', 'a command such as backup works on the directory', 'wait for it to end')
      return { running: undefined, alone: false, lock: undefined, finding }
    }
    const mend = `find it with: fuser ${join(directory, 'lock')}; stop it and restart the hub`
    const finding = wrong('process', 'a process holds the directory but does not answer', mend)
    return { running: undefined, alone: false, lock: undefined, finding }
  }
}

/** A hub that stops in order takes its socket with it. */
function noneRuns(directory: string): Finding {
  const next = `svc-hub serve --data-dir ${directory}`
  return hasSocket(directory)
    ? wrong(
        'process',
        'no hub is running on this directory, and the last one did not stop in order: it was killed, or the machine went down; what it acknowledged is on the disk',
        next,
      )
    : note('process', 'no hub is running on this directory', next)
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
