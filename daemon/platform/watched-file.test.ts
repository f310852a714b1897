import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { watchFile } from './watched-file.ts'

let folder: string
let path: string
let lost: number
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-watched-'))
  path = join(folder, 'file')
  writeFileSync(path, 'one')
  lost = 0
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
})
afterEach(() => {
  vi.useRealTimers()
  rmSync(folder, { recursive: true })
})
const watched = () => watchFile(path, () => lost++)

test('a file that is written or grows is the same one', () => {
  using _watch = watched()
  writeFileSync(path, 'one and more')
  vi.advanceTimersByTime(10_000)
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
])('a file that is %s is told of once', (_, change) => {
  using _watch = watched()
  change()
  vi.advanceTimersByTime(2000)
  expect(lost).toBe(1)
  vi.advanceTimersByTime(10_000)
  expect(lost).toBe(1)
})

test('a file whose folder became a file is gone; one that cannot be looked at is not', () => {
  const inner = join(folder, 'inner')
  mkdirSync(inner)
  const held = join(inner, 'file')
  writeFileSync(held, 'one')
  using _watch = watchFile(held, () => lost++)
  renameSync(inner, `${inner}.away`)
  // a link to itself, which no look comes through
  symlinkSync(inner, inner)
  vi.advanceTimersByTime(2000)
  expect(lost).toBe(0)
  rmSync(inner)
  writeFileSync(inner, '')
  vi.advanceTimersByTime(2000)
  expect(lost).toBe(1)
})

test('nobody is told when nobody watches any more', () => {
  watched()[Symbol.dispose]()
  rmSync(path)
  vi.advanceTimersByTime(10_000)
  expect(lost).toBe(0)
})
