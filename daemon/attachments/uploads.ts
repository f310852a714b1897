/**
 * Files that the page of the console gave to the node: each in a folder of its own whose name nobody guesses, until it was
 * sent or a week is over. A draft names one by its path, as it does any other file.
 */

import * as fs from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { ATTACHMENT_BYTES_MAX } from '../../protocol/contract/limits.ts'
import { fileName } from '../../protocol/encoding/file-names.ts'
import { ensureSecretDirectory, SECRET_FILE_MODE } from '../platform/files.ts'
import { isOutOfRoom } from '../platform/room.ts'
import { refuse } from '../refusal.ts'

const NAME_BYTES = 16
const FOLDER = /^[0-9a-f]{32}$/
const LIFE_MS = 7 * 86_400_000
/** A call whose answer was lost may name it once more. */
const SPENT_LIFE_MS = 60 * 60_000
/** All that wait. */
const BYTES_MAX = 512 * 1024 * 1024
const FILES_MAX = 256

export type UploadsOutside = { now: () => number; random: (length: number) => Uint8Array }

export class Uploads {
  readonly #folder: string
  readonly #now: () => number
  readonly #random: (length: number) => Uint8Array

  constructor(folder: string, { now, random }: UploadsOutside) {
    this.#folder = folder
    this.#now = now
    this.#random = random
    ensureSecretDirectory(folder)
  }

  /** Whether this real path is that of an upload. */
  holds(real: string): boolean {
    const folder = dirname(real)
    return FOLDER.test(basename(folder)) && dirname(folder) === fs.realpathSync(this.#folder)
  }

  /** Writes a file as it comes; what is cut off or too large leaves nothing. */
  async take(given: string, content: AsyncIterable<Uint8Array>): Promise<{ path: string; bytes: number }> {
    const name = fileName(given)
    const taken = this.#sizes()
    if (taken.length >= FILES_MAX) refuse('too_large', `${FILES_MAX} uploaded files wait to be sent already`)
    const room = BYTES_MAX - taken.reduce((sum, bytes) => sum + bytes, 0)
    const folder = join(this.#folder, Buffer.from(this.#random(NAME_BYTES)).toString('hex'))
    ensureSecretDirectory(folder)
    try {
      const path = join(folder, name)
      const bytes = await write(path, content, Math.min(room, ATTACHMENT_BYTES_MAX))
      const at = new Date(this.#now())
      fs.utimesSync(folder, at, at)
      return { path, bytes }
    } catch (error) {
      fs.rmSync(folder, { recursive: true, force: true })
      if (isOutOfRoom(error)) refuse('disk_full', 'the disk is full: the file was not taken')
      throw error
    }
  }

  /** These were sent, so that they are kept for an hour only. */
  spent(paths: readonly string[] = []): void {
    const at = new Date(this.#now() - LIFE_MS + SPENT_LIFE_MS)
    for (const path of paths) if (this.#isOurs(path)) fs.utimesSync(dirname(path), at, at)
  }

  removeOld(): void {
    for (const folder of this.#folders())
      if (this.#now() - fs.statSync(folder).mtimeMs > LIFE_MS)
        fs.rmSync(folder, { recursive: true, force: true })
  }

  #isOurs(path: string): boolean {
    return fs.existsSync(path) && this.holds(fs.realpathSync(path))
  }

  #folders(): string[] {
    return fs
      .readdirSync(this.#folder)
      .filter(name => FOLDER.test(name))
      .map(name => join(this.#folder, name))
  }

  #sizes(): number[] {
    return this.#folders().flatMap(folder =>
      fs.readdirSync(folder).map(name => fs.statSync(join(folder, name)).size),
    )
  }
}

async function write(path: string, content: AsyncIterable<Uint8Array>, bytesMax: number): Promise<number> {
  const file = await fs.promises.open(path, 'wx', SECRET_FILE_MODE)
  let bytes = 0
  try {
    for await (const part of content) {
      bytes += part.length
      if (bytes > bytesMax) refuse('too_large', 'the file is larger than 64 MiB, or too many wait to be sent')
      await file.write(part)
    }
  } finally {
    await file.close()
  }
  return bytes
}
