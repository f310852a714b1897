import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { agentRow } from '../../testing/store-contract.ts'
import { openStore } from './open.ts'

const NOW_MS = 1_800_000_000_000
const directory = mkdtempSync(join(tmpdir(), 'svc-hub-sign-ups-'))
const open = () => openStore({ directory, release: 'test', onBroken: () => undefined })
let store = open()
afterAll(async () => {
  await store.close()
  rmSync(directory, { recursive: true })
})

const bytes = (length: number, fill: number): Uint8Array => new Uint8Array(length).fill(fill)

test('counts the accounts of a range that came by work, and takes each proof once', async () => {
  const signUp = (n: number, proof: number, range = 1) => ({
    row: agentRow(`newcomer-${n}`),
    entry: undefined,
    terms: [],
    signUp: {
      day: 20_000,
      range: bytes(16, range),
      perDayMax: 2,
      proof: bytes(32, proof),
      proofUntilMs: NOW_MS,
    },
  })
  const put = async (...changes: ReturnType<typeof signUp>[]) =>
    (await Promise.all(changes.map(change => store.putAgent(change)))).map(({ outcome }) => outcome)
  expect(await put(signUp(1, 1), signUp(2, 1), signUp(3, 3), signUp(4, 4), signUp(5, 5, 2))).toEqual([
    'stored',
    'proofUsed',
    'stored',
    'rangeFull',
    'stored',
  ])
  await store.close()
  store = open()
  expect(await store.signUps({ day: 20_000, range: bytes(16, 1) })).toBe(2)
  expect(await store.signUps({ day: 20_001, range: bytes(16, 1) })).toBe(0)
  expect(await Promise.all([1, 4].map(n => store.isProofUsed(bytes(32, n))))).toEqual([true, false])
  expect(await store.findAgent('newcomer-4')).toBeUndefined()
})
