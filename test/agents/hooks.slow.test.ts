/** Hooks as installed coding agents run them: what a contact wrote reaches the model in its next request. */
import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { recipes } from '../../autoreply/attack/recipes.ts'
import { startRecordingModel } from '../../autoreply/attack/recording-model.ts'
import { World } from '../../cli/demo/world.ts'
import { addTo, codexModel, ended, isHere, programs } from './installed.ts'

const TASK = 'Say what you were told of your mail.'
const NEWS = 'heron on the pier'

let world: World
beforeAll(async () => {
  world = new World(programs)
  const { url } = await world.startHub()
  const [alice, bob] = await Promise.all([world.startNode('alice'), world.startNode('bob')])
  for (const [name, up] of [
    ['alice', alice],
    ['bob', bob],
  ] as const) {
    await world.hub('admit', String(up['aid']))
    await world.svc(name, 'hub-register', url, '--name', name)
  }
  await world.svc('bob', 'contact', 'add', String(alice['aid']), 'alice')
  await world.svc('alice', 'delegate', String(bob['aid']), NEWS)
  for (let looks = 0; looks < 200; looks++)
    if (((await world.svc('bob', 'inbox'))['items'] as unknown[]).length > 0) break
}, 60_000)
afterAll(() => world?.[Symbol.asyncDispose](), 30_000)

/** What each needs besides, to ask the model of this test and to trust the folder and its hooks. */
const agents: Record<string, (home: string, url: string) => { args: string[]; env: Record<string, string> }> =
  {
    claude: (_, url) => ({
      args: ['-p', TASK, '--tools', ''],
      env: { ...recipes['claude']?.env?.(url), CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' },
    }),
    codex(home, url) {
      writeFileSync(join(home, '.codex', 'config.toml'), codexModel(url))
      return {
        args: ['exec', '--skip-git-repo-check', '--dangerously-bypass-hook-trust', TASK],
        env: { OWN_KEY: 'none' },
      }
    },
    gemini(home, url) {
      addTo(join(home, '.gemini', 'settings.json'), {
        security: { auth: { selectedType: 'gemini-api-key' } },
        privacy: { usageStatisticsEnabled: false },
      })
      return {
        args: ['-p', TASK, '--skip-trust', '-m', 'gemini-2.5-flash'],
        env: { ...recipes['gemini']?.env?.(url) },
      }
    },
    copilot: (_, url) => ({
      args: ['-p', TASK, '--trust-folder'],
      env: { ...recipes['copilot']?.env?.(url) },
    }),
    qwen(home, url) {
      addTo(join(home, '.qwen', 'settings.json'), { security: { auth: { selectedType: 'openai' } } })
      return { args: [TASK], env: { ...recipes['qwen']?.env?.(url) } }
    },
  }

describe.each(Object.entries(agents).filter(([id]) => isHere(id)))('%s', (id, prepare) => {
  test('hears of the mail of a contact with what its user says', async () => {
    const home = world.dir(`agent-${id}`)
    const work = join(home, 'work')
    mkdirSync(work, { recursive: true })
    const bob = { ...world.env('bob'), HOME: home }
    const installed = spawn(process.execPath, [programs.svc, 'install', id, '--hooks'], { env: bob })
    expect((await ended(installed)).code).toBe(0)
    const model = await startRecordingModel({ task: TASK, words: [NEWS, 'task_inbox'], calls: [] })
    const { args, env } = prepare(home, model.url)
    const child = spawn(id, args, {
      cwd: work,
      env: { ...bob, ...env, PATH: process.env['PATH'] ?? '' },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const { said } = await ended(child)
    await model.close()
    expect([...model.heard], said).toEqual(expect.arrayContaining([TASK, NEWS, 'task_inbox']))
  }, 180_000)
})
