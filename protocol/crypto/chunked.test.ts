import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { inflateSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { concat, fromHex, Malformed, toHex } from '../encoding/bytes.ts'
import { seeded } from '../testing/agents.ts'
import { type ByteSource, CHUNK_BYTES, decryptStream, encryptedSize, encryptStream } from './chunked.ts'

type Case = {
  tcId: number
  comment: string
  key: string
  ctx: string
  ct: string
  msgLength?: number
  msgSha512?: string
  result: 'valid' | 'invalid'
}
const file = readFileSync(
  new URL('../../fixtures/vectors/wycheproof_c2sp_chunked_encryption_aes_256_gcm_test.json', import.meta.url),
  'utf8',
)
const cases = (JSON.parse(file).testGroups as { tests: Case[] }[]).flatMap(group => group.tests)
const random = seeded('chunked')
const [key, salt, context] = [random(32), random(24), random(32)]
const SEALED_BYTES = CHUNK_BYTES + 16

/** What a stream gives out before it ends or is refused. */
async function collect(stream: AsyncIterable<Uint8Array>): Promise<{ bytes: Uint8Array; refused: boolean }> {
  const parts: Uint8Array[] = []
  try {
    for await (const part of stream) parts.push(part.slice())
  } catch (error) {
    if (!(error instanceof Malformed)) throw error
    return { bytes: concat(...parts), refused: true }
  }
  return { bytes: concat(...parts), refused: false }
}

const encrypt = async (source: ByteSource) => (await collect(encryptStream(key, salt, context, source))).bytes
const decrypt = (source: ByteSource) => collect(decryptStream(key, context, source))

/** The same bytes in pieces of `size`. */
function* split(bytes: Uint8Array, size: number): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

describe('content streams', () => {
  for (const [way, size] of [
    ['whole', Number.POSITIVE_INFINITY],
    ['split', 1000],
    ['byte by byte', 1],
  ] as const) {
    // Four MiB byte by byte take seconds and show nothing that the small cases do not.
    const fed = cases.filter(({ msgLength }) => size > 1 || (msgLength ?? 0) < 1_000_000)
    test(`judge ${fed.length} of 35 Wycheproof cases, fed ${way}`, async () => {
      expect([cases.length, fed.length]).toEqual([35, size > 1 ? 35 : 33])
      for (const { tcId, comment, key: caseKey, ctx, ct, msgLength, msgSha512, result } of fed) {
        const sealed = ct === '' ? new Uint8Array(0) : new Uint8Array(inflateSync(fromHex(ct)))
        const opened = await collect(decryptStream(fromHex(caseKey), fromHex(ctx), split(sealed, size)))
        const name = `case ${tcId}: ${comment}`
        expect(opened.refused, name).toBe(result === 'invalid')
        if (msgLength === undefined) continue
        expect(opened.bytes.length, name).toBe(msgLength)
        expect(createHash('sha512').update(opened.bytes).digest('hex'), name).toBe(msgSha512)
      }
    })
  }

  test('give back any bytes, however both sides cut them', async () => {
    const length = fc.oneof(
      fc.nat(100),
      fc.constantFrom(-1, 0, 1).map(d => CHUNK_BYTES + d),
      fc.nat(3 * CHUNK_BYTES),
    )
    const step = fc.constantFrom(1000, 4096, CHUNK_BYTES - 1, CHUNK_BYTES, SEALED_BYTES, 50_000)
    await fc.assert(
      fc.asyncProperty(length, step, step, async (size, cut, otherCut) => {
        const plaintext = random(size)
        const sealed = await encrypt(split(plaintext, cut))
        expect(sealed.length).toBe(encryptedSize(size))
        const opened = await decrypt(split(sealed, otherCut))
        expect(opened.refused).toBe(false)
        expect(toHex(opened.bytes)).toBe(toHex(plaintext))
      }),
      { numRuns: 60 },
    )
  })

  test('refuse a bit flipped anywhere, giving out only whole chunks from before it', async () => {
    const plaintext = random(2 * CHUNK_BYTES + 100)
    const sealed = await encrypt([plaintext])
    await fc.assert(
      fc.asyncProperty(fc.nat(sealed.length * 8 - 1), async bit => {
        const damaged = sealed.slice()
        damaged[bit >> 3] = damaged[bit >> 3]! ^ (1 << (bit & 7))
        const opened = await decrypt([damaged])
        const before = Math.max(0, Math.floor(((bit >> 3) - 56) / SEALED_BYTES))
        expect(opened.refused).toBe(true)
        expect(opened.bytes).toEqual(plaintext.subarray(0, before * CHUNK_BYTES))
      }),
    )
  })

  test('refuse every cut, chunks in another order, a chunk twice, and bytes after the end', async () => {
    const sealed = await encrypt([random(3 * CHUNK_BYTES + 5)])
    const chunk = (n: number) => sealed.subarray(56 + n * SEALED_BYTES, 56 + (n + 1) * SEALED_BYTES)
    const prefix = sealed.subarray(0, 56)
    const edges = [0, 1, 24, 55, 56, 57, 72, 56 + SEALED_BYTES, 56 + 3 * SEALED_BYTES, sealed.length - 1]
    for (const end of edges)
      expect((await decrypt([sealed.subarray(0, end)])).refused, `cut at ${end}`).toBe(true)
    const faulty = [
      [prefix, chunk(1), chunk(0), chunk(2), chunk(3)],
      [prefix, chunk(0), chunk(0), chunk(2), chunk(3)],
      [prefix, chunk(0), chunk(2), chunk(3)],
      [prefix, chunk(1), chunk(2), chunk(3)],
      [sealed, new Uint8Array(1)],
      [sealed, chunk(3)],
      [sealed, sealed],
    ]
    for (const parts of faulty) expect((await decrypt(parts)).refused).toBe(true)
  })

  test('refuse another context and keys of another length', async () => {
    const sealed = await encrypt([random(10)])
    expect((await collect(decryptStream(key, random(32), [sealed]))).refused).toBe(true)
    expect((await collect(decryptStream(random(31), context, [sealed]))).refused).toBe(true)
    expect((await collect(encryptStream(key, random(23), context, []))).refused).toBe(true)
  })
})
