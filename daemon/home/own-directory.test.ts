import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { faultOfDirectory, requireOwnDirectory } from './own-directory.ts'

const isRoot = process.getuid?.() === 0
const SOMEBODY = 4711
let dir: string

beforeEach(() => {
  dir = join(mkdtempSync(join(tmpdir(), 'svc-own-')), 'node')
  mkdirSync(dir, { mode: 0o700 })
  writeFileSync(join(dir, 'config.json'), '{}', { mode: 0o600 })
})

const found = () => faultOfDirectory(dir)?.found

describe('a data directory', () => {
  test('of this user alone is taken, also where others may read it', () => {
    expect(found()).toBeUndefined()
    chmodSync(dir, 0o755)
    chmodSync(join(dir, 'config.json'), 0o644)
    expect(found()).toBeUndefined()
  })

  test.each([
    ['its group', 0o770],
    ['everybody', 0o707],
  ])('in which %s can write is refused, with what mends it', (_, mode) => {
    chmodSync(dir, mode)
    expect(() => requireOwnDirectory(dir)).toThrow(
      `other users of this machine can write ${dir}, and so decide what this node does; look through config.json, then: chmod -R go-rwx ${dir}`,
    )
  })

  test('is refused for a file that others can write', () => {
    chmodSync(join(dir, 'config.json'), 0o620)
    expect(found()).toContain(`can write ${join(dir, 'config.json')}`)
  })

  test('is refused for a pipe in the place of a file, before anything waits for it', () => {
    execFileSync('mkfifo', ['-m', '600', join(dir, 'control_token.txt')])
    expect(found()).toBe(`${join(dir, 'control_token.txt')} is a pipe or a device, no file`)
  })

  test('may hold links, whose own mode says nothing', () => {
    symlinkSync('/somewhere', join(dir, 'link'))
    expect(found()).toBeUndefined()
  })

  test.skipIf(!isRoot)('that belongs to somebody else is refused (needs root to make one)', () => {
    chownSync(join(dir, 'config.json'), SOMEBODY, SOMEBODY)
    expect(found()).toContain(`belongs to another user of this machine (uid ${SOMEBODY})`)
    chownSync(dir, SOMEBODY, SOMEBODY)
    expect(found()).toContain(`${dir} belongs to another user`)
    expect(faultOfDirectory(dir, SOMEBODY)).toBeUndefined()
  })
})
