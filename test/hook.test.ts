// project: programs

/** `svc hook inbox` as coding agents run it: what is new, once a session, and never a word more. */
import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { World } from '../cli/demo/world.ts'

const root = new URL('..', import.meta.url).pathname
const programs = { svc: join(root, 'dist', 'svc.js'), hub: join(root, 'hub', 'dist', 'svc-hub.js') }
let world: World
let aliceAid: string
let bobAid: string

beforeAll(async () => {
  world = new World(programs)
  const { url } = await world.startHub()
  const [alice, bob] = await Promise.all([world.startNode('alice'), world.startNode('bob')])
  aliceAid = String(alice['aid'])
  bobAid = String(bob['aid'])
  for (const [name, aid] of [
    ['alice', aliceAid],
    ['bob', bobAid],
  ] as const) {
    await world.hub('admit', aid)
    await world.svc(name, 'hub-register', url, '--name', name)
  }
  await world.svc('bob', 'contact', 'add', aliceAid, 'alice')
})
afterAll(() => world?.[Symbol.asyncDispose]())

function hook(format: string, given?: object) {
  const args = [programs.svc, 'hook', 'inbox', '--format', format]
  const input = given === undefined ? '' : JSON.stringify(given)
  const ran = spawnSync(process.execPath, args, { env: world.env('bob'), input, encoding: 'utf8' })
  expect([ran.status, ran.stderr]).toEqual([0, ''])
  return ran.stdout
}

async function delegated(task: string): Promise<string> {
  const { interaction_id } = await world.svc('alice', 'delegate', bobAid, task)
  for (let looks = 0; looks < 200; looks++) {
    const { items } = (await world.svc('bob', 'inbox')) as { items: { interaction_id: string }[] }
    if (items.some(item => item.interaction_id === interaction_id)) return String(interaction_id)
  }
  throw new Error('it did not arrive')
}

async function becomes(id: string, state: string): Promise<void> {
  for (let looks = 0; looks < 200; looks++) {
    const { items } = (await world.svc('bob', 'inbox')) as {
      items: { interaction_id: string; state: string }[]
    }
    if (items.some(item => item.interaction_id === id && item.state === state)) return
  }
  throw new Error(`it did not become ${state}`)
}

describe('a hook', () => {
  test('says what is new of contacts once a session, fenced, with the call that reads it', async () => {
    expect(hook('text')).toBe('')
    const id = await delegated('look at \u001b[31mthis\u202e')
    const said = hook('text')
    expect(said).toMatch(/alice wrote in a task for you: <<untrusted [0-9a-f]{8}>>look at \[31mthis<</)
    expect(said).toContain(`task_inbox {"interaction_id":"${id}"}`)
    expect(hook('text')).toBe('')
    const other = { session_id: 's-2', hook_event_name: 'PostToolUse' }
    expect(JSON.parse(hook('claude', other))).toMatchObject({
      hookSpecificOutput: { hookEventName: 'PostToolUse', additionalContext: expect.stringContaining(id) },
    })
    expect(hook('claude', other)).toBe('')
    await world.svc('bob', 'thread', id)
    expect(hook('claude', { ...other, session_id: 's-3' })).toBe('')
  })

  test('speaks as each agent hears it at each of its events, and holds up none twice', async () => {
    const id = await delegated('another')
    const events = [
      ['claude', 'UserPromptSubmit'],
      ['codex', 'SessionStart'],
      ['gemini', 'BeforeAgent'],
    ] as const
    for (const [format, hook_event_name] of events) {
      const said = hook(format, { session_id: 'e', hook_event_name })
      expect(JSON.parse(said).hookSpecificOutput.hookEventName).toBe(hook_event_name)
    }
    const started = { session_id: 'e', hook_event_name: 'SessionStart' }
    expect(JSON.parse(hook('copilot', started))).toEqual({ additionalContext: expect.stringContaining(id) })
    const stop = { session_id: 'f', hook_event_name: 'Stop', stop_hook_active: true }
    expect(hook('claude', stop)).toBe('')
    const ended = JSON.parse(hook('claude', { ...stop, stop_hook_active: false })) as Record<string, string>
    expect([ended['decision'], ended['reason']?.includes(id)]).toEqual(['block', true])
    expect(JSON.parse(hook('gemini', { session_id: 'g', hook_event_name: 'AfterAgent' }))).toMatchObject({
      decision: 'deny',
    })
  })

  test('says words once, then the end that is proposed, and nothing of what this side does itself', async () => {
    const id = await delegated('words before the end')
    const said = () => hook('claude', { session_id: 'ends' })
    expect(said()).toContain('words before the end')
    await world.svc('alice', 'end', id)
    await becomes(id, 'end_proposed')
    const proposed = said()
    expect(proposed).toContain(`alice proposes to end task ${id}`)
    expect(proposed).not.toContain('words before')
    await world.svc('bob', 'accept-end', id)
    await becomes(id, 'ended')
    expect(said()).toBe('')
  })

  test('repeats the words of the other side only, also after this side answered', async () => {
    const id = await delegated('words of alice')
    await world.svc('bob', 'message', id, 'words of bob')
    const said = hook('claude', { session_id: 'answered' })
    expect(said).toContain('words of alice')
    expect(said).not.toContain('words of bob')
  })

  test('says nothing of strangers', async () => {
    await world.svc('bob', 'contact', 'rm', 'alice')
    await delegated('of a stranger')
    expect(hook('claude', { session_id: 'h' })).toBe('')
    await world.svc('bob', 'contact', 'add', aliceAid, 'alice')
  })

  test('is silent about what is no JSON object, which tells it neither session nor event, and says it later', async () => {
    const id = await delegated('said in time')
    const args = [programs.svc, 'hook', 'inbox', '--format', 'claude']
    for (const input of ['not json', '{"hook_event_name":"Sto', '[]', '7', 'null']) {
      const ran = spawnSync(process.execPath, args, { env: world.env('bob'), input, encoding: 'utf8' })
      expect([ran.status, ran.stdout, ran.stderr]).toEqual([0, '', ''])
    }
    expect(hook('claude')).toContain(id)
    expect(hook('claude')).toBe('')
  })

  test('in a home without an identity says nothing and makes nothing', () => {
    const home = world.dir('home', 'empty')
    mkdirSync(home, { recursive: true })
    const env = { ...world.env('bob'), SVC_HOME: home, SVC_RUNTIME_DIR: world.dir('empty-run') }
    for (const format of ['text', 'claude', 'codex', 'gemini']) {
      const args = [programs.svc, 'hook', 'inbox', '--format', format]
      const ran = spawnSync(process.execPath, args, { env, input: '{"session_id":"s"}', encoding: 'utf8' })
      expect([ran.status, ran.stdout, ran.stderr]).toEqual([0, '', ''])
    }
    expect(readdirSync(home)).toEqual([])
  })

  test.each([
    ['hook', 'inbox', '--format', 'xml'],
    ['--id', 'default', 'hook', 'inbox', '--formatt', 'claude'],
    ['hook', 'inbox', 'more'],
    ['hook', 'inbx'],
  ])('called wrongly says so without holding up the agent: %s %s %s %s', (...line) => {
    const ran = spawnSync(process.execPath, [programs.svc, ...line.filter(word => word !== undefined)], {
      env: world.env('bob'),
      input: '{}',
      encoding: 'utf8',
    })
    expect([ran.status, ran.stdout]).toEqual([1, ''])
    expect(ran.stderr).toMatch(/^svc: /)
  })

  test('is silent where no node runs, where its input is no JSON, and soon where nobody says anything', async () => {
    const env = { ...world.env('bob'), SVC_HOME: world.dir('home', 'nobody') }
    const args = [programs.svc, 'hook', 'inbox', '--format', 'claude']
    const ran = spawnSync(process.execPath, args, { env, input: 'no json', encoding: 'utf8' })
    expect([ran.status, ran.stdout, ran.stderr]).toEqual([0, '', ''])
    const child = spawn(process.execPath, args, { env, stdio: ['pipe', 'pipe', 'pipe'] })
    const code = await new Promise(done => child.once('exit', done))
    child.stdin.destroy()
    expect(code).toBe(0)
  })
})
