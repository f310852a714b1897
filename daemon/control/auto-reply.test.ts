// project: programs

/** Setting the auto-reply on a node: checked first, written after, and shown in one sentence. */
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { placeHangingAgent, placeScriptedAgent } from '../../autoreply/attack/testing.ts'
import { findSandbox } from '../../autoreply/sandbox.ts'
import { readConfig, writeConfig } from '../home/config.ts'
import { type Node, startNode } from '../node.ts'
import { chosen } from './auto-reply.ts'

const dir = mkdtempSync(join(tmpdir(), 'svc-auto-'))
const bin = join(dir, 'bin')
const never = new AbortController().signal
let node: Node

beforeAll(async () => {
  writeConfig(dir, { ...readConfig(dir), control_addr: '127.0.0.1:0' })
  node = await startNode({
    dir,
    env: { SVC_RUNTIME_DIR: join(dir, 'run'), PATH: placeScriptedAgent(bin, 'none') },
  })
})
afterAll(() => node.stop())

type Change = Parameters<Node['handlers']['autoReplySet']>[0]
const set = (change: Change) => node.handlers.autoReplySet(change, never)

beforeEach(() => set({ command: 'cat', max_auto_replies: 7 }))

test.each<[Change, RegExp]>([
  [{ agent: 'nobody' }, /no agent "nobody"; choose one of claude, codex/],
  [{ command: '/no/such/program --x' }, /program not found: \/no\/such\/program/],
  [
    { command: 'no-such-program-anywhere' },
    /no-such-program-anywhere is not on the PATH of the node; give its path from the root on$/,
  ],
  [{ api_base: 'localhost:11434', model: 'm' }, /expected an http or https address for --api-base/],
  [{ api_base: 'http://127.0.0.1:1/v1' }, /needs a model/],
  [
    { command: import.meta.filename },
    /auto-reply\.test\.ts is not an executable file; make it so with chmod \+x/,
  ],
  [{ command: './run.sh' }, /\.\/run\.sh is a relative path, .* give the path from the root on/],
  [{ command: ' ' }, /the command is empty; give a program/],
  [{ command: 'cat ./words.txt' }, /\.\/words\.txt is a relative path, .* give the path from the root on/],
  [{ command: 'cat', work_dir: join(dir, 'nope') }, /nope is no folder that this node can write to; make it/],
  [{ command: 'cat', work_dir: import.meta.filename }, /auto-reply\.test\.ts is no/],
  [{ command: 'cat', work_dir: 'here' }, /here is not an absolute path/],
  [{ agent: 'claude', command: 'cat' }, /expected one of/],
  [{ backend: 'openai', command: 'cat' }, /does not go with --command/],
  [
    { command: 'cat -u', tools: 'read' },
    /--tools is for a coding agent and means nothing to --command; leave/,
  ],
  [{ tools: 'write' }, /means nothing to --command/],
  [{ agent: 'claude', tools: 'read', guests: true }, /visitors are answered without approval.*--tools none/],
  [{ api_base: 'http://127.0.0.1:1/v1', model: 'm', tools: 'read' }, /means nothing to --api-base/],
])('%j is refused, and nothing is written', async (change, sentence) => {
  const before = readFileSync(join(dir, 'config.json'), 'utf8')
  await expect(set(change)).rejects.toMatchObject({ code: 'bad_request', message: sentence })
  expect(readFileSync(join(dir, 'config.json'), 'utf8')).toBe(before)
  expect((await node.handlers.autoReplyTest({ question: 'hello' }, never)).answer).toContain('hello')
})

test.skipIf(findSandbox(process.env).kind === 'none')(
  'a command that the sandbox keeps from starting is refused, with what to name in its place',
  async () => {
    const shim = join(dir, 'shims', 'python9')
    mkdirSync(join(dir, 'shims'))
    writeFileSync(shim, `#!/bin/sh\nexec ${join(dir, 'versions', 'python9')} "$@"\n`, { mode: 0o755 })
    mkdirSync(join(dir, 'versions'))
    writeFileSync(join(dir, 'versions', 'python9'), '#!/bin/sh\ncat\n', { mode: 0o755 })
    const before = readFileSync(join(dir, 'config.json'), 'utf8')
    await expect(set({ command: shim })).rejects.toMatchObject({
      code: 'bad_request',
      message: expect.stringMatching(
        /python9 is started from .*hides your home.*\/usr\/bin\/python3.*--no-sandbox/,
      ),
    })
    expect(readFileSync(join(dir, 'config.json'), 'utf8')).toBe(before)
    expect((await set({ command: shim, sandbox: false })).auto_reply?.command).toBe(shim)
  },
)

test('a test shows what a correspondent would get, and what was taken off before', async () => {
  const command = `printf 'one\\033[31m \\342\\200\\256two'`
  const { answer, changes } = await node.handlers.autoReplyTest({ settings: { command: command } }, never)
  expect([answer, changes]).toEqual([
    'one[31m two',
    ['control, bidirectional or invisible characters were taken off'],
  ])
})

test('naming a backend clears what belonged to another, and keeps the rest', async () => {
  const model = await set({ api_base: 'http://127.0.0.1:1/v1', model: 'm', api_key: 'k' })
  expect(model.auto_reply).toMatchObject({
    backend: 'openai',
    model: 'm',
    api_key_set: true,
    max_auto_replies: 7,
  })
  expect(model.auto_reply).not.toHaveProperty('command')
  const program = await set({ command: 'cat -u' })
  expect(program.auto_reply).toEqual({
    backend: 'exec',
    command: 'cat -u',
    max_auto_replies: 7,
    api_key_set: false,
  })
})

test('another agent or backend starts without tools and without strangers, and is attacked', async () => {
  placeScriptedAgent(bin, 'none')
  await set({ agent: 'claude', sandbox: false, tools: 'read', strangers: true })
  const { warnings } = await node.handlers.status(undefined, never)
  expect(warnings.join()).toMatch(
    /claude answers tasks with tools \(--tools read\).*svc autoreply set --tools none/,
  )
  expect((await set({ agent: 'claude' })).auto_reply).toMatchObject({ tools: 'read', strangers: true })

  const command = await set({ command: 'cat' })
  expect(command.auto_reply).not.toHaveProperty('tools')
  expect(command.auto_reply).not.toHaveProperty('strangers')
  expect(command.says).toMatch(/--tools read was for what answered before.*--strangers true was for what/)
  expect((await node.handlers.status(undefined, never)).warnings.join()).not.toContain('with tools')

  // as a release wrote it that took any of them together
  const previous = {
    backend: 'exec',
    command: 'cat',
    tools: 'read',
    strangers: true,
    sandbox: false,
  } as const
  node.ctx.settings.change({ auto_reply: previous })
  placeScriptedAgent(bin, 'obedience')
  await expect(set({ agent: 'claude', sandbox: false })).rejects.toMatchObject({
    message: /does not withstand an attack/,
  })
  placeScriptedAgent(bin, 'none')
  const locked = await set({ agent: 'claude', sandbox: false })
  expect(locked.says).toContain('claude answers contacts; tools: none')
})

test('settings are tried without being kept, by a question and by an attack', async () => {
  const file = () => readFileSync(join(dir, 'config.json'), 'utf8')
  const before = file()
  const tried = (settings: Change) =>
    node.handlers.autoReplyTest({ question: 'is it there?', settings }, never)
  expect((await tried({ command: 'grep there', sandbox: false })).answer).toBe('is it there?')
  await expect(tried({ command: '/no/such/program' })).rejects.toMatchObject({
    code: 'backend_failed',
    message: /program not found/,
  })
  await expect(tried({ command: 'cat', agent: 'claude' })).rejects.toMatchObject({ code: 'bad_request' })
  placeScriptedAgent(bin, 'instructions')
  const attacked = await node.handlers.autoReplyAttack(
    { settings: { agent: 'claude', sandbox: false } },
    never,
  )
  expect(attacked.leaks).toHaveLength(1)
  placeScriptedAgent(bin, 'none')
  expect(file()).toBe(before)
  expect((await node.handlers.autoReplyShow(undefined, never)).auto_reply?.command).toBe('cat')
})

test('another agent starts without the arguments, model and walls of the one before, and that is said', () => {
  const current = {
    backend: 'exec',
    agent: 'openclaw',
    tools: 'read',
    model: 'm',
    openclaw_agent: 'main',
    extra_args: ['--verbose'],
    sandbox: false,
    provider_url: 'http://127.0.0.1:1/v1',
    provider_key_env: 'KEY',
    max_history: 3,
  } as const
  const settings = { ...current, extra_args: [...current.extra_args] }
  const other = chosen(settings, { agent: 'claude', model: 'n' })
  expect(other.config).toEqual({ backend: 'exec', agent: 'claude', model: 'n', max_history: 3 })
  expect(other.resets.join('; ')).toContain(
    '--openclaw-agent, --provider-url, --provider-key-env, --extra-arg, --no-sandbox fell away with what answered before',
  )
  const same = chosen(settings, { agent: 'openclaw' })
  expect([same.config, same.resets]).toEqual([settings, []])
  expect(chosen(settings, { command: 'cat' }).resets.join()).toContain('--model')
  const previous = { backend: 'exec', command: 'cat', extra_args: ['-u'], sandbox: false } as const
  const command = chosen({ ...previous, extra_args: ['-u'] }, { command: 'tac' })
  expect(command.config).toMatchObject({ command: 'tac', extra_args: ['-u'], sandbox: false })
})

test('a key stays with the server that it was given for', async () => {
  const first = { api_base: 'https://models.example/v1', model: 'm', api_key: 'k' }
  await set(first)
  expect((await set({ api_base: 'https://models.example/v2' })).auto_reply?.api_key_set).toBe(true)
  const moved = await set({ api_base: 'https://other.example/v1' })
  expect(moved.auto_reply?.api_key_set).toBe(false)
  expect(moved.says).toContain('the key was for https://models.example and is not sent to another server')
  expect(readFileSync(join(dir, 'config.json'), 'utf8')).not.toContain('api_key')
  const again = await set({ ...first, api_base: 'https://third.example/v1' })
  expect(again.auto_reply?.api_key_set).toBe(true)
})

test('nor is the variable that holds a key named to another server of models', () => {
  const current = {
    backend: 'exec',
    agent: 'codex',
    model: 'm',
    provider_url: 'http://127.0.0.1:1/v1',
    provider_key_env: 'KEY',
  } as const
  const { config, resets } = chosen(current, { provider_url: 'http://127.0.0.1:2/v1' })
  expect(config).not.toHaveProperty('provider_key_env')
  expect(resets.join()).toMatch(/the key was for http:\/\/127\.0\.0\.1:1 .*--provider-key-env/)
  expect(chosen(current, { provider_url: 'http://127.0.0.1:1/v2' }).config.provider_key_env).toBe('KEY')
})

test('show says what answers whom, with which tools and limits, and what holds it', async () => {
  await set({ sandbox: false })
  expect((await node.handlers.autoReplyShow(undefined, never)).says).toBe(
    'cat answers contacts; tools: none; at most 7 answers in a task and 60 an hour for one peer, 180 s each; in no sandbox: it was turned off with --no-sandbox',
  )
  expect((await set({ strangers: true })).says).toContain('contacts, and strangers whose task was approved')
})

test('an agent that leaks when it is attacked is refused, and one that passed is not tried again', async () => {
  placeScriptedAgent(bin, 'instructions')
  const before = readFileSync(join(dir, 'config.json'), 'utf8')
  const refused = /claude 9\.9\.9 \(instructions\) does not withstand .* owner's instructions .*--unsafe/
  await expect(set({ agent: 'claude', sandbox: false })).rejects.toMatchObject({
    code: 'bad_request',
    message: refused,
  })
  expect(readFileSync(join(dir, 'config.json'), 'utf8')).toBe(before)

  await set({ agent: 'claude', sandbox: false, unsafe: true })
  expect(node.ctx.chain.read({ eventType: 'svc.autoreply.unsafe' })[0]?.['payload']).toEqual({
    agent: 'claude',
    version: '9.9.9 (instructions)',
    leaks: ["its owner's instructions reached the model"],
  })
  expect(readFileSync(join(dir, 'config.json'), 'utf8')).not.toContain('unsafe')
  expect((await node.handlers.autoReplyAttack({}, never)).leaks).toHaveLength(1)

  placeScriptedAgent(bin, 'none')
  await set({ agent: 'claude', sandbox: false })
  const kept = () => (JSON.parse(readFileSync(join(dir, 'autoreply-tried.json'), 'utf8')) as string[]).sort()
  const tried = kept()
  expect(tried.join()).toContain('9.9.9 (none)')
  expect(await node.handlers.autoReplyAttack({}, never)).toEqual({
    agent: 'claude',
    version: '9.9.9 (none)',
    sandbox: 'none',
    leaks: [],
  })
  expect(kept()).toEqual(tried)
})

test('the node answers while it waits for the version of an agent that hangs, and stops when nobody waits', async () => {
  const before = readFileSync(join(dir, 'config.json'), 'utf8')
  const pids = placeHangingAgent(bin)
  const patience = new AbortController()
  const setting = node.handlers.autoReplySet({ agent: 'claude', sandbox: false }, patience.signal)
  const refused = expect(setting).rejects.toMatchObject({ code: 'bad_request', message: /--version/ })
  await vi.waitFor(() => expect(pids()).toHaveLength(2))
  expect((await node.handlers.status(undefined, never)).aid).toBe(node.ctx.identity.aid)
  patience.abort()
  await refused
  expect(readFileSync(join(dir, 'config.json'), 'utf8')).toBe(before)
  placeScriptedAgent(bin, 'none')
})

test('what is no coding agent without tools is not attacked', async () => {
  await expect(node.handlers.autoReplyAttack({}, never)).rejects.toMatchObject({
    code: 'backend_failed',
    message: /only a coding agent/,
  })
})

test('an empty text takes its setting out, and what answers stays', () => {
  const before = { backend: 'exec', agent: 'claude', model: 'small', work_dir: dir } as const
  const { config, resets } = chosen(before, { agent: 'claude', model: '', work_dir: '' })
  expect([config, resets]).toEqual([{ backend: 'exec', agent: 'claude' }, []])
})
