import fc from 'fast-check'
import { expect, test } from 'vitest'
import { anyText } from '../protocol/testing/agents.ts'
import { jsonText } from './io.ts'

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
