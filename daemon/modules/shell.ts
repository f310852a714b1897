/**
 * Commands of the owner for callers that the owner names. Three gates: the module is compiled in, it is configured, and
 * the caller stands in the list. Every run and every refusal is recorded in the evidence chain, its output never.
 */

import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute } from 'node:path'
import { wordsOf } from '../../protocol/encoding/errors.ts'
import { present } from '../../protocol/encoding/present.ts'
import type { Timer, Timers } from '../../protocol/timers.ts'
import type { Chain } from '../chain/chain.ts'
import type { ShellCommand, ShellConfig } from '../home/module-config.ts'
import type { Machine } from '../platform/machine.ts'
import {
  type Arguments,
  type CallOutcome,
  type CapabilityCall,
  failed,
  type Module,
  onlyMembers,
  type Provider,
  ProviderFailed,
  unavailable,
} from './provider.ts'

const EXEC_TIMEOUT_S = 60
const ARGUMENTS_MAX = 64
const ARGUMENT_CHARACTERS_MAX = 4096
const COMMAND_CHARACTERS_MAX = 16 * 1024
/** What the time limit of a provider adds to that of the command, which ends the command itself. */
const MARGIN_MS = 10_000
/** A process that left the group may hold the pipes open; the answer does not wait for it. */
const DRAIN_MS = 500
const ENVIRONMENT = ['PATH', 'HOME', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR', 'USER'] as const

export const module: Module | undefined = {
  name: 'shell',
  open(ground) {
    const { shell } = ground.config
    return shell === undefined ? [] : new Shell(shell, ground.chain, ground).providers()
  },
}

type Line = { words: readonly string[]; dir: string; timeoutS: number }

class Shell {
  readonly #config: ShellConfig
  readonly #chain: Chain
  readonly #machine: Machine

  constructor(config: ShellConfig, chain: Chain, machine: Machine) {
    this.#config = config
    this.#chain = chain
    this.#machine = machine
    const { log } = machine
    if (this.#allowed().length === 0) log.warn('the shell module lets nobody call: its list is empty')
    if (config.allow_arbitrary)
      log.warn('the shell module runs any command of those who may call (shell.exec)')
  }

  providers(): Provider[] {
    const { commands, allow_arbitrary } = this.#config
    const named = Object.entries(commands).map(([name, command]) =>
      this.#provider(`run@${name}`, command.description, command.timeout_seconds, call =>
        this.#run(call, () => lineOf(command, call.args)),
      ),
    )
    const exec = this.#provider('exec', 'runs a command of the caller', EXEC_TIMEOUT_S, call =>
      this.#run(call, () => arbitraryLine(call.args)),
    )
    const list = this.#provider(
      'list',
      'the commands that can be run',
      EXEC_TIMEOUT_S,
      async call => this.#refusal(call) ?? this.#list(call),
    )
    return [list, ...named, ...(allow_arbitrary ? [exec] : [])]
  }

  #provider(name: string, summary: string, timeoutS: number, run: Provider['run']): Provider {
    return {
      capability: `shell.${name}`,
      summary,
      published: name.startsWith('run@'),
      timeoutMs: timeoutS * 1000 + MARGIN_MS,
      trust: { verify: 2, auth: 2 },
      isPrivate: true,
      run,
    }
  }

  /** AIDs that may call; the file is read anew, and one that cannot be read lets nobody. */
  #allowed(): readonly string[] {
    const { allow = [], allow_file } = this.#config
    if (allow_file === undefined) return allow
    try {
      const lines = readFileSync(allow_file, 'utf8').split('\n')
      return lines.map(line => line.trim()).filter(line => line !== '')
    } catch {
      return []
    }
  }

  /** Why this caller gets nothing, which is recorded; undefined for one that may call. */
  #refusal({ caller, capability }: CapabilityCall): CallOutcome | undefined {
    const reason =
      caller === undefined
        ? !this.#config.allow_local && 'a call without a caller is not allowed; set allow_local'
        : !this.#allowed().includes(caller) && 'this caller is not allowed'
    if (reason === false) return undefined
    this.#chain.append('svc.shell.refused', { caller: caller ?? '', capability, reason })
    return unavailable(reason)
  }

  #list({ caller, args }: CapabilityCall): CallOutcome {
    onlyMembers(args, [])
    const { commands, allow_arbitrary } = this.#config
    const allowed = this.#allowed()
    const shown = {
      commands: Object.entries(commands).map(([name, { description, timeout_seconds }]) => ({
        name,
        description,
        timeout_seconds,
      })),
      allow_arbitrary,
      allowed_callers: allowed.length,
      ...present({ allowed_caller_aids: caller === undefined ? allowed : undefined }),
    }
    return {
      status: 'OK',
      metrics: { commands: shown.commands.length },
      protocol: 'shell',
      observedState: JSON.stringify(shown),
    }
  }

  async #run(call: CapabilityCall, line: () => Line): Promise<CallOutcome> {
    const refusal = this.#refusal(call)
    if (refusal !== undefined) return refusal
    const { words, dir, timeoutS } = line()
    const started = this.#machine.now()
    const bytesMax = this.#config.max_output_bytes
    const ran = await runCommand(
      { words, dir, timeoutS, bytesMax, timers: this.#machine.timers },
      call.signal,
    )
    const durationMs = Math.max(0, Math.round(this.#machine.now() - started))
    const { exitCode, isKilled, outputBytes, output } = ran
    this.#chain.append('svc.shell.command', {
      caller: call.caller ?? '',
      capability: call.capability,
      command: words.join(' '),
      exit_code: exitCode,
      killed: isKilled,
      duration_ms: durationMs,
      output_bytes: outputBytes,
    })
    const outcome = isKilled ? failed(`killed after ${timeoutS} s`) : ended(exitCode)
    return {
      ...outcome,
      metrics: { exit_code: exitCode, duration_ms: durationMs, output_bytes: outputBytes },
      protocol: 'shell',
      observedState: output,
    }
  }
}

const ended = (exitCode: number): CallOutcome =>
  exitCode === 0 ? { status: 'OK' } : failed(`exit ${exitCode}`)

function lineOf(command: ShellCommand, args: Arguments): Line {
  onlyMembers(args, ['argv'])
  const { argv: more = [] } = args
  if (!Array.isArray(more) || more.length > ARGUMENTS_MAX || !more.every(isArgument))
    throw new ProviderFailed(`expected argv: a list of at most ${ARGUMENTS_MAX} texts`)
  requireAllowed(command, more)
  const { argv, end_of_options, dir, timeout_seconds } = command
  const marked = end_of_options && more.length > 0 ? ['--', ...more] : more
  return { words: [...argv, ...marked], dir: dir ?? homedir(), timeoutS: timeout_seconds }
}

/** An argument may be an option that writes, sends or runs: the owner says how many there may be, and of which form. */
function requireAllowed({ arguments: allowed }: ShellCommand, more: readonly string[]): void {
  const most = typeof allowed === 'number' ? allowed : allowed.length
  if (more.length > most)
    throw new ProviderFailed(
      most === 0 ? 'this command takes no arguments' : `this command takes at most ${most} arguments`,
    )
  if (typeof allowed === 'number') return
  for (const [n, text] of more.entries())
    if (!new RegExp(`^(?:${allowed[n]})$`, 'u').test(text))
      throw new ProviderFailed(`argument ${n + 1} has not the form that this command takes`)
}

const isArgument = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= ARGUMENT_CHARACTERS_MAX && !value.includes('\0')

function arbitraryLine(args: Arguments): Line {
  onlyMembers(args, ['command', 'dir'])
  const { command, dir = homedir() } = args
  if (typeof command !== 'string' || command.length > COMMAND_CHARACTERS_MAX || command.includes('\0'))
    throw new ProviderFailed('expected command: a text')
  if (typeof dir !== 'string' || !isAbsolute(dir) || dir.includes('\0'))
    throw new ProviderFailed('expected dir: an absolute path')
  return { words: ['/bin/sh', '-c', command], dir, timeoutS: EXEC_TIMEOUT_S }
}

type Ran = { exitCode: number; isKilled: boolean; outputBytes: number; output: string }
type Run = Line & { bytesMax: number; timers: Timers }

/** One run in a process group of its own, which is killed as a whole when its time is over or nobody waits. */
function runCommand({ words, dir, timeoutS, bytesMax, timers }: Run, signal: AbortSignal): Promise<Ran> {
  const [program = '', ...args] = words
  const { promise, resolve, reject } = Promise.withResolvers<Ran>()
  const env = Object.fromEntries(ENVIRONMENT.flatMap(name => withValue(name)))
  const child = spawn(program, args, { cwd: dir, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  const kept: Buffer[] = []
  let outputBytes = 0
  let isKilled = false
  let drained: Timer | undefined
  const take = (chunk: Buffer) => {
    const room = bytesMax - Math.min(outputBytes, bytesMax)
    outputBytes += chunk.length
    if (room > 0) kept.push(chunk.subarray(0, room))
  }
  const kill = () => {
    isKilled = true
    killGroup(child.pid)
  }
  const time = timers.after(timeoutS * 1000, kill)
  if (signal.aborted) kill()
  signal.addEventListener('abort', kill, { once: true })
  child.stdout.on('data', take)
  child.stderr.on('data', take)
  const settle = () => {
    timers.clear(time)
    timers.clear(drained)
    signal.removeEventListener('abort', kill)
  }
  child.on('error', error => {
    settle()
    reject(new ProviderFailed(`the command does not start: ${wordsOf(error)}`))
  })
  child.on('exit', () => {
    killGroup(child.pid)
    drained = timers.after(DRAIN_MS, () => {
      child.stdout.destroy()
      child.stderr.destroy()
    })
  })
  child.on('close', code => {
    settle()
    const output = Buffer.concat(kept).toString('utf8').toWellFormed()
    resolve({ exitCode: code ?? -1, isKilled, outputBytes, output })
  })
  return promise
}

function withValue(name: string): [string, string][] {
  const value = process.env[name]
  return value === undefined ? [] : [[name, value]]
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // the group is gone
  }
}
