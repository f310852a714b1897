/** Files of other programs: read as text, written as one step, with the mode and through the links that they have. */
import * as fs from 'node:fs'
import { basename, dirname, join, resolve, sep } from 'node:path'
import { FILE_BYTES_MAX, readRegular } from '../../daemon/platform/files.ts'
import { makeFolders } from '../../daemon/platform/folders.ts'
import { systemCode, wordsOf } from '../../protocol/encoding/errors.ts'
import { CommandFailed } from '../io.ts'

const NEW_FILE_MODE = 0o600

/** The copy from before the first change; an empty one says that there was no file. */
export const backupPath = (path: string) => `${path}.before-svc`

/** The text of a file, or undefined when there is none; throws {@link CommandFailed} for what is no text file. */
export function readText(path: string): string | undefined {
  let bytes: Buffer
  try {
    bytes = readRegular(path, FILE_BYTES_MAX)
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined
    throw new CommandFailed(`${path} cannot be read: ${wordsOf(error)}`)
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new CommandFailed(`${path} is not UTF-8 text; nothing was changed`)
  }
}

/** Replaces or creates a file, or takes it away. */
export function writeText(path: string, text: string | undefined): void {
  try {
    const target = targetOf(path)
    if (text === undefined) {
      fs.rmSync(target, { force: true })
      return
    }
    makeMarked(dirname(target))
    const mode = fs.existsSync(target) ? fs.statSync(target).mode & 0o7777 : NEW_FILE_MODE
    const draft = join(dirname(target), `.${basename(target)}.svc-${process.pid}`)
    const file = fs.openSync(draft, 'wx', NEW_FILE_MODE)
    try {
      fs.writeFileSync(file, text)
      fs.fchmodSync(file, mode)
      fs.fsyncSync(file)
    } finally {
      fs.closeSync(file)
    }
    fs.renameSync(draft, target)
  } catch (error) {
    throw new CommandFailed(`${path} cannot be written: ${wordsOf(error)}`)
  }
}

/** Keeps a copy once, private to its owner. */
export function keepBackup(path: string): void {
  const copy = backupPath(path)
  if (fs.existsSync(copy)) return
  makeMarked(dirname(copy))
  fs.writeFileSync(copy, readText(path) ?? '', { mode: NEW_FILE_MODE, flag: 'wx' })
}

/** Says of a folder that there was none before. */
const FOLDER_MARK = '.folder.before-svc'

/** Makes a folder and those above it, and marks each that was not there. */
function makeMarked(folder: string): void {
  const missing: string[] = []
  for (let at = resolve(folder); !fs.existsSync(at) && dirname(at) !== at; at = dirname(at)) missing.push(at)
  makeFolders(folder)
  for (const at of missing) fs.writeFileSync(join(at, FOLDER_MARK), '', { mode: NEW_FILE_MODE })
}

/** Takes out the folders that svc made for these files and in which nothing stands any more; others lose their mark. */
export function leaveFolders(paths: readonly string[]): void {
  const folders = paths.map(path => dirname(targetOf(path)))
  // the deeper ones first: until they are gone, those above hold something
  for (const folder of folders.sort((a, b) => b.split(sep).length - a.split(sep).length)) leaveFolder(folder)
}

function leaveFolder(folder: string): void {
  for (let at = folder; fs.existsSync(join(at, FOLDER_MARK)); at = dirname(at)) {
    fs.rmSync(join(at, FOLDER_MARK))
    if (fs.readdirSync(at).length > 0) continue
    fs.rmdirSync(at)
  }
}

/** Where the bytes really are, also of a link, or a chain of them, to a file that does not exist yet. */
function targetOf(path: string): string {
  try {
    return fs.realpathSync(path)
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error
    const isLink = fs.lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true
    return isLink ? targetOf(resolve(fs.realpathSync(dirname(path)), fs.readlinkSync(path))) : path
  }
}
