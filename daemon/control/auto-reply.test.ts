/** Setting the auto-reply on a node: checked first, written after, and shown in one sentence. */
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { readConfig, writeConfig } from '../home/config.ts'
import { type Node, startNode } from '../node.ts'

const dir = mkdtempSync(join(tmpdir(), 'svc-auto-'))
const never = new AbortController().signal
let node: Node

beforeAll(async () => {
  writeConfig(dir, { ...readConfig(dir), control_addr: '127.0.0.1:0' })
  node = await startNode({ dir, env: { SVC_RUNTIME_DIR: join(dir, 'run'), PATH: process.env['PATH'] } })
})
afterAll(() => node.stop())

type Change = Parameters<Node['handlers']['autoReplySet']>[0]
const set = (change: Change) => node.handlers.autoReplySet(change, never)

beforeEach(() => set({ command: 'cat', max_auto_replies: 7 }))

test.each<[Change, RegExp]>([
  [{ agent: 'nobody' }, /no agent "nobody"; choose one of claude, codex/],
  [{ command: '/no/such/program --x' }, /program not found: \/no\/such\/program/],
  [{ command: 'no-such-program-anywhere' }, /program not found: no-such-program-anywhere/],
  [{ api_base: 'localhost:11434', model: 'm' }, /expected an http or https address for --api-base/],
  [{ api_base: 'http://127.0.0.1:1/v1' }, /needs a model/],
  [{ agent: 'claude', command: 'cat' }, /expected one of/],
  [{ backend: 'openai', command: 'cat' }, /does not go with --command/],
])('%j is refused, and nothing is written', async (change, sentence) => {
  const before = readFileSync(join(dir, 'config.json'), 'utf8')
  await expect(set(change)).rejects.toMatchObject({ code: 'bad_request', message: sentence })
  expect(readFileSync(join(dir, 'config.json'), 'utf8')).toBe(before)
  expect((await node.handlers.autoReplyTest({ question: 'hello' }, never)).answer).toContain('hello')
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

test('show says what answers whom, with which tools and limits', async () => {
  expect((await node.handlers.autoReplyShow(undefined, never)).says).toBe(
    'cat answers contacts; tools: none; at most 7 answers in a task and 60 an hour for one peer, 180 s each',
  )
  expect((await set({ strangers: true })).says).toContain('contacts and strangers')
})
