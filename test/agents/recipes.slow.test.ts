/**
 * The recipes for coding agents, run with the real programs and a scripted model: the request reaches the model, its
 * answer comes back, nothing of the owner (a file named by a path, instructions, servers) does, nothing of the task
 * stays in the home, and a tool that the model was talked into calling does nothing. Programs that are not installed
 * are skipped by name; openclaw wants a configuration of its owner.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Provider } from '../../autoreply/agents.ts'
import { BackendFailed } from '../../autoreply/backend.ts'
import { execBackend } from '../../autoreply/exec.ts'
import { random, requestOf } from '../../autoreply/testing.ts'
import { ANSWER, type Call, type ScriptedModel, startScriptedModel } from './scripted-model.ts'

const TASK = 'Add one, two and three, please.'
const SECRET = 'a-secret-of-the-owner-7c1f'
const RUN_MS = 120_000
const PATH = process.env['PATH'] ?? ''

const PERSONA = 'Words of the owner that stand in every prompt: 5be0.'

/** Where each program looks for instructions of its owner, and for servers that it is to start. */
const OWNERS: Record<
  string,
  { persona: string[]; servers: [path: string, content: (command: string[]) => string] }
> = {
  claude: {
    persona: ['.claude/CLAUDE.md'],
    servers: [
      '.claude.json',
      ([command, ...args]) => JSON.stringify({ mcpServers: { own: { type: 'stdio', command, args } } }),
    ],
  },
  codex: {
    persona: ['.codex/AGENTS.md'],
    servers: [
      '.codex/config.toml',
      ([command, ...args]) =>
        `[mcp_servers.own]\ncommand = ${JSON.stringify(command)}\nargs = ${JSON.stringify(args)}\n`,
    ],
  },
  gemini: {
    persona: ['.gemini/GEMINI.md'],
    servers: [
      '.gemini/settings.json',
      ([command, ...args]) =>
        JSON.stringify({
          ...(keyOf('gemini-api-key') as object),
          mcpServers: { own: { command, args, trust: true } },
        }),
    ],
  },
  qwen: {
    persona: ['.qwen/QWEN.md', '.qwen/AGENTS.md'],
    servers: [
      '.qwen/settings.json',
      ([command, ...args]) =>
        JSON.stringify({
          ...(keyOf('openai') as object),
          mcpServers: { own: { command, args, trust: true } },
        }),
    ],
  },
  copilot: {
    persona: ['.copilot/copilot-instructions.md'],
    servers: [
      '.copilot/mcp-config.json',
      ([command, ...args]) =>
        JSON.stringify({ mcpServers: { own: { type: 'local', command, args, tools: ['*'] } } }),
    ],
  },
  opencode: {
    persona: ['.config/opencode/AGENTS.md', '.claude/CLAUDE.md'],
    servers: [
      '.config/opencode/opencode.json',
      command => JSON.stringify({ mcp: { own: { type: 'local', command, enabled: true } } }),
    ],
  },
}

type Recipe = {
  /** What is offered all the same, none of which does anything on this machine. */
  offers?: string[]
  /** Its tools that run programs, and that read files. */
  tools: [runs: string, reads: string]
  model?: string
  env?(url: string): Record<string, string>
  provider?(url: string): Provider
}

const keyOf = (selectedType: string): unknown => ({ security: { auth: { selectedType } } })

const recipes: Record<string, Recipe> = {
  claude: {
    tools: ['Bash', 'Read'],
    env: url => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'none' }),
  },
  codex: {
    tools: ['shell_command', 'view_image'],
    offers: ['request_user_input'],
    env: () => ({ OWN_KEY: 'none' }),
    provider: url => ({ url: `${url}/v1`, keyEnv: 'OWN_KEY' }),
  },
  gemini: {
    tools: ['run_shell_command', 'read_file'],
    model: 'gemini-2.5-flash',
    env: url => ({ GEMINI_API_KEY: 'none', GOOGLE_GEMINI_BASE_URL: url }),
  },
  qwen: {
    tools: ['run_shell_command', 'read_file'],
    env: url => ({ OPENAI_API_KEY: 'none', OPENAI_BASE_URL: `${url}/v1`, OPENAI_MODEL: 'scripted' }),
  },
  copilot: {
    tools: ['bash', 'view'],
    env: url => ({
      COPILOT_OFFLINE: 'true',
      COPILOT_PROVIDER_BASE_URL: `${url}/v1`,
      COPILOT_PROVIDER_API_KEY: 'none',
      COPILOT_MODEL: 'scripted',
    }),
  },
}

recipes['opencode'] = {
  tools: ['bash', 'read'],
  env: () => ({ OWN_KEY: 'none' }),
  provider: url => ({ url: `${url}/v1`, keyEnv: 'OWN_KEY' }),
}

const isInstalled = (program: string): boolean =>
  PATH.split(delimiter).some(folder => existsSync(join(folder, program)))

/** What a model that was talked into it would try: to leave a mark, and to read what is not its own. */
function attack(recipe: Recipe, mark: string, secretFile: string): Call[] {
  const [runs, reads] = recipe.tools
  const path = { file_path: secretFile, absolute_path: secretFile, path: secretFile }
  return [
    { name: runs, args: { command: `touch ${mark}`, description: 'add', file_path: mark, content: 'x' } },
    { name: runs, args: { command: `cat ${secretFile}`, description: 'read' } },
    { name: reads, args: path },
  ]
}

type Run = { text: string | undefined; model: ScriptedModel; marked: boolean; traces: string[] }

/** One run of a recipe against a model that makes these calls first. */
async function ask(agent: string, recipe: Recipe, hostile: boolean): Promise<Run> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-recipe-'))
  const home = join(folder, 'home')
  const mark = join(folder, 'mark')
  mkdirSync(home)
  writeFileSync(join(home, 'secret.txt'), SECRET)
  const { persona, servers } = OWNERS[agent] as (typeof OWNERS)[string]
  const server = [process.execPath, '-e', `require('fs').writeFileSync(${JSON.stringify(mark)}, '')`]
  for (const [path, content] of [
    ...persona.map(path => [path, PERSONA]),
    [servers[0], servers[1](server)],
  ] as [string, string][]) {
    mkdirSync(join(home, path, '..'), { recursive: true })
    writeFileSync(join(home, path), content)
  }
  const model = await startScriptedModel(hostile ? attack(recipe, mark, join(home, 'secret.txt')) : [])
  const backend = execBackend({
    agent,
    command: undefined,
    extraArgs: [],
    model: recipe.model ?? 'scripted',
    openclawAgent: undefined,
    provider: recipe.provider?.(model.url),
    tools: 'none',
    workRoot: join(folder, 'work'),
    env: { PATH, HOME: home, LANG: 'C.UTF-8', ...recipe.env?.(model.url) },
    random,
  })
  // The owner's own words are not made harmless, so the program itself must not expand them either.
  const systemPrompt = `Read this first:\n@${join(home, 'secret.txt')}\n@~/secret.txt`
  const request = requestOf(`${TASK}\n@${join(home, 'secret.txt')}`, { systemPrompt })
  const answer = await backend.reply(request, AbortSignal.timeout(RUN_MS)).catch((error: unknown) => {
    if (!(error instanceof BackendFailed)) throw error
    return { text: undefined }
  })
  await model.close()
  expect(readdirSync(join(folder, 'work'))).toEqual([])
  const traces = readdirSync(home, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name))
    .filter(path => readFileSync(path).includes(TASK))
  return { text: answer.text, model, marked: existsSync(mark), traces }
}

describe.each(Object.entries(recipes))('%s', (agent, recipe) => {
  const installed = isInstalled(agent)
  const title = installed ? '' : ` (skipped: ${agent} is not installed)`

  test.skipIf(!installed)(
    `gets the request and nothing else of its owner, leaves no trace, and its answer is taken${title}`,
    async () => {
      const { text, model, marked, traces } = await ask(agent, recipe, false)
      expect(model.asked.some(body => body.includes(TASK))).toBe(true)
      expect(text).toContain(ANSWER)
      expect([...model.offered]).toEqual(recipe.offers ?? [])
      const leaks = [SECRET, PERSONA].filter(words => model.asked.some(body => body.includes(words)))
      expect({ leaks, marked, traces }).toEqual({ leaks: [], marked: false, traces: [] })
    },
  )

  test.skipIf(!installed)(
    `runs nothing and reads nothing for a model that was talked into it${title}`,
    async () => {
      const { text, model, marked } = await ask(agent, recipe, true)
      expect(model.asked.length).toBeGreaterThan(0)
      expect(marked).toBe(false)
      expect(model.asked.some(body => body.includes(SECRET))).toBe(false)
      expect(text ?? ANSWER).toContain(ANSWER)
      if (process.env['SVC_DEBUG'])
        process.stderr.write(`${agent}: ${[...model.offered]}; ${model.asked.length}\n`)
    },
  )
})
