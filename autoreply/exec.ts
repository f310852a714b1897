/**
 * The exec backend: one run of a program answers. The attacker is whoever wrote the task; what he must not get is this
 * machine. So: no shell, an empty work directory of its own, an environment of listed names only, the prompt on
 * standard input, a process group that is killed as a whole, and capped output.
 */
import { isUtf8 } from 'node:buffer'
import { spawn } from 'node:child_process'
import { accessSync, constants, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { wordsOf } from '../protocol/encoding/errors.ts'
import { type AgentRow, agents, findAgent, type Provider, type ToolAccess } from './agents.ts'
import { type Backend, BackendFailed, type BackendRequest } from './backend.ts'
import { lendLogin } from './private-home.ts'
import { promptMarker, promptText } from './prompt.ts'

export const OUTPUT_BYTES_MAX = 1024 * 1024
const STDERR_BYTES_MAX = 16 * 1024
const KILL_AFTER_MS = 5_000
const DRAIN_MS = 500
const COMMON_ENVIRONMENT = ['PATH', 'LANG', 'LC_ALL', 'TZ', 'HOME', 'TMPDIR', 'SystemRoot'] as const
const NO_ENVIRONMENT: readonly string[] = []

export type ExecOptions = {
  /** Coding agent by id, or a command line of one's own. */
  agent: string | undefined
  command: string | undefined
  extraArgs: readonly string[]
  model: string | undefined
  openclawAgent: string | undefined
  provider?: Provider | undefined
  tools: ToolAccess
  /** Folder under which each run gets an empty directory. */
  workRoot: string
  env: Readonly<Record<string, string | undefined>>
  random: (length: number) => Uint8Array
}

/** Builds the backend; `SVC_EXEC_COMMAND` replaces the program, for tests. */
export function execBackend(options: ExecOptions): Backend {
  const command = options.env['SVC_EXEC_COMMAND'] || options.command
  const agent = command === undefined || command === '' ? findAgent(options.agent ?? '') : undefined
  if (agent === undefined && !command) {
    throw new BackendFailed(
      `there is no agent "${options.agent ?? ''}"; choose one of ${agents.map(({ id }) => id).join(', ')}, or set --command`,
    )
  }
  if (agent?.alwaysTools && options.tools === 'none') {
    throw new BackendFailed(
      `${agent.id} cannot run without its own tools and configuration; say so with --tools read or write, or choose another agent`,
    )
  }
  if (options.provider !== undefined && agent?.provider === undefined)
    throw new BackendFailed(
      `${agent?.id ?? 'a command'} takes no --provider-url; set its own variables where the node is started`,
    )
  if (options.provider !== undefined && options.model === undefined)
    throw new BackendFailed('a provider needs the name of a model; set --model')
  const name = agent === undefined ? 'exec:command' : `exec:${agent.id}`
  return { name, reply: (request, signal) => run(options, agent, command ?? '', request, signal) }
}

/** Refuses a backend whose program is not there, before anybody asks it. */
export function requireProgram({
  agent,
  command,
  env,
}: Pick<ExecOptions, 'agent' | 'command' | 'env'>): void {
  const line = env['SVC_EXEC_COMMAND'] || command
  const program = line ? splitWords(line)[0] : findAgent(agent ?? '')?.bin
  if (program !== undefined && !isProgram(program, env['PATH'] ?? ''))
    throw new BackendFailed(`program not found: ${program}; install it, or give its path with --command`)
}

/** Whether a command line may start with this word: a file that can be run, found as the system finds it. */
function isProgram(word: string, path: string): boolean {
  const places = word.includes('/') ? [word] : path.split(delimiter).map(folder => join(folder, word))
  return places.some(place => {
    try {
      accessSync(place, constants.X_OK)
      return statSync(place).isFile()
    } catch {
      return false
    }
  })
}

async function run(
  options: ExecOptions,
  agent: AgentRow | undefined,
  command: string,
  request: BackendRequest,
  signal: AbortSignal,
): Promise<{ text: string }> {
  const marker = promptMarker(options.random)
  const folder = join(options.workRoot, `run-${marker}`)
  const [workDir, home] = [join(folder, 'work'), join(folder, 'home')]
  for (const path of [folder, workDir, home]) mkdirSync(path, { recursive: true, mode: 0o700 })
  const login = agent?.login?.(options.env)
  const giveBack = login && lendLogin(login, home)
  try {
    const prompt = promptText(request, marker)
    const promptFile = join(folder, 'request.txt')
    if (agent?.prompt === 'file') writeFileSync(promptFile, prompt, { mode: 0o600 })
    const words =
      agent === undefined
        ? splitWords(command)
        : [
            agent.bin,
            ...agent.argv({
              model: options.model,
              tools: options.tools,
              workDir,
              home,
              agentId: options.openclawAgent,
              promptFile,
              provider: options.provider,
            }),
          ]
    const provided = options.provider && agent?.provider?.(options.provider, options.model ?? '')
    const stdout = await runProgram(withArgs(words, [...(provided?.args ?? []), ...options.extraArgs]), {
      cwd: workDir,
      env: {
        ...environment(options, agent, home),
        ...agent?.privateHome?.(home, options.env),
        ...provided?.settings,
      },
      stdin: agent?.prompt === 'file' ? '' : prompt,
      signal,
    })
    const text = agent === undefined ? stdout.trim() : agentAnswer(agent, stdout)
    if (text === '') throw new BackendFailed(`${words[0]} printed no answer`)
    return { text }
  } finally {
    giveBack?.()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Further arguments stand before the sign after which everything is words. */
function withArgs(words: readonly string[], more: readonly string[]): string[] {
  const end = words.indexOf('--')
  return end < 0 ? [...words, ...more] : [...words.slice(0, end), ...more, ...words.slice(end)]
}

function agentAnswer(agent: AgentRow, stdout: string): string {
  let answer: string | undefined
  try {
    answer = agent.answer(stdout)
  } catch {
    answer = undefined
  }
  if (answer === undefined) throw new BackendFailed(`${agent.id} printed something that holds no answer`)
  return answer.trim()
}

/** A coding agent keeps its login under the owner's HOME; any other command gets one of its own. */
function environment(
  { env, provider }: Pick<ExecOptions, 'env' | 'provider'>,
  agent: AgentRow | undefined,
  own: string,
): Record<string, string> {
  const key = provider?.keyEnv === undefined ? [] : [provider.keyEnv]
  const names = [...COMMON_ENVIRONMENT, ...(agent?.environment ?? NO_ENVIRONMENT), ...key]
  const kept = names.flatMap(name => (env[name] === undefined ? [] : [[name, env[name]] as const]))
  const home = agent === undefined ? { HOME: own } : {}
  return { ...Object.fromEntries(kept), ...home, TERM: 'dumb', ...agent?.settings } as Record<string, string>
}

type Run = { cwd: string; env: Record<string, string>; stdin: string; signal: AbortSignal }

/** Runs one program to its end and returns what it printed; every other end is a {@link BackendFailed}. */
function runProgram(words: readonly string[], given: Run): Promise<string> {
  const [program, ...args] = words
  if (program === undefined) throw new BackendFailed('the command is empty')
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd: given.cwd,
      env: given.env,
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    const stdout: Buffer[] = []
    const stderr: Buffer[] = []
    let printed = 0
    let failure: string | undefined
    let hardKill: NodeJS.Timeout | undefined
    let drained: NodeJS.Timeout | undefined
    const kill = (why: string) => {
      failure ??= why
      killGroup(child.pid, 'SIGTERM')
      hardKill ??= setTimeout(() => killGroup(child.pid, 'SIGKILL'), KILL_AFTER_MS)
    }
    const onAbort = () => kill('it took too long and was ended')
    if (given.signal.aborted) onAbort()
    given.signal.addEventListener('abort', onAbort, { once: true })
    child.stdout.on('data', (chunk: Buffer) => {
      printed += chunk.length
      if (printed > OUTPUT_BYTES_MAX) kill(`it printed more than ${OUTPUT_BYTES_MAX} bytes`)
      else stdout.push(chunk)
    })
    child.stderr.on('data', (chunk: Buffer) => {
      if (Buffer.concat(stderr).length < STDERR_BYTES_MAX) stderr.push(chunk)
    })
    child.stdin.on('error', () => {})
    child.stdin.end(given.stdin)
    child.on('error', error => {
      given.signal.removeEventListener('abort', onAbort)
      reject(new BackendFailed(`${program} does not start: ${wordsOf(error)}`))
    })
    // a process that left the group may hold the pipes open for ever; the answer does not wait for it
    child.on('exit', () => {
      killGroup(child.pid, 'SIGKILL')
      drained = setTimeout(() => {
        child.stdout.destroy()
        child.stderr.destroy()
      }, DRAIN_MS)
    })
    child.on('close', code => {
      clearTimeout(hardKill)
      clearTimeout(drained)
      given.signal.removeEventListener('abort', onAbort)
      const tail = Buffer.concat(stderr).toString('utf8').trim().split('\n').slice(-3).join(' ')
      if (failure !== undefined) reject(new BackendFailed(`${program}: ${failure}`))
      else if (code !== 0)
        reject(
          new BackendFailed(`${program} ended with ${code ?? 'a signal'}${tail === '' ? '' : `: ${tail}`}`),
        )
      else if (!isText(Buffer.concat(stdout)))
        reject(new BackendFailed(`${program} printed something that is not text`))
      else resolve(Buffer.concat(stdout).toString('utf8'))
    })
  })
}

/** Text in UTF-8, as far as that can be told: nothing else is an answer. */
const isText = (bytes: Buffer): boolean => isUtf8(bytes) && !bytes.includes(0)

function killGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch {
    // the group is gone
  }
}

/** Splits a command line into words, with quotes and backslashes but nothing else of a shell. */
export function splitWords(line: string): string[] {
  const words: string[] = []
  let word: string | undefined
  let quote: string | undefined
  for (let i = 0; i < line.length; i++) {
    const character = line[i] as string
    if (quote !== undefined) {
      if (character === quote) quote = undefined
      else if (character === '\\' && quote === '"' && i + 1 < line.length) word = (word ?? '') + line[++i]
      else word = (word ?? '') + character
    } else if (character === '"' || character === "'") {
      quote = character
      word ??= ''
    } else if (character === '\\' && i + 1 < line.length) word = (word ?? '') + line[++i]
    else if (/\s/.test(character)) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else word = (word ?? '') + character
  }
  if (quote !== undefined) throw new BackendFailed(`the command has an open ${quote}`)
  return word === undefined ? words : [...words, word]
}
