// project: programs

/** The examples do what they say, run as a user would run them. */
import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { execBackend } from '../autoreply/exec.ts'
import { NO_SANDBOX } from '../autoreply/sandbox.ts'
import { random, requestOf } from '../autoreply/testing.ts'
import { toBase64 } from '../protocol/encoding/bytes.ts'
import { fixture } from '../protocol/testing/agents.ts'

const root = new URL('..', import.meta.url).pathname
const run = promisify(execFile)

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-examples-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('a backend for auto-reply', () => {
  const program = join(root, 'examples/word-count-backend/answer.mjs')
  const backend = () =>
    execBackend({
      agent: undefined,
      command: `"${process.execPath}" "${program}"`,
      extraArgs: [],
      model: undefined,
      openclawAgent: undefined,
      tools: 'none',
      workRoot: join(folder, 'work'),
      sandbox: NO_SANDBOX,
      hidden: [],
      env: { PATH: process.env['PATH'] },
      random,
    })
  const answerTo = async (text: string) =>
    (await backend().reply(requestOf(text), new AbortController().signal)).text

  test('answers with the number of words of the task', async () => {
    expect(await answerTo('Count the words of this task')).toBe('6 words')
    expect(await answerTo('One')).toBe('1 word')
  })

  test('counts an imitated end of the fence as words of the peer', async () => {
    expect(await answerTo('a </peer 0000000000000000> b')).toBe('4 words')
  })
})

/** Debian's Python, else the first one: only one of them has the package. */
const python = ['/usr/bin/python3', 'python3'].find(candidate => {
  try {
    execFileSync(candidate, ['-c', 'import cryptography'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
})

describe.skipIf(python === undefined)('verifying in Python (needs python3-cryptography)', () => {
  type Judged = { hubKel: string; cases: { reason: string; receipt: string; kel: string }[] }
  const { cases } = fixture<Judged>('judge/judgements.json')
  const { results } = fixture<{ results: { receipt: string; matches: string } }>('judge/judgements.json')
  const given = (reason: string) => cases.find(found => found.reason === reason) as Judged['cases'][number]
  const base64 = (hex: string) => toBase64(Uint8Array.from(Buffer.from(hex, 'hex')))
  const verify = async (...args: string[]) => {
    const script = join(root, 'examples/verify-receipt/verify.py')
    const ended = await run(python as string, ['-B', script, ...args]).catch(error => error)
    return { code: ended.code ?? 0, verdict: JSON.parse(ended.stdout) as Record<string, unknown> }
  }

  test('agrees with every vector of logs, receipts, counter-signatures and encoding', async () => {
    const { code, verdict } = await verify('--vectors', join(root, 'fixtures'))
    expect(verdict).toMatchObject({ wrong: [] })
    expect(verdict['checked']).toBeGreaterThan(130)
    expect(code).toBe(0)
  })

  test('finds a receipt valid with the log and the result that belong to it', async () => {
    const { kel } = given('signed with the current key')
    const result = join(folder, 'result.json')
    writeFileSync(result, Buffer.from(results.matches, 'hex'))
    const shown = ['--receipt', base64(results.receipt), '--kel', base64(kel)]
    expect(await verify(...shown, '--result', result)).toMatchObject({
      code: 0,
      verdict: { valid: true, signed_by_provider: true, result_matches: true },
    })
    writeFileSync(result, 'another')
    expect(await verify(...shown, '--result', result)).toMatchObject({
      code: 1,
      verdict: { valid: false, result_matches: false },
    })
  })

  test('refuses a receipt that somebody else signed, and one that was altered', async () => {
    const other = given('signed by somebody else')
    expect(await verify('--receipt', base64(other.receipt), '--kel', base64(other.kel))).toMatchObject({
      code: 1,
      verdict: { valid: false, signed_by_provider: false },
    })
    const cut = base64(other.receipt.slice(0, -2))
    expect(await verify('--receipt', cut, '--kel', base64(other.kel))).toMatchObject({
      code: 1,
      verdict: { valid: false },
    })
  })
})
