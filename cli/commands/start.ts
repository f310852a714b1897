/** Starting a node: daemon, up, start. */
import { spawn } from 'node:child_process'
import { closeSync, existsSync, openSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type DaemonEntry, DEFAULT_IDENTITY, daemonsOf, selectIdentity } from '../../daemon/home/home.ts'
import { MOVED_NEXT, sayMoved } from '../../daemon/home/moved.ts'
import { DirectoryNotOurs, requireOwnDirectory } from '../../daemon/home/own-directory.ts'
import { ownSocket } from '../../daemon/home/socket.ts'
import { ensureSecretDirectory } from '../../daemon/platform/files.ts'
import { DanglingLink } from '../../daemon/platform/folders.ts'
import type { NodeStatus } from '../../protocol/control/shapes.ts'
import { connect, findTarget } from '../client/control.ts'
import { describe, HungNode } from '../client/entries.ts'
import { logEnd, logSince } from '../client/log-tail.ts'
import { exchange } from '../client/loopback.ts'
import type { Input, Run } from '../command.ts'
import { CommandFailed, hint, type Io, messageOf, notice, printReply, UsageRefused } from '../io.ts'
import { leanMemory } from '../run/lean-memory.ts'
import { orUnsealed, sayJoined, wayInto } from './joining.ts'
import { flag } from './values.ts'
import { offerWays } from './ways.ts'

/** The last major version of Node whose engine was seen to know the flags of a node. */
const FLAGS_KNOWN_TO = 26
/** A node that lives and does not answer yet is waited for: a busy machine takes its time. */
const READY_WAIT_MS = 60_000
/** Later than this, whoever waits is told. */
const SLOW_START_MS = 8_000
const PING_WAIT_MS = 1_000
const POLL_MS = 50
/** The store makes files of its own while it is open. */
const START_BYTES_MIN = 1024 * 1024
const LOG_TAIL_LINES = 12

export const daemon: Run = async (io, input) => {
  if (input.flags.has('--detach')) return detach(io, input)
  const { runDaemon } = await import('../run/daemon.ts')
  return runDaemon(io, input, { stdio: input.flags.has('--stdio') })
}

export const up: Run = async (io, input) => {
  const { name, dir } = selectIdentity(io.env, input.id)
  if (input.id !== undefined && name !== DEFAULT_IDENTITY && !existsSync(dir))
    throw new CommandFailed(`there is no identity "${input.id}"`, `svc id new ${input.id}`)
  const alone = ['--name', '--token', '--wire'].find(one => input.flags.has(one))
  if (alone !== undefined && !input.flags.has('--hub'))
    throw new UsageRefused(`${alone} goes with --hub`, 'svc help up')
  return detach(io, input)
}

/** Starts the node of an identity that is new. */
export const start = (io: Io, input: Input): Promise<number> => detach(io, input)

/** Starts a daemon of its own session and waits until its control interface answers. */
async function detach(io: Io, input: Input): Promise<number> {
  const selection = selectIdentity(io.env, input.id)
  const running = findTarget(io, input)
  if (running.entry?.data_dir === selection.dir) {
    if (!(await answers(io, running.entry))) throw new HungNode(running.entry)
    const joined = await printJoined(io, input, { already: true, ...describe(running.entry) })
    if (joined !== undefined) sayJoined(io, joined)
    return 0
  }
  const moved = sayMoved(selection.dir)
  if (moved !== undefined) throw new CommandFailed(moved, MOVED_NEXT)
  const fresh = !existsSync(join(selection.dir, 'identity.kel'))
  const logStart = logEnd(selection.dir)
  const log = openLog(selection.dir)
  // a start that fails may leave more room than it found
  const wasFull = isWithoutRoom(selection.dir)
  const id = input.id === undefined ? [] : ['--id', input.id]
  const child = spawn(process.execPath, [...leanFlags(), process.argv[1] as string, 'daemon', ...id], {
    detached: true,
    stdio: ['ignore', log, log],
    env: { ...io.env, ...leanMemory } as NodeJS.ProcessEnv,
  })
  closeSync(log)
  child.unref()
  const entry = await waitForDaemon(io, { dir: selection.dir, wasFull, logStart, child })
  const status = await connect(io, input).call('status')
  const sayAtStart = () => {
    sayWarnings(io, status)
    if (fresh)
      notice(
        io,
        `made a new identity in ${selection.dir}; nobody can restore it for you, so keep a backup on another machine: ${['svc backup <file>', ...id].join(' ')}`,
      )
  }
  const joined = await printJoined(io, input, describe(entry)).finally(sayAtStart)
  if (joined === undefined) sayNext(io, selection.dir, status)
  else sayJoined(io, joined)
  return 0
}

/** Registers a node that runs at the hub that the line names, and prints both; a refusal leaves the node running. */
async function printJoined(io: Io, input: Input, running: object) {
  const state = { state: 'running', ...running }
  const url = input.flags.get('--hub')?.[0]
  if (url === undefined) {
    printReply(io, state)
    return undefined
  }
  const control = connect(io, input)
  try {
    const given = { url, ...flag(input, '--name', 'name'), ...(await wayInto(io, input, url)) }
    const hub = await orUnsealed(io, more => control.call('hubRegister', { ...given, ...more }))
    printReply(io, { ...state, aid: hub.aid, hub })
    return hub
  } catch (error) {
    printReply(io, { ...state, aid: (await control.call('status')).aid })
    throw error
  }
}

/**
 * A node runs little of its code often. V8's two quick compilers and what they make of the rest take some 2.5 MiB. The
 * thorough one would come as late as if they had been there, and without being told to come sooner, a busy node would
 * stay with the interpreter. Later engines may not know these flags.
 */
function leanFlags(): string[] {
  const major = Number(process.versions.node.split('.', 1)[0])
  return major <= FLAGS_KNOWN_TO
    ? ['--no-sparkplug', '--no-maglev', '--invocation-count-for-turbofan=800']
    : []
}

/** The log of a node, with the data directory that it stands in. */
function openLog(dir: string): number {
  try {
    ensureSecretDirectory(dir)
    requireOwnDirectory(dir)
    return openSync(join(dir, 'daemon.log'), 'a', 0o600)
  } catch (error) {
    if (error instanceof DanglingLink)
      throw new CommandFailed(error.message, 'make that folder, or take the link away')
    if (error instanceof DirectoryNotOurs) throw new CommandFailed(error.message, 'svc doctor')
    throw new CommandFailed(
      `the data directory ${dir} cannot be written: ${messageOf(error)}`,
      'mend that, or choose another folder with SVC_HOME',
    )
  }
}

const SAID_AT_START = ['config.json: ', 'the A2A interface is off']

/** What does not come about as it was set is named where a person started the node. */
function sayWarnings(io: Io, { warnings }: NodeStatus): void {
  for (const warning of warnings)
    if (SAID_AT_START.some(words => warning.startsWith(words))) notice(io, warning)
}

/** The three ways on are offered once, to a person; from then on the first of them is the next step. */
function sayNext(io: Io, dir: string, status: NodeStatus): void {
  const isOffered = !status.deactivated && status.hub === null && offerWays(io, dir)
  if (!isOffered) hint(io, nextStep(status))
}

function nextStep({ deactivated, hub }: NodeStatus): string {
  if (deactivated) return 'this identity is deactivated\nsvc id new <name>'
  return hub === null ? 'svc hub-register <url> --name <name>\nsvc help' : 'svc inbox\nsvc find\nsvc help'
}

type Started = {
  dir: string
  wasFull: boolean
  logStart: number
  child: { exitCode: number | null; signalCode: string | null; pid?: number | undefined }
}

/**
 * Waits for the node of this directory, ours or one that was started at the same time. In that case ours finds the
 * directory taken and ends, which is waited for: later it might find it free, and run where nobody asked for it.
 */
async function waitForDaemon(io: Io, { dir, wasFull, logStart, child }: Started) {
  const said = () => `its log says:\n${logSince(dir, logStart, LOG_TAIL_LINES)}`.trimEnd()
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null
  let other: DaemonEntry | undefined
  let sayAt = SLOW_START_MS
  for (const start = performance.now(); performance.now() - start < READY_WAIT_MS; await pause(POLL_MS)) {
    if (performance.now() - start > sayAt) {
      notice(io, `the node starts slowly; svc waits up to ${READY_WAIT_MS / 1000} s for it`)
      sayAt = READY_WAIT_MS
    }
    const entry = daemonsOf(io.env).find(daemon => daemon.data_dir === dir)
    const answering = entry !== undefined && (await answers(io, entry)) ? entry : undefined
    if (answering !== undefined && (answering.pid === child.pid || hasEnded())) return answering
    other = answering
    if (answering === undefined && hasEnded()) throw endedAtOnce(dir, wasFull, said())
  }
  if (other !== undefined) return other
  throw new CommandFailed(`the node did not answer within ${READY_WAIT_MS / 1000} s; ${said()}`, 'svc logs')
}

function endedAtOnce(dir: string, wasFull: boolean, said: string): CommandFailed {
  return wasFull || isWithoutRoom(dir)
    ? new CommandFailed(`the node cannot start: the disk of ${dir} is full`, 'free some room, then svc up')
    : new CommandFailed(`the node ended at once; ${said}`, 'svc doctor')
}

/** A log on a full disk can't say why its node ended. */
function isWithoutRoom(dir: string): boolean {
  const { bavail, bsize } = statfsSync(dir)
  return bavail * bsize < START_BYTES_MIN
}

async function answers(io: Io, { control_addr: address, data_dir: dir }: DaemonEntry): Promise<boolean> {
  const socket = ownSocket(io.env, dir)
  try {
    const asked = { method: 'GET', path: '/ping', headers: {}, timeoutMs: PING_WAIT_MS }
    return (await exchange({ ...asked, address, socket })).status === 200
  } catch {
    return false
  }
}
