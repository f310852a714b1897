/**
 * The nine tools as installed coding agents pass them to their models, registered by `svc install` alone: all of them
 * are offered, an answer of another agent reaches the model between its markers, and so does the sentence of an error.
 */
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startRecordingModel, type ToolCall } from '../../autoreply/attack/recording-model.ts'
import { World } from '../../cli/demo/world.ts'
import { tools } from '../../mcp/tools/all.ts'
import { present } from '../../protocol/encoding/present.ts'
import { ask, ended, here, install, programs } from './installed.ts'

const TASK = 'Use your tools as you see fit.'

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

async function run(id: string, calls: readonly ToolCall[], words: readonly string[]) {
  const agent = await install(world, id)
  let turns = 0
  // opencode asks for a title first, without tools
  const next = (_: string, offered: readonly string[]) => (offered.length === 0 ? undefined : calls[turns++])
  const model = await startRecordingModel({ task: TASK, words, calls: next })
  const said = await ask(id, agent, { url: model.url, task: TASK })
  await model.close()
  return { heard: [...model.heard], offered: [...model.offered], said }
}

describe.each(here)('%s', id => {
  let offered: string[] = []
  const callOf = (tool: string, args: Record<string, unknown>): ToolCall => ({
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

  test('is rid of svc after its removal, whatever it made of its own files meanwhile', async () => {
    const { home, env } = await install(world, id)
    const removing = spawn(process.execPath, [programs.svc, 'install', id, '--remove'], { env })
    const { code, said } = await ended(removing)
    expect([code, JSON.parse(said)['changes'].length > 1], said).toEqual([0, true])
    const { changes } = JSON.parse(said) as { changes: { path: string }[] }
    for (const { path } of changes) {
      expect(path.startsWith(home)).toBe(true)
      expect(existsSync(path) ? readFileSync(path, 'utf8') : '').not.toMatch(/svc\.js|svc:begin/)
    }
  }, 60_000)
})
