/**
 * Coding agents as rows of data: how one is asked once, without tools, persona files or MCP servers, and where its
 * answer stands. No model is named, because names rot. `tools` other than `none` is the owner's explicit choice.
 */

import { join } from 'node:path'
import type { AgentRow, Asked } from './agent-row.ts'
import { jsonLines, lastJsonObject, member, textOf } from './printed.ts'
import { authOf, ownersHome, place } from './private-home.ts'

const model = (flag: string, name: string | undefined) => (name === undefined ? [] : [flag, name])

/** What codex could read files, start agents or go on by itself with. */
const CODEX_FEATURES = ['shell_tool', 'view_image', 'multi_agent', 'goals']
const GEMINI_POLICY_FILE = 'policy.toml'
const GEMINI_POLICY = '[[rule]]\ntoolName = "*"\ndecision = "deny"\npriority = 999\n'
const CLAUDE_LOCKED = JSON.stringify({ permissions: { deny: ['Read(//**)', 'Read'] } })
const OPENCODE_LOCKED = { permission: { '*': 'deny' }, share: 'disabled', autoupdate: false }
const OPENCLAW_FILE = 'openclaw.json'
/** No tool, no file of a workspace and no skill; files that a prompt names are looked for in the empty folder alone. */
const OPENCLAW_LOCKED = {
  tools: { deny: ['*'], fs: { workspaceOnly: true } },
  agents: { defaults: { skipBootstrap: true, contextInjection: 'never', skills: [] } },
}
/** What a tool is told that a server of the owner's choice is called. */
const PROVIDER = 'own'
/** A model as tools name it that know several servers. */
const ofProvider = ({ provider, model }: Asked) => (provider === undefined ? model : `${PROVIDER}/${model}`)
/** Every tool that qwen 0.24 offers without being asked. A call of one that is not there is refused, and the model goes on. */
const QWEN_TURNS = '8'
const QWEN_TOOLS = `
  agent ask_user_question cron_create cron_delete cron_list edit enter_plan_mode enter_worktree
  exit_plan_mode exit_worktree get_goal glob grep_search list_agents list_directory loop_wakeup lsp
  monitor notebook_edit read_file read_mcp_resource record_artifact report_findings run_shell_command
  save_memory send_message skill task_stop todo_write tool_call tool_search update_goal web_fetch
  web_search write_file
`
  .trim()
  .split(/\s+/)

/** The server that openclaw is pointed at; it reads the key from its environment. */
function openClawModels({ provider, model }: Asked): object {
  if (provider === undefined) return {}
  const apiKey = provider.keyEnv === undefined ? 'none' : `\${${provider.keyEnv}}`
  const models = [{ id: model, name: model, input: ['text'] }]
  const own = { baseUrl: provider.url, apiKey, api: 'openai-completions', models }
  return { models: { mode: 'replace', providers: { [PROVIDER]: own } } }
}

const geminiFolder = (env: Readonly<Record<string, string | undefined>>): string =>
  join(env['GEMINI_CLI_HOME'] ?? ownersHome(env), '.gemini')

const qwenFolder = (env: Readonly<Record<string, string | undefined>>): string =>
  env['QWEN_HOME'] ?? join(ownersHome(env), '.qwen')

export const agents: readonly AgentRow[] = [
  {
    id: 'claude',
    bin: 'claude',
    argv: given => [
      '-p',
      '--safe-mode',
      '--strict-mcp-config',
      '--no-session-persistence',
      '--output-format',
      'json',
      ...(given.tools === 'none'
        ? ['--tools', '', '--permission-mode', 'dontAsk', '--settings', CLAUDE_LOCKED]
        : ['--permission-mode', given.tools === 'write' ? 'acceptEdits' : 'plan']),
      ...model('--model', given.model),
    ],
    prompt: 'stdin',
    environment: [
      'ANTHROPIC_API_KEY',
      'ANTHROPIC_BASE_URL',
      'ANTHROPIC_AUTH_TOKEN',
      'CLAUDE_CODE_OAUTH_TOKEN',
    ],
    login: env => ({
      owners: env['CLAUDE_CONFIG_DIR'] ?? join(ownersHome(env), '.claude'),
      own: '.claude',
      files: ['.credentials.json'],
      renewed: true,
    }),
    privateHome: home => ({ CLAUDE_CONFIG_DIR: join(home, '.claude') }),
    // It reads the file behind `@path` in a prompt before any check of permissions, unless both are set.
    settings: { CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', CLAUDE_CODE_DISABLE_ATTACHMENTS: '1' },
    answer(stdout) {
      const reply = lastJsonObject(stdout)
      return reply?.['is_error'] === true ? undefined : textOf(reply?.['result'])
    },
    cost(stdout) {
      const usd = lastJsonObject(stdout)?.['total_cost_usd']
      return typeof usd === 'number' ? `${usd} USD` : undefined
    },
  },
  {
    id: 'codex',
    bin: 'codex',
    argv: given => [
      'exec',
      '--skip-git-repo-check',
      '--ephemeral',
      '--ignore-user-config',
      '--ignore-rules',
      '--json',
      '-s',
      given.tools === 'write' ? 'workspace-write' : 'read-only',
      ...(given.tools === 'none'
        ? CODEX_FEATURES.flatMap(feature => ['-c', `features.${feature}=false`])
        : []),
      '-c',
      'web_search=disabled',
      '-c',
      'project_doc_max_bytes=0',
      '-c',
      'approval_policy=never',
      '-C',
      given.workDir,
      ...model('-m', given.model),
      '-',
    ],
    prompt: 'stdin',
    environment: ['OPENAI_API_KEY', 'OPENAI_BASE_URL', 'CODEX_API_KEY'],
    provider: ({ url, keyEnv }) => ({
      args: [
        `model_provider=${PROVIDER}`,
        `model_providers.${PROVIDER}.name=${PROVIDER}`,
        `model_providers.${PROVIDER}.base_url=${JSON.stringify(url)}`,
        `model_providers.${PROVIDER}.wire_api=responses`,
        ...(keyEnv === undefined ? [] : [`model_providers.${PROVIDER}.env_key=${keyEnv}`]),
      ].flatMap(setting => ['-c', setting]),
    }),
    login: env => ({
      owners: env['CODEX_HOME'] ?? join(ownersHome(env), '.codex'),
      own: '.codex',
      files: ['auth.json'],
      renewed: true,
    }),
    privateHome: home => ({ CODEX_HOME: join(home, '.codex') }),
    answer: stdout =>
      jsonLines(stdout)
        .filter(line => line['type'] === 'item.completed' && member(line, 'item', 'type') === 'agent_message')
        .map(line => textOf(member(line, 'item', 'text')))
        .at(-1),
    cost(stdout) {
      const turns = jsonLines(stdout).filter(line => line['type'] === 'turn.completed')
      const counts = turns.flatMap(turn => [
        member(turn, 'usage', 'input_tokens'),
        member(turn, 'usage', 'output_tokens'),
      ])
      const tokens = counts.reduce<number>((sum, one) => sum + (Number(one) || 0), 0)
      return tokens === 0 ? undefined : `${tokens} tokens`
    },
  },
  {
    id: 'gemini',
    bin: 'gemini',
    argv: given => [
      '-p',
      'Answer the request that stands before this line.',
      '--skip-trust',
      '-o',
      'json',
      '--approval-mode',
      given.tools === 'write' ? 'auto_edit' : given.tools === 'read' ? 'default' : 'plan',
      '--allowed-mcp-server-names',
      'none',
      ...(given.tools === 'none' ? ['--policy', join(given.home, GEMINI_POLICY_FILE)] : []),
      ...model('-m', given.model),
    ],
    prompt: 'stdin',
    environment: ['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_GEMINI_BASE_URL'],
    login: env => ({
      owners: geminiFolder(env),
      own: '.gemini',
      files: ['oauth_creds.json', 'google_accounts.json'],
      renewed: true,
    }),
    privateHome(home, env) {
      // without a word about it gemini takes a key beside a server for another kind of login, and refuses that
      const byKey = env['GEMINI_API_KEY'] === undefined ? undefined : { selectedType: 'gemini-api-key' }
      const auth = authOf(join(geminiFolder(env), 'settings.json')) ?? byKey
      place(
        join(home, '.gemini', 'settings.json'),
        JSON.stringify({ security: { auth }, privacy: { usageStatisticsEnabled: false } }),
      )
      place(join(home, GEMINI_POLICY_FILE), GEMINI_POLICY)
      return { GEMINI_CLI_HOME: home }
    },
    answer: stdout => textOf(lastJsonObject(stdout)?.['response']),
  },
  {
    id: 'opencode',
    bin: 'opencode',
    argv: given => [
      'run',
      '--format',
      'json',
      '--dir',
      given.workDir,
      ...model('-m', ofProvider(given)),
      '-f',
      given.promptFile,
      '--',
      'Answer the request in the attached file.',
    ],
    prompt: 'file',
    environment: ['OPENAI_API_KEY', 'ANTHROPIC_API_KEY'],
    login: env => ({
      owners: join(env['XDG_DATA_HOME'] ?? join(ownersHome(env), '.local', 'share'), 'opencode'),
      own: join('data', 'opencode'),
      files: ['auth.json'],
      renewed: true,
    }),
    privateHome(home) {
      return {
        XDG_DATA_HOME: join(home, 'data'),
        XDG_STATE_HOME: join(home, 'state'),
        XDG_CONFIG_HOME: join(home, 'config'),
      }
    },
    settings: {
      OPENCODE_CONFIG_CONTENT: JSON.stringify(OPENCODE_LOCKED),
      OPENCODE_DISABLE_CLAUDE_CODE: '1',
    },
    provider({ url, keyEnv }, name) {
      const options = { baseURL: url, apiKey: keyEnv === undefined ? 'none' : `{env:${keyEnv}}` }
      const own = { npm: '@ai-sdk/openai-compatible', options, models: { [name]: {} } }
      const chosen = `${PROVIDER}/${name}`
      const content = {
        ...OPENCODE_LOCKED,
        provider: { [PROVIDER]: own },
        model: chosen,
        small_model: chosen,
      }
      return { settings: { OPENCODE_CONFIG_CONTENT: JSON.stringify(content) } }
    },
    answer: stdout =>
      jsonLines(stdout)
        .filter(line => line['type'] === 'text')
        .map(line => textOf(member(line, 'part', 'text')) ?? textOf(line['text']) ?? '')
        .join('') || undefined,
  },
  {
    id: 'openclaw',
    bin: 'openclaw',
    argv: given => [
      'agent',
      ...(given.tools === 'none'
        ? ['exec', '--config', join(given.home, OPENCLAW_FILE), '--cwd', given.workDir]
        : ['--local', ...model('--agent', given.agentId)]),
      '--json',
      '--message-file',
      given.promptFile,
      ...model('--model', ofProvider(given)),
    ],
    prompt: 'file',
    environment: ['OPENAI_API_KEY', 'ANTHROPIC_API_KEY', 'OPENCLAW_HOME', 'OPENCLAW_STATE_DIR'],
    ownFolders: env => [
      env['OPENCLAW_STATE_DIR'] ?? join(env['OPENCLAW_HOME'] ?? ownersHome(env), '.openclaw'),
    ],
    // its owner's logins stand in one store with sessions: a run has keys of the environment or of a provider
    privateHome(home, _, asked) {
      if (asked.tools !== 'none') return {}
      const own = { HOME: home, OPENCLAW_HOME: home, OPENCLAW_STATE_DIR: join(home, '.openclaw') }
      const log = { level: 'warn', file: join(home, 'openclaw.log') }
      place(
        join(home, OPENCLAW_FILE),
        JSON.stringify({ ...OPENCLAW_LOCKED, ...openClawModels(asked), logging: log }),
      )
      return own
    },
    provider: () => ({}),
    answer: stdout => {
      const reply = lastJsonObject(stdout)
      return (
        textOf(reply?.['final']) ??
        textOf(reply?.['text']) ??
        textOf(reply?.['reply']) ??
        textOf(member((reply?.['payloads'] as unknown[] | undefined)?.[0], 'text'))
      )
    },
    cost(stdout) {
      const usd = lastJsonObject(stdout)?.['costUsd']
      return typeof usd === 'number' ? `${usd} USD` : undefined
    },
  },
  {
    id: 'copilot',
    bin: 'copilot',
    argv: given => [
      '--trust-folder',
      '--output-format',
      'json',
      '-s',
      '--no-auto-update',
      '--no-ask-user',
      '--no-custom-instructions',
      '--disable-builtin-mcps',
      // an empty list would mean all of them
      ...(given.tools === 'none' ? ['--available-tools=none', '--disallow-temp-dir'] : []),
      '-C',
      given.workDir,
      ...model('--model', given.model),
    ],
    prompt: 'stdin',
    environment: [
      'COPILOT_PROVIDER_API_KEY',
      'COPILOT_PROVIDER_BASE_URL',
      'COPILOT_MODEL',
      'COPILOT_OFFLINE',
      'GH_TOKEN',
    ],
    login: env => ({
      owners: env['COPILOT_HOME'] ?? join(ownersHome(env), '.copilot'),
      own: '.copilot',
      files: ['config.json'],
      renewed: false,
    }),
    privateHome: home => ({ COPILOT_HOME: join(home, '.copilot') }),
    answer: stdout => {
      const lines = jsonLines(stdout)
      const result = lines.findLast(line => line['type'] === 'result')
      const message = lines.findLast(line => String(line['type']).includes('message'))
      return (
        textOf(result?.['text']) ?? textOf(result?.['result']) ?? textOf(member(message, 'data', 'content'))
      )
    },
  },
  {
    id: 'qwen',
    bin: 'qwen',
    argv: given => [
      '-p',
      'Answer the request that stands before this line.',
      '-o',
      'json',
      '--safe-mode',
      '--approval-mode',
      given.tools === 'write' ? 'auto-edit' : 'plan',
      ...(given.tools === 'none'
        ? ['--core-tools=none', '--exclude-tools', QWEN_TOOLS.join(','), '--max-session-turns', QWEN_TURNS]
        : []),
      ...model('-m', given.model),
    ],
    prompt: 'stdin',
    environment: ['OPENAI_API_KEY', 'OPENAI_BASE_URL', 'OPENAI_MODEL', 'DASHSCOPE_API_KEY'],
    login: env => ({
      owners: qwenFolder(env),
      own: '.qwen',
      files: ['oauth_creds.json'],
      renewed: true,
    }),
    privateHome(home, env) {
      const auth = authOf(join(qwenFolder(env), 'settings.json'))
      place(join(home, '.qwen', 'settings.json'), JSON.stringify({ security: { auth } }))
      return { HOME: home }
    },
    answer: stdout => {
      const start = stdout.indexOf('[')
      const rows = start < 0 ? [] : (JSON.parse(stdout.slice(start)) as Record<string, unknown>[])
      return textOf(rows.findLast(row => row['type'] === 'result')?.['result'])
    },
  },
]

export function findAgent(id: string): AgentRow | undefined {
  return agents.find(agent => agent.id === id)
}
