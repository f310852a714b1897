/** Files of messages, as they lie on the disk. */
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { contentId } from '../../protocol/crypto/hash.ts'
import { hasSmallDisks, withSmallDisk } from '../../protocol/testing/small-disk.ts'
import { systemNow, systemTimers } from '../../protocol/timers.ts'
import { systemRandom } from '../platform/random.ts'
import { openStore, type Store } from '../store/open.ts'
import { Attachments } from './attachments.ts'

const KIB = 1024
/** Two pieces as they are read, the second of which finds room for a part of itself. */
const [FILE_BYTES, DISK_BYTES] = [512 * KIB, 400 * KIB]
const outside = { now: systemNow, random: systemRandom, timers: systemTimers }

let folder: string
let store: Store
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-attachments-'))
  store = openStore(folder)
})
afterEach(() => {
  store.close()
  rmSync(folder, { recursive: true, force: true })
})

const sizes = (attachments: Attachments) =>
  readdirSync(attachments.folder).map(name => statSync(join(attachments.folder, name)).size)

describe.skipIf(!hasSmallDisks)(
  'on a disk that becomes full, a file (skipped where none can be mounted)',
  () => {
    test('that is attached is taken whole or not at all', () =>
      withSmallDisk(DISK_BYTES, disk => {
        const path = join(folder, 'large.bin')
        writeFileSync(path, Buffer.alloc(FILE_BYTES, 1))
        const attachments = new Attachments(disk, outside)
        expect(() => attachments.take(path)).toThrow('ENOSPC')
        // neither a name nor an open file takes the room that is left
        expect(sizes(attachments)).toEqual([])
        writeFileSync(path, Buffer.alloc(KIB, 1))
        attachments.take(path)
        expect(sizes(attachments)).toEqual([KIB])
      }))

    test('that came is stored whole or not at all', () =>
      withSmallDisk(DISK_BYTES, async disk => {
        const bytes = new Uint8Array(FILE_BYTES).fill(1)
        const attachments = new Attachments(disk, outside)
        const attachment = { name: 'a', mediaType: 'text/plain', size: FILE_BYTES, cid: contentId(bytes) }
        const opened = {
          body: { attachments: [attachment] },
          async *parts() {
            yield { index: 0, chunk: bytes }
          },
        }
        await expect(attachments.receive(opened, store, () => 'taken')).rejects.toThrow('ENOSPC')
        expect(sizes(attachments)).toEqual([])
      }))
  },
)
