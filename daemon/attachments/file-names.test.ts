import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { hasSmallDisks, withSmallDisk } from '../testing/small-disk.ts'
import { cleanName, saveBytes, saveFile } from './file-names.ts'

const root = fs.mkdtempSync(join(tmpdir(), 'svc-names-'))
let directory = ''
let made = 0
beforeEach(() => {
  directory = join(root, String(++made))
  fs.mkdirSync(directory)
})
afterAll(() => fs.rmSync(root, { recursive: true, force: true }))

describe('a name that a stranger chose', () => {
  test.each([
    ['a plain one', 'Report 2.pdf', 'Report 2.pdf'],
    ['a path upwards', '../../.ssh/authorized_keys', 'authorized_keys'],
    ['a Windows path', 'C:\\Windows\\win.ini', 'win.ini'],
    ['only dots', '..', 'attachment'],
    ['a hidden file', '.bashrc', 'bashrc'],
    ['nothing', '', 'attachment'],
    ['only a separator', 'a/', 'attachment'],
    ['NUL and control characters', 'a\u0000b\u0007\u001b[31m.txt', 'ab[31m.txt'],
    ['a text direction that turns', 'photo\u202egnp.exe', 'photognp.exe'],
    ['a line separator', 'a\u2028b', 'ab'],
    ['characters that nobody sees', 'a\u3164\u2800\ufe0fb\u{e0100}\uffff.txt', 'ab.txt'],
    ['nothing to see', '\u3164\uffa0', 'attachment'],
    ['a stream of another file', 'a.txt:evil.exe', 'a.txt_evil.exe'],
    ['a wildcard', '*.?', '_._'],
    ['an option', '-rf', '_rf'],
    ['a device', 'CON', '_CON'],
    ['a device with an extension', 'nul.txt', '_nul.txt'],
    ['a numbered device', 'com1.tar.gz', '_com1.tar.gz'],
    ['what only begins like a device', 'console.log', 'console.log'],
    ['dots and spaces at its end', 'a.txt. . ', 'a.txt'],
    ['half a character', 'a\ud800b', 'a\ufffdb'],
  ])('with %s becomes one of this directory', (_, given, expected) => {
    expect(cleanName(given)).toBe(expected)
  })

  test('that is too long keeps its extension and whole characters', () => {
    expect(cleanName(`${'a'.repeat(300)}.pdf`)).toBe(`${'a'.repeat(196)}.pdf`)
    const wide = cleanName(`${'𝄞'.repeat(300)}.txt`)
    expect(wide).toMatch(/^(?:𝄞){49}\.txt$/u)
    expect(Buffer.byteLength(cleanName(`a.${'b'.repeat(300)}`))).toBe(200)
  })
})

describe('saving', () => {
  const bytes = Buffer.from('mine')

  test('writes over nothing: another content gets a number, the same one is found', () => {
    fs.writeFileSync(join(directory, 'a.txt'), 'of the user')
    expect(saveBytes(bytes, directory, 'a.txt')).toEqual({
      path: join(directory, 'a-2.txt'),
      wasThere: false,
    })
    expect(saveBytes(bytes, directory, 'a.txt')).toEqual({ path: join(directory, 'a-2.txt'), wasThere: true })
    expect(fs.readFileSync(join(directory, 'a.txt'), 'utf8')).toBe('of the user')
    expect(fs.readdirSync(directory).sort()).toEqual(['a-2.txt', 'a.txt'])
    const source = join(root, 'source')
    fs.writeFileSync(source, bytes)
    expect(saveFile(source, directory, 'a.txt').path).toBe(join(directory, 'a-2.txt'))
    fs.writeFileSync(source, 'than')
    expect(saveFile(source, directory, 'a.txt').path).toBe(join(directory, 'a-3.txt'))
  })

  test('follows no link, dangling or not, and reads nothing that is no file', () => {
    const outside = join(root, 'outside')
    fs.writeFileSync(outside, bytes)
    fs.symlinkSync(outside, join(directory, 'a.txt'))
    fs.symlinkSync(join(root, 'nowhere'), join(directory, 'a-2.txt'))
    fs.mkdirSync(join(directory, 'a-3.txt'))
    expect(saveBytes(bytes, directory, 'a.txt').path).toBe(join(directory, 'a-4.txt'))
    expect(saveFile(outside, directory, 'a.txt').path).toBe(join(directory, 'a-4.txt'))
    expect(fs.existsSync(join(root, 'nowhere'))).toBe(false)
  })

  test.skipIf(!hasSmallDisks)('on a disk without room leaves nothing, and says what helps', () =>
    withSmallDisk(256 * 1024, folder => {
      const large = Buffer.alloc(512 * 1024)
      const source = join(root, 'large')
      fs.writeFileSync(source, large)
      const refused = expect.objectContaining({
        message: `cannot write ${join(folder, 'a.txt')}: the disk is full`,
        next: expect.stringMatching(/^name a folder on a disk with room.*\nsvc pull <id> --out DIR$/),
      })
      expect(() => saveBytes(large, folder, 'a.txt')).toThrow(refused)
      expect(() => saveFile(source, folder, 'a.txt')).toThrow(refused)
      expect(fs.readdirSync(folder)).toEqual([])
    }),
  )

  test('says why when it cannot write', () => {
    expect(() => saveBytes(bytes, join(directory, 'missing'), 'a.txt')).toThrow(/cannot write .*missing/)
  })
})
