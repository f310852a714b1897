/** The node itself: daemon, up, stop, status, logs, mcp. */
import { spawn } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import {
  type DaemonEntry,
  DEFAULT_IDENTITY,
  daemonsOf,
  isAlive,
  selectIdentity,
} from '../../daemon/home/home.ts'
import { ownSocket } from '../../daemon/home/socket.ts'
import { ensureSecretDirectory } from '../../daemon/platform/files.ts'
import { buildInfo } from '../../protocol/build-info.ts'
import { connect, findTarget, unreachable } from '../client/control.ts'
import { exchange } from '../client/loopback.ts'
import type { Input, Run } from '../command.ts'
import { CommandFailed, hint, type Io, messageOf, printJson } from '../io.ts'
import { parseInteger } from './values.ts'

const READY_WAIT_MS = 8_000
const PING_WAIT_MS = 1_000
const STOP_WAIT_MS = 10_000
const POLL_MS = 50
/** The store makes files of its own while it is open. */
const START_BYTES_MIN = 1024 * 1024
const LOG_LINES_DEFAULT = 80
const LOG_TAIL_LINES = 12

export const daemon: Run = async (io, input) => {
  if (input.flags.has('--detach')) return detach(io, input)
  const { runDaemon } = await import('../run/daemon.ts')
  return runDaemon(io, input, { stdio: input.flags.has('--stdio') })
}

export const up: Run = async (io, given) => {
  const input = named(given)
  const { name, dir } = selectIdentity(io.env, input.id)
  if (input.id !== undefined && name !== DEFAULT_IDENTITY && !existsSync(dir))
    throw new CommandFailed(`there is no identity "${input.id}"`, `svc id new ${input.id}`)
  return detach(io, input)
}

/** Starts the node of an identity that is new. */
export const start = (io: Io, input: Input): Promise<number> => detach(io, input)

const named = (input: Input): Input => {
  const name = input.positionals[0]
  return name === undefined ? input : { ...input, id: name, positionals: [] }
}

/** Starts a daemon of its own session and waits until its control interface answers. */
async function detach(io: Io, input: Input): Promise<number> {
  const selection = selectIdentity(io.env, input.id)
  const running = findTarget(io, input)
  if (running.entry?.data_dir === selection.dir) {
    const { pid } = running.entry
    if (!(await answers(io, running.entry)))
      throw new CommandFailed(
        `the node of ${selection.dir} runs (pid ${pid}) but does not answer`,
        `svc logs; if it stays so: kill ${pid}, then svc up`,
      )
    printJson(io, { state: 'running', already: true, ...describe(running.entry) })
    return 0
  }
  const fresh = !existsSync(join(selection.dir, 'identity.kel'))
  const log = openLog(selection.dir)
  const id = input.id === undefined ? [] : ['--id', input.id]
  const child = spawn(process.execPath, [process.argv[1] as string, 'daemon', ...id], {
    detached: true,
    stdio: ['ignore', log, log],
    env: io.env as NodeJS.ProcessEnv,
  })
  closeSync(log)
  child.unref()
  const entry = await waitForDaemon(io, selection.dir, child)
  printJson(io, { state: 'running', ...describe(entry) })
  await sayWarnings(io, input)
  if (fresh && io.hints) {
    io.err(
      `svc: new identity in ${selection.dir}. Back up identity.kel: it is your key, nobody can restore it.\n`,
    )
  }
  hint(io, 'svc hub-register <url>   (help: svc help)')
  return 0
}

/** The log of a node, with the data directory that it stands in. */
function openLog(dir: string): number {
  try {
    ensureSecretDirectory(dir)
    return openSync(join(dir, 'daemon.log'), 'a', 0o600)
  } catch (error) {
    throw new CommandFailed(
      `the data directory ${dir} cannot be written: ${messageOf(error)}`,
      'mend that, or choose another folder with SVC_HOME',
    )
  }
}

/** Settings that do nothing are named where a person started the node. */
async function sayWarnings(io: Io, input: Input): Promise<void> {
  const { warnings } = await connect(io, input).call('status')
  for (const warning of warnings) if (warning.startsWith('config.json: ')) io.err(`svc: ${warning}\n`)
}

async function waitForDaemon(
  io: Io,
  dir: string,
  child: { exitCode: number | null; signalCode: string | null; pid?: number | undefined },
) {
  for (const deadline = io.now() + READY_WAIT_MS; io.now() < deadline; await pause(POLL_MS)) {
    const entry = daemonsOf(io.env).find(daemon => daemon.data_dir === dir)
    if (entry !== undefined && (await answers(io, entry))) return entry
    if (child.exitCode !== null || child.signalCode !== null) {
      if (isWithoutRoom(dir))
        throw new CommandFailed(
          `the node cannot start: the disk of ${dir} is full`,
          'free some room, then svc up',
        )
      throw new CommandFailed(
        `the node ended at once; the end of its log:\n${logTail(dir, LOG_TAIL_LINES)}`,
        'svc logs',
      )
    }
  }
  throw new CommandFailed(
    `the node did not answer within ${READY_WAIT_MS / 1000} s; the end of its log:\n${logTail(dir, LOG_TAIL_LINES)}`,
    'svc logs',
  )
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

const describe = (entry: { pid: number; aid: string; control_addr: string; data_dir: string }) => ({
  aid: entry.aid,
  pid: entry.pid,
  control_addr: entry.control_addr,
  data_dir: entry.data_dir,
})

export const stop: Run = async (io, given) => {
  const input = named(given)
  const targets = input.flags.has('--all')
    ? everyNode(io)
    : [{ ...findTarget(io, input), id: input.id as string | undefined }]
  const stopped = []
  for (const target of targets) {
    if (target.entry === undefined) throw unreachable(io, target)
    await connect(io, { id: target.id }).call('shutdown', {})
    await waitForEnd(io, target.entry.pid)
    stopped.push(describe(target.entry))
  }
  printJson(io, { stopped })
  return 0
}

function everyNode(io: Io) {
  const home = selectIdentity(io.env, 'default').dir
  return daemonsOf(io.env)
    .filter(
      entry => entry.id !== null && (entry.data_dir === home || entry.data_dir.startsWith(join(home, 'ids'))),
    )
    .map(entry => ({ ...findTarget(io, { id: entry.id as string }), id: entry.id as string }))
}

async function waitForEnd(io: Io, pid: number): Promise<void> {
  for (const deadline = io.now() + STOP_WAIT_MS; io.now() < deadline; await pause(POLL_MS)) {
    if (!isAlive(pid)) return
  }
  throw new CommandFailed(`the node (pid ${pid}) is still running after ${STOP_WAIT_MS / 1000} s`, 'svc logs')
}

export const status: Run = async (io, input) => {
  const reply = await connect(io, input).call('status')
  printJson(io, reply)
  if (reply.build !== buildInfo.build)
    io.err(
      `svc: the node runs build ${reply.build}, this command is of build ${buildInfo.build}; to change over: svc stop, then svc up\n`,
    )
  return 0
}

export const logs: Run = async (io, input) => {
  const dir = selectIdentity(io.env, input.id).dir
  const count =
    input.positionals[0] === undefined ? LOG_LINES_DEFAULT : parseInteger(input.positionals[0], '[N]')
  io.out(logTail(dir, input.flags.has('--all') ? Number.POSITIVE_INFINITY : count))
  return 0
}

function logTail(dir: string, lines: number): string {
  const file = join(dir, 'daemon.log')
  const text = [readOr(`${file}.1`), readOr(file)].filter(one => one !== undefined)
  if (text.length === 0) throw new CommandFailed(`no log at ${file}`, 'svc up')
  const all = text
    .join('')
    .split('\n')
    .filter(line => line !== '')
  const kept = lines === Number.POSITIVE_INFINITY ? all : all.slice(Math.max(0, all.length - lines))
  return kept.length === 0 ? '' : `${kept.join('\n')}\n`
}

/** A log that has grown is kept as one older file beside the present one. */
function readOr(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

export const mcp: Run = async (io, input) => {
  const { runClient } = await import('../run/mcp.ts')
  return runClient(io, input)
}
