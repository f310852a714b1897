/** What every place for large mail must do. */
import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { Blobs } from '../store/blob-port.ts'

const MIB = 1024 * 1024
export const blobName = (digit: string): string => digit.repeat(32)

/** Writes a blob in pieces, and commits it. */
export async function writeBlob(
  blobs: Blobs,
  name: string,
  bytes: Uint8Array,
  piece = 300_000,
): Promise<void> {
  const writer = await blobs.create(name)
  for (let at = 0; at < bytes.length; at += piece) await writer.write(bytes.subarray(at, at + piece))
  await writer.commit()
}

/** All bytes of a blob, read some at a time. */
export async function readBlob(blobs: Blobs, name: string, piece = 400_000): Promise<Buffer | undefined> {
  const reader = await blobs.open(name)
  if (reader === undefined) return undefined
  const pieces: Uint8Array[] = []
  for (;;) {
    const read = new Uint8Array(piece)
    const length = await reader.fill(read)
    pieces.push(read.subarray(0, length))
    if (length < piece) break
  }
  await reader.close()
  return Buffer.concat(pieces)
}

async function namesIn(blobs: Blobs): Promise<string[]> {
  const all: string[] = []
  for await (const names of blobs.names()) all.push(...names)
  return all.sort()
}

/** Declares the suite; `blobs` is empty each time. */
export function blobContract(engine: string, open: () => Promise<Blobs> | Blobs): void {
  const [a, b, c] = ['a', 'b', 'c'].map(blobName) as [string, string, string]
  const none = async (names: string[]) => names
  const all = async () => []

  describe(`blobs in ${engine}`, () => {
    test('show one only after it was committed, and leave nothing of an aborted one', async () => {
      const blobs = await open()
      const writer = await blobs.create(a)
      await writer.write(new Uint8Array([1, 2, 3]))
      expect(await blobs.open(a)).toBeUndefined()
      await writer.commit()
      const reader = await blobs.open(a)
      const piece = new Uint8Array(4)
      expect([await reader?.fill(piece), ...piece]).toEqual([3, 1, 2, 3, 0])
      expect(await reader?.fill(piece)).toBe(0)
      await reader?.close()
      for (const length of [1, 9 * MIB]) {
        const aborted = await blobs.create(b)
        await aborted.write(new Uint8Array(length))
        await aborted.abort()
        expect(await blobs.open(b)).toBeUndefined()
      }
      expect(await namesIn(blobs)).toEqual([a])
    })

    test.each([0, 1, 8 * MIB - 1, 8 * MIB, 8 * MIB + 1, 17 * MIB])(
      'give back %i bytes as they came',
      async length => {
        const blobs = await open()
        const bytes = randomBytes(length)
        await writeBlob(blobs, a, bytes)
        expect((await readBlob(blobs, a))?.equals(bytes)).toBe(true)
        const reader = await blobs.open(a)
        await reader?.fill(new Uint8Array(10))
        await reader?.close()
      },
    )

    test('take names of theirs alone', async () => {
      const blobs = await open()
      for (const name of ['../../etc/passwd', 'A'.repeat(32), ''])
        await expect((async () => await blobs.open(name))()).rejects.toThrow(/not one of ours/)
    })

    test('remove what is named, and what is not there as well', async () => {
      const blobs = await open()
      for (const name of [a, b]) await writeBlob(blobs, name, new Uint8Array(1))
      await blobs.remove([a, c])
      expect(await namesIn(blobs)).toEqual([b])
    })

    test('keep every one while they are held', async () => {
      const blobs = await open()
      await writeBlob(blobs, a, new Uint8Array(1))
      const [first, second] = [await blobs.hold(), await blobs.hold()]
      await blobs.remove([a])
      await first()
      expect(await namesIn(blobs)).toEqual([a])
      await second()
      expect(await namesIn(blobs)).toEqual([])
    })

    test('collect those that no row names once they are an hour old', async () => {
      const blobs = await open()
      for (const name of [a, b]) await writeBlob(blobs, name, new Uint8Array(1))
      const now = Date.now()
      expect(await blobs.collect(now, none)).toBe(0)
      expect(await blobs.collect(now + 7_200_000, all)).toBe(0)
      expect(await blobs.collect(now + 7_200_000, async names => names.filter(name => name === b))).toBe(1)
      expect(await namesIn(blobs)).toEqual([a])
    })
  })
}
