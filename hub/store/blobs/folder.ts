/**
 * Large mail of one kind as files of one folder. A blob is written to a temporary file, checked, forced to the disk, renamed and its folder
 * forced too, before any row names it; it is removed only after the row is gone. Names are random, so equal contents
 * show no equality.
 */
import { mkdirSync } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { systemCode } from '../../../protocol/encoding/errors.ts'
import { faultPoint } from '../../faults.ts'
import { syncFolder, writeAll } from '../../files.ts'
import {
  type BlobPlace,
  type BlobReader,
  type Blobs,
  type BlobWriter,
  blobPath,
  blobPlaces,
} from '../blob-port.ts'
import { StoreAway, StoreBroken, StoreFull } from '../port.ts'
import { HeldBack } from './held-back.ts'
import { ORPHAN_AGE_MS, refuseForeign } from './names.ts'

/** How many bytes may be written past the last time they were forced out. */
const FLUSH_EVERY_BYTES = 8 * 1024 * 1024

/** Makes what files of a kind are written into. */
export function makeFolders(directory: string, { folder, temporary }: BlobPlace): void {
  for (const name of [folder, temporary]) mkdirSync(join(directory, name), { recursive: true, mode: 0o700 })
}

export class BlobFolder implements Blobs {
  readonly #directory: string
  readonly #place: BlobPlace
  readonly #folder: string
  readonly #temporary: string
  readonly #going = new HeldBack(async names => {
    for (const name of names) await rm(this.#pathOf(name), { force: true })
  })

  readonly #onBroken: (error: StoreBroken) => void
  readonly #isShared: boolean

  /**
   * `onBroken` is told when the disk has failed; nothing may be written from then on. `isShared`: other processes write
   * into this folder too, and whoever claims it makes it.
   */
  constructor(
    directory: string,
    place: BlobPlace = blobPlaces.envelopes,
    onBroken: (error: StoreBroken) => void = () => undefined,
    { isShared = false }: { isShared?: boolean } = {},
  ) {
    this.#onBroken = onBroken
    this.#isShared = isShared
    this.#directory = directory
    this.#place = place
    this.#folder = join(directory, place.folder)
    this.#temporary = join(directory, place.temporary)
    if (!isShared) makeFolders(directory, place)
  }

  async create(name: string): Promise<BlobWriter> {
    const temporary = join(this.#temporary, name)
    const file = await this.#typed(() => open(temporary, 'wx', 0o600))
    return this.#writer(name, temporary, file)
  }

  #writer(name: string, temporary: string, file: FileHandle): BlobWriter {
    let unflushed = 0
    return {
      write: async bytes => {
        await this.#typed(() => writeAll(file, bytes))
        unflushed += bytes.length
        if (unflushed < FLUSH_EVERY_BYTES) return
        unflushed = 0
        await this.#typed(() => file.datasync())
      },
      commit: async () => {
        await this.#typed(() => file.datasync())
        await file.close()
        faultPoint('hub.blob.before-rename')
        const folder = await this.#ensureFolder(name)
        await this.#typed(() => rename(temporary, this.#pathOf(name)))
        await this.#typed(() => syncFolder(folder))
        faultPoint('hub.blob.after-rename')
      },
      async abort() {
        await file.close().catch(() => undefined)
        await rm(temporary, { force: true })
      },
    }
  }

  async #ensureFolder(name: string): Promise<string> {
    const folder = dirname(this.#pathOf(name))
    const made = await this.#typed(() => mkdir(folder, { recursive: true, mode: 0o700 }))
    if (made !== undefined) await this.#typed(() => syncFolder(this.#folder))
    return folder
  }

  #pathOf(name: string): string {
    refuseForeign(name)
    return join(this.#directory, blobPath(this.#place, name))
  }

  async open(name: string): Promise<BlobReader | undefined> {
    try {
      return reader(await open(this.#pathOf(name), 'r'))
    } catch (error) {
      if (systemCode(error) !== 'ENOENT') throw error
      await this.#checkThere()
      return undefined
    }
  }

  /** A file may be gone; its folder is gone where a disk is not mounted any more. */
  async #checkThere(): Promise<void> {
    const held = await stat(this.#folder).catch(() => undefined)
    if (held === undefined)
      throw new StoreAway(
        `the folder of long mail is away: ${this.#folder}; look whether its disk is mounted`,
      )
  }

  /** No room is a state that passes; a failed write or flush is the end, because its pages may be lost silently. */
  async #typed<T>(action: () => Promise<T>): Promise<T> {
    try {
      return await action()
    } catch (error) {
      const code = systemCode(error)
      if (code === 'ENOSPC' || code === 'EDQUOT') throw new StoreFull('no room on the disk for mail')
      if (code === 'ENOENT') await this.#checkThere()
      if (code !== 'EIO' && code !== 'EROFS') throw error
      const broken = new StoreBroken(`the disk failed: ${code}`)
      this.#onBroken(broken)
      throw broken
    }
  }

  remove(names: string[]): Promise<void> {
    return this.#going.remove(names)
  }

  async *names(): AsyncGenerator<string[]> {
    for (const folder of await readdir(this.#folder)) yield await readdir(join(this.#folder, folder))
  }

  async hold(): Promise<() => Promise<void>> {
    return this.#going.hold()
  }

  async collect(nowMs: number, unused: (names: string[]) => Promise<string[]>): Promise<number> {
    for (const name of await readdir(this.#temporary)) {
      const path = join(this.#temporary, name)
      if (!this.#isShared || (await isOld(path, nowMs))) await rm(path, { force: true })
    }
    let removed = 0
    for await (const names of this.names()) {
      for (const name of await unused(names)) {
        const path = this.#pathOf(name)
        if (!(await isOld(path, nowMs))) continue
        await rm(path, { force: true })
        removed += 1
      }
    }
    return removed
  }
}

/** What another process has removed meanwhile is not old. */
async function isOld(path: string, nowMs: number): Promise<boolean> {
  const held = await stat(path).catch(() => undefined)
  return held !== undefined && nowMs - held.mtimeMs >= ORPHAN_AGE_MS
}

const reader = (file: FileHandle): BlobReader => ({
  async fill(piece) {
    let length = 0
    while (length < piece.length) {
      const { bytesRead } = await file.read(piece, length, piece.length - length)
      if (bytesRead === 0) break
      length += bytesRead
    }
    return length
  },
  close: () => file.close(),
})
