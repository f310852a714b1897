/** The hubs that a node knows, as the store keeps them. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  highestWire,
  homeRow,
  hubRow,
  leaveHub,
  leftRows,
  noteRegistered,
  previousRows,
  wasRegistered,
  writeHome,
} from './hubs.ts'
import { openStoreAt, type Store } from './open.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
let store: Store
beforeEach(() => {
  store = openStoreAt(':memory:')
})
afterEach(() => store.close())

const home = (name: string, { moves = true, wire = 3, aid = `A${name}` } = {}) =>
  writeHome(store, { url: `https://${name}`, aid, wire, log: Uint8Array.of(1), bits: 4 }, moves, 1000)
const urls = (rows: { url: string }[]) => rows.map(({ url }) => url)

test('a home that a node moves from is emptied for fourteen days and an hour', () => {
  expect([homeRow(store), hubRow(store, 'https://a')]).toEqual([undefined, undefined])
  home('a')
  home('b')
  expect(homeRow(store)?.url).toBe('https://b')
  const until = 1000 + 14 * DAY_MS + HOUR_MS
  expect(hubRow(store, 'https://a')).toMatchObject({ role: 'draining', drainUntil: until })
  expect([urls(previousRows(store, until - 1)), previousRows(store, until)]).toEqual([['https://a'], []])
})

test('a home that is replaced without a move is forgotten, and so is another hub at its address', () => {
  home('a')
  home('b', { moves: false })
  expect([hubRow(store, 'https://a'), previousRows(store, 0)]).toEqual([undefined, []])
  noteRegistered(store, 'https://b', 2)
  home('b', { moves: false, aid: 'Aother' })
  expect(homeRow(store)).toMatchObject({ aid: 'Aother', registeredSeq: null })
})

test('the highest wire of a hub is remembered', () => {
  expect(highestWire(store, 'Aa')).toBeUndefined()
  home('a', { wire: 3 })
  home('a', { wire: 1, moves: false })
  expect(highestWire(store, 'Aa')).toBe(3)
})

test('a hub that was left is known where it took a registration, and forgotten where it took none', () => {
  home('a')
  expect(wasRegistered(store)).toBe(false)
  leaveHub(store, 'https://a')
  expect(hubRow(store, 'https://a')).toBeUndefined()
  home('b')
  noteRegistered(store, 'https://b', 0)
  leaveHub(store, 'https://b')
  expect([wasRegistered(store), urls(leftRows(store)), homeRow(store)]).toEqual([
    true,
    ['https://b'],
    undefined,
  ])
})
