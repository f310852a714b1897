/** A node that runs: stop, status, logs, mcp. */
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { namedHolder } from '../../daemon/home/holder.ts'
import { daemonsOf, identityNames, isAlive, selectIdentity } from '../../daemon/home/home.ts'
import { buildInfo } from '../../protocol/build-info.ts'
import { connect, findTarget, type Target, UnreachableNode, unreachable } from '../client/control.ts'
import { describe, type Running } from '../client/entries.ts'
import { logTail } from '../client/log-tail.ts'
import type { Run } from '../command.ts'
import { CommandFailed, type Io, notice, printReply } from '../io.ts'
import { parseInteger } from './values.ts'

const STOP_WAIT_MS = 10_000
const POLL_MS = 50
const LOG_LINES_DEFAULT = 80

export const stop: Run = async (io, input) => {
  const all = input.flags.has('--all')
  printReply(io, { stopped: all ? await stopAll(io) : await stopOne(io, input.id, sayNothingRuns) })
  return 0
}

/** Stops every node of this home; those that ran. */
export async function stopAll(io: Io): Promise<Running[]> {
  const stopped: Running[] = []
  for (const id of everyName(io)) stopped.push(...(await stopOne(io, id, () => {})))
  return stopped
}

async function stopOne(
  io: Io,
  id: string | undefined,
  onNone: (io: Io, target: Target) => void,
): Promise<Running[]> {
  const target = findTarget(io, { id })
  const running = target.entry ?? (await unannounced(io, id, target))
  if (running === undefined) {
    onNone(io, target)
    return []
  }
  await connect(io, { id }).call('shutdown', {})
  await waitForEnd(io, running)
  return [describe(running)]
}

/** A node of this directory that was started under another runtime directory, where it told of itself. */
async function unannounced(io: Io, id: string | undefined, target: Target): Promise<Running | undefined> {
  try {
    const running = await connect(io, { id }).call('status')
    return running.data_dir === target.dataDir ? { ...running, control_addr: target.address } : undefined
  } catch (error) {
    if (error instanceof UnreachableNode) return undefined
    throw error
  }
}

/** What is to be stopped does not run, which is as it should be, unless another node was meant. */
function sayNothingRuns(io: Io, target: Target): void {
  const refused = unreachable(io, target)
  if (refused.isAbsent) throw refused
  notice(io, refused.message)
}

/** Every identity of this home; one that is gone may still have its node. */
function everyName(io: Io): string[] {
  const home = selectIdentity(io.env, 'default').dir
  const announced = daemonsOf(io.env)
    .filter(entry => entry.data_dir === home || entry.data_dir.startsWith(join(home, 'ids')))
    .flatMap(entry => entry.id ?? [])
  return [...new Set([...announced, ...identityNames(io.env)])]
}

/** A session of an agent that was the node lives on without it. */
async function waitForEnd(io: Io, { pid, data_dir: dir }: Running): Promise<void> {
  for (const deadline = io.now() + STOP_WAIT_MS; io.now() < deadline; await pause(POLL_MS)) {
    if (!isAlive(pid) || namedHolder(dir)?.pid !== pid) return
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
