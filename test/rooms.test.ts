/** The table of rooms is what the imports of the product say. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect, test } from 'vitest'
import { rooms } from '../scripts/rooms.ts'

const root = new URL('..', import.meta.url).pathname
const product = execFileSync(
  'git',
  ['ls-files', '--cached', '--others', '--exclude-standard', '*.ts', '*.tsx'],
  {
    cwd: root,
    encoding: 'utf8',
  },
)
  .split('\n')
  .filter(
    path =>
      path !== '' &&
      !/\.test\.tsx?$|\.config\.ts$|(^|\/)testing(\.ts$|\/)|^(test|bench|scripts|fixtures)\//.test(path),
  )
const names = Object.keys(rooms)
const usesOf = (room: string): readonly string[] => rooms[room]?.uses ?? []

/** The file itself where it is a room, else the nearest folder that is one. */
function roomOf(path: string): string {
  for (let at = path; at !== '.'; at = dirname(at)) if (at in rooms) return at
  return path
}

const importsOf = (path: string): string[] =>
  [...readFileSync(join(root, path), 'utf8').matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)].map(
    ([, specifier]) => normalize(join(dirname(path), specifier as string)),
  )

test('a room stands above those that it uses, so no two rooms need each other', () => {
  const upward = names.flatMap((room, i) =>
    usesOf(room)
      .filter(other => other === room || !(other in rooms) || names.indexOf(other) > i)
      .map(other => `${room} -> ${other}`),
  )
  expect(upward).toEqual([])
})

test('every file of the product stands in a room', () => {
  expect(product.filter(path => !(roomOf(path) in rooms))).toEqual([])
})

test.each(names)('%s uses only what its row names', room => {
  const allowed = new Set([room, ...usesOf(room)])
  const wrong = product
    .filter(path => roomOf(path) === room)
    .flatMap(path =>
      importsOf(path)
        .filter(target => !allowed.has(roomOf(target)))
        .map(target => `${path} -> ${target}`),
    )
  expect(wrong).toEqual([])
})

test.each(names)('%s uses all that its row names', room => {
  const used = new Set(
    product
      .filter(path => roomOf(path) === room)
      .flatMap(path => importsOf(path))
      .map(roomOf),
  )
  expect(usesOf(room).filter(other => !used.has(other))).toEqual([])
})

test.each(['hub/core', 'hub/http', 'hub/v3', 'hub/operator', 'hub/witness', 'hub/cli', 'hub/store'])(
  '%s knows the port of the store and no engine',
  room => {
    expect(usesOf(room).filter(other => other.startsWith('hub/store/'))).toEqual([])
  },
)
