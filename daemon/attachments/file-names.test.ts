import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { hasSmallDisks, withSmallDisk } from '../../protocol/testing/small-disk.ts'
import { attachmentFileName, saveBytes, saveFile } from './file-names.ts'

const root = fs.mkdtempSync(join(tmpdir(), 'svc-names-'))
let directory = ''
let made = 0
beforeEach(() => {
  directory = join(root, String(++made))
  fs.mkdirSync(directory)
})
afterAll(() => fs.rmSync(root, { recursive: true, force: true }))

test.each(['request.json', 'RESULT.json', 'proof.json', 'Proof.JSON'])(
  'an attachment called %s is never taken for what both sides signed',
  name => {
    expect(attachmentFileName(name)).toBe(`attached-${name}`)
  },
)

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
