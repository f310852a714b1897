/**
 * The exec backend: one run of a program answers. The attacker is whoever wrote the task; what he must not get is this
 * machine. So: no shell, an empty work directory of its own, an environment of listed names only, the prompt on
 * standard input, a process group that is killed as a whole, and capped output.
 */
import { existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { present } from '../protocol/encoding/present.ts'
import type { AgentRow, Provider, ToolAccess } from './agent-row.ts'
import { agents, findAgent } from './agents.ts'
import { type Answer, type Backend, BackendFailed, type BackendRequest, NotStarted } from './backend.ts'
import { complaintOf } from './complaint.ts'
import { lendLogin } from './private-home.ts'
import { findProgram, splitWords } from './program.ts'
import { promptMarker, promptText } from './prompt.ts'
import { withoutProxySecrets } from './proxy-secrets.ts'
import { madeFiles, OUT_FOLDER, placeFiles, readTexts } from './run-files.ts'
import { runProgram } from './run-program.ts'
import { confined, isWithin, PROGRAMS, type Sandbox } from './sandbox.ts'

const COMMON_ENVIRONMENT = ['PATH', 'LANG', 'LC_ALL', 'TZ', 'HOME', 'SystemRoot'] as const
/** By which a coding agent reaches its model: the proxy and the authority of a company's network. */
const CERTIFICATES = ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE'] as const
const NETWORK_ENVIRONMENT = [
  ...['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY', 'https_proxy', 'http_proxy', 'no_proxy'],
  ...CERTIFICATES,
]
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
  /** Whether what a run leaves in its folder `out` belongs to its answer. */
  sendsFiles?: boolean
  /** Folder under which each run gets an empty directory. */
  workRoot: string
  /** What holds a run, and the folders that it hides whatever else is shown. */
  sandbox: Sandbox
  hidden: readonly string[]
  env: Readonly<Record<string, string | undefined>>
  random: (length: number) => Uint8Array
}

/** Builds the backend; `SVC_EXEC_COMMAND` replaces the program, for tests. */
export function execBackend(options: ExecOptions): Backend {
  const command = options.env['SVC_EXEC_COMMAND'] || options.command
  const agent = command === undefined || command === '' ? findAgent(options.agent ?? '') : undefined
  if (agent === undefined && !command) {
    if (options.agent === undefined)
      throw new BackendFailed('the exec backend needs a program; name one with --agent or --command')
    throw new BackendFailed(
      `there is no agent "${options.agent ?? ''}"; choose one of ${agents.map(({ id }) => id).join(', ')}, or set --command`,
    )
  }
  requireUse(options, agent)
  const name = agent === undefined ? 'exec:command' : `exec:${agent.id}`
  const reply: Backend['reply'] = (request, signal) =>
    run(options, agent, command ?? '', request, signal).catch(error => {
      throw withoutSecrets(error, options.env)
    })
  return { name, reply }
}

/** What a program says of its failure goes into log and status. */
function withoutSecrets(error: unknown, env: ExecOptions['env']): unknown {
  if (!(error instanceof BackendFailed)) return error
  const said = withoutProxySecrets(error.message, env)
  return error instanceof NotStarted ? new NotStarted(said) : new BackendFailed(said)
}

/** Refuses settings that the agent has no use for. */
function requireUse(
  { openclawAgent, provider, model, tools }: ExecOptions,
  agent: AgentRow | undefined,
): void {
  if (openclawAgent !== undefined && tools === 'none')
    throw new BackendFailed(
      `agent ${openclawAgent} of openclaw brings its own tools and instructions; allow them with --tools read or write, or leave out --openclaw-agent`,
    )
  if (provider === undefined) return
  if (agent?.provider === undefined)
    throw new BackendFailed(
      `${agent?.id ?? 'a command'} takes no --provider-url; set its own variables where the node is started`,
    )
  if (tools !== 'none' && agent.ownFolders !== undefined)
    throw new BackendFailed(
      `with --tools ${agent.id} goes by its own configuration; name the server of models there, or leave out --tools`,
    )
  if (model === undefined) throw new BackendFailed('a provider needs the name of a model; set --model')
}

/** Refuses a backend whose program is not there, before anybody asks it. */
export function requireProgram({
  agent,
  command,
  env,
}: Pick<ExecOptions, 'agent' | 'command' | 'env'>): void {
  const line = env['SVC_EXEC_COMMAND'] || command || undefined
  if (command?.trim() === '')
    throw new BackendFailed('the command is empty; give a program and its arguments with --command')
  const words = line ? splitWords(line) : []
  requireWholePaths(words.slice(1))
  const program = line ? words[0] : findAgent(agent ?? '')?.bin
  if (program === undefined || findProgram(program, env['PATH'] ?? '') !== undefined) return
  throw new BackendFailed(whyNotRun(program, line === undefined))
}

/** In the empty folder of a run, a path that begins in this one leads nowhere. */
function requireWholePaths(args: readonly string[]): void {
  const relative = args.find(word => /^\.\.?\//.test(word))
  if (relative !== undefined)
    throw new BackendFailed(
      `${relative} is a relative path, and the program runs in an empty folder of its own; give the path from the root on`,
    )
}

function whyNotRun(program: string, isAgent: boolean): string {
  if (program.includes('/') && !isAbsolute(program))
    return `${program} is a relative path, and the node runs in another folder; give the path from the root on`
  if (isAbsolute(program) && existsSync(program))
    return `${program} is not an executable file; make it so with chmod +x, or put its interpreter before it`
  if (isAbsolute(program)) return `program not found: ${program}; correct the path`
  const missing = `program not found: ${program} is not on the PATH of the node`
  return isAgent
    ? `${missing}; install it for this user, and restart the node in a terminal that finds it: svc stop && svc up`
    : `${missing}; give its path from the root on`
}

async function run(
  options: ExecOptions,
  agent: AgentRow | undefined,
  command: string,
  request: BackendRequest,
  signal: AbortSignal,
): Promise<Answer> {
  const { tools, model, provider, sendsFiles = false } = options
  const marker = promptMarker(options.random)
  const folder = join(options.workRoot, `run-${marker}`)
  const [workDir, home, temporary] = [join(folder, 'work'), join(folder, 'home'), join(folder, 'tmp')]
  for (const path of [folder, workDir, home, temporary]) mkdirSync(path, { recursive: true, mode: 0o700 })
  const login = agent?.login?.(options.env)
  const giveBack = login && lendLogin(login, home)
  try {
    const placed = placeFiles(request, workDir)
    // a locked-down model opens nothing, so what is text stands in its prompt
    const files = agent !== undefined && tools === 'none' ? readTexts(request, placed) : placed
    if (sendsFiles) mkdirSync(join(workDir, OUT_FOLDER), { mode: 0o700 })
    const prompt = promptText(request, marker, files, sendsFiles)
    const promptFile = join(folder, 'request.txt')
    if (agent?.prompt === 'file') writeFileSync(promptFile, prompt, { mode: 0o600 })
    const line = commandLine(options, agent, command, { workDir, home, promptFile })
    const stdout = await runProgram(held(options, agent, line, folder), {
      name: options.sandbox.kind === 'none' ? (line[0] ?? '') : `${line[0]} (in bubblewrap)`,
      cwd: workDir,
      env: {
        ...environment(options, agent, home),
        TMPDIR: temporary,
        ...agent?.privateHome?.(home, options.env, { tools, model, provider }),
        ...(provider && agent?.provider?.(provider, model ?? '').settings),
      },
      stdin: agent?.prompt === 'file' ? '' : prompt,
      signal,
      isHeld: options.sandbox.kind !== 'none',
      whereToFind: whereToFind(options, line[0] ?? ''),
    })
    return answerIn(stdout, agent, { program: line[0] ?? '', madeIn: sendsFiles ? workDir : undefined })
  } finally {
    giveBack?.()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** What a run printed and, where that belongs to its answer, what it left. */
function answerIn(
  stdout: string,
  agent: AgentRow | undefined,
  { program, madeIn }: { program: string; madeIn: string | undefined },
): Answer {
  const text = agent === undefined ? stdout.trim() : agentAnswer(agent, stdout)
  if (text === '') throw new BackendFailed(`${program} printed no answer`)
  const made = madeIn === undefined ? [] : madeFiles(madeIn)
  return { text, ...present({ cost: costOf(agent, stdout), files: made.length === 0 ? undefined : made }) }
}

/** The program and its arguments, as one run of it is started. */
function commandLine(
  { model, tools, openclawAgent, provider, extraArgs }: ExecOptions,
  agent: AgentRow | undefined,
  command: string,
  paths: { workDir: string; home: string; promptFile: string },
): string[] {
  if (agent === undefined) return withArgs(splitWords(command), extraArgs)
  const words = [agent.bin, ...agent.argv({ ...paths, model, tools, agentId: openclawAgent, provider })]
  const provided = provider && agent.provider?.(provider, model ?? '').args
  return withArgs(words, [...(provided ?? []), ...extraArgs])
}

/** The same line inside the sandbox, where there is one. */
function held(
  { sandbox, hidden, env, tools }: ExecOptions,
  agent: AgentRow | undefined,
  line: readonly string[],
  folder: string,
): readonly string[] {
  if (sandbox.kind === 'none') return line
  // what the owner's own command line names is there for it; of an agent's, only the program
  const named = agent === undefined ? line.slice(1).filter(word => isAbsolute(word)) : []
  return confined(sandbox.program, line, {
    env,
    folder,
    hidden,
    named,
    alone: agent === undefined ? [] : CERTIFICATES.flatMap(name => env[name] ?? []).filter(isPlainFile),
    own: tools === 'none' ? [] : (agent?.ownFolders?.(env) ?? []),
    network: agent !== undefined,
  })
}

const isPlainFile = (path: string): boolean =>
  isAbsolute(path) && statSync(path, { throwIfNoEntry: false })?.isFile() === true

/** Beside the folders of the system, a sandbox shows a program and what stands beside it, too little for version managers. */
function whereToFind({ sandbox, env }: ExecOptions, program: string): string | undefined {
  const file = findProgram(program, env['PATH'] ?? '')
  if (sandbox.kind === 'none' || file === undefined || PROGRAMS.some(folder => isWithin(file, folder)))
    return undefined
  const place = isWithin(file, env['HOME'] ?? homedir()) ? 'your home' : 'outside of the system'
  return `; ${program} is started from ${place} (${file}): bubblewrap shows that folder alone and hides your home; name the whole path of an interpreter of the system, such as /usr/bin/python3, or set --no-sandbox`
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
  if (answer === undefined) {
    const said = complaintOf(Buffer.from(stdout))
    throw new BackendFailed(`${agent.id} printed something that holds no answer${said && `: ${said}`}`)
  }
  return answer.trim()
}

/** A log can do without it, so what cannot be read says nothing. */
function costOf(agent: AgentRow | undefined, stdout: string): string | undefined {
  try {
    return agent?.cost?.(stdout)
  } catch {
    return undefined
  }
}

/** An agent in lock-down has a home of its own; one with tools sees its owner's where nothing holds it, or where it can't do without. */
function environment(
  { env, provider, sandbox, tools }: Pick<ExecOptions, 'env' | 'provider' | 'sandbox' | 'tools'>,
  agent: AgentRow | undefined,
  own: string,
): Record<string, string> {
  const key = provider?.keyEnv === undefined ? [] : [provider.keyEnv]
  const network = agent === undefined ? NO_ENVIRONMENT : NETWORK_ENVIRONMENT
  const names = [...COMMON_ENVIRONMENT, ...network, ...(agent?.environment ?? NO_ENVIRONMENT), ...key]
  const kept = names.flatMap(name => (env[name] === undefined ? [] : [[name, env[name]] as const]))
  const isOwners =
    agent !== undefined && tools !== 'none' && (sandbox.kind === 'none' || agent.ownFolders !== undefined)
  const home = isOwners ? {} : { HOME: own }
  return { ...Object.fromEntries(kept), ...home, TERM: 'dumb', ...agent?.settings } as Record<string, string>
}
