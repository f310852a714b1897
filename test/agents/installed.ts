/** The coding agents that are on the PATH, each run once with nothing of svc but what `svc install` gave it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { recipes } from '../../autoreply/attack/recipes.ts'
import type { World } from '../../cli/demo/world.ts'

const root = new URL('../..', import.meta.url).pathname
export const programs = { svc: join(root, 'dist', 'svc.js'), hub: join(root, 'hub', 'dist', 'svc-hub.js') }
const path = process.env['PATH'] ?? ''

export const isHere = (program: string): boolean =>
  path.split(delimiter).some(folder => existsSync(join(folder, program)))

type Settings = Record<string, unknown>
/** Sets members of a JSON file, which need not be there. */
export function addTo(file: string, members: Settings): void {
  mkdirSync(dirname(file), { recursive: true })
  const held = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Settings) : {}
  writeFileSync(file, JSON.stringify({ ...held, ...members }))
}

/** A model of codex, which its configuration names before any table. */
export const codexModel = (url: string): string =>
  `model = "scripted"\nmodel_provider = "own"\n[model_providers.own]\nname = "own"\nbase_url = "${url}/v1"\nwire_api = "responses"\nenv_key = "OWN_KEY"\n`

type Prepared = { args: string[]; env?: Record<string, string> }
/** What each needs besides, to ask the model of a test: nothing that concerns tools, but where its install names a flag. */
const rows: Record<string, (home: string, url: string, task: string) => Prepared> = {
  claude: (_home, _url, task) => ({
    args: ['-p', task],
    // or it may ask its model before the server is there
    env: { CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', MCP_CONNECTION_NONBLOCKING: '0' },
  }),
  codex(home, url, task) {
    const config = join(home, '.codex', 'config.toml')
    const held = readFileSync(config, 'utf8').replace(/[\s\S]*(?=# svc:begin)/, '')
    writeFileSync(config, `${codexModel(url)}\n${held}`)
    return { args: ['exec', '--skip-git-repo-check', task], env: { OWN_KEY: 'none' } }
  },
  gemini(home, _, task) {
    addTo(join(home, '.gemini', 'settings.json'), { security: { auth: { selectedType: 'gemini-api-key' } } })
    return { args: ['-p', task, '--skip-trust', '-m', 'gemini-2.5-flash'] }
  },
  qwen(home, _, task) {
    addTo(join(home, '.qwen', 'settings.json'), { security: { auth: { selectedType: 'openai' } } })
    return { args: [task] }
  },
  // it has no word for that in its configuration
  copilot: (_home, _url, task) => ({ args: ['-p', task, '--trust-folder', '--allow-tool', 'svc'] }),
  opencode(home, url, task) {
    const options = { baseURL: `${url}/v1`, apiKey: 'none' }
    addTo(join(home, '.config', 'opencode', 'opencode.json'), {
      model: 'own/scripted',
      small_model: 'own/scripted',
      autoupdate: false,
      provider: { own: { npm: '@ai-sdk/openai-compatible', options, models: { scripted: {} } } },
    })
    return { args: ['run', task] }
  },
  openclaw(home, url, task) {
    const models = [{ id: 'scripted', name: 'scripted' }]
    const own = { baseUrl: `${url}/v1`, apiKey: 'none', api: 'openai-completions', models }
    addTo(join(home, '.openclaw', 'openclaw.json'), {
      models: { mode: 'replace', providers: { own } },
      agents: { defaults: { model: { primary: 'own/scripted' } } },
    })
    return { args: ['agent', 'exec', '--json', task] }
  },
}

/** All that are known, and those that are here. */
export const known = Object.keys(rows)
export const here = known.filter(isHere)
/** Those whose configuration has a word for sending without being asked. */
const allowing = ['claude', 'codex', 'gemini', 'qwen']

/** A home of this name in which the node `alice` is installed for the agent, by the command alone. */
export async function install(world: World, id: string): Promise<{ home: string; env: Env }> {
  const home = world.dir(`agent-${id}`)
  mkdirSync(join(home, 'work'), { recursive: true })
  const env = { ...world.env('alice'), HOME: home }
  const more = allowing.includes(id) ? ['--allow-send'] : []
  const ran = await ended(spawn(process.execPath, [programs.svc, 'install', id, '--mcp', ...more], { env }))
  if (ran.code !== 0) throw new Error(`svc install ${id}: ${ran.said}`)
  return { home, env }
}

type Env = Record<string, string>

/** Asks the agent, with a model at this address; resolves to all that it printed. */
export async function ask(id: string, { home, env }: { home: string; env: Env }, asked: Asked) {
  const { args, env: own } = rows[id]?.(home, asked.url, asked.task) ?? { args: [] }
  const given = { ...env, ...recipes[id]?.env?.(asked.url), ...own, PATH: path }
  const { said } = await ended(
    spawn(id, args, { cwd: join(home, 'work'), env: given, stdio: ['ignore', 'pipe', 'pipe'] }),
  )
  return said
}

export type Asked = { url: string; task: string }

/** Resolves when a process has ended, to its code and to all that it printed. */
export function ended(child: ChildProcess): Promise<{ code: number | null; said: string }> {
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', chunk => {
      said += String(chunk)
    })
  return new Promise(done => child.once('exit', code => done({ code, said })))
}
