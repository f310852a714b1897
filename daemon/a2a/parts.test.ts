import { existsSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { describe, expect, test } from 'vitest'
import { askedBy, withFiles } from './parts.ts'
import { type Part, partShape } from './shapes.ts'

const asked = (...parts: object[]) => askedBy(parts.map(part => partShape.parse(part) as Part))

describe('what a client asks for', () => {
  test('words, in their order; an address in them is not fetched', () => {
    const url = { url: 'https://example.com/a', filename: 'a' }
    expect(asked({ text: 'one' }, url, { text: 'two' })).toEqual({
      words: 'one\n\na: https://example.com/a\n\ntwo',
      files: [],
    })
  })

  test('a call, where data names a capability and nothing else is there', () => {
    expect(asked({ data: { capability: 'text.count' } })).toEqual({ capability: 'text.count', args: {} })
    expect(asked({ text: ' ' }, { data: { capability: 'a', args: { b: 1 } } })).toMatchObject({
      args: { b: 1 },
    })
    expect(() => asked({ data: { capability: 'a', more: 1 } })).toThrow('and nothing else')
    expect(asked({ text: 'see' }, { data: { capability: 'a' } })).toHaveProperty('files')
  })

  test('files of either alphabet of base64, under harmless names', () => {
    const [name, bytes] = ['../../etc/passwd', new Uint8Array([251, 255])]
    for (const raw of ['-_8', '-_8=', '+/8='])
      expect(asked({ raw, filename: name })).toEqual({ words: '', files: [{ name: 'passwd', bytes }] })
    expect(asked({ raw: '', mediaType: 'text/csv' })).toMatchObject({ files: [{ name: 'file-1.csv' }] })
    expect(() => asked({ raw: '*' })).toThrow('base64')
  })

  test.each([[{ text: 'x', mediaType: 'image/png' }], [{ data: {}, mediaType: 'text/plain' }]])(
    '%o is of another type than its content',
    part => expect(() => asked(part)).toThrow('of another type'),
  )

  test.each([[{}], [{ text: 'a', url: 'b' }], [{ text: 1 }]])('%o is no part', part =>
    expect(partShape.safeParse(part).success).toBe(false),
  )
})

test('files lie on the disk while they are sent, and no longer', async () => {
  const files = [1, 2].map(n => ({ name: 'same.txt', bytes: Buffer.from([n]) }))
  const paths = await withFiles(files, async given => {
    expect(given.map(path => [basename(path), readFileSync(path)[0]])).toEqual([
      ['same.txt', 1],
      ['same.txt', 2],
    ])
    return given
  })
  expect(paths.some(existsSync)).toBe(false)
})
