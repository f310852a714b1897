/** Commands of the owner: who may run them, what they get, and what the evidence chain keeps of it. */
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import pino from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Effect } from '../../protocol/proof/effect.ts'
import { anyAid } from '../../protocol/testing/agents.ts'
import { systemTimers } from '../../protocol/timers.ts'
import { ConfigError, checkConfig } from '../home/config.ts'
import { Publication } from '../hubs/publication.ts'
import { type TestNode, TestWorld } from '../testing/node.ts'
import { type Provider, runProvider } from './provider.ts'
import { module as shell } from './shell.ts'

const [ALICE, CAROL] = fc.sample(anyAid, { numRuns: 2, seed: 1 }) as [string, string]
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'svc-shell-')))
const world = new TestWorld()
let node: TestNode
let warned: string[]

beforeAll(async () => {
  node = await world.node('bob')
})
afterAll(() => world[Symbol.asyncDispose]())
beforeEach(() => {
  warned = []
})

const COMMANDS = {
  echo: { argv: ['echo', 'hello'], description: 'says hello', arguments: 64 },
  bare: { argv: ['echo'] },
  log: { argv: ['echo', 'log'], arguments: ['[0-9a-f]{7,40}', '[a-z/.]+'], end_of_options: true },
  fail: { argv: ['sh', '-c', 'echo out; echo err >&2; exit 3'] },
  here: { argv: ['pwd'], dir: folder },
  none: { argv: ['/no/such/program'] },
  much: { argv: ['sh', '-c', 'yes | head -c 5000'] },
  env: { argv: ['env'] },
  hang: { argv: ['sh', '-c', `sleep 1000 & echo $! > ${join(folder, 'pid')}; wait`], timeout_seconds: 1 },
}

function providers(more: object = {}): Map<string, Provider> {
  const config =
    checkConfig({ modules: { shell: { commands: COMMANDS, allow: [ALICE], ...more } } }).modules ?? {}
  const log = pino(
    { level: 'warn' },
    { write: line => void warned.push((JSON.parse(line) as { msg: string }).msg) },
  )
  const found = shell?.open({ ...node.ctx, config, log, publication: new Publication(), now: Date.now }) ?? []
  return new Map(found.map(provider => [provider.capability, provider]))
}

type Given = { args?: Record<string, unknown>; caller?: string | undefined; signal?: AbortSignal }
async function run(name: string, given: Given = {}, more: object = {}): Promise<Effect> {
  const provider = providers(more).get(`shell.${name}`)
  if (provider === undefined) throw new Error(`no shell.${name}`)
  const { args = {}, signal = new AbortController().signal } = given
  const caller = 'caller' in given ? given.caller : ALICE
  const call = { capability: provider.capability, args, caller, signal }
  return runProvider(provider, call, { now: Date.now, timers: systemTimers, log: node.ctx.log })
}
const records = (type: string) => node.ctx.chain.read({ eventType: type }).map(record => record['payload'])
const last = (type: string) => records(type).at(-1)

describe('a command', () => {
  test('runs with the arguments of the call, and is recorded before it is answered, without its output', async () => {
    const effect = await run('run@echo', { args: { argv: ['to', '$HOME; ls'] } })
    expect(effect).toMatchObject({
      status: 'OK',
      record: { metrics: { exit_code: 0, output_bytes: 19, duration_ms: expect.any(Number) } },
      evidence: { observedState: 'hello to $HOME; ls\n', verifyTrust: 2, authTrust: 2, protocol: 'shell' },
    })
    expect(last('svc.shell.command')).toEqual({
      caller: ALICE,
      capability: 'shell.run@echo',
      command: 'echo hello to $HOME; ls',
      exit_code: 0,
      killed: false,
      duration_ms: expect.any(Number),
      output_bytes: 19,
    })
  })

  test('that fails says with what, and its output all the same', async () => {
    expect(await run('run@fail')).toMatchObject({
      status: 'FAILED',
      message: 'exit 3',
      record: { metrics: { exit_code: 3, output_bytes: 8 } },
      evidence: { observedState: expect.stringMatching(/out\n/) },
    })
    expect(last('svc.shell.command')).toMatchObject({ exit_code: 3, killed: false })
  })

  test('that takes too long is killed with everything it started', async () => {
    const effect = await run('run@hang')
    expect(effect).toMatchObject({ status: 'FAILED', message: 'killed after 1 s' })
    expect(last('svc.shell.command')).toMatchObject({ killed: true, exit_code: -1 })
    const pid = readFileSync(join(folder, 'pid'), 'utf8').trim()
    await vi.waitFor(() => expect(commandLine(pid)).toBe(''))
  })

  test('ends when nobody waits any more', async () => {
    rmSync(join(folder, 'pid'), { force: true })
    const patience = new AbortController()
    const running = run(
      'run@hang',
      { signal: patience.signal },
      { commands: { hang: { ...COMMANDS.hang, timeout_seconds: 60 } } },
    )
    await vi.waitFor(() => expect(readFileSync(join(folder, 'pid'), 'utf8')).toMatch(/\d/))
    patience.abort()
    expect((await running).status).toBe('FAILED')
    expect(last('svc.shell.command')).toMatchObject({ killed: true, duration_ms: expect.any(Number) })
  })

  test('runs where it is told, with an environment of its own, and its output is cut', async () => {
    vi.stubEnv('SVC_SECRET_OF_THE_NODE', 'x')
    expect((await run('run@here')).evidence?.observedState).toBe(`${folder}\n`)
    expect((await run('run@env')).evidence?.observedState).not.toContain('SECRET')
    vi.unstubAllEnvs()
    const much = await run('run@much', {}, { max_output_bytes: 100 })
    expect(much.evidence?.observedState).toHaveLength(100)
    expect(much.record?.metrics).toMatchObject({ output_bytes: 5000 })
  })

  test.each([
    ['run@none', {}, /^the command does not start: /],
    ['run@echo', { command: 'x' }, 'unexpected argument: command; accepted: argv'],
    ['run@bare', { argv: ['--output=/tmp/x'] }, 'this command takes no arguments'],
    ['run@log', { argv: ['--output=/tmp/x'] }, 'argument 1 has not the form that this command takes'],
    ['run@log', { argv: ['0123456\n--output'] }, 'argument 1 has not the form that this command takes'],
    ['run@log', { argv: ['0123456', 'a', 'b'] }, 'this command takes at most 2 arguments'],
    ['run@echo', { argv: 'x' }, 'expected argv: a list of at most 64 texts'],
    ['run@echo', { argv: [1] }, 'expected argv: a list of at most 64 texts'],
    ['run@echo', { argv: ['a\0b'] }, 'expected argv: a list of at most 64 texts'],
    ['exec', { argv: [] }, 'unexpected argument: argv; accepted: command, dir'],
    ['exec', { command: 'true', dir: 'here' }, 'expected dir: an absolute path'],
  ])('%s with %j is refused: %s', async (name, args, message) => {
    const effect = await run(name, { args }, { allow_arbitrary: true })
    expect(effect.status).toBe('FAILED')
    expect(effect.message).toMatch(message)
  })
})

test('arguments of a call have their form, after a mark that ends options where the owner wants one', async () => {
  const effect = await run('run@log', { args: { argv: ['0123456', 'a/b.c'] } })
  expect(effect.evidence?.observedState).toBe('log -- 0123456 a/b.c\n')
  expect((await run('run@log')).evidence?.observedState).toBe('log\n')
})

describe('who may call', () => {
  test.each([
    ['nobody in the list', { allow: [] }, ALICE, 'this caller is not allowed'],
    ['no list at all', { allow: undefined }, ALICE, 'this caller is not allowed'],
    ['somebody else', {}, CAROL, 'this caller is not allowed'],
    ['no caller', {}, undefined, 'a call without a caller is not allowed; set allow_local'],
    [
      'a list that is gone',
      { allow: undefined, allow_file: join(folder, 'gone') },
      ALICE,
      'this caller is not allowed',
    ],
  ])('%s: nothing runs, and the refusal is recorded', async (_, more, caller, reason) => {
    const before = records('svc.shell.command').length
    for (const name of ['run@echo', 'exec', 'list']) {
      expect(await run(name, { caller }, { allow_arbitrary: true, ...more })).toMatchObject({
        status: 'UNAVAILABLE',
        message: reason,
      })
      expect(last('svc.shell.refused')).toEqual({ caller: caller ?? '', capability: `shell.${name}`, reason })
    }
    expect(records('svc.shell.command')).toHaveLength(before)
  })

  test('the file of callers is read for every call', async () => {
    const allow_file = join(folder, 'callers')
    const more = { allow: undefined, allow_file }
    const open = providers(more).get('shell.run@echo') as Provider
    const call = {
      capability: open.capability,
      args: {},
      caller: ALICE,
      signal: new AbortController().signal,
    }
    const status = async () =>
      (await runProvider(open, call, { now: Date.now, timers: systemTimers, log: node.ctx.log })).status
    expect(await status()).toBe('UNAVAILABLE')
    writeFileSync(allow_file, `${CAROL}\n ${ALICE} \n\n`)
    expect(await status()).toBe('OK')
    writeFileSync(allow_file, `${CAROL}\n`)
    expect(await status()).toBe('UNAVAILABLE')
    writeFileSync(allow_file, ALICE)
    expect(await status()).toBe('OK')
    rmSync(allow_file)
    expect(await status()).toBe('UNAVAILABLE')
  })

  test('the owner, where that is allowed', async () => {
    expect(await run('run@echo', { caller: undefined }, { allow_local: true })).toMatchObject({
      status: 'OK',
    })
  })

  test('a list and a file of callers together stop the start', () => {
    expect(() => providers({ allow_file: '/x' })).toThrow(ConfigError)
    expect(() => providers({ allow_file: '/x' })).toThrow(/allow and allow_file are both given/)
  })
})

describe('what is offered', () => {
  test('nothing where it is not configured; any command only where that is turned on', async () => {
    expect(shell?.open({ ...node.ctx, config: {}, publication: new Publication() })).toEqual([])
    expect([...providers().keys()]).not.toContain('shell.exec')
    expect(
      await run('exec', { args: { command: 'echo $((1+1))' } }, { allow_arbitrary: true }),
    ).toMatchObject({
      status: 'OK',
      evidence: { observedState: '2\n' },
    })
  })

  test('names of commands are published, the rest is not', () => {
    const published = [...providers({ allow_arbitrary: true }).values()].filter(one => one.published)
    expect(published.map(({ capability }) => capability)).toEqual(
      Object.keys(COMMANDS).map(name => `shell.run@${name}`),
    )
  })

  test('the list names commands to who may call, and the callers to the owner alone', async () => {
    const listed = async (caller: string | undefined) =>
      JSON.parse(
        (await run('list', { caller }, { allow_local: true })).evidence?.observedState ?? '{}',
      ) as Record<string, unknown>
    const remote = await listed(ALICE)
    expect(remote).toMatchObject({ allow_arbitrary: false, allowed_callers: 1 })
    expect(remote['commands']).toContainEqual({
      name: 'echo',
      description: 'says hello',
      timeout_seconds: 60,
    })
    expect(JSON.stringify(remote)).not.toContain(ALICE)
    expect(await listed(undefined)).toMatchObject({ allowed_caller_aids: [ALICE] })
  })

  test('a start warns of an empty list and of any command', () => {
    providers({ allow: [], allow_arbitrary: true })
    expect(warned).toEqual([
      'the shell module lets nobody call: its list is empty',
      'the shell module runs any command of those who may call (shell.exec)',
    ])
    warned = []
    providers()
    expect(warned).toEqual([])
  })
})

/** What has ended has no command line. */
function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}
