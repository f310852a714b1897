import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { BlobFolder } from './folder.ts'

const folders: string[] = []
function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'svc-hub-blobs-'))
  folders.push(made)
  return made
}
afterEach(() => {
  for (const path of folders.splice(0)) rmSync(path, { recursive: true, force: true })
})

describe('blobs', () => {
  const name = (digit: string): string => digit.repeat(32)
  const none = async (names: string[]) => names
  const all = async () => []

  test('shows a blob only after it was committed, and leaves nothing of an aborted one', async () => {
    const blobs = new BlobFolder(folder())
    const writer = await blobs.create(name('a'))
    await writer.write(new Uint8Array([1, 2, 3]))
    expect(await blobs.open(name('a'))).toBeUndefined()
    await writer.commit()
    const file = await blobs.open(name('a'))
    const piece = new Uint8Array(4)
    expect([await file?.fill(piece), ...piece]).toEqual([3, 1, 2, 3, 0])
    await file?.close()
    const aborted = await blobs.create(name('b'))
    await aborted.write(new Uint8Array([1]))
    await aborted.abort()
    expect(await blobs.open(name('b'))).toBeUndefined()
  })

  test('is private and refuses names that are not its own', async () => {
    const directory = folder()
    const blobs = new BlobFolder(directory)
    expect(statSync(join(directory, 'blobs')).mode & 0o077).toBe(0)
    await expect(blobs.open('../../etc/passwd')).rejects.toThrow(/not one of ours/)
  })

  test('collects torn temporary files at start, and orphans once they are an hour old', async () => {
    const directory = folder()
    const blobs = new BlobFolder(directory)
    const writer = await blobs.create(name('c'))
    await writer.write(new Uint8Array([1]))
    await writer.commit()
    writeFileSync(join(directory, 'tmp', name('d')), 'torn')
    expect(await blobs.collect(Date.now(), none)).toBe(0)
    expect(() => statSync(join(directory, 'tmp', name('d')))).toThrow(/ENOENT/)
    expect(await blobs.collect(Date.now() + 7_200_000, all)).toBe(0)
    expect(await blobs.collect(Date.now() + 7_200_000, none)).toBe(1)
    expect(await blobs.open(name('c'))).toBeUndefined()
  })
})
