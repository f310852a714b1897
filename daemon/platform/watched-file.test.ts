import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { TestTimers } from '../../protocol/testing/timers.ts'
import { watchFile } from './watched-file.ts'

let folder: string
let path: string
let lost: number
let timers: TestTimers
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-watched-'))
  path = join(folder, 'file')
  writeFileSync(path, 'one')
  lost = 0
  timers = new TestTimers()
})
afterEach(() => rmSync(folder, { recursive: true }))
const watched = () => watchFile(path, timers, () => lost++)

test('a file that is written or grows is the same one', async () => {
  using _watch = watched()
  writeFileSync(path, 'one and more')
  await timers.pass(10_000)
  expect(lost).toBe(0)
})

test.each([
  ['taken away', () => rmSync(path)],
  [
    'replaced',
    () => {
      writeFileSync(`${path}.new`, 'one')
      renameSync(`${path}.new`, path)
    },
  ],
])('a file that is %s is told of once', async (_, change) => {
  using _watch = watched()
  change()
  await timers.pass(2000)
  expect(lost).toBe(1)
  await timers.pass(10_000)
  expect(lost).toBe(1)
})

test('a file whose folder became a file is gone; one that cannot be looked at is not', async () => {
  const inner = join(folder, 'inner')
  mkdirSync(inner)
  const held = join(inner, 'file')
  writeFileSync(held, 'one')
  using _watch = watchFile(held, timers, () => lost++)
  renameSync(inner, `${inner}.away`)
  // a link to itself, which no look comes through
  symlinkSync(inner, inner)
  await timers.pass(2000)
  expect(lost).toBe(0)
  rmSync(inner)
  writeFileSync(inner, '')
  await timers.pass(2000)
  expect(lost).toBe(1)
})

test('nobody is told when nobody watches any more', async () => {
  watched()[Symbol.dispose]()
  rmSync(path)
  await timers.pass(10_000)
  expect(lost).toBe(0)
})
