/**
 * The nine tools as installed coding agents pass them to their models, registered by `svc install` alone: all of them
 * are offered, an answer of another agent reaches the model between its markers, and so does the sentence of an error.
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { recipes } from '../../autoreply/attack/recipes.ts'
import { type Call, startRecordingModel } from '../../autoreply/attack/recording-model.ts'
import { World } from '../../cli/demo/world.ts'
import { tools } from '../../mcp/tools/all.ts'
import { present } from '../../protocol/encoding/present.ts'

const root = new URL('../..', import.meta.url).pathname
const programs = { svc: join(root, 'dist', 'svc.js'), hub: join(root, 'hub', 'dist', 'svc-hub.js') }
const TASK = 'Use your tools as you see fit.'
const searched = (process.env['PATH'] ?? '').split(delimiter)
const isHere = (program: string) => searched.some(folder => existsSync(join(folder, program)))

let world: World
beforeAll(async () => {
  world = new World(programs)
  const { url } = await world.startHub()
  const [alice, bob] = await Promise.all([world.startNode('alice'), world.startNode('bob')])
  for (const [name, up, other] of [
    ['alice', alice, bob],
    ['bob', bob, alice],
  ] as const) {
    await world.hub('admit', String(up['aid']))
    await world.svc(name, 'hub-register', url, '--name', name)
    await world.svc(name, 'contact', 'add', String(other['aid']), name === 'alice' ? 'bob' : 'alice')
  }
  const command = `${process.execPath} -e "process.stdout.write('heron on the pier')"`
  await world.svc('bob', 'autoreply', 'set', '--command', command, '--poll-interval', '1', '--no-sandbox')
}, 60_000)
afterAll(() => world?.[Symbol.asyncDispose](), 30_000)

type Settings = Record<string, unknown>
function addTo(path: string, members: Settings): void {
  mkdirSync(join(path, '..'), { recursive: true })
  const held = existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Settings) : {}
  writeFileSync(path, JSON.stringify({ ...held, ...members }))
}

type Prepared = { args: string[]; env?: Record<string, string> }
/** What each needs besides, to ask the model of this test and to call tools without asking its user. */
const agents: Record<string, (home: string, url: string) => Prepared> = {
  claude: () => ({
    args: ['-p', TASK, '--tools', '', '--allowedTools', 'mcp__svc'],
    env: { CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' },
  }),
  codex(home, url) {
    const config = join(home, '.codex', 'config.toml')
    const provider = `[model_providers.own]\nname = "own"\nbase_url = "${url}/v1"\nwire_api = "responses"\nenv_key = "OWN_KEY"\n`
    const held = readFileSync(config, 'utf8').replace(/[\s\S]*(?=# svc:begin)/, '')
    writeFileSync(config, `model = "scripted"\nmodel_provider = "own"\n${provider}\n${held}`)
    return { args: ['exec', '--skip-git-repo-check', TASK], env: { OWN_KEY: 'none' } }
  },
  gemini(home) {
    addTo(join(home, '.gemini', 'settings.json'), { security: { auth: { selectedType: 'gemini-api-key' } } })
    return { args: ['-p', TASK, '--skip-trust', '-m', 'gemini-2.5-flash'] }
  },
  qwen(home) {
    addTo(join(home, '.qwen', 'settings.json'), { security: { auth: { selectedType: 'openai' } } })
    return { args: [TASK] }
  },
  copilot: () => ({ args: ['-p', TASK, '--trust-folder', '--allow-tool', 'svc'] }),
  opencode(home, url) {
    addTo(join(home, '.config', 'opencode', 'opencode.json'), {
      model: 'own/scripted',
      small_model: 'own/scripted',
      autoupdate: false,
      provider: {
        own: {
          npm: '@ai-sdk/openai-compatible',
          options: { baseURL: `${url}/v1`, apiKey: 'none' },
          models: { scripted: {} },
        },
      },
    })
    return { args: ['run', TASK] }
  },
}

async function run(id: string, calls: readonly Call[], words: readonly string[]) {
  const home = world.dir(`agent-${id}`)
  const work = join(home, 'work')
  mkdirSync(work, { recursive: true })
  const alice = { ...world.env('alice'), HOME: home }
  const send = ['claude', 'codex', 'gemini', 'qwen'].includes(id) ? ['--allow-send'] : []
  const installing = spawn(process.execPath, [programs.svc, 'install', id, '--mcp', ...send], { env: alice })
  expect(await new Promise(done => installing.once('exit', done))).toBe(0)
  // opencode asks for a title first
  const made = id === 'opencode' ? [...calls, ...calls] : calls
  const model = await startRecordingModel({ task: TASK, words, calls: made })
  const { args, env } = agents[id]?.(home, model.url) ?? { args: [] }
  const child = spawn(id, args, {
    cwd: work,
    env: { ...alice, ...recipes[id]?.env?.(model.url), ...env, PATH: process.env['PATH'] ?? '' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', chunk => {
      said += String(chunk)
    })
  await new Promise(done => child.once('exit', done))
  await model.close()
  return { heard: [...model.heard], offered: [...model.offered], said }
}

describe.each(Object.keys(agents).filter(isHere))('%s', id => {
  let offered: string[] = []
  const callOf = (tool: string, args: Record<string, unknown>): Call => ({
    name: offered.find(name => name.endsWith(tool)) ?? tool,
    args,
    ...present({ namespace: id === 'codex' ? 'mcp__svc' : undefined }),
  })

  test('offers its model all nine', async () => {
    const ran = await run(id, [], [])
    offered = ran.offered
    const missing = tools.filter(({ name }) => !offered.some(one => one.endsWith(name)))
    expect(
      missing.map(tool => tool.name),
      ran.said,
    ).toEqual([])
  }, 180_000)

  test('gives it an answer of another agent between markers', async () => {
    const args = { to: 'bob', task: 'Who stands there?', wait_s: 30 }
    const words = ['heron on the pier', 'untrusted']
    const { heard, said } = await run(id, [callOf('task_delegate', args)], words)
    expect(heard, said).toEqual(expect.arrayContaining(words))
  }, 180_000)

  test('gives it our own sentence about an argument that is unknown', async () => {
    const args = { to: 'bob', task: 'Who?', recipient: 'bob' }
    const words = ['unknown argument: recipient']
    const { heard, said } = await run(id, [callOf('task_delegate', args)], words)
    expect(heard, said).toEqual(expect.arrayContaining(words))
  }, 180_000)
})
