// project: programs

/** `svc stop`: the node of a home ends wherever it was announced, and what an agent started stays and goes on later. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { World } from '../cli/demo/world.ts'

const root = new URL('..', import.meta.url).pathname
let world: World
beforeAll(() => {
  world = new World({ svc: join(root, 'dist', 'svc.js'), hub: '' })
})
afterAll(() => world[Symbol.asyncDispose]())

type Env = Record<string, string>

/** A home with a runtime directory of its own, or of the test's choice. */
function homeOf(name: string, runtime = name): Env {
  const dir = world.dir('home', name)
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  return { ...world.env('alice'), SVC_HOME: dir, SVC_RUNTIME_DIR: world.dir('home', `run-${runtime}`) }
}

async function svc(env: Env, ...args: string[]) {
  const { code, stdout, stderr } = await world.run(world.programs.svc, args, env)
  return { code, stderr, reply: stdout === '' ? {} : (JSON.parse(stdout) as Record<string, unknown>) }
}

async function session(env: Env, ...args: string[]) {
  const client = new Client({ name: 'test', version: '1' })
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [world.programs.svc, ...args],
    env,
    stderr: 'ignore',
  })
  await client.connect(transport)
  const status = async () => {
    const { structuredContent, content } = await client.callTool({ name: 'node_status', arguments: {} })
    const { node } = (structuredContent ?? {}) as { node?: { aid: string } }
    return { aid: node?.aid, text: (content as { text: string }[])[0]?.text ?? '' }
  }
  return { client, transport, status }
}

test.each([
  ['stop', []],
  ['stop', ['--all']],
] as const)(
  '%s %j ends the node of this home that another runtime directory names',
  async (command, more) => {
    const env = homeOf(`elsewhere${more.length}`, 'first')
    const started = await svc(env, 'up')
    const { pid, aid, control_addr, data_dir } = started.reply
    const other = homeOf(`elsewhere${more.length}`, 'second')
    expect((await svc(other, command, ...more)).reply).toEqual({
      stopped: [{ aid, pid, control_addr, data_dir }],
    })
    expect((await svc(env, 'status')).code).toBe(1)
    expect((await svc(other, command, ...more)).reply).toEqual({ stopped: [] })
  },
)

test('a session that was the node itself keeps its tools, says that the node was stopped, and takes up the next one', async () => {
  const env = homeOf('session')
  const first = await session(env, 'daemon', '--stdio')
  const joined = await session(env, 'daemon', '--stdio')
  const { aid } = await first.status()
  expect([aid, (await joined.status()).aid]).toEqual([expect.stringMatching(/^A/), aid])
  expect((await svc(env, 'stop')).reply).toMatchObject({ stopped: [{ aid, pid: first.transport.pid }] })
  const during = await Promise.all([first.status(), joined.status()])
  for (const { text } of during)
    expect(text).toMatch(/^unavailable: no node answers .*; it was stopped[\s\S]*svc up/)
  expect((await svc(env, 'status')).code).toBe(1)
  expect((await first.client.listTools()).tools).toHaveLength(9)
  expect((await svc(env, 'up')).reply).toMatchObject({ state: 'running', aid })
  expect([(await first.status()).aid, (await joined.status()).aid]).toEqual([aid, aid])
  expect((await svc(env, 'stop')).reply).toMatchObject({ stopped: [{ aid }] })
  const next = await session(env, 'daemon', '--stdio')
  expect((await next.status()).aid).toBe(aid)
  expect((await first.status()).aid).toBe(aid)
  await Promise.all([first, joined, next].map(one => one.client.close()))
})
