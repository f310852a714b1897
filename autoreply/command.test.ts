// project: programs

/** What docs/agents.md promises to a program of one's own ("A program of your own"), sentence by sentence. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ConversationTurn } from './backend.ts'
import { execBackend } from './exec.ts'
import { OUTPUT_BYTES_MAX } from './run-program.ts'
import { NO_SANDBOX } from './sandbox.ts'
import { random, requestOf } from './testing.ts'

let root: string
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'svc-contract-'))
})
afterAll(() => rmSync(root, { recursive: true, force: true }))

const never = new AbortController().signal
type Given = { request?: Parameters<typeof requestOf>[1]; env?: Record<string, string>; signal?: AbortSignal }

/** What a program of this source answers to these words. */
async function answerOf(source: string, words = 'x', { request, env, signal = never }: Given = {}) {
  const file = join(root, `${Buffer.from(random(6)).toString('hex')}.mjs`)
  writeFileSync(file, source)
  const backend = execBackend({
    agent: undefined,
    command: `"${process.execPath}" "${file}"`,
    extraArgs: [],
    model: undefined,
    openclawAgent: undefined,
    tools: 'none',
    workRoot: join(root, 'work'),
    sandbox: NO_SANDBOX,
    hidden: [],
    env: { PATH: process.env['PATH'], ...env },
    random,
  })
  return (await backend.reply(requestOf(words, request), signal)).text
}
const ECHO = 'process.stdin.pipe(process.stdout)'
const say = (bytes: string) => `process.stdout.write(${bytes})`

test('the answer is what it prints, without space around it, when it ends with 0', async () => {
  expect(await answerOf(say(String.raw`'\n  two\nlines \n'`))).toBe('two\nlines')
  expect(await answerOf(`${say("'the answer'")};console.error('a note')`)).toBe('the answer')
})

test('any other exit code is a failure, and so is a signal; nothing that it printed is an answer', async () => {
  const failing = `${say("'half an answer'")};process.exitCode=`
  for (const code of [1, 2, 77, 255])
    await expect(answerOf(`${failing}${code}`)).rejects.toThrow(`ended with ${code}: half an answer`)
  await expect(answerOf("process.kill(process.pid, 'SIGKILL')")).rejects.toThrow('ended with a signal')
})

test.each([
  ['nothing', say("''")],
  ['space', say(String.raw`' \n\t'`)],
])('%s is no answer', async (_, source) => {
  await expect(answerOf(source)).rejects.toThrow('printed no answer')
})

test.each([
  ['bytes that are not UTF-8', say('Buffer.from([0xff, 0xfe, 65])')],
  ['a zero byte', say(String.raw`'a\0b'`)],
])('with %s it is no text', async (_, source) => {
  await expect(answerOf(source)).rejects.toThrow('not text')
})

test('it may print 1 MiB and no byte more', async () => {
  expect(OUTPUT_BYTES_MAX).toBe(1_048_576)
  expect(await answerOf(say("'x'.repeat(1048576)"))).toHaveLength(1_048_576)
  await expect(answerOf(say("'x'.repeat(1048577)"))).rejects.toThrow('printed more than 1048576 bytes')
})

test('the prompt has the instructions, those of the owner, then the turns, each between markers of this run', async () => {
  const attachments = [{ name: 'a.md', mediaType: 'text/markdown', bytes: 12, path: join(root, 'a.md') }]
  writeFileSync(join(root, 'a.md'), 'the contents')
  const turns: ConversationTurn[] = [
    { role: 'peer', text: 'first', attachments },
    { role: 'me', text: 'my answer', attachments: [] },
    { role: 'peer', text: 'second', attachments: [] },
  ]
  const request = { turns, systemPrompt: 'words of the owner' }
  const [prompt, other] = [await answerOf(ECHO, '', { request }), await answerOf(ECHO, '', { request })]
  const marker = /<peer ([0-9a-f]{16})>/.exec(prompt)?.[1]
  expect(
    prompt.endsWith(
      `\n\nwords of the owner\n\n<peer ${marker}>\nfirst\n[attachment: “a.md”, text/markdown, 12 bytes, in/01-a.md]\n</peer ${marker}>\n\n<answer ${marker}>\nmy answer\n</answer ${marker}>\n\n<peer ${marker}>\nsecond\n</peer ${marker}>`,
    ),
  ).toBe(true)
  expect(prompt).not.toContain('the contents')
  expect(prompt).not.toContain(root)
  expect(other).not.toContain(marker)
})

test('of the environment it gets these names, and a home and a folder for temporary files of its own', async () => {
  const env = {
    LANG: 'C',
    LC_ALL: 'C.UTF-8',
    TZ: 'UTC',
    HOME: root,
    TMPDIR: root,
    OPENAI_API_KEY: 'k',
    SVC_ID: 'x',
  }
  const printed = await answerOf('console.log(JSON.stringify({ ...process.env, cwd: process.cwd() }))', '', {
    env,
  })
  const { cwd, HOME, TMPDIR, ...rest } = JSON.parse(printed) as Record<string, string>
  expect(rest).toEqual({ PATH: process.env['PATH'], LANG: 'C', LC_ALL: 'C.UTF-8', TZ: 'UTC', TERM: 'dumb' })
  for (const folder of [cwd, HOME, TMPDIR]) {
    expect(folder?.startsWith(join(root, 'work'))).toBe(true)
    expect(existsSync(folder ?? '')).toBe(false)
  }
})

test('children that it leaves in its group are ended with it', async () => {
  const pid = await answerOf(
    `import { spawn } from 'node:child_process';
     const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
     child.unref(); console.log(child.pid); process.stdout.write('', () => process.exit(0))`,
  )
  const state = () =>
    existsSync(`/proc/${pid}/stat`) ? readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.[0] : 'gone'
  await expect.poll(state, { timeout: 60_000 }).toMatch(/gone|Z/)
})

test('after its time it gets SIGTERM, and what it prints then is no answer', async () => {
  const [ready, told] = [join(root, 'ready'), join(root, 'told')]
  const ended = new AbortController()
  const answer = answerOf(
    `import fs from 'node:fs';
     process.on('SIGTERM', () => { fs.writeFileSync(${JSON.stringify(told)}, ''); console.log('late'); process.exit(0) });
     setInterval(() => {}, 1000); fs.writeFileSync(${JSON.stringify(ready)}, '')`,
    'x',
    { signal: ended.signal },
  )
  const failed = expect(answer).rejects.toThrow('it took too long and was ended')
  while (!existsSync(ready)) await pause(20)
  ended.abort()
  await failed
  expect(existsSync(told)).toBe(true)
})

test('five seconds later it gets SIGKILL', async () => {
  const ready = join(root, 'stubborn')
  const ended = new AbortController()
  const answer = answerOf(
    `import fs from 'node:fs'; process.on('SIGTERM', () => {}); setInterval(() => {}, 1000);
     fs.writeFileSync(${JSON.stringify(ready)}, String(process.pid))`,
    'x',
    { signal: ended.signal },
  )
  const failed = expect(answer).rejects.toThrow('it took too long and was ended')
  while (!existsSync(ready) || readFileSync(ready, 'utf8') === '') await pause(20)
  const started = performance.now()
  ended.abort()
  await failed
  expect(performance.now() - started).toBeGreaterThan(4_900)
  expect(() => process.kill(Number(readFileSync(ready, 'utf8')), 0)).toThrow()
})
