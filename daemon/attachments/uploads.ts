/**
 * Files that the page of the console gave to the node: each in a folder of its own whose name nobody guesses, until it was
 * sent or a week is over. A draft names one by its path, as it does any other file. One that still comes has another
 * folder, which goes with the process that writes it.
 */

import * as fs from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { ATTACHMENT_BYTES_MAX } from '../../protocol/contract/limits.ts'
import { fileName } from '../../protocol/encoding/file-names.ts'
import type { Timers } from '../../protocol/timers.ts'
import { ensureSecretDirectory, SECRET_FILE_MODE } from '../platform/files.ts'
import { isOutOfRoom } from '../platform/room.ts'
import { refuse } from '../refusal.ts'

const NAME_BYTES = 16
const FOLDER = /^[0-9a-f]{32}$/
const PART = '.part'
const LIFE_MS = 7 * 86_400_000
/** A call whose answer was lost may name it once more. */
const SPENT_LIFE_MS = 60 * 60_000
/** So long nothing of a file may come before it is given up. */
const SILENT_MS = 60 * 60_000
/** All that wait. */
const BYTES_MAX = 512 * 1024 * 1024
const FILES_MAX = 256

const SILENT = 'nothing of the file came for an hour; give it once more'

export type UploadsOutside = { now: () => number; random: (length: number) => Uint8Array; timers: Timers }

export class Uploads {
  readonly #folder: string
  readonly #now: () => number
  readonly #random: (length: number) => Uint8Array
  readonly #timers: Timers
  /** Folders of files that still come. */
  readonly #coming = new Set<string>()

  constructor(folder: string, { now, random, timers }: UploadsOutside) {
    this.#folder = folder
    this.#now = now
    this.#random = random
    this.#timers = timers
    ensureSecretDirectory(folder)
  }

  /** Whether this real path is that of an upload. */
  holds(real: string): boolean {
    const folder = dirname(real)
    return FOLDER.test(basename(folder)) && dirname(folder) === fs.realpathSync(this.#folder)
  }

  /** Whether this is the path of a file that was given, and is here no more. */
  isGone(path: string): boolean {
    const folder = dirname(path)
    const isBelow = [this.#folder, fs.realpathSync(this.#folder)].includes(dirname(folder))
    return isBelow && FOLDER.test(basename(folder)) && !fs.existsSync(path)
  }

  /** Writes a file as it comes; what is cut off, silent or too large leaves nothing. */
  async take(given: string, content: Readable): Promise<{ path: string; bytes: number }> {
    const name = fileName(given)
    const taken = this.#sizes()
    if (taken.length >= FILES_MAX) refuse('too_large', `${FILES_MAX} uploaded files wait to be sent already`)
    const room = BYTES_MAX - taken.reduce((sum, bytes) => sum + bytes, 0)
    const folder = join(this.#folder, Buffer.from(this.#random(NAME_BYTES)).toString('hex'))
    const part = `${folder}${PART}`
    this.#coming.add(part)
    try {
      ensureSecretDirectory(part)
      const bytes = await this.#write(join(part, name), content, Math.min(room, ATTACHMENT_BYTES_MAX))
      const at = new Date(this.#now())
      fs.utimesSync(part, at, at)
      fs.renameSync(part, folder)
      return { path: join(folder, name), bytes }
    } catch (error) {
      fs.rmSync(part, { recursive: true, force: true })
      if (isOutOfRoom(error)) refuse('disk_full', 'the disk is full: the file was not taken')
      throw error
    } finally {
      this.#coming.delete(part)
    }
  }

  /** These were sent, so that they are kept for an hour only. */
  spent(paths: readonly string[] = []): void {
    const at = new Date(this.#now() - LIFE_MS + SPENT_LIFE_MS)
    for (const path of paths) if (this.#isOurs(path)) fs.utimesSync(dirname(path), at, at)
  }

  /** Removes what nobody sent for a week, and parts that nobody continues. */
  removeOld(): void {
    for (const folder of this.#folders()) {
      const isOver = folder.endsWith(PART)
        ? !this.#coming.has(folder)
        : this.#now() - fs.statSync(folder).mtimeMs > LIFE_MS
      if (isOver) fs.rmSync(folder, { recursive: true, force: true })
    }
  }

  #isOurs(path: string): boolean {
    return fs.existsSync(path) && this.holds(fs.realpathSync(path))
  }

  #folders(): string[] {
    return fs
      .readdirSync(this.#folder)
      .filter(name => FOLDER.test(basename(name, PART)))
      .map(name => join(this.#folder, name))
  }

  #sizes(): number[] {
    return this.#folders().flatMap(folder =>
      fs.readdirSync(folder).map(name => fs.statSync(join(folder, name)).size),
    )
  }

  async #write(path: string, content: Readable, bytesMax: number): Promise<number> {
    const file = await fs.promises.open(path, 'wx', SECRET_FILE_MODE)
    let isSilent = false
    const giveUp = () => {
      isSilent = true
      content.destroy()
    }
    let silent = this.#timers.after(SILENT_MS, giveUp)
    let bytes = 0
    try {
      for await (const part of content as AsyncIterable<Uint8Array>) {
        this.#timers.clear(silent)
        silent = this.#timers.after(SILENT_MS, giveUp)
        bytes += part.length
        if (bytes > bytesMax)
          refuse('too_large', 'the file is larger than 64 MiB, or too many wait to be sent')
        // on a disk that becomes full `write` writes a part, and says no more than how much
        await file.writeFile(part)
      }
      await file.datasync()
    } catch (error) {
      if (isSilent) refuse('bad_request', SILENT)
      throw error
    } finally {
      this.#timers.clear(silent)
      await file.close()
    }
    return bytes
  }
}
