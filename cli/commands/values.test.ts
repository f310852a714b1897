/** Values of flags, and files that a command makes where its user named them. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { fillUp, hasSmallDisks, withSmallDisk } from '../../protocol/testing/small-disk.ts'
import { CommandFailed } from '../io.ts'
import { newFile, parseSwitch } from './values.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-values-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const page = 'x'.repeat(100_000)
const write = (file: number) => writeFileSync(file, page)

test('a new file is written whole, and over nothing', () => {
  const path = join(folder, 'page.html')
  newFile(path, '--page', write)
  expect(readFileSync(path, 'utf8')).toBe(page)
  expect(() => newFile(path, '--page', file => writeFileSync(file, 'other'))).toThrow(
    expect.objectContaining({
      message: `--page: ${path} cannot be written: there is one already`,
      next: 'name another file, or remove this one',
    }),
  )
  expect(readFileSync(path, 'utf8')).toBe(page)
})

test('what is neither is refused in the words of the help', () => {
  expect(() => parseSwitch('perhaps', '--sandbox')).toThrow(
    'expected true or false for --sandbox, got "perhaps"',
  )
  expect(() => parseSwitch('perhaps', '"accept"', 'on or off')).toThrow('expected on or off for "accept"')
  expect(parseSwitch('Yes', '--sandbox')).toBe(true)
})

test('a folder that is not there is named', () => {
  expect(() => newFile(join(folder, 'none', 'page.html'), '--page', write)).toThrow(
    expect.objectContaining({
      message: `--page: there is no folder ${join(folder, 'none')}`,
      next: 'make it, or name another file',
    }),
  )
})

test('what fails while it is written leaves no part of it', () => {
  const path = join(folder, 'cut')
  const cut = (file: number) => {
    write(file)
    throw new CommandFailed('it ends too soon')
  }
  expect(() => newFile(path, '--out', cut)).toThrow('it ends too soon')
  expect(existsSync(path)).toBe(false)
})

test.skipIf(!hasSmallDisks)('on a full disk it says so, and the same name works once there is room', () =>
  withSmallDisk(256 * 1024, disk => {
    const [path, ballast] = [join(disk, 'page.html'), join(disk, 'ballast')]
    fillUp(ballast)
    expect(() => newFile(path, '--page', write)).toThrow(
      expect.objectContaining({
        message: `--page: ${path} cannot be written: the disk is full`,
        next: 'free some room there, or name a file on another disk',
      }),
    )
    expect(readdirSync(disk)).toEqual(['ballast'])
    rmSync(ballast)
    newFile(path, '--page', write)
    expect(readFileSync(path, 'utf8')).toBe(page)
  }),
)
