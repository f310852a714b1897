import { describe, expect, test } from 'vitest'
import { holdsSettings, memberAt, withoutSettings, withSettings } from './settings.ts'

const settings = [
  { path: ['mcpServers', 'svc'], value: { command: '/node' } },
  { path: ['env', 'X'], value: 'false' },
  { path: ['permissions', 'allow'], add: ['one', 'two'] },
]
const put = (text: string | undefined) => withSettings(text, settings, 'settings.json')
const takeOut = (text: string, former: string | undefined) =>
  withoutSettings(text, settings, former, 'settings.json')

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
    const former = '{ "env": { "X": "true" }, "permissions": { "allow": ["two"] } }'
    const later = put(former).replace('{', '{ "since": 1,')
    expect(JSON.parse(takeOut(later, former))).toEqual({
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

  test.each(['[]', '{', 'hello', '"x"', '{"a":}', '{ a: 1 }'])(
    'are refused for %s, which no file is made of',
    text => {
      expect(() => put(text)).toThrow(
        /settings\.json is not a JSON object that svc can read; nothing was changed/,
      )
    },
  )

  test('say what stands at a place', () => {
    expect(memberAt('{"a":{"b":null}}', ['a', 'b'], 'x')).toBe(null)
    expect(memberAt('{"a":{"b":null}}', ['a', 'c'], 'x')).toBe(undefined)
    expect(memberAt(' ', ['a'], 'x')).toBe(undefined)
    expect(() => memberAt('{"a":', ['a'], 'x')).toThrow(/x is not a JSON object/)
  })
})
