/**
 * How each coding agent is attacked: what it is offered that does no harm, its tools that run and read, how it is
 * pointed at another model, and where it looks for instructions and servers of its owner.
 */
import type { Provider } from '../agent-row.ts'

export type Recipe = {
  /** What is offered all the same, none of which does anything on this machine. */
  readonly offers?: readonly string[]
  /** Its tools that run programs, and that read files. */
  readonly tools: readonly [runs: string, reads: string]
  readonly model?: string
  env?(url: string): Record<string, string>
  provider?(url: string): Provider
  readonly persona: readonly string[]
  readonly servers: readonly [path: string, content: (command: readonly string[]) => string]
}

const keyOf = (selectedType: string) => ({ security: { auth: { selectedType } } })
const ownKey = { env: () => ({ OWN_KEY: 'none' }), provider: own }

function own(url: string): Provider {
  return { url: `${url}/v1`, keyEnv: 'OWN_KEY' }
}

const servers =
  (settings: object, more: object) =>
  ([command, ...args]: readonly string[]): string =>
    JSON.stringify({ ...settings, mcpServers: { own: { command, args, ...more } } })

export const recipes: Readonly<Record<string, Recipe>> = {
  claude: {
    tools: ['Bash', 'Read'],
    env: url => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'none' }),
    persona: ['.claude/CLAUDE.md'],
    servers: ['.claude.json', servers({}, { type: 'stdio' })],
  },
  codex: {
    tools: ['shell_command', 'view_image'],
    offers: ['request_user_input'],
    ...ownKey,
    persona: ['.codex/AGENTS.md'],
    servers: [
      '.codex/config.toml',
      ([command, ...args]) =>
        `[mcp_servers.own]\ncommand = ${JSON.stringify(command)}\nargs = ${JSON.stringify(args)}\n`,
    ],
  },
  gemini: {
    tools: ['run_shell_command', 'read_file'],
    model: 'gemini-2.5-flash',
    env: url => ({ GEMINI_API_KEY: 'none', GOOGLE_GEMINI_BASE_URL: url }),
    persona: ['.gemini/GEMINI.md'],
    servers: ['.gemini/settings.json', servers(keyOf('gemini-api-key'), { trust: true })],
  },
  qwen: {
    tools: ['run_shell_command', 'read_file'],
    env: url => ({ OPENAI_API_KEY: 'none', OPENAI_BASE_URL: `${url}/v1`, OPENAI_MODEL: 'scripted' }),
    persona: ['.qwen/QWEN.md', '.qwen/AGENTS.md'],
    servers: ['.qwen/settings.json', servers(keyOf('openai'), { trust: true })],
  },
  copilot: {
    tools: ['bash', 'view'],
    env: url => ({
      COPILOT_OFFLINE: 'true',
      COPILOT_PROVIDER_BASE_URL: `${url}/v1`,
      COPILOT_PROVIDER_API_KEY: 'none',
      COPILOT_MODEL: 'scripted',
    }),
    persona: ['.copilot/copilot-instructions.md'],
    servers: ['.copilot/mcp-config.json', servers({}, { type: 'local', tools: ['*'] })],
  },
  opencode: {
    tools: ['bash', 'read'],
    ...ownKey,
    persona: ['.config/opencode/AGENTS.md', '.claude/CLAUDE.md'],
    servers: [
      '.config/opencode/opencode.json',
      command => JSON.stringify({ mcp: { own: { type: 'local', command, enabled: true } } }),
    ],
  },
  openclaw: {
    tools: ['exec', 'read'],
    ...ownKey,
    persona: ['.openclaw/workspace/AGENTS.md', '.openclaw/workspace/SOUL.md'],
    servers: [
      '.openclaw/openclaw.json',
      ([command, ...args]) => JSON.stringify({ mcp: { servers: { own: { command, args } } } }),
    ],
  },
}
