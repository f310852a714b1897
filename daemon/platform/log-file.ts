/**
 * The file of a log: bounded, by keeping one older file beside it, and never a reason to end. What a full disk took is
 * counted and said once there is room again.
 */
import { closeSync, fstatSync, ftruncateSync, openSync, renameSync, writeSync } from 'node:fs'
import { SECRET_FILE_MODE } from './files.ts'

const BYTES_MAX = 4 * 1024 * 1024

/** The file before the present one. */
export const olderLog = (path: string): string => `${path}.1`

export class LogFile {
  readonly #path: string
  readonly #now: () => number
  readonly #bytesMax: number
  #file: number | undefined
  #bytes = 0
  #lost = 0

  constructor(path: string, now: () => number, bytesMax = BYTES_MAX) {
    this.#path = path
    this.#now = now
    this.#bytesMax = bytesMax
  }

  /** Appends a whole line; one that finds no room is lost. */
  write(line: string): void {
    try {
      if (this.#bytes >= this.#bytesMax) this.#rotate()
      if (this.#lost > 0) this.#append(this.#lossLine())
      this.#lost = 0
      this.#append(line)
    } catch {
      this.#lost += 1
    }
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file)
    this.#file = undefined
  }

  #lossLine(): string {
    const line = {
      level: 40,
      time: this.#now(),
      lost: this.#lost,
      msg: 'log lines were lost for want of room',
    }
    return `${JSON.stringify(line)}\n`
  }

  #append(line: string): void {
    const bytes = Buffer.from(line)
    const file = this.#open()
    const written = writeSync(file, bytes)
    if (written < bytes.length) {
      // Half a line would make the next one unreadable.
      ftruncateSync(file, this.#bytes)
      throw new Error('no room for the whole line')
    }
    this.#bytes += written
  }

  #open(): number {
    if (this.#file === undefined) {
      this.#file = openSync(this.#path, 'a', SECRET_FILE_MODE)
      this.#bytes = fstatSync(this.#file).size
    }
    return this.#file
  }

  #rotate(): void {
    this.close()
    renameSync(this.#path, olderLog(this.#path))
    this.#bytes = 0
  }
}
