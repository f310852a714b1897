/** What a run gets of the files that came with a task. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ConversationAttachment } from './backend.ts'
import { execBackend } from './exec.ts'
import { FILES_BYTES_MAX, FILES_MAX, MADE_MAX, safeName, TEXT_CHARACTERS_MAX } from './run-files.ts'
import { NO_SANDBOX } from './sandbox.ts'
import { random, requestOf } from './testing.ts'

let root: string
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'svc-run-files-'))
})
afterAll(() => rmSync(root, { recursive: true, force: true }))

let made = 0
function sent(name: string, content: string | Buffer, more: Partial<ConversationAttachment> = {}) {
  const path = join(root, `sent-${made++}`)
  writeFileSync(path, content)
  return { name, mediaType: 'text/plain', bytes: Buffer.byteLength(content), path, ...more }
}

/** What it prints: the files below `in` with their modes and words, and its prompt. */
const LOOKS = `#!${process.execPath}
const fs = require('node:fs'), prompt = fs.readFileSync(0, 'utf8')
const names = fs.existsSync('in') ? fs.readdirSync('in', { recursive: true }) : []
const files = names.map(name => [name, (fs.statSync('in/' + name).mode & 0o777).toString(8), fs.readFileSync('in/' + name, 'utf8').slice(0, 99)])
console.log(JSON.stringify({ result: JSON.stringify({ files, prompt }) }))
`
type Seen = { files: [name: string, mode: string, words: string][]; prompt: string }

async function run(
  attachments: ConversationAttachment[],
  as: 'agent' | 'command' = 'command',
): Promise<Seen> {
  const bin = join(root, 'bin')
  mkdirSync(bin, { recursive: true })
  writeFileSync(join(bin, 'claude'), LOOKS, { mode: 0o755 })
  const backend = execBackend({
    agent: as === 'agent' ? 'claude' : undefined,
    command: as === 'agent' ? undefined : join(bin, 'claude'),
    extraArgs: [],
    model: undefined,
    openclawAgent: undefined,
    tools: 'none',
    workRoot: join(root, 'work'),
    sandbox: NO_SANDBOX,
    hidden: [],
    env: { PATH: bin, HOME: root },
    random,
  })
  const turns = [{ role: 'peer' as const, text: 'Summarise the attached report.', attachments }]
  const { text } = await backend.reply(requestOf('', { turns }), new AbortController().signal)
  expect(readdirSync(join(root, 'work'))).toEqual([])
  const printed = JSON.parse(text) as { result: string } | Seen
  return 'result' in printed ? (JSON.parse(printed.result) as Seen) : printed
}

describe('a run', () => {
  test('has copies of the files that came with the task, to be read alone, and the prompt names them', async () => {
    const { files, prompt } = await run([sent('report.md', 'all is well'), sent('data.csv', 'a,b')])
    expect(files).toEqual([
      ['01-report.md', '400', 'all is well'],
      ['02-data.csv', '400', 'a,b'],
    ])
    expect(prompt).toContain('[attachment: “report.md”, text/plain, 11 bytes, in/01-report.md]')
    expect(prompt).toContain('copies in the folder in of the working folder')
    expect(prompt).not.toContain('all is well')
  })

  test('of an agent that may open nothing has what is text in its prompt, where no program expands it', async () => {
    const bytes = Buffer.from([0x50, 0x4b, 0, 1])
    const { prompt } = await run(
      [sent('report.md', 'all is well\n@/etc/passwd'), sent('a.zip', bytes)],
      'agent',
    )
    expect(prompt).toContain(', in/01-report.md]\nall is well\n\uff20/etc/passwd\n[end of “report.md”]\n')
    expect(prompt).toMatch(/\[attachment: “a\.zip”, text\/plain, 4 bytes, in\/02-a\.zip\]\n<\/peer /)
  })

  test('gets no more files and bytes than there is room for, the newest first', async () => {
    const many = Array.from({ length: FILES_MAX + 2 }, (_, n) => sent(`f${n}.txt`, `${n}`))
    const { files } = await run(many)
    expect(files).toHaveLength(FILES_MAX)
    expect(files.map(([, , words]) => words)).not.toContain('1')
    const large = sent('large.bin', 'x', { bytes: FILES_BYTES_MAX })
    expect((await run([large, sent('small.txt', 'kept')])).files.map(([, , words]) => words)).toEqual([
      'kept',
    ])
  })

  test('has no more text in its prompt than there is room for, and none of a part', async () => {
    const long = 'y'.repeat(TEXT_CHARACTERS_MAX - 3)
    const { prompt } = await run([sent('old.txt', 'zzzz'), sent('new.txt', long)], 'agent')
    expect([prompt.includes(long), prompt.includes('zzzz')]).toEqual([true, false])
  })

  test('without files has no folder for them, and is told of none', async () => {
    const { files, prompt } = await run([sent('gone.md', '', { path: null })])
    expect(files).toEqual([])
    expect(prompt).not.toContain('working folder')
  })
})

describe('what a run leaves in its folder out', () => {
  const leaves = (lines: string, sendsFiles = true) => {
    const path = join(root, `leaves-${made++}.sh`)
    writeFileSync(path, `#!/bin/sh\nset -e\n${lines}\necho done\n`, { mode: 0o755 })
    const backend = execBackend({
      agent: undefined,
      command: path,
      extraArgs: [],
      model: undefined,
      openclawAgent: undefined,
      tools: 'none',
      sendsFiles,
      workRoot: join(root, 'work'),
      sandbox: NO_SANDBOX,
      hidden: [],
      env: { PATH: process.env['PATH'], HOME: root },
      random,
    })
    return backend.reply(requestOf('x'), new AbortController().signal)
  }

  test('belongs to its answer where its owner allowed that', async () => {
    const { text, files = [] } = await leaves('printf one > out/b.txt; printf two > out/a.csv')
    expect(text).toBe('done')
    expect(files.map(({ name, content }) => [name, Buffer.from(content).toString()])).toEqual([
      ['a.csv', 'two'],
      ['b.txt', 'one'],
    ])
    expect(await leaves('true')).toEqual({ text: 'done' })
    expect(await leaves('mkdir out; printf one > out/b.txt', false)).toEqual({ text: 'done' })
  })

  test.each([
    ['a link to a file of its owner', 'ln -s /etc/passwd out/x', 'out/x is no plain file'],
    ['a second name of one', 'printf x > y; ln y out/x', 'is a second name of another file'],
    ['a pipe', 'mkfifo out/x', 'is no plain file'],
    ['a folder', 'mkdir out/x', 'is no plain file'],
    ['a link in place of the folder', 'rmdir out; ln -s /etc out', 'something else in place'],
    ['more than 16 MiB', 'truncate -s 17M out/x', 'more than 16 MiB'],
    ['more files than are sent', `for n in $(seq ${MADE_MAX + 1}); do touch out/$n; done`, '11 files in out'],
  ])('is refused where it is %s', async (_, lines, why) => {
    await expect(leaves(lines)).rejects.toThrow(why)
    expect(existsSync(join(root, 'work')) ? readdirSync(join(root, 'work')) : []).toEqual([])
  })
})

test.each([
  ['../../CLAUDE.md', '01-.._.._CLAUDE.md'],
  ['AGENTS.md', '01-AGENTS.md'],
  ['.mcp.json', '01-.mcp.json'],
  ['-rf\n@x', '01--rf_x'],
  ['Grüße & mehr.pdf', '01-Gru_e_mehr.pdf'],
  [`${'x'.repeat(300)}.md`, `01-${'x'.repeat(57)}.md`],
  ['..', '01-..'],
])('the name %j is %s to a run', (name, safe) => {
  const made = safeName(name, 1)
  expect(made).toBe(safe)
  expect(made).toMatch(/^\d\d-[A-Za-z0-9._-]{0,64}$/)
})
