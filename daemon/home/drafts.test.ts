/** Drafts on the disk. */
import { mkdtempSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { draftsIn } from './drafts.ts'

const folder = () => mkdtempSync(join(tmpdir(), 'drafts-'))
const name = 'i'.repeat(22)

test('a draft is there after a restart, for its user alone', () => {
  const dir = folder()
  draftsIn(dir).write(name, { text: 'not yet', files: ['a.md'] })
  expect(draftsIn(dir).names()).toEqual([name])
  expect(draftsIn(dir).read(name)).toEqual({ text: 'not yet', files: ['a.md'] })
  expect(statSync(join(dir, 'drafts', `${name}.json`)).mode & 0o777).toBe(0o600)
  expect(statSync(join(dir, 'drafts')).mode & 0o777).toBe(0o700)
  draftsIn(dir).remove(name)
  expect(draftsIn(dir).names()).toEqual([])
})

test('a name that leads elsewhere is no draft', () => {
  const dir = folder()
  const drafts = draftsIn(dir)
  drafts.write('../../../etc/cron.d/xxxxxxx', { text: 'x', files: [] })
  expect(readdirSync(dir)).toEqual([])
  expect(drafts.read('../tui')).toBeUndefined()
})

test('a file that is no draft is left alone', () => {
  const dir = folder()
  const drafts = draftsIn(dir)
  drafts.write(name, { text: 'x', files: [] })
  writeFileSync(join(dir, 'drafts', `${name}.json`), '{"text":')
  expect(drafts.read(name)).toBeUndefined()
})
