/** The hub's own key: made once, and replaced only by the one to which its history committed. */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { random } from '../testing/hub.ts'
import {
  ensureIdentity,
  type HubIdentity,
  hasNextKey,
  IDENTITY_FILE,
  NEXT_FILE,
  rotateIdentity,
  settleRotation,
} from './identity.ts'

const NOW_MS = 1_800_000_000_000
const now = (): number => NOW_MS

let directory: string
let first: HubIdentity
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'svc-hub-identity-'))
  first = ensureIdentity(directory, now, random).identity
})
afterEach(() => rmSync(directory, { recursive: true }))

const next = (): string => join(directory, NEXT_FILE)
const never = (): never => {
  throw new Error('nothing is made')
}

test('an identity is made once, and read from then on', () => {
  const again = ensureIdentity(directory, never, never)
  expect([again.created, again.identity.aid, again.identity.seq]).toEqual([false, first.aid, 0])
  expect(hasNextKey(directory, again.identity.kel)).toBe(true)
})

describe('a rotation', () => {
  test('reveals the key that was committed to, and commits to another', () => {
    const before = readFileSync(next())
    const second = rotateIdentity(directory, first, now, random)
    expect([second.aid, second.seq]).toEqual([first.aid, 1])
    expect(second.seed).not.toEqual(first.seed)
    expect(readFileSync(next()).equals(before)).toBe(false)
    expect(rotateIdentity(directory, second, now, random).seq).toBe(2)
    expect(ensureIdentity(directory, never, never).identity.seq).toBe(2)
    expect(readdirSync(directory).sort()).toEqual([IDENTITY_FILE, NEXT_FILE])
  })

  test.each([
    ['is missing', (path: string) => rmSync(path)],
    ['is torn', (path: string) => writeFileSync(path, 'torn')],
    [
      'is that of another hub',
      (path: string) => {
        const other = mkdtempSync(join(tmpdir(), 'svc-hub-identity-'))
        ensureIdentity(other, now, random)
        cpSync(join(other, NEXT_FILE), path)
        rmSync(other, { recursive: true })
      },
    ],
  ])('is refused where the next key %s, and changes nothing', (_, spoil) => {
    spoil(next())
    const held = readFileSync(join(directory, IDENTITY_FILE))
    expect(() => rotateIdentity(directory, first, now, random)).toThrow(
      /is missing or not the one this hub committed to; restore identity\.next from a backup/,
    )
    expect(readFileSync(join(directory, IDENTITY_FILE)).equals(held)).toBe(true)
    expect(hasNextKey(directory, first.kel)).toBe(false)
  })

  test('that was interrupted before its history was written is dropped, after that it is finished', () => {
    const coming = `${next()}.new`
    const committed = readFileSync(next())
    writeFileSync(coming, 'of an interrupted rotation')
    settleRotation(directory, first.kel)
    expect(readdirSync(directory).sort()).toEqual([IDENTITY_FILE, NEXT_FILE])
    const second = rotateIdentity(directory, first, now, random)
    cpSync(next(), coming)
    writeFileSync(next(), committed)
    settleRotation(directory, second.kel)
    expect(hasNextKey(directory, second.kel)).toBe(true)
    expect(readdirSync(directory).sort()).toEqual([IDENTITY_FILE, NEXT_FILE])
  })
})
