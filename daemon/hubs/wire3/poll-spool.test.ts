import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Malformed, toBase64url } from '../../../protocol/encoding/bytes.ts'
import { parseJson } from '../../../protocol/encoding/json.ts'
import { hasSmallDisks, withSmallDisk } from '../../../protocol/testing/small-disk.ts'
import { PollSpool } from './poll-spool.ts'

const MIB = 1024 * 1024
const random = (n: number) => crypto.getRandomValues(new Uint8Array(n))
const fresh = () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-spool-'))
  return { folder, spool: new PollSpool(folder, random) }
}

async function* pieces(text: string, sizes: number[]): AsyncGenerator<Uint8Array> {
  const bytes = new TextEncoder().encode(text)
  let offset = 0
  for (let i = 0; offset < bytes.length; i++) {
    const size = sizes[i % sizes.length] as number
    yield bytes.subarray(offset, offset + size)
    offset += size
  }
}

async function collect(spool: PollSpool, index: number): Promise<Buffer> {
  const parts: Uint8Array[] = []
  for await (const part of spool.source(index)) parts.push(part)
  return Buffer.concat(parts)
}

const answer = (envelopes: Uint8Array[], note = 'x') =>
  JSON.stringify({
    messages: envelopes.map((envelope, id) => ({ id, envelope: toBase64url(envelope), accepted_at: 5 })),
    more: false,
    key_state_notice_error: note,
  })

describe('reading a poll answer', () => {
  test.skipIf(!hasSmallDisks)('an envelope for which the disk has no room is not read in part', () =>
    withSmallDisk(5 * MIB, disk => {
      const spool = new PollSpool(disk, random)
      const one = spool.begin()
      spool.append(one, new Uint8Array(3 * MIB))
      expect(() => spool.append(one, new Uint8Array(3 * MIB))).toThrow('ENOSPC')
      spool.discard()
      expect(readdirSync(disk)).toEqual([])
      // no open file keeps the room
      writeFileSync(join(disk, 'other'), new Uint8Array(4 * MIB))
    }),
  )

  test('envelopes come out as they went in, whole, split and byte by byte, whatever stands beside them', async () => {
    const cases = fc.asyncProperty(
      fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 5 }),
      fc.string({ unit: fc.constantFrom('a', '"', '\\', '{', ':', 'envelope', '"envelope":"') }),
      fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 4 }),
      async (envelopes, note, sizes) => {
        for (const split of [sizes, [1], [1_000_000]]) {
          const { spool } = fresh()
          const skeleton = parseJson(await spool.read(pieces(answer(envelopes, note), split))) as {
            messages: { envelope: string }[]
            key_state_notice_error: string
          }
          expect(skeleton.key_state_notice_error).toBe(note)
          for (const [i, message] of skeleton.messages.entries())
            expect(await collect(spool, Number(message.envelope))).toEqual(
              Buffer.from(envelopes[i] as Uint8Array),
            )
        }
      },
    )
    await fc.assert(cases, { numRuns: 60 })
  })

  test('large envelopes lie in files only, and are gone when the answer is done with', async () => {
    const { folder, spool } = fresh()
    const envelopes = [random(3000), Buffer.alloc(6 * 1024 * 1024, 7), Buffer.alloc(5 * 1024 * 1024, 9)]
    await spool.read(pieces(answer(envelopes), [65_537]))
    expect(readdirSync(folder)).toHaveLength(2)
    expect((await collect(spool, 1)).equals(envelopes[1] as Buffer)).toBe(true)
    spool.discard()
    expect(readdirSync(folder)).toHaveLength(0)
  })

  test('an envelope that is not base64url and an answer that is cut short are refused', async () => {
    const bad = '{"messages":[{"id":1,"envelope":"a+b=","accepted_at":1}],"more":false}'
    await expect(fresh().spool.read(pieces(bad, [7]))).rejects.toThrow(Malformed)
    await expect(fresh().spool.read(pieces(bad.slice(0, 35), [7]))).rejects.toThrow(Malformed)
    await expect(fresh().spool.read(pieces(`{"x":"${'y'.repeat(2_000_000)}"}`, [65_536]))).rejects.toThrow(
      /too large/,
    )
  })
})
