/** Backups of a running node: where they go, what opens them, one at a time. */
import { cpSync, existsSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadArchive } from '../archive/load.ts'
import { readConfig, writeConfig } from '../home/config.ts'
import { type Node, startNode } from '../node.ts'

const root = mkdtempSync(join(tmpdir(), 'svc-backup-'))
const dir = join(root, 'alice')
const passphrase = 'correct horse battery'
const never = new AbortController().signal
let node: Node

beforeAll(async () => {
  writeConfig(dir, { ...readConfig(dir), control_addr: '127.0.0.1:0', name: 'alice & co' })
  node = await startNode({ dir, env: { SVC_RUNTIME_DIR: join(root, 'run') } })
})
afterAll(async () => {
  await node.stop()
  rmSync(root, { recursive: true })
})

const backupAt = async () => (await node.handlers.status(undefined, never)).backup_at

test('a backup lies in a folder that only its owner reads, and brings everything back', async () => {
  expect(await backupAt()).toBeUndefined()
  const made = await node.handlers.backup({ passphrase }, never)
  expect(made.archive.startsWith(join(dir, 'backups', 'alice-co-'))).toBe(true)
  expect(statSync(join(dir, 'backups')).mode & 0o777).toBe(0o700)
  expect(await backupAt()).toBe(made.made_at)
  const given = { path: made.archive, dir: join(root, 'restored'), passphrase }
  const { aid } = await loadArchive({ ...given, kind: 'backup', withSettings: false })
  expect(aid).toBe(node.aid)
})

test('one that was killed while it was put back is put back once more, at each step of the first', async () => {
  const made = await node.handlers.backup({ passphrase }, never)
  const from = { path: made.archive, passphrase, kind: 'backup' as const }
  const whole = join(root, 'whole')
  await loadArchive({ ...from, dir: whole })
  const names = readdirSync(whole).sort((a, b) => Number(a === 'identity.kel') - Number(b === 'identity.kel'))
  expect(names).toContain('identity.kel')
  for (const [moved] of names.entries()) {
    const half = join(root, `half ${moved}`)
    cpSync(whole, join(half, '.restoring'), { recursive: true })
    for (const name of names.slice(0, moved)) renameSync(join(half, '.restoring', name), join(half, name))
    expect(await loadArchive({ ...from, dir: half })).toMatchObject({ aid: node.aid })
    expect(readdirSync(half).sort()).toEqual([...names].sort())
  }
  await expect(loadArchive({ ...from, dir: whole })).rejects.toThrow(/holds .*identity.kel/)
})

test('one is written at a time, and only where a path leads from the root on', async () => {
  const { backup } = node.handlers
  const before = readdirSync(join(dir, 'backups')).length
  const first = backup({ passphrase }, never)
  await expect(backup({ passphrase }, never)).rejects.toMatchObject({ code: 'wrong_state' })
  await first
  expect(readdirSync(join(dir, 'backups'))).toHaveLength(before + 1)
  await expect(backup({ passphrase, folder: 'here' }, never)).rejects.toMatchObject({
    code: 'bad_request',
    message: expect.stringMatching(/^folder: expected a path from the root on/),
  })
  const folder = join(root, 'nowhere', 'at', 'all')
  await expect(backup({ passphrase, folder }, never)).rejects.toMatchObject({
    code: 'bad_request',
    message: expect.stringMatching(/cannot be written/),
  })
  expect(existsSync(folder)).toBe(false)
})
