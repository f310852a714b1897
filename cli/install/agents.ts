/** The coding agents that svc installs itself into: where each keeps its instructions and its MCP servers. */
import { homedir } from 'node:os'
import { join } from 'node:path'
import { shellWord } from '../../protocol/shell.ts'
import { codexTables } from './codex-table.ts'
import { type Entry, mergedEntry } from './server-entry.ts'
import type { Setting } from './settings.ts'

export type Env = Readonly<Record<string, string | undefined>>

/** How this program is started, in absolute paths, for the identity that was selected. */
export type Launch = {
  readonly command: string
  readonly program: string
  readonly id: string | undefined
  readonly env: Readonly<Record<string, string>>
}

/** A configuration file and what goes into it. */
export type Registration = { readonly path: string } & (
  | { readonly settings: readonly Setting[] }
  | {
      readonly toml: string
      /** What takes the place of what stands between our markers. */
      readonly over: (held: string) => string
    }
)

export type AgentTool = {
  readonly id: string
  readonly name: string
  /** The program on the PATH that shows it is installed. */
  readonly program: string
  persona(env: Env): string
  /** What registers the server so that its tools are seen directly. */
  register(env: Env, launch: Launch): readonly Registration[]
  /** What has it hear of mail at its own events; undefined where its configuration has no hooks that are known here. */
  hooks?(env: Env, launch: Launch): readonly Registration[]
  /** What lets it send without asking each time; undefined where its configuration has no such word. */
  allowSend?(env: Env, launch: Launch): readonly Registration[]
  /** Its only word for that trusts the whole server. */
  readonly trustsAll?: true
  /** What earlier releases wrote and this one does not. */
  former?(env: Env): readonly Registration[]
  /** What its model cannot do where no user is there to be asked, and the way out. */
  readonly unattended?: string
}

const HOOK_WAIT_S = 10

/** The name under which the server is registered. */
export const SERVER = 'svc'
/** Tools that change something elsewhere. */
export const SENDING_TOOLS = ['task_delegate', 'task_message', 'task_end'] as const
/** Tools that change nothing. */
export const READING_TOOLS = [
  'agents_find',
  'task_results',
  'task_inbox',
  'evidence_read',
  'credit_balance',
  'node_status',
] as const

const home = (env: Env) => env['HOME'] || homedir()
const under = (env: Env, variable: string, ...fallback: string[]) =>
  env[variable] || join(home(env), ...fallback)

const claudeFolder = (env: Env) => under(env, 'CLAUDE_CONFIG_DIR', '.claude')
const claudeState = (env: Env) => join(env['CLAUDE_CONFIG_DIR'] || home(env), '.claude.json')
const codexFolder = (env: Env) => under(env, 'CODEX_HOME', '.codex')
const geminiFolder = (env: Env) => join(env['GEMINI_CLI_HOME'] || home(env), '.gemini')
const openCodeFolder = (env: Env) => join(under(env, 'XDG_CONFIG_HOME', '.config'), 'opencode')
const qwenFolder = (env: Env) => under(env, 'QWEN_HOME', '.qwen')
const copilotFolder = (env: Env) => under(env, 'COPILOT_HOME', '.copilot')
const openClawFolder = (env: Env) =>
  env['OPENCLAW_STATE_DIR'] || join(env['OPENCLAW_HOME'] || home(env), '.openclaw')

/** A line for a shell that calls this very program. */
export function shellLine({ command, program, id, env }: Launch, words: readonly string[]): string {
  const settings = Object.entries(env).map(([name, value]) => `${name}=${shellWord(value)}`)
  const line = [command, program, ...(id === undefined ? [] : ['--id', id]), ...words]
  return [...settings, ...line.map(shellWord)].join(' ')
}

const serverArgs = ({ program, id }: Launch) => [
  program,
  'mcp',
  '--start',
  ...(id === undefined ? [] : ['--id', id]),
]
const entry = (launch: Launch) => ({
  command: launch.command,
  args: serverArgs(launch),
  env: { ...launch.env },
})

/** Our server among those of a tool, which leaves what its owner added and refuses what is somebody else's. */
const server = (launch: Launch, path: readonly string[], value: Entry): Setting => ({
  path,
  value,
  over: held => mergedEntry(held, value, launch),
})

/** Settings that have `svc hook inbox` run at these events of a tool. */
function hookSettings(launch: Launch, format: string, events: readonly string[]): Setting[] {
  const command = shellLine(launch, ['hook', 'inbox', '--format', format])
  return events.map(event => ({
    path: ['hooks', event],
    add: [{ hooks: [{ type: 'command', command }] }],
    isOurs: isOurHook,
  }))
}

/** The same in the form of copilot's own files of hooks. */
function copilotHooks(launch: Launch, events: readonly string[]): Setting[] {
  const bash = shellLine(launch, ['hook', 'inbox', '--format', 'copilot'])
  const hooks = events.map(event => ({
    path: ['hooks', event],
    add: [{ type: 'command', bash, timeoutSec: HOOK_WAIT_S }],
    isOurs: isOurHook,
  }))
  return [{ path: ['version'], value: 1 }, ...hooks]
}

const isOurHook = (entry: unknown): boolean => /svc\.js.* hook inbox --format /.test(JSON.stringify(entry))

/** Of a tool that keeps its servers in one JSON file, where one that is trusted asks for nothing. */
function trusting(path: (env: Env) => string, more: Entry = {}) {
  const place = ['mcpServers', SERVER]
  return {
    register: (env: Env, launch: Launch) => [
      { path: path(env), settings: [server(launch, place, { ...entry(launch), ...more })] },
    ],
    allowSend: (env: Env, launch: Launch) => [
      { path: path(env), settings: [server(launch, place, { ...entry(launch), ...more, trust: true })] },
    ],
    trustsAll: true as const,
  }
}

/** Permissions of Claude Code for these tools. */
const claudeAllows = (env: Env, tools: readonly string[]): Registration => ({
  path: join(claudeFolder(env), 'settings.json'),
  settings: [{ path: ['permissions', 'allow'], add: tools.map(tool => `mcp__${SERVER}__${tool}`) }],
})

export const agentTools: readonly AgentTool[] = [
  {
    id: 'claude',
    name: 'Claude Code',
    program: 'claude',
    persona: env => join(claudeFolder(env), 'CLAUDE.md'),
    register: (env, launch) => [
      {
        path: claudeState(env),
        settings: [
          server(launch, ['mcpServers', SERVER], { type: 'stdio', ...entry(launch), alwaysLoad: true }),
        ],
      },
      claudeAllows(env, READING_TOOLS),
    ],
    former: env => [
      {
        path: join(claudeFolder(env), 'settings.json'),
        settings: [{ path: ['env', 'ENABLE_TOOL_SEARCH'], value: 'false' }],
      },
    ],
    hooks: (env, launch) => [
      {
        path: join(claudeFolder(env), 'settings.json'),
        settings: hookSettings(launch, 'claude', ['UserPromptSubmit', 'PostToolUse', 'Stop']),
      },
    ],
    allowSend: env => [claudeAllows(env, SENDING_TOOLS)],
  },
  {
    id: 'codex',
    name: 'Codex',
    program: 'codex',
    persona: env => join(codexFolder(env), 'AGENTS.md'),
    register: (env, launch) => [codexServer(join(codexFolder(env), 'config.toml'), launch, [])],
    hooks: (env, launch) => [
      {
        path: join(codexFolder(env), 'hooks.json'),
        settings: hookSettings(launch, 'codex', ['UserPromptSubmit', 'PostToolUse', 'Stop']),
      },
    ],
    allowSend: (env, launch) => [codexServer(join(codexFolder(env), 'config.toml'), launch, SENDING_TOOLS)],
  },
  {
    id: 'gemini',
    name: 'Gemini CLI',
    program: 'gemini',
    persona: env => join(geminiFolder(env), 'GEMINI.md'),
    unattended: 'is offered no tool of svc unless it was installed with --allow-send',
    ...trusting(env => join(geminiFolder(env), 'settings.json')),
    hooks: (env, launch) => [
      {
        path: join(geminiFolder(env), 'settings.json'),
        settings: hookSettings(launch, 'gemini', ['BeforeAgent', 'AfterTool', 'AfterAgent']),
      },
    ],
  },
  {
    id: 'opencode',
    name: 'OpenCode',
    program: 'opencode',
    persona: env => join(openCodeFolder(env), 'AGENTS.md'),
    register: (env, launch) => [
      {
        path: join(openCodeFolder(env), 'opencode.json'),
        settings: [
          server(launch, ['mcp', SERVER], {
            type: 'local',
            command: [launch.command, ...serverArgs(launch)],
            enabled: true,
            environment: { ...launch.env },
          }),
        ],
      },
    ],
  },
  {
    id: 'openclaw',
    name: 'OpenClaw',
    program: 'openclaw',
    persona: env =>
      join(env['OPENCLAW_WORKSPACE_DIR'] || join(openClawFolder(env), 'workspace'), 'AGENTS.md'),
    register: (env, launch) => [
      {
        path: env['OPENCLAW_CONFIG_PATH'] || join(openClawFolder(env), 'openclaw.json'),
        settings: [
          server(launch, ['mcp', 'servers', SERVER], entry(launch)),
          { path: ['tools', 'toolSearch'], value: false },
        ],
      },
    ],
  },
  {
    id: 'copilot',
    name: 'GitHub Copilot CLI',
    program: 'copilot',
    persona: env => join(copilotFolder(env), 'copilot-instructions.md'),
    unattended: `may call no tool of svc unless it is started with --allow-tool ${SERVER}`,
    register: (env, launch) => [
      {
        path: join(copilotFolder(env), 'mcp-config.json'),
        settings: [server(launch, ['mcpServers', SERVER], { type: 'local', ...entry(launch), tools: ['*'] })],
      },
    ],
    // what a hook prints as its user says something reaches nobody there
    hooks: (env, launch) => [
      {
        path: join(copilotFolder(env), 'hooks', 'svc.json'),
        settings: copilotHooks(launch, ['SessionStart', 'PostToolUse', 'Stop']),
      },
    ],
  },
  {
    id: 'qwen',
    name: 'Qwen Code',
    program: 'qwen',
    persona: env => join(qwenFolder(env), 'QWEN.md'),
    ...trusting(env => join(qwenFolder(env), 'settings.json'), { alwaysLoadTools: true }),
    // it takes the words of Claude Code
    hooks: (env, launch) => [
      {
        path: join(qwenFolder(env), 'settings.json'),
        settings: hookSettings(launch, 'claude', ['UserPromptSubmit', 'PostToolUse', 'Stop']),
      },
    ],
    former: env => [
      {
        path: join(qwenFolder(env), 'settings.json'),
        settings: [{ path: ['tools', 'toolSearch', 'enabled'], value: false }],
      },
    ],
  },
]

function codexServer(path: string, launch: Launch, approved: readonly string[]): Registration {
  const { command, env } = launch
  const start = { command, args: serverArgs(launch), env }
  const over = (held: string) => codexTables(start, approved, held, { ...launch, tools: SENDING_TOOLS })
  return { path, toml: codexTables(start, approved), over }
}
