/**
 * `svc-hub doctor`: examines a hub, running or stopped, from outside and names each problem with its fix. It changes
 * nothing.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Finding, note, ok, wrong } from '../../protocol/encoding/finding.ts'
import type { Config } from '../config.ts'
import { ConfigRefused } from '../config-refused.ts'
import { foreignFile, isWritable, partsOf } from '../data-dir.ts'
import { StoreRefused } from '../store/port.ts'
import { LOCK_FILE, lockDirectory } from '../store/sqlite/lock.ts'
import { EXIT_FAILED, keepPrivate } from '../terminal.ts'
import { checkDirectory } from './doctor-directory.ts'
import { checkClock, checkNetwork, checkRoom, checkRuntime, checkSignatures } from './doctor-machine.ts'
import { checkStore } from './doctor-store.ts'
import type { RunningState } from './order-shapes.ts'
import { orderRunningHub } from './socket.ts'

/** Looks at everything and prints it; the exit code is 1 when anything is wrong. */
export async function doctor(read: () => Config, options: { json: boolean }): Promise<number> {
  keepPrivate()
  const findings = await examine(read)
  const bad = findings.filter(({ state }) => state === 'wrong').length
  process.stdout.write(options.json ? asJson(findings, bad) : asText(findings, bad))
  return bad === 0 ? 0 : EXIT_FAILED
}

/** Everything that can be seen from outside, one finding a thing. */
export async function examine(read: () => Config): Promise<Finding[]> {
  let config: Config
  try {
    config = read()
  } catch (error) {
    if (!(error instanceof ConfigRefused)) throw error
    return [wrong('configuration', error.found, error.next)]
  }
  const machine = [ok('configuration', 'is valid'), checkRuntime(process.versions.node)]
  const { dataDir } = config
  if (existsSync(dataDir) && !isWritable(dataDir)) {
    const mend = `run svc-hub doctor as the owner of ${dataDir}, the user that the hub runs as`
    return [...machine, wrong('data directory', `this user cannot write to ${dataDir}`, mend)]
  }
  const foreign = foreignFile(dataDir)
  if (foreign !== undefined) return [...machine, wrong('owner', foreign.found, foreign.next)]
  const parts = partsOf(dataDir)
  if (parts.state === 'part') return [...machine, wrong('data directory', parts.found, parts.next)]
  if (parts.state !== 'whole') {
    const mend = `svc-hub init --data-dir ${dataDir}, or give the right one with --data-dir`
    return [...machine, wrong('data directory', `${dataDir} contains no hub`, mend)]
  }
  return [...machine, ...(await examineHub(config))]
}

async function examineHub(config: Config): Promise<Finding[]> {
  const { dataDir } = config
  const { running, alone, lock, finding } = await findRunning(dataDir)
  try {
    const { findings: ofDirectory, aid } = checkDirectory(dataDir, alone)
    const { findings: ofStore, clockMs } = checkStore(dataDir, alone)
    return [
      finding,
      ...ofDirectory,
      ...ofStore,
      await checkRoom(dataDir, running),
      checkClock(clockMs, Date.now()),
      checkSignatures(running),
      ...(await checkNetwork(config, running, aid)),
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

/** A hub that answers on its socket runs; one that holds the lock and does not answer is stuck. */
async function findRunning(directory: string): Promise<Found> {
  const answer = await orderRunningHub(directory, { command: 'running' }).catch(() => undefined)
  if (answer?.ok === true) {
    const running = answer.result as RunningState
    const found = `process ${running.pid} serves at ${running.url}`
    return { running, alone: false, lock: undefined, finding: ok('process', found) }
  }
  try {
    // Where no lock lies nobody holds it, and none is made.
    const lock = existsSync(join(directory, LOCK_FILE)) ? lockDirectory(directory) : undefined
    const finding = note(
      'process',
      'no hub is running on this directory',
      `svc-hub serve --data-dir ${directory}`,
    )
    return { running: undefined, alone: true, lock, finding }
  } catch (error) {
    if (!(error instanceof StoreRefused)) throw error
    const mend = `find it with: fuser ${join(directory, 'lock')}; stop it and restart the hub`
    const finding = wrong('process', 'a process holds the directory but does not answer', mend)
    return { running: undefined, alone: false, lock: undefined, finding }
  }
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
