/** Where each coding agent keeps what svc writes: the files of its user, and those of one project. */
import { homedir } from 'node:os'
import { join } from 'node:path'
import { present } from '../../protocol/encoding/present.ts'
import type { Root } from './known-projects.ts'

export type Env = Readonly<Record<string, string | undefined>>
type PathIn = (env: Env) => string

/** The files of one tool; several of them may be the same. */
export type ToolFiles = {
  /** Instructions. */
  readonly persona: PathIn
  /** MCP servers. */
  readonly servers: PathIn
  /** Permissions and switches. */
  readonly settings: PathIn
  readonly hooks: PathIn
  /** The project whose files these are; undefined of those of the user. */
  readonly root?: Root
}
export type Places = Readonly<
  Record<'claude' | 'codex' | 'gemini' | 'opencode' | 'openclaw' | 'copilot' | 'qwen', ToolFiles>
>

type Files = { persona: PathIn; servers: PathIn; settings?: PathIn; hooks?: PathIn }
const place = (files: Files, root?: Root): ToolFiles => {
  const settings = files.settings ?? files.servers
  return { ...files, settings, hooks: files.hooks ?? settings, ...present({ root }) }
}

const home = (env: Env) => env['HOME'] || homedir()
const under = (env: Env, variable: string, ...fallback: string[]) =>
  env[variable] || join(home(env), ...fallback)

const claudeFolder = (env: Env) => under(env, 'CLAUDE_CONFIG_DIR', '.claude')
const codexFolder = (env: Env) => under(env, 'CODEX_HOME', '.codex')
const geminiFolder = (env: Env) => join(env['GEMINI_CLI_HOME'] || home(env), '.gemini')
const openCodeFolder = (env: Env) => join(under(env, 'XDG_CONFIG_HOME', '.config'), 'opencode')
const qwenFolder = (env: Env) => under(env, 'QWEN_HOME', '.qwen')
const copilotFolder = (env: Env) => under(env, 'COPILOT_HOME', '.copilot')
const openClawFolder = (env: Env) =>
  env['OPENCLAW_STATE_DIR'] || join(env['OPENCLAW_HOME'] || home(env), '.openclaw')
const openClawWorkspace = (env: Env) =>
  env['OPENCLAW_WORKSPACE_DIR'] || join(openClawFolder(env), 'workspace')

const ofUser = (files: Files) => place(files)

/** Files of the user, for every project. */
export const userPlaces: Places = {
  claude: ofUser({
    persona: env => join(claudeFolder(env), 'CLAUDE.md'),
    servers: env => join(env['CLAUDE_CONFIG_DIR'] || home(env), '.claude.json'),
    settings: env => join(claudeFolder(env), 'settings.json'),
  }),
  codex: ofUser({
    persona: env => join(codexFolder(env), 'AGENTS.md'),
    servers: env => join(codexFolder(env), 'config.toml'),
    hooks: env => join(codexFolder(env), 'hooks.json'),
  }),
  gemini: ofUser({
    persona: env => join(geminiFolder(env), 'GEMINI.md'),
    servers: env => join(geminiFolder(env), 'settings.json'),
  }),
  opencode: ofUser({
    persona: env => join(openCodeFolder(env), 'AGENTS.md'),
    servers: env => join(openCodeFolder(env), 'opencode.json'),
  }),
  openclaw: ofUser({
    persona: env => join(openClawWorkspace(env), 'AGENTS.md'),
    servers: env => env['OPENCLAW_CONFIG_PATH'] || join(openClawFolder(env), 'openclaw.json'),
  }),
  copilot: ofUser({
    persona: env => join(copilotFolder(env), 'copilot-instructions.md'),
    servers: env => join(copilotFolder(env), 'mcp-config.json'),
    hooks: env => join(copilotFolder(env), 'hooks', 'svc.json'),
  }),
  qwen: ofUser({
    persona: env => join(qwenFolder(env), 'QWEN.md'),
    servers: env => join(qwenFolder(env), 'settings.json'),
  }),
}

/** Files of a project, of each tool that has any; the workspace of openclaw belongs to its user. */
export function projectPlaces(root: Root): Omit<Places, 'openclaw'> {
  const at =
    (...path: string[]) =>
    () =>
      join(root.folder, ...path)
  const ofProject = (files: Files) => place(files, root)
  return {
    claude: ofProject({
      persona: at('CLAUDE.md'),
      servers: at('.mcp.json'),
      settings: at('.claude', 'settings.local.json'),
    }),
    codex: ofProject({
      persona: at('AGENTS.md'),
      servers: at('.codex', 'config.toml'),
      hooks: at('.codex', 'hooks.json'),
    }),
    gemini: ofProject({ persona: at('GEMINI.md'), servers: at('.gemini', 'settings.json') }),
    opencode: ofProject({ persona: at('AGENTS.md'), servers: at('opencode.json') }),
    copilot: ofProject({
      persona: at('.github', 'copilot-instructions.md'),
      servers: at('.github', 'mcp.json'),
      hooks: at('.github', 'hooks', 'svc.json'),
    }),
    qwen: ofProject({ persona: at('QWEN.md'), servers: at('.qwen', 'settings.json') }),
  }
}
