/**
 * Files that came with a task, as a run gets them: copies under names that mean nothing to any program, within limits,
 * and what of them is text also in the prompt, for a model that may open nothing.
 */
import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
} from 'node:fs'
import { join } from 'node:path'
import { BackendFailed, type BackendRequest, type ConversationAttachment, type MadeFile } from './backend.ts'

export const FILES_FOLDER = 'in'
export const FILES_MAX = 20
export const FILES_BYTES_MAX = 64 * 1024 * 1024
/** Where a run leaves what is to be sent. */
export const OUT_FOLDER = 'out'
export const MADE_MAX = 10
export const MADE_BYTES_MAX = 16 * 1024 * 1024
/** Of all texts that stand in a prompt. */
export const TEXT_CHARACTERS_MAX = 60_000
const NAME_CHARACTERS_MAX = 60
/** UTF-8 has four bytes for a character at most. */
const TEXT_BYTES_MAX = TEXT_CHARACTERS_MAX * 4

/** What a run has of an attachment: a file below its working folder, its text, or neither. */
export type Given = { file?: string; text?: string }
export type Files = ReadonlyMap<ConversationAttachment, Given>
export const NO_FILES: Files = new Map()

/** A name of letters that no program takes for its own: it begins with a number, and keeps its extension. */
export function safeName(name: string, number: number): string {
  const plain = name.normalize('NFKD').replace(/[^A-Za-z0-9._-]+/g, '_')
  const dot = plain.lastIndexOf('.')
  const [stem, extension] = dot > 0 ? [plain.slice(0, dot), plain.slice(dot).slice(0, 12)] : [plain, '']
  return `${String(number).padStart(2, '0')}-${stem.slice(0, NAME_CHARACTERS_MAX - extension.length)}${extension}`
}

/** Copies what the other side sent into the working folder, the newest first as far as there is room. */
export function placeFiles(request: BackendRequest, workDir: string): Files {
  const given = new Map<ConversationAttachment, Given>()
  const chosen = theirs(request).slice(-FILES_MAX)
  let left = FILES_BYTES_MAX
  for (const [index, attachment] of [...chosen.entries()].reverse()) {
    if (attachment.path === null || attachment.bytes > left) continue
    left -= attachment.bytes
    if (given.size === 0) mkdirSync(join(workDir, FILES_FOLDER), { mode: 0o700 })
    const file = join(FILES_FOLDER, safeName(attachment.name, index + 1))
    copyFileSync(attachment.path, join(workDir, file), constants.COPYFILE_EXCL)
    chmodSync(join(workDir, file), 0o400)
    given.set(attachment, { file })
  }
  return given
}

/** The text of those that are text, the newest first as far as there is room. */
export function readTexts(request: BackendRequest, files: Files = NO_FILES): Files {
  const given = new Map(files)
  let left = TEXT_CHARACTERS_MAX
  for (const attachment of theirs(request).reverse()) {
    const text = textOf(attachment)
    if (text === undefined || text.length > left) continue
    left -= text.length
    given.set(attachment, { ...given.get(attachment), text })
  }
  return given
}

const theirs = ({ turns }: BackendRequest): ConversationAttachment[] =>
  turns.filter(({ role }) => role === 'peer').flatMap(({ attachments }) => [...attachments])

/** Whole and in UTF-8 without a zero byte; undefined for what is no such text. */
function textOf({ path, bytes }: ConversationAttachment): string | undefined {
  if (path === null || bytes > TEXT_BYTES_MAX) return undefined
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW)
  try {
    const { size } = fstatSync(file)
    if (size > TEXT_BYTES_MAX) return undefined
    const content = Buffer.alloc(size)
    readSync(file, content, 0, size, 0)
    const text = new TextDecoder('utf-8', { fatal: true }).decode(content)
    return text.includes('\0') ? undefined : text
  } catch (error) {
    if (error instanceof TypeError) return undefined
    throw error
  } finally {
    closeSync(file)
  }
}

/** What a run left to be sent: plain files of its own, whatever else it put there. */
export function madeFiles(workDir: string): MadeFile[] {
  const folder = join(workDir, OUT_FOLDER)
  // the program may have put a link to somewhere else in its place
  if (lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new BackendFailed(`it put something else in place of its folder ${OUT_FOLDER}`)
  const names = readdirSync(folder).sort()
  if (names.length > MADE_MAX)
    throw new BackendFailed(
      `it left ${names.length} files in ${OUT_FOLDER}, and ${MADE_MAX} are sent at most`,
    )
  let left = MADE_BYTES_MAX
  return names.map(name => {
    const content = readOwn(join(folder, name), name, left)
    left -= content.length
    return { name, content }
  })
}

function readOwn(path: string, name: string, bytesMax: number): Uint8Array {
  const isPlain = lstatSync(path).isFile()
  if (!isPlain) throw new BackendFailed(`${OUT_FOLDER}/${name} is no plain file, and nothing else is sent`)
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const { size, nlink } = fstatSync(file)
    if (nlink !== 1) throw new BackendFailed(`${OUT_FOLDER}/${name} is a second name of another file`)
    if (size > bytesMax)
      throw new BackendFailed(`it left more than ${MADE_BYTES_MAX / 1024 / 1024} MiB in ${OUT_FOLDER}`)
    return readFileSync(file)
  } finally {
    closeSync(file)
  }
}
