/**
 * Saving under names of strangers into a directory of the user (node specification: pull): nothing leaves that directory, nothing that is there is written over, no link is followed.
 */

import * as fs from 'node:fs'
import { extname, join } from 'node:path'
import { systemCode } from '../../protocol/encoding/errors.ts'
import { fileName } from '../../protocol/encoding/file-names.ts'
import { fileFault } from '../platform/files.ts'
import { isOutOfRoom } from '../platform/room.ts'
import { refuse } from '../refusal.ts'

const COPIES_MAX = 1000
const SAVED_FILE_MODE = 0o600

/** The documents that both sides sign and the proof that they did, as they are saved beside attachments. */
export const documentNames = { request: 'request.json', result: 'result.json', proof: 'proof.json' } as const

/** The name under which an attachment is saved: never that of a signed document, however a file system compares. */
export function attachmentFileName(name: string): string {
  const clean = fileName(name)
  const compared = clean.normalize('NFKC').toLowerCase()
  return Object.values<string>(documentNames).includes(compared) ? `attached-${clean}` : clean
}

/** Where a file lies now, and whether it lay there before, byte for byte. */
export type Saved = { path: string; wasThere: boolean }

/** Copies a file under a name into a directory, or finds it there already. */
export function saveFile(source: string, directory: string, name: string): Saved {
  return saveUnder(directory, name, {
    write: target => fs.copyFileSync(source, target, fs.constants.COPYFILE_EXCL),
    isSame: target => isSameFile(target, source),
  })
}

/** Writes bytes under a name into a directory, or finds them there already. */
export function saveBytes(bytes: Uint8Array, directory: string, name: string): Saved {
  return saveUnder(directory, name, {
    write: target => fs.writeFileSync(target, bytes, { flag: 'wx', mode: SAVED_FILE_MODE }),
    isSame: target => fs.lstatSync(target).size === bytes.length && fs.readFileSync(target).equals(bytes),
  })
}

type Content = { write: (target: string) => void; isSame: (target: string) => boolean }

function saveUnder(directory: string, name: string, content: Content): Saved {
  const clean = fileName(name)
  const extension = extname(clean)
  const stem = clean.slice(0, clean.length - extension.length)
  for (let n = 1; n <= COPIES_MAX; n++) {
    const target = join(directory, n === 1 ? clean : `${stem}-${n}${extension}`)
    try {
      content.write(target)
      return { path: target, wasThere: false }
    } catch (error) {
      if (systemCode(error) !== 'EEXIST') refuseBegun(target, error)
    }
    if (isRegular(target) && content.isSame(target)) return { path: target, wasThere: true }
  }
  return refuse(
    'file_unreadable',
    `${directory} holds ${COPIES_MAX} files named ${clean}`,
    'svc pull <id> --out DIR',
  )
}

function refuseBegun(target: string, error: unknown): never {
  // only what was begun here can have run out of room
  if (isOutOfRoom(error)) fs.rmSync(target, { force: true })
  return refuseUnwritten(`cannot write ${target}`, error)
}

/** Refuses what could not be written below a folder that the user named. */
export function refuseUnwritten(sentence: string, error: unknown): never {
  const next = isOutOfRoom(error) ? FOR_ROOM : ELSEWHERE
  return refuse('file_unreadable', `${sentence}: ${fileFault(error)}`, next)
}

const ELSEWHERE = 'name a folder that the node may write to:\nsvc pull <id> --out DIR'
const FOR_ROOM = 'name a folder on a disk with room, or free some first:\nsvc pull <id> --out DIR'

/** A file itself, no link to one and nothing that answers like one. */
function isRegular(path: string): boolean {
  return fs.lstatSync(path, { throwIfNoEntry: false })?.isFile() === true
}

const COMPARED_BYTES = 256 * 1024

function isSameFile(path: string, other: string): boolean {
  if (fs.lstatSync(path).size !== fs.statSync(other).size) return false
  const files = [path, other].map(one => fs.openSync(one, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW))
  const [left, right] = files.map(() => Buffer.alloc(COMPARED_BYTES)) as [Buffer, Buffer]
  try {
    for (;;) {
      const [read, also] = [fs.readSync(files[0] as number, left), fs.readSync(files[1] as number, right)]
      if (read !== also || !left.subarray(0, read).equals(right.subarray(0, also))) return false
      if (read === 0) return true
    }
  } finally {
    for (const file of files) fs.closeSync(file)
  }
}
