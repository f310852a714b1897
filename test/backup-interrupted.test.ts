// project: programs

/** A backup that is interrupted: nothing of the store stays readable, wherever the archive was to be. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startNode } from '../daemon/node.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-interrupted-'))
const home = join(folder, 'home')
const target = join(folder, 'target')
const secret = join(folder, 'secret.txt')
const left = () => readdirSync(home).filter(name => name.startsWith('store-copy'))

beforeAll(async () => {
  mkdirSync(target)
  writeFileSync(secret, 'correct horse battery\n')
  const env = { SVC_RUNTIME_DIR: join(folder, 'run') }
  await (await startNode({ dir: home, env, name: 'default' })).stop()
})
afterAll(() => rmSync(folder, { recursive: true }))

function save(...words: string[]) {
  const program = new URL('../dist/svc.js', import.meta.url).pathname
  const args = [program, ...words, join(target, 'a.svc'), '--passphrase-file', secret]
  const env = { PATH: process.env['PATH'], SVC_DATA_DIR: home, SVC_RUNTIME_DIR: join(folder, 'run') }
  return spawn(process.execPath, args, { env, stdio: 'ignore' })
}

async function interrupted(signal: NodeJS.Signals, ...words: string[]): Promise<void> {
  const child = save(...words)
  const ended = once(child, 'exit')
  await expect.poll(() => readdirSync(target), { interval: 5, timeout: 60_000 }).toHaveLength(1)
  child.kill(signal)
  expect(await ended).toEqual([null, signal])
}

test.each([
  ['SIGINT', ['backup']],
  ['SIGTERM', ['id', 'export']],
  ['SIGHUP', ['backup']],
] as const)('%s takes along what it had written', async (signal, words) => {
  await interrupted(signal, ...words)
  expect([readdirSync(target), left(), existsSync(join(home, 'exported'))]).toEqual([[], [], false])
})

test('SIGKILL leaves an encrypted part at most', async () => {
  await interrupted('SIGKILL', 'backup')
  const [part = ''] = readdirSync(target)
  expect(part).toMatch(/^a\.svc\.tmp-\d+-[0-9a-f]{12}$/)
  expect(readFileSync(join(target, part)).includes('SQLite format')).toBe(false)
  expect(left()).toEqual([])
})

test('the next backup removes copy and part of one that was killed', async () => {
  expect(readdirSync(target)).toHaveLength(1)
  const foreign = join(target, 'a.svc.tmp-4711-0123456789ab')
  writeFileSync(foreign, 'no archive')
  writeFileSync(join(home, 'store-copy.db.tmp-4711'), 'SQLite format 3')
  expect(await once(save('backup'), 'exit')).toEqual([0, null])
  expect([readdirSync(target), left()]).toEqual([['a.svc', 'a.svc.tmp-4711-0123456789ab'], []])
})
