/**
 * The recipes for coding agents, run with the real programs and a scripted model: the request reaches the model, its
 * answer comes back, and a tool that the model was talked into calling does nothing. Programs that are not installed
 * are skipped by name; opencode wants its list of models from the network and openclaw a configuration of its owner.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { BackendFailed } from '../../autoreply/backend.ts'
import { execBackend } from '../../autoreply/exec.ts'
import { random, requestOf } from '../../autoreply/testing.ts'
import { ANSWER, type Call, type ScriptedModel, startScriptedModel } from './scripted-model.ts'

const TASK = 'Add one, two and three, please.'
const SECRET = 'a-secret-of-the-owner-7c1f'
const RUN_MS = 120_000
const PATH = process.env['PATH'] ?? ''

type Recipe = {
  /** Its tools that run programs, and that read files. */
  tools: [runs: string, reads: string]
  model?: string
  env?(url: string): Record<string, string>
  extraArgs?(url: string): string[]
  /** Files below the home directory that say how it reaches a model. */
  settings?: [path: string, content: unknown][]
}

const keyOf = (selectedType: string): unknown => ({ security: { auth: { selectedType } } })

const recipes: Record<string, Recipe> = {
  claude: {
    tools: ['Bash', 'Read'],
    env: url => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'none' }),
  },
  codex: {
    tools: ['shell_command', 'view_image'],
    env: () => ({ OPENAI_API_KEY: 'none' }),
    extraArgs: url =>
      [
        'model_provider=scripted',
        'model_providers.scripted.name=scripted',
        `model_providers.scripted.base_url=${url}/v1`,
        'model_providers.scripted.wire_api=responses',
        'model_providers.scripted.env_key=OPENAI_API_KEY',
      ].flatMap(setting => ['-c', setting]),
  },
  gemini: {
    tools: ['run_shell_command', 'read_file'],
    model: 'gemini-2.5-flash',
    env: url => ({ GEMINI_API_KEY: 'none', GOOGLE_GEMINI_BASE_URL: url }),
    settings: [['.gemini/settings.json', keyOf('gemini-api-key')]],
  },
  qwen: {
    tools: ['run_shell_command', 'read_file'],
    env: url => ({ OPENAI_API_KEY: 'none', OPENAI_BASE_URL: `${url}/v1`, OPENAI_MODEL: 'scripted' }),
    settings: [['.qwen/settings.json', keyOf('openai')]],
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

type Run = { text: string | undefined; model: ScriptedModel; marked: boolean }

/** One run of a recipe against a model that makes these calls first. */
async function ask(agent: string, recipe: Recipe, hostile: boolean): Promise<Run> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-recipe-'))
  const home = join(folder, 'home')
  const mark = join(folder, 'mark')
  mkdirSync(home)
  writeFileSync(join(home, 'secret.txt'), SECRET)
  for (const [path, content] of recipe.settings ?? []) {
    mkdirSync(join(home, path, '..'), { recursive: true })
    writeFileSync(join(home, path), JSON.stringify(content))
  }
  const model = await startScriptedModel(hostile ? attack(recipe, mark, join(home, 'secret.txt')) : [])
  const backend = execBackend({
    agent,
    command: undefined,
    extraArgs: recipe.extraArgs?.(model.url) ?? [],
    model: recipe.model ?? 'scripted',
    openclawAgent: undefined,
    tools: 'none',
    workRoot: join(folder, 'work'),
    env: { PATH, HOME: home, LANG: 'C.UTF-8', ...recipe.env?.(model.url) },
    random,
  })
  const answer = await backend.reply(requestOf(TASK), AbortSignal.timeout(RUN_MS)).catch((error: unknown) => {
    if (!(error instanceof BackendFailed)) throw error
    return { text: undefined }
  })
  await model.close()
  expect(readdirSync(join(folder, 'work'))).toEqual([])
  return { text: answer.text, model, marked: existsSync(mark) }
}

describe.each(Object.entries(recipes))('%s', (agent, recipe) => {
  const installed = isInstalled(agent)
  const title = installed ? '' : ` (skipped: ${agent} is not installed)`

  test.skipIf(!installed)(`gets the request and its answer is taken${title}`, async () => {
    const { text, model } = await ask(agent, recipe, false)
    expect(model.asked.some(body => body.includes(TASK))).toBe(true)
    expect(text).toContain(ANSWER)
  })

  test.skipIf(!installed)(
    `runs nothing and reads nothing for a model that was talked into it${title}`,
    async () => {
      const { text, model, marked } = await ask(agent, recipe, true)
      expect(model.asked.length).toBeGreaterThan(0)
      expect(marked).toBe(false)
      expect(model.asked.filter(body => body.includes(SECRET))).toEqual([])
      expect(text ?? ANSWER).toContain(ANSWER)
      if (process.env['SVC_DEBUG'])
        process.stderr.write(`${agent}: ${[...model.offered]}; ${model.asked.length}\n`)
    },
  )
})
