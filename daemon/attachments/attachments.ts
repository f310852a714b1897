/**
 * Attachments: files under their content id, never overwritten, moved into place only once every byte is hashed and on
 * the disk. Nothing here holds a whole file in memory.
 */

import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import { basename, dirname, extname, isAbsolute, join, relative, sep } from 'node:path'
import { ATTACHMENT_BYTES_MAX } from '../../protocol/contract/limits.ts'
import { cidText, contentId, contentIdOfDigest } from '../../protocol/crypto/hash.ts'
import { Malformed } from '../../protocol/encoding/bytes.ts'
import { fileName } from '../../protocol/encoding/file-names.ts'
import type { Attachment, MessageBody } from '../../protocol/mail/message.ts'
import type { OpenedMessage } from '../../protocol/mail/open.ts'
import { faultPoint } from '../platform/faults.ts'
import {
  ensureSecretDirectory,
  fileFault,
  replaceFile,
  SECRET_FILE_MODE,
  syncDirectory,
} from '../platform/files.ts'
import { noteStreamed } from '../platform/stream-memory.ts'
import { refuse } from '../refusal.ts'
import { isFileNamed } from '../store/messages.ts'
import type { Store } from '../store/open.ts'
import { attachmentFileName, type Saved, saveFile } from './file-names.ts'
import { Uploads, type UploadsOutside } from './uploads.ts'

const READ_BYTES = 256 * 1024
const TEMPORARY = 'incoming-'
const CONTENT_ID = /^b[a-z2-7]+$/
const TEXT_FILE = /^b[a-z2-7]+\.txt$/
/** A text that was written out can be written out again. */
const TEXT_FILE_LIFE_MS = 7 * 86_400_000
/** Environment and memory of processes look like files there. */
const PROCESS_FILES = '/proc'

const mediaTypes: Record<string, string> = {
  '.txt': 'text/plain',
  '.md': 'text/markdown',
  '.json': 'application/json',
  '.csv': 'text/csv',
  '.html': 'text/html',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.gif': 'image/gif',
  '.webp': 'image/webp',
  '.svg': 'image/svg+xml',
  '.zip': 'application/zip',
  '.gz': 'application/gzip',
}

const KEY_FILES = ['identity.kel', 'identity.next', 'mailbox.keys']

/** The files of a message, each chunk verified as it is read. */
type Incoming = Pick<OpenedMessage, 'parts'> & { readonly body: Pick<MessageBody, 'attachments'> }

export class Attachments {
  /** Also the place of temporary files, which a start removes. */
  readonly folder: string
  /** Long texts of others, written out for readers that would be given a part only. */
  readonly #texts: string
  readonly uploads: Uploads
  readonly #now: () => number
  #random: (length: number) => Uint8Array
  #guarded: string[]

  /** `guarded`: directories whose files never leave, such as those of keys and tokens. */
  constructor(storeFolder: string, outside: UploadsOutside, guarded: readonly string[] = []) {
    this.folder = join(storeFolder, 'attachments')
    this.#now = outside.now
    this.#random = outside.random
    ensureSecretDirectory(this.folder)
    this.#texts = join(storeFolder, 'texts')
    ensureSecretDirectory(this.#texts)
    this.uploads = new Uploads(join(storeFolder, 'uploads'), outside)
    this.#guarded = [...guarded, PROCESS_FILES].filter(path => fs.existsSync(path)).map(realPath)
  }

  /**
   * The real path of a file that may be sent or quoted. Whoever asks (a model that a task talked into it) gets no file
   * of this node itself, through no link; attachments that it received and verified are free.
   */
  allowed(path: string): string {
    if (this.uploads.isGone(path)) refuse('file_unreadable', sayGone(basename(path)), 'add the file again')
    const real = realPath(path)
    const name = basename(real)
    const isReceived =
      (dirname(real) === realPath(this.folder) && CONTENT_ID.test(name)) ||
      (dirname(real) === realPath(this.#texts) && TEXT_FILE.test(name)) ||
      this.uploads.holds(real)
    const isGuarded =
      this.#guarded.some(directory => isInside(directory, real)) || isOfSomeNode(real) || this.#isLinked(real)
    if (!isReceived && isGuarded) refuse('file_unreadable', `${path} belongs to svc itself and is never sent`)
    return real
  }

  /** Whether a file is, under another name, one of those that never leave. */
  #isLinked(path: string): boolean {
    const { nlink, dev, ino, size } = fs.statSync(path)
    if (nlink < 2) return false
    return this.#guarded.some(
      directory =>
        directory !== PROCESS_FILES &&
        filesBelow(directory, realPath(this.folder)).some(other => {
          const held = fs.lstatSync(other, { throwIfNoEntry: false })
          return held?.dev === dev && held.ino === ino && held.size === size
        }),
    )
  }

  /** Copies a file of this user into the store; refuses one that is unreadable or over the limit. */
  take(path: string): Attachment {
    const source = openRegular(this.allowed(path))
    try {
      return this.#copied(source, path)
    } finally {
      fs.closeSync(source)
    }
  }

  #copied(source: number, path: string): Attachment {
    const copy = this.#temporary()
    try {
      const { size, cid } = copyHashed(source, copy, path)
      this.#place(copy, cid)
      const name = fileName(basename(path))
      const mediaType = mediaTypes[extname(name).toLowerCase()] ?? 'application/octet-stream'
      return { name, mediaType, size, cid }
    } finally {
      discard(copy)
    }
  }

  /**
   * Stores the attachments of an opened message and, once all of them are verified and durable, takes the message; a
   * file that no message names then is gone again before anybody else runs.
   */
  async receive<T>(opened: Incoming, store: Store, take: () => T): Promise<T> {
    const { attachments } = opened.body
    for (const { size } of attachments)
      if (size > ATTACHMENT_BYTES_MAX) throw new Malformed('an attachment is over 64 MiB')
    const files = attachments.map(() => this.#temporary())
    try {
      for await (const { index, chunk } of opened.parts()) {
        fs.writeFileSync((files[index] as Temporary).file, chunk)
        noteStreamed(chunk.length)
      }
      for (const [index, attachment] of attachments.entries())
        this.#place(files[index] as Temporary, attachment.cid)
      return take()
    } finally {
      for (const file of files) discard(file)
      this.removeUnnamed(
        store,
        attachments.map(({ cid }) => cidText(cid)),
      )
    }
  }

  /** Removes those of these files that no message names. */
  removeUnnamed(store: Store, cids: readonly string[]): void {
    for (const cid of cids) if (!isFileNamed(store, cid)) fs.rmSync(join(this.folder, cid), { force: true })
  }

  /** The verified file of a content id, or undefined when it is not here. */
  find(cid: string): string | undefined {
    const path = join(this.folder, cid)
    return fs.existsSync(path) ? path : undefined
  }

  /** The file that holds exactly this text. */
  keepText(text: string): { path: string; bytes: number; cid: string } {
    const bytes = Buffer.from(text.toWellFormed())
    const cid = cidText(contentId(bytes))
    const path = join(this.#texts, `${cid}.txt`)
    if (!holds(path, bytes)) replaceFile(path, bytes, 'node.text')
    const at = new Date(this.#now())
    fs.utimesSync(path, at, at)
    return { path, bytes: bytes.length, cid }
  }

  /** Bytes of an attachment from the start, for sealing. */
  read(cid: string): () => AsyncIterable<Uint8Array> {
    const path = join(this.folder, cid)
    return () => readPieces(path)
  }

  /** Writes an attachment under its name into a directory of the user, never over another file. */
  saveAs(cid: string, directory: string, name: string): Saved {
    const source = this.find(cid) ?? refuse('file_unreadable', `the content of ${name} is not stored here`)
    return saveFile(source, directory, attachmentFileName(name))
  }

  /** Removes what a crash left, temporary files and files that no message names, and old texts. */
  clean(store: Store): void {
    this.removeUnnamed(store, fs.readdirSync(this.folder))
    this.removeOldTexts()
  }

  /** Removes texts that nobody was given for a while, and uploads that nobody sent. */
  removeOldTexts(): void {
    this.uploads.removeOld()
    for (const name of fs.readdirSync(this.#texts)) {
      const path = join(this.#texts, name)
      if (this.#now() - fs.statSync(path).mtimeMs > TEXT_FILE_LIFE_MS) fs.rmSync(path, { force: true })
    }
  }

  #temporary(): Temporary {
    const path = join(this.folder, TEMPORARY + Buffer.from(this.#random(12)).toString('hex'))
    return { path, file: fs.openSync(path, 'wx', SECRET_FILE_MODE), isOpen: true }
  }

  #place(temporary: Temporary, cid: Uint8Array): void {
    fs.fdatasyncSync(temporary.file)
    close(temporary)
    faultPoint('node.attachment.before-rename')
    fs.renameSync(temporary.path, join(this.folder, cidText(cid)))
    faultPoint('node.attachment.after-rename')
    syncDirectory(this.folder)
  }
}

function holds(path: string, bytes: Buffer): boolean {
  const held = fs.lstatSync(path, { throwIfNoEntry: false })
  return held?.isFile() === true && held.size === bytes.length && fs.readFileSync(path).equals(bytes)
}

async function* readPieces(path: string): AsyncGenerator<Uint8Array> {
  for await (const piece of fs.createReadStream(path, { highWaterMark: READ_BYTES })) {
    yield piece as Uint8Array
    noteStreamed((piece as Uint8Array).length)
  }
}

type Temporary = { readonly path: string; readonly file: number; isOpen: boolean }

function close(temporary: Temporary): void {
  // Once only: the next file that is opened gets the same number.
  if (temporary.isOpen) fs.closeSync(temporary.file)
  temporary.isOpen = false
}

function discard(temporary: Temporary): void {
  close(temporary)
  fs.rmSync(temporary.path, { force: true })
}

const sayGone = (name: string): string =>
  `${fileName(name)} is no longer on this node: a file that the console gave is kept until it is sent, for a week at most`

function realPath(path: string): string {
  try {
    return fs.realpathSync(path)
  } catch (error) {
    return refuse('file_unreadable', `cannot read ${path}: ${fileFault(error)}`)
  }
}

/** Whether a file is a key, or lies in the data directory of a node of another home. */
function isOfSomeNode(path: string): boolean {
  if (KEY_FILES.includes(basename(path))) return true
  const above = [dirname(path), dirname(dirname(path))]
  return above.some(folder =>
    ['identity.kel', 'interactions'].every(name => fs.existsSync(join(folder, name))),
  )
}

function isInside(directory: string, path: string): boolean {
  const way = relative(directory, path)
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}

/** Every file below a directory but those in `except`, which hold what others sent. */
function filesBelow(directory: string, except: string): string[] {
  return fs.readdirSync(directory, { withFileTypes: true }).flatMap(entry => {
    const path = join(directory, entry.name)
    if (entry.isDirectory()) return path === except ? [] : filesBelow(path, except)
    return entry.isFile() ? [path] : []
  })
}

function openRegular(path: string): number {
  try {
    const file = fs.openSync(path, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW | fs.constants.O_NONBLOCK)
    if (fs.fstatSync(file).isFile()) return file
    fs.closeSync(file)
  } catch (error) {
    refuse('file_unreadable', `cannot read ${path}: ${fileFault(error)}`)
  }
  return refuse('file_unreadable', `${path} is not a file`)
}

function copyHashed(source: number, target: Temporary, name: string): { size: number; cid: Uint8Array } {
  const buffer = Buffer.alloc(READ_BYTES)
  const hash = createHash('sha256')
  let size = 0
  for (;;) {
    const length = fs.readSync(source, buffer, 0, READ_BYTES, null)
    if (length === 0) break
    size += length
    if (size > ATTACHMENT_BYTES_MAX) refuse('too_large', `${name} is larger than 64 MiB`)
    const part = buffer.subarray(0, length)
    hash.update(part)
    fs.writeFileSync(target.file, part)
  }
  return { size, cid: contentIdOfDigest(hash.digest()) }
}
