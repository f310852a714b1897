/** Taking large mail from one place to another, a blob at a time and a piece of it in memory. */
import type { BlobReader, Blobs } from '../blob-port.ts'

const PIECE_BYTES = 1024 * 1024

/** Copies what is not there yet: each has a name of its own, so what is there is the same. Returns how many went. */
export async function copyBlobs(from: Blobs, to: Blobs): Promise<number> {
  let copied = 0
  for await (const names of from.names())
    for (const name of names) {
      if (await has(to, name)) continue
      const reader = await from.open(name)
      if (reader === undefined) continue
      await copyOne(reader, name, to)
      copied += 1
    }
  return copied
}

async function has(blobs: Blobs, name: string): Promise<boolean> {
  const reader = await blobs.open(name)
  await reader?.close()
  return reader !== undefined
}

async function copyOne(reader: BlobReader, name: string, to: Blobs): Promise<void> {
  const writer = await to.create(name)
  try {
    const piece = new Uint8Array(PIECE_BYTES)
    for (let length = piece.length; length === piece.length; ) {
      length = await reader.fill(piece)
      await writer.write(piece.subarray(0, length))
    }
    await writer.commit()
  } catch (error) {
    await writer.abort()
    throw error
  } finally {
    await reader.close()
  }
}
