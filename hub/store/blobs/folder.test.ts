import { mkdtempSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { blobContract, blobName as name } from '../../testing/blob-contract.ts'
import { StoreAway } from '../port.ts'
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

blobContract('a folder', () => new BlobFolder(folder()))

describe('blobs', () => {
  const none = async (names: string[]) => names
  const all = async () => []

  test('is private and refuses names that are not its own', async () => {
    const directory = folder()
    const blobs = new BlobFolder(directory)
    expect(statSync(join(directory, 'blobs')).mode & 0o077).toBe(0)
    await expect(blobs.open('../../etc/passwd')).rejects.toThrow(/not one of ours/)
  })

  test('are away while their folder is, and are none that nobody wrote', async () => {
    const directory = folder()
    const blobs = new BlobFolder(directory)
    const writer = await blobs.create(name('e'))
    await writer.commit()
    renameSync(directory, `${directory}-elsewhere`)
    await expect(blobs.open(name('e'))).rejects.toThrow(StoreAway)
    await expect(blobs.create(name('f'))).rejects.toThrow(/look whether its disk is mounted/)
    renameSync(`${directory}-elsewhere`, directory)
    await (await blobs.open(name('e')))?.close()
    expect(await blobs.open(name('f'))).toBeUndefined()
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
