/** A node that runs: stop, status, logs, mcp. */
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { daemonsOf, isAlive, selectIdentity } from '../../daemon/home/home.ts'
import { buildInfo } from '../../protocol/build-info.ts'
import { connect, findTarget, type Target, unreachable } from '../client/control.ts'
import { describe } from '../client/entries.ts'
import { logTail } from '../client/log-tail.ts'
import type { Run } from '../command.ts'
import { CommandFailed, type Io, notice, printReply } from '../io.ts'
import { parseInteger } from './values.ts'

const STOP_WAIT_MS = 10_000
const POLL_MS = 50
const LOG_LINES_DEFAULT = 80

export const stop: Run = async (io, input) => {
  const targets = input.flags.has('--all')
    ? everyNode(io)
    : [{ ...findTarget(io, input), id: input.id as string | undefined }]
  const stopped = []
  for (const target of targets) {
    if (target.entry === undefined) {
      sayNothingRuns(io, target)
      continue
    }
    await connect(io, { id: target.id }).call('shutdown', {})
    await waitForEnd(io, target.entry.pid)
    stopped.push(describe(target.entry))
  }
  printReply(io, { stopped })
  return 0
}

/** What is to be stopped does not run, which is as it should be, unless another node was meant. */
function sayNothingRuns(io: Io, target: Target): void {
  const refused = unreachable(io, target)
  if (refused.isAbsent) throw refused
  notice(io, refused.message)
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
  printReply(io, reply)
  if (reply.build !== buildInfo.build)
    notice(
      io,
      `the node runs build ${reply.build}, this command is of build ${buildInfo.build}; to change over: svc stop && svc up`,
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

export const mcp: Run = async (io, input, table) => {
  const { runClient } = await import('../run/mcp.ts')
  const { up } = await import('./start.ts')
  // standard output is the protocol's
  const aside = Object.create(io, { out: { value: () => {} } }) as Io
  const start = input.flags.has('--start') ? () => up(aside, input, table) : undefined
  return runClient(io, input, start)
}
