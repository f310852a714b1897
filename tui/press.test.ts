/** What a terminal sends, as presses. */
import type { Key } from 'ink'
import { expect, test } from 'vitest'
import { pressesOf } from './press.ts'

const none: Key = {
  upArrow: false,
  downArrow: false,
  leftArrow: false,
  rightArrow: false,
  pageDown: false,
  pageUp: false,
  home: false,
  end: false,
  return: false,
  escape: false,
  ctrl: false,
  shift: false,
  tab: false,
  backspace: false,
  delete: false,
  meta: false,
  super: false,
  hyper: false,
  capsLock: false,
  numLock: false,
}
const names = (input: string, key: Partial<Key> = {}) =>
  pressesOf(input, { ...none, ...key }).map(press => press.key)

test('keys that come together are presses of their own', () => {
  expect(names('jj\r')).toEqual(['j', 'j', 'enter'])
  expect(names('\u0004\u0004')).toEqual(['ctrl-d', 'ctrl-d'])
  expect(names('你a b')).toEqual(['你', 'a', 'space', 'b'])
})

test.each([
  ['an arrow', '', { upArrow: true }, ['up']],
  ['enter', '', { return: true }, ['enter']],
  ['alt-enter', '', { return: true, meta: true }, ['alt-enter']],
  ['shift-enter of a terminal that tells it', '', { return: true, shift: true }, ['shift-enter']],
  ['shift-tab', '', { tab: true, shift: true }, ['shift-tab']],
  ['ctrl-e', 'e', { ctrl: true }, ['ctrl-e']],
  ['ctrl-j', '\n', {}, ['ctrl-j']],
  ['alt-b', 'b', { meta: true }, ['alt-b']],
  ['esc', '', { escape: true }, ['esc']],
  ['a key that is let go', 'j', { eventType: 'release' }, []],
] as const)('%s', (_what, input, key, presses) => expect(names(input, key)).toEqual(presses))
