/**
 * `svc daemon` in the foreground, and `svc daemon --stdio`: the node with the nine tools on its own stdio. Where a
 * daemon of the identity runs already, the stdio form joins it as a client, and takes over when that one ends.
 */
import { existsSync } from 'node:fs'
import { setGlobalProxyFromEnv } from 'node:http'
import { join } from 'node:path'
import { callsOf } from '../../daemon/control/invoke.ts'
import { settingsWarning } from '../../daemon/control/warnings.ts'
import { ConfigError, controlPort, readConfig, writeConfig } from '../../daemon/home/config.ts'
import {
  CONTROL_HOST,
  freeControlPort,
  identityDirectory,
  identityNames,
  type Selection,
  selectIdentity,
} from '../../daemon/home/home.ts'
import { DirectoryBusy } from '../../daemon/home/lock.ts'
import { isStopped } from '../../daemon/home/stopped.ts'
import { type Node, startNode } from '../../daemon/node.ts'
import { ensureSecretDirectory } from '../../daemon/platform/files.ts'
import { collectWhenQuiet } from '../../daemon/platform/stream-memory.ts'
import type { ControlCall } from '../../mcp/tool.ts'
import { buildInfo } from '../../protocol/build-info.ts'
import { proxiesIn } from '../../protocol/contract/proxies.ts'
import { systemCode } from '../../protocol/encoding/errors.ts'
import { systemTimers } from '../../protocol/timers.ts'
import { findTarget, UnreachableNode, unreachable } from '../client/control.ts'
import type { Input } from '../command.ts'
import { CommandFailed, type Io, messageOf, notice, sayOnTerminal } from '../io.ts'
import { forgetLeanMemory } from './lean-memory.ts'
import { acrossRestarts, eventsOf, listenAgain, type Stream } from './node-link.ts'
import { Session } from './session.ts'
import { openTasks, SERVED, toolCalls } from './tool-calls.ts'
import { toolSettings } from './tool-settings.ts'

const TAKE_OVER_LOOK_MS = 2_000

/** Runs the node until a signal, `svc stop` or, on stdio, the end of the client. */
export async function runDaemon(io: Io, input: Input, options: { stdio: boolean }): Promise<number> {
  forgetLeanMemory(process.env)
  const proxies = proxiesIn(process.env)
  // whatever this process asks for besides hubs: model servers, capabilities
  if (proxies !== undefined) setGlobalProxyFromEnv(proxies)
  return options.stdio ? runStdio(io, input) : runForeground(io, input)
}

async function runForeground(io: Io, input: Input): Promise<number> {
  const ended = Promise.withResolvers<void>()
  const selection = selectIdentity(io.env, input.id)
  const node = await openNode(io, selection, ended.resolve)
  collectWhenQuiet(systemTimers, () => node.ctx.store.releaseMemory())
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => ended.resolve())
  io.out(
    `${JSON.stringify({ state: 'running', aid: node.aid, pid: process.pid, control_addr: node.controlAddress, data_dir: selection.dir }, null, 2)}\n`,
  )
  sayWarnings(io, node)
  sayOnTerminal(io, 'running until Ctrl-C or svc stop')
  await ended.promise
  await node.stop()
  return 0
}

/** What stands in the configuration in vain; `svc up` repeats it. */
function sayWarnings(io: Io, node: Node): void {
  const warning = settingsWarning(node.ctx.settings.current)
  if (warning !== undefined) notice(io, warning)
}

/** Starts the node of the selected identity; a data directory that is new gets a control port of its own. */
async function openNode(io: Io, { dir, name }: Selection, onShutdown: () => void): Promise<Node> {
  try {
    const isPortNew = !existsSync(join(dir, 'config.json'))
    if (isPortNew) await choosePort(io, dir)
    return await startNode({ dir, name, env: io.env, isPortNew, onShutdown })
  } catch (error) {
    throw explain(error as Error, dir)
  }
}

function explain(error: Error, dir: string): Error {
  if (error instanceof DirectoryBusy) return error
  const config = join(dir, 'config.json')
  if (systemCode(error) === 'EADDRINUSE')
    return new CommandFailed(
      `the control address ${readConfig(dir).control_addr} is in use`,
      `change control_addr in ${config}`,
    )
  if (error instanceof ConfigError) return new CommandFailed(error.message, `correct ${config}`)
  return error
}

async function choosePort(io: Io, dir: string): Promise<void> {
  ensureSecretDirectory(dir)
  const others = identityNames(io.env).map(name => identityDirectory(io.env, name))
  const taken = new Set(others.filter(other => other !== dir).map(other => controlPort(readConfig(other))))
  writeConfig(dir, { ...readConfig(dir), control_addr: `${CONTROL_HOST}:${await freeControlPort(taken)}` })
}

async function runStdio(io: Io, input: Input): Promise<number> {
  const mcp = await import('#mcp')
  const settings = toolSettings(io, input, mcp)
  const seat = new Seat(io, input)
  const call = await seat.take()
  const open = await openTasks(call)
  const link = { call: toolCalls(call), listen: listenAgain(seat.stream) }
  sayOnTerminal(io, SERVED)
  const reason = await mcp.serveStdio(era =>
    mcp.createServer(link, { version: buildInfo.version, open, ...settings }, era),
  )
  notice(io, `the MCP server ends: ${reason}`)
  await seat.leave()
  return 0
}

const STOPPED = '; it was stopped, and this session waits until it is started again'

type OwnNode = { node: Node; ended: AbortController }

/**
 * The node behind a stdio server: our own, or a running one that we join until it ends. One that a person stopped is not
 * opened again by a session that had it.
 */
class Seat {
  readonly #io: Io
  readonly #session: Session
  #own: OwnNode | undefined
  #closing: Promise<void> | undefined
  #opening: Promise<void> | undefined
  #watch: NodeJS.Timeout | undefined
  #left = false

  constructor(io: Io, input: Input) {
    this.#io = io
    this.#session = new Session(io, input)
  }

  async take(): Promise<ControlCall> {
    await this.#settle()
    this.#watch = setInterval(() => void this.#settle().catch(() => {}), TAKE_OVER_LOOK_MS)
    return acrossRestarts(
      async (...given) => {
        try {
          return await this.#call(...given)
        } catch (error) {
          throw error instanceof UnreachableNode && this.#isStopped ? this.#stopped(error.cause) : error
        }
      },
      async () => {
        await this.#settle()
        return !this.#left
      },
    )
  }

  /** Events of whichever node is there. */
  readonly stream: Stream = async (hear, signal) => {
    await this.#settle()
    const own = this.#own
    if (own === undefined) return eventsOf(this.#io, this.#session)(hear, signal)
    const stop = own.node.ctx.events.listen(hear.onEvent)
    hear.onOpen()
    const either = AbortSignal.any([signal, own.ended.signal])
    await new Promise(resolve => either.addEventListener('abort', resolve))
    stop()
  }

  /** Our own node is called in this process; only another one is asked over its control interface. */
  get #call(): ControlCall {
    if (this.#own !== undefined) return callsOf(this.#own.node)
    return async (...given) => (await this.#session.connect(this.#io)).call(...given)
  }

  async leave(): Promise<void> {
    this.#left = true
    clearInterval(this.#watch)
    await this.#opening
    await this.#own?.node.stop()
    await this.#closing
  }

  /** Opens the node here unless one of this identity runs somewhere; one attempt at a time. */
  #settle(): Promise<void> {
    if (this.#own !== undefined || this.#left) return Promise.resolve()
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined
    })
    return this.#opening
  }

  async #open(): Promise<void> {
    const { selection } = this.#session
    await this.#closing
    // looked for anew: a node that was killed leaves its socket behind
    const target = findTarget(this.#io, { selection })
    if (target.entry !== undefined || this.#isStopped) return
    // an identity that is gone is not made anew under the name of a session
    if (this.#session.hasBegun && !existsSync(join(selection.dir, 'identity.kel')))
      throw unreachable(this.#io, target)
    try {
      const shutDown = Promise.withResolvers<void>()
      const node = await openNode(this.#io, selection, shutDown.resolve)
      await this.#admit(node)
      void shutDown.promise.then(() => this.#end())
    } catch (error) {
      if (!(error instanceof DirectoryBusy)) throw error
    }
  }

  /** Whether a person stopped the node that this session had. */
  get #isStopped(): boolean {
    return this.#session.hasBegun && isStopped(this.#session.selection.dir)
  }

  #stopped(cause: unknown): UnreachableNode {
    return unreachable(this.#io, findTarget(this.#io, { selection: this.#session.selection }), STOPPED, cause)
  }

  /** Ends the own node and stays, for whatever node comes after it. */
  #end(): void {
    const own = this.#own
    this.#own = undefined
    own?.ended.abort()
    this.#closing = own?.node.stop().catch(error => notice(this.#io, messageOf(error)))
  }

  /** Serves the tools with a node that was opened here, if it is of the session's identity. */
  async #admit(node: Node): Promise<void> {
    try {
      this.#session.require(node.aid)
      this.#own = { node, ended: new AbortController() }
    } catch (error) {
      await node.stop()
      throw error
    }
  }
}
