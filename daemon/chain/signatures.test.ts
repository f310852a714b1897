import { describe, expect, test } from 'vitest'
import { publicKey, sign } from '#crypto'
import { SignatureChecks } from './signatures.ts'

const seed = new Uint8Array(32).fill(7)
const key = publicKey(seed)
const RECORDS = 1300

/** Records of one signer, of messages of several lengths. */
const signed = (seq: number) => {
  const message = new Uint8Array(40 + (seq % 50)).fill(seq)
  return { key, message, signature: sign(seed, message) }
}
const all = Array.from({ length: RECORDS }, (_, seq) => signed(seq))

async function firstBad(records: typeof all, firstSeq = 0): Promise<number | undefined> {
  await using checks = new SignatureChecks(firstSeq)
  for (const record of records) await checks.add(record)
  return await checks.end()
}

describe('the signatures of many records', () => {
  test('hold, with none, one, a batch and many batches of them', async () => {
    for (const count of [0, 1, 257]) expect(await firstBad(all.slice(0, count))).toBeUndefined()
  })

  test.each([0, 255, 256, RECORDS - 1])('one that does not hold is found at %i', async bad => {
    const other = all[(bad + 50) % RECORDS] as (typeof all)[number]
    const records = all.map((record, seq) =>
      seq === bad ? { ...record, signature: other.signature } : record,
    )
    expect(await firstBad(records, 40)).toBe(bad + 40)
  })

  test('the first of several is told, whichever thread is done first', async () => {
    const records = all.map((record, seq) =>
      [300, 1299, 900].includes(seq) ? { ...record, message: new Uint8Array(3) } : record,
    )
    expect(await firstBad(records)).toBe(300)
  })
})
