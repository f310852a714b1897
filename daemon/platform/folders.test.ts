import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { linkToNowhere, makeFolders } from './folders.ts'

const root = fs.mkdtempSync(join(tmpdir(), 'svc-folders-'))
afterAll(() => fs.rmSync(root, { recursive: true, force: true }))

describe('folders on a path that a person gave', () => {
  test('are made with their parents, private where asked, and those that exist stay as they are', () => {
    const path = join(root, 'a', 'b', 'c')
    makeFolders(path, 0o700)
    expect(fs.statSync(path).mode & 0o777).toBe(0o700)
    fs.chmodSync(path, 0o755)
    makeFolders(`${path}/`, 0o700)
    expect(fs.statSync(path).mode & 0o777).toBe(0o755)
    fs.symlinkSync(path, join(root, 'link'))
    makeFolders(join(root, 'link', 'd'))
    expect(fs.existsSync(join(path, 'd'))).toBe(true)
  })

  test.each(['/proc/x', '/proc/self/x/y', '/proc/1/x'])('%s cannot be made, which is said at once', path => {
    expect(() => makeFolders(path)).toThrow()
  })

  test('that lead through a file or a link to nowhere are refused', () => {
    const file = join(root, 'file')
    fs.writeFileSync(file, '')
    expect(() => makeFolders(file)).toThrow(expect.objectContaining({ code: 'EEXIST' }))
    expect(() => makeFolders(join(file, 'x'))).toThrow(expect.objectContaining({ code: 'ENOTDIR' }))
    fs.symlinkSync(join(root, 'nowhere', 'deep'), join(root, 'dangling'))
    expect(() => makeFolders(join(root, 'dangling'))).toThrow(
      `${join(root, 'dangling')} is a link to ${join(root, 'nowhere', 'deep')}, which does not exist`,
    )
    expect(() => makeFolders(join(root, 'dangling', 'x'))).toThrow()
    for (const path of [root, file, join(file, 'x'), join(root, 'none')])
      expect(linkToNowhere(path)).toBeUndefined()
  })
})
