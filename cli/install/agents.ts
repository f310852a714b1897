/** The coding agents that svc installs itself into: where each keeps its instructions and its MCP servers. */
import { present } from '../../protocol/encoding/present.ts'
import { shellWord } from '../../protocol/shell.ts'
import { codexTables } from './codex-table.ts'
import type { Root } from './known-projects.ts'
import { type Env, type Places, type ToolFiles, userPlaces } from './places.ts'
import { type Entry, mergedEntry } from './server-entry.ts'
import type { Setting } from './settings.ts'

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
  /** The project whose files these are; undefined of those of the user. */
  readonly root?: Root
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
  previous?(env: Env): readonly Registration[]
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

/**
 * Our server among those of a tool, which refuses what is somebody else's. It leaves what its owner added to his own
 * files; in those of a project, which anybody may have written, nothing stays that this installation does not write.
 */
const server = ({ root }: ToolFiles, launch: Launch, path: readonly string[], value: Entry): Setting => ({
  path,
  value,
  over: held => {
    const merged = mergedEntry(held, value, launch)
    return merged === undefined || root === undefined ? merged : value
  },
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

function isOurHook(entry: unknown): boolean {
  const text = JSON.stringify(entry)
  const program = text.indexOf('svc.js')
  return program >= 0 && text.includes(' hook inbox --format ', program)
}

/** Of a tool that keeps its servers in one JSON file, where one that is trusted asks for nothing. */
function trusting(place: ToolFiles, more: Entry = {}) {
  const { servers } = place
  const path = ['mcpServers', SERVER]
  return {
    register: (env: Env, launch: Launch) => [
      { path: servers(env), settings: [server(place, launch, path, { ...entry(launch), ...more })] },
    ],
    allowSend: (env: Env, launch: Launch) => [
      {
        path: servers(env),
        settings: [server(place, launch, path, { ...entry(launch), ...more, trust: true })],
      },
    ],
    trustsAll: true as const,
  }
}

/** Permissions of Claude Code for these tools; in a project no other one for them stays, whoever wrote it there. */
const claudeAllows = ({ root, settings }: ToolFiles, env: Env, tools: readonly string[]): Registration => ({
  path: settings(env),
  settings: [
    {
      path: ['permissions', 'allow'],
      add: tools.map(tool => `mcp__${SERVER}__${tool}`),
      ...present({ isOurs: root && isOurPermission }),
    },
  ],
})

const isOurPermission = (entry: unknown): boolean =>
  typeof entry === 'string' && (entry === `mcp__${SERVER}` || entry.startsWith(`mcp__${SERVER}__`))

/** Hooks in one file, in the form and at the events of a tool. */
const hooksIn =
  ({ hooks }: ToolFiles, settingsOf: (launch: Launch) => Setting[]) =>
  (env: Env, launch: Launch) => [{ path: hooks(env), settings: settingsOf(launch) }]

const CLAUDE_EVENTS = ['UserPromptSubmit', 'PostToolUse', 'Stop'] as const

const rows: Record<keyof Places, (place: ToolFiles) => AgentTool> = {
  claude: place => ({
    id: 'claude',
    name: 'Claude Code',
    program: 'claude',
    persona: place.persona,
    register: (env, launch) => [
      {
        path: place.servers(env),
        settings: [
          server(place, launch, ['mcpServers', SERVER], {
            type: 'stdio',
            ...entry(launch),
            alwaysLoad: true,
          }),
        ],
      },
      claudeAllows(place, env, READING_TOOLS),
      ...(place.root !== undefined
        ? [{ path: place.settings(env), settings: [{ path: ['enabledMcpjsonServers'], add: [SERVER] }] }]
        : []),
    ],
    previous: env => [
      {
        path: place.settings(env),
        settings: [{ path: ['env', 'ENABLE_TOOL_SEARCH'], value: 'false' }],
      },
    ],
    hooks: hooksIn(place, launch => hookSettings(launch, 'claude', CLAUDE_EVENTS)),
    allowSend: env => [claudeAllows(place, env, SENDING_TOOLS)],
  }),
  codex: place => ({
    id: 'codex',
    name: 'Codex',
    program: 'codex',
    persona: place.persona,
    register: (env, launch) => [codexServer(place, place.servers(env), launch, [])],
    hooks: hooksIn(place, launch => hookSettings(launch, 'codex', CLAUDE_EVENTS)),
    allowSend: (env, launch) => [codexServer(place, place.servers(env), launch, SENDING_TOOLS)],
  }),
  gemini: place => ({
    id: 'gemini',
    name: 'Gemini CLI',
    program: 'gemini',
    persona: place.persona,
    unattended: 'is offered no tool of svc unless it was installed with --allow-send',
    ...trusting(place),
    hooks: hooksIn(place, launch =>
      hookSettings(launch, 'gemini', ['BeforeAgent', 'AfterTool', 'AfterAgent']),
    ),
  }),
  opencode: place => ({
    id: 'opencode',
    name: 'OpenCode',
    program: 'opencode',
    persona: place.persona,
    register: (env, launch) => [
      {
        path: place.servers(env),
        settings: [
          server(place, launch, ['mcp', SERVER], {
            type: 'local',
            command: [launch.command, ...serverArgs(launch)],
            enabled: true,
            environment: { ...launch.env },
          }),
        ],
      },
    ],
  }),
  openclaw: place => ({
    id: 'openclaw',
    name: 'OpenClaw',
    program: 'openclaw',
    persona: place.persona,
    register: (env, launch) => [
      {
        path: place.servers(env),
        settings: [
          server(place, launch, ['mcp', 'servers', SERVER], entry(launch)),
          { path: ['tools', 'toolSearch'], value: false },
        ],
      },
    ],
  }),
  copilot: place => ({
    id: 'copilot',
    name: 'GitHub Copilot CLI',
    program: 'copilot',
    persona: place.persona,
    unattended: `may call no tool of svc unless it is started with --allow-tool ${SERVER}`,
    register: (env, launch) => [
      {
        path: place.servers(env),
        settings: [
          server(place, launch, ['mcpServers', SERVER], { type: 'local', ...entry(launch), tools: ['*'] }),
        ],
      },
    ],
    // what a hook prints as its user says something reaches nobody there
    hooks: hooksIn(place, launch => copilotHooks(launch, ['SessionStart', 'PostToolUse', 'Stop'])),
  }),
  qwen: place => ({
    id: 'qwen',
    name: 'Qwen Code',
    program: 'qwen',
    persona: place.persona,
    ...trusting(place, { alwaysLoadTools: true }),
    // it takes the words of Claude Code
    hooks: hooksIn(place, launch => hookSettings(launch, 'claude', CLAUDE_EVENTS)),
    previous: env => [
      {
        path: place.settings(env),
        settings: [{ path: ['tools', 'toolSearch', 'enabled'], value: false }],
      },
    ],
  }),
}

/** The tools that have such places, each with its files there. */
export const toolsAt = (places: Partial<Places>): AgentTool[] =>
  (Object.keys(rows) as (keyof Places)[]).flatMap(id => {
    const place = places[id]
    return place === undefined ? [] : [{ ...rows[id](place), ...present({ root: place.root }) }]
  })

/** The tools with the files of their user. */
export const agentTools: readonly AgentTool[] = toolsAt(userPlaces)

function codexServer(
  { root }: ToolFiles,
  path: string,
  launch: Launch,
  approved: readonly string[],
): Registration {
  const { command, env } = launch
  const start = { command, args: serverArgs(launch), env }
  const toml = codexTables(start, approved)
  const over = (held: string) =>
    root === undefined ? codexTables(start, approved, held, { ...launch, tools: SENDING_TOOLS }) : toml
  return { path, toml, over }
}
