import { describe, expect, test } from 'vitest'
import { holdsSettings, memberAt, withoutSettings, withSettings } from './settings.ts'

const settings = [
  { path: ['mcpServers', 'svc'], value: { command: '/node' } },
  { path: ['env', 'X'], value: 'false' },
  { path: ['permissions', 'allow'], add: ['one', 'two'] },
]
const put = (text: string | undefined) => withSettings(text, settings, 'settings.json')
const takeOut = (text: string, previous: string | undefined) =>
  withoutSettings(text, settings, previous, 'settings.json')

describe('settings', () => {
  test('go into an object, an empty file and none at all', () => {
    const wanted = {
      mcpServers: { svc: { command: '/node' } },
      env: { X: 'false' },
      permissions: { allow: ['one', 'two'] },
    }
    for (const text of [undefined, '', ' \n', '{}']) expect(JSON.parse(put(text))).toEqual(wanted)
  })

  test('leave comments, order, layout and other members', () => {
    const text =
      '{\n\t// mine\n\t"theme": "dark", /* too */\n\t"permissions": { "allow": ["two", "three"] },\n}\n'
    const changed = put(text)
    expect(changed).toContain('\t// mine\n\t"theme": "dark", /* too */\n')
    expect(changed).toMatch(/"two", "three",\s*"one"|"two",\s*"three",\s*"one"/)
    expect(changed).toContain('\n\t"mcpServers": {\n\t\t"svc"')
  })

  test('change nothing the second time', () => {
    const once = put('{"a":1}')
    expect(put(once)).toBe(once)
    expect(holdsSettings(once, settings, 'settings.json')).toBe(true)
    expect(holdsSettings('{"a":1}', settings, 'settings.json')).toBe(false)
  })

  test('go again with the objects that came with them; what stood there comes back', () => {
    const previous = '{ "env": { "X": "true" }, "permissions": { "allow": ["two"] } }'
    const later = put(previous).replace('{', '{ "since": 1,')
    expect(JSON.parse(takeOut(later, previous))).toEqual({
      since: 1,
      env: { X: 'true' },
      permissions: { allow: ['two'] },
    })
    expect(JSON.parse(takeOut(put('{"since":1}'), '{}'))).toEqual({ since: 1 })
  })

  test('of objects that were empty before leave them empty', () => {
    expect(JSON.parse(takeOut(put('{"mcpServers":{},"b":1}'), '{"mcpServers":{}}'))).toEqual({
      mcpServers: {},
      b: 1,
    })
  })

  test.each(['[]', '{', 'hello', '"x"', '{"a":}', '{ a b }', "{ a: 'x }", '{ a: Infinity }'])(
    'are refused for %s, which no file is made of',
    text => {
      expect(() => put(text)).toThrow(
        /settings\.json is not a JSON object that svc can read; nothing was changed/,
      )
    },
  )

  const JSON5_TEXT = `\uFEFF// of its owner
{
  theme: 'it\\'s "dark"',
  'sizes': [+1, .5, 0x10, 5., -0X1f,], // kept
  env: {},
  mcpServers: {
    other: { command: 'x' },
  },
}
`

  test('go into JSON5 and a file with a byte-order mark, and leave what stands around them', () => {
    const once = put(JSON5_TEXT)
    const [untouched] = JSON5_TEXT.split('  env:') as [string]
    expect(once.startsWith(untouched), once).toBe(true)
    expect(memberAt(once, ['mcpServers', 'other'], 'x')).toEqual({ command: 'x' })
    expect(put(once)).toBe(once)
    expect(memberAt(once, ['mcpServers', 'svc'], 'x')).toEqual({ command: '/node' })
    expect(memberAt(once, ['sizes'], 'x')).toEqual([1, 0.5, 16, 5, -31])
    expect(memberAt(once, ['theme'], 'x')).toBe('it\'s "dark"')
    const gone = takeOut(once, JSON5_TEXT)
    expect(memberAt(gone, [], 'x')).toEqual(memberAt(JSON5_TEXT, [], 'x'))
    expect(gone).toContain("theme: 'it\\'s")
    expect(JSON.parse(put('\uFEFF{"a":1}').slice(1))).toMatchObject({ a: 1, env: { X: 'false' } })
    expect(put('\uFEFF{"a":1}')).toMatch(/^\uFEFF\{/)
  })

  test('say what stands at a place', () => {
    expect(memberAt('{"a":{"b":null}}', ['a', 'b'], 'x')).toBe(null)
    expect(memberAt('{"a":{"b":null}}', ['a', 'c'], 'x')).toBe(undefined)
    expect(memberAt(' ', ['a'], 'x')).toBe(undefined)
    expect(() => memberAt('{"a":', ['a'], 'x')).toThrow(/x is not a JSON object/)
  })
})
