/** Drafts of a terminal beside those of other screens: no word that is kept is written over unseen. */
import { beforeEach, expect, test } from 'vitest'
import type { Draft } from './host.ts'
import { KeptDrafts } from './kept-drafts.ts'

const disk = new Map<string, Draft>()
const drafts = () =>
  new KeptDrafts({
    names: () => [...disk.keys()],
    read: name => disk.get(name),
    write: (name, draft) => void disk.set(name, draft),
    remove: name => void disk.delete(name),
  })
const written = (text: string): Draft => ({ text, files: [] })
beforeEach(() => disk.clear())

test('a draft that was only looked at leaves what was written elsewhere since', () => {
  disk.set('t', written('a'))
  const here = drafts()
  here.load('t')
  disk.set('t', written('newer'))
  expect(here.keep('t', written('a'))).toBeUndefined()
  expect(disk.get('t')).toEqual(written('newer'))
})

test('an empty draft that is closed leaves what was written elsewhere since', () => {
  const here = drafts()
  here.load('t')
  disk.set('t', written('newer'))
  here.drop('t')
  here.keep('t', written(''))
  expect(disk.get('t')).toEqual(written('newer'))
})

test('what was sent is dropped, and what was written elsewhere since stays', () => {
  const here = drafts()
  here.keep('t', written('a'))
  here.drop('t')
  expect(disk.has('t')).toBe(false)
  here.keep('t', written('b'))
  disk.set('t', written('newer'))
  here.drop('t')
  expect(disk.get('t')).toEqual(written('newer'))
})

test('words of both screens are given, and kept once they stand together', () => {
  const here = drafts()
  here.load('t')
  disk.set('t', written('theirs'))
  expect(here.keep('t', written('mine'))).toEqual(written('theirs'))
  expect(disk.get('t')).toEqual(written('theirs'))
  expect(here.keep('t', written('theirs mine'))).toBeUndefined()
  expect(disk.get('t')).toEqual(written('theirs mine'))
})

test('what was written elsewhere is shown here before the first letter', () => {
  disk.set('t', written('a'))
  const here = drafts()
  here.load('t')
  expect(here.newer('t', written('a'))).toBeUndefined()
  disk.set('t', written('a b'))
  expect(here.newer('t', written('a, and mine'))).toBeUndefined()
  expect(here.newer('t', written('a'))).toEqual(written('a b'))
  disk.delete('t')
  expect(here.newer('t', written('a b'))).toEqual(written(''))
})
