/** Lines as a terminal gets them. */
import { expect, test } from 'vitest'
import { cut, fitted, headOf, lineWidth, widthOf, wrapped } from './cells.ts'
import { painted, steady } from './paint.ts'

test.each([
  ['joined people', '👨‍👩‍👧‍👦', 2],
  ['a flag', '🇩🇪', 2],
  ['a tone of skin', '👍🏽', 2],
  ['a sign that is made an emoji', '❤️', 2],
  ['a keycap', '1️⃣', 2],
  ['marks on a letter', 'e\u0301\u0302', 1],
])('%s is one character: measured, cut, wrapped and filled up whole', (_what, character, width) => {
  expect(widthOf(character)).toBe(width)
  expect(headOf(`${character}${character}x`, width)).toBe(character)
  expect(cut(`${character}${character}${character}`, width + 1)).toBe(`${character}…`)
  expect(wrapped(character.repeat(4), 2 * width)).toEqual([character.repeat(2), character.repeat(2)])
  expect(lineWidth(fitted([{ text: `a ${character} b` }], 12))).toBe(12)
  if (width > 1) expect(headOf(character, width - 1)).toBe('')
})

test('a tone of skin, to which terminals give other widths, is left out in as many cells', () => {
  expect(steady('👍🏽 ok ☝🏽 ok')).toBe('👍 ok ☝  ok')
  expect(painted([[{ text: '👍🏽', bold: true }]], true)).toBe('\u001b[1m👍\u001b[0m')
})
