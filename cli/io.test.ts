import fc from 'fast-check'
import { expect, test } from 'vitest'
import { anyText } from '../protocol/testing/agents.ts'
import { hint, type Io, jsonText } from './io.ts'

test('JSON for a terminal shows no character that the terminal obeys or hides, and reads back as the same', () => {
  const hostile = 'a\u009b31mb\u202ec\u200bd\u{e0041}e\u007f'
  expect(jsonText({ text: hostile })).toBe('{"text":"a\\u009b31mb\\u202ec\\u200bd\\udb40\\udc41e\\u007f"}')
  fc.assert(
    fc.property(anyText, text => {
      const shown = jsonText([text], 2)
      expect(JSON.parse(shown)).toEqual([text])
      expect(shown).not.toMatch(/[\p{Cc}\p{Cf}](?<!\n)/u)
    }),
  )
})

test.each([
  [{}, '\u001b[2mtry: svc up\u001b[0m\n'],
  [{ NO_COLOR: '1' }, 'try: svc up\n'],
  [{ NO_COLOR: '' }, '\u001b[2mtry: svc up\u001b[0m\n'],
  [{ TERM: 'dumb' }, 'try: svc up\n'],
  [{ TERM: 'xterm-256color' }, '\u001b[2mtry: svc up\u001b[0m\n'],
])('a hint in %j is written as %j', (env, written) => {
  let err = ''
  const say = (text: string): void => {
    err += text
  }
  const io = { env, hints: true, err: say, asCalled: (text: string) => text } as unknown as Io
  hint(io, 'svc up')
  expect(err).toBe(written)
  hint({ ...io, hints: false }, 'svc up')
  expect(err).toBe(written)
})
