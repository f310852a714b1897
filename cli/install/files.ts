/** Files of other programs: read as text, written as one step, with the mode and through the links that they have. */
import * as fs from 'node:fs'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { ensureSecretDirectory, FILE_BYTES_MAX, readRegular } from '../../daemon/platform/files.ts'
import { makeFolders } from '../../daemon/platform/folders.ts'
import { systemCode, wordsOf } from '../../protocol/encoding/errors.ts'
import { CommandFailed } from '../io.ts'
import { digestOf, type Root } from './known-projects.ts'

const NEW_FILE_MODE = 0o600

/**
 * The copy from before the first change; an empty one says that there was no file. Those of a project lie with its user,
 * because its own folder may hold anything.
 */
export const backupPath = (path: string, root?: Root) =>
  root === undefined ? `${path}.before-svc` : join(root.kept, `copy-${digestOf(path)}`)

export const readBackup = (path: string, root?: Root) => readText(backupPath(path, root))

/** The text of a file, or undefined when there is none; throws {@link CommandFailed} for what is no text file. */
export function readText(path: string, root?: Root): string | undefined {
  let bytes: Buffer
  try {
    bytes = root === undefined ? readRegular(path, FILE_BYTES_MAX) : readInside(path, root)
  } catch (error) {
    if (error instanceof CommandFailed) throw error
    if (systemCode(error) === 'ENOENT') return undefined
    throw new CommandFailed(`${path} cannot be read: ${wordsOf(error)}`)
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new CommandFailed(`${path} is not UTF-8 text; nothing was changed`)
  }
}

function readInside(path: string, root: Root): Buffer {
  const place = placeOf(path, root)
  const bytes = readRegular(place, FILE_BYTES_MAX, fs.constants.O_NOFOLLOW)
  requireUnmoved(path, dirname(place))
  return bytes
}

/** Replaces or creates a file, or takes it away. */
export function writeText(path: string, text: string | undefined, root?: Root): void {
  try {
    const target = placeOf(path, root)
    const folder = dirname(target)
    if (text === undefined) {
      if (root !== undefined && fs.existsSync(folder)) requireUnmoved(path, folder)
      fs.rmSync(target, { force: true })
      return
    }
    makeMarked(folder, root)
    const held = fs.lstatSync(target, { throwIfNoEntry: false })
    const draft = join(folder, `.${basename(target)}.svc-${process.pid}`)
    const file = fs.openSync(draft, 'wx', NEW_FILE_MODE)
    try {
      if (root !== undefined) requireUnmoved(path, folder)
      fs.writeFileSync(file, text)
      fs.fchmodSync(file, held?.isFile() === true ? held.mode & 0o7777 : NEW_FILE_MODE)
      fs.fsyncSync(file)
      fs.renameSync(draft, target)
    } catch (error) {
      fs.rmSync(draft, { force: true })
      throw error
    } finally {
      fs.closeSync(file)
    }
  } catch (error) {
    if (error instanceof CommandFailed) throw error
    throw new CommandFailed(`${path} cannot be written: ${wordsOf(error)}`)
  }
}

/** Keeps a copy once, private to its owner. */
export function keepBackup(path: string, root?: Root): void {
  const copy = backupPath(path, root)
  if (fs.existsSync(copy)) return
  if (root === undefined) makeMarked(dirname(copy))
  else ensureSecretDirectory(root.kept)
  fs.writeFileSync(copy, readText(path, root) ?? '', { mode: NEW_FILE_MODE, flag: 'wx' })
}

/** Says of a folder that there was none before. */
const markOf = (folder: string, root?: Root): string =>
  root === undefined ? join(folder, '.folder.before-svc') : join(root.kept, `folder-${digestOf(folder)}`)

/** Makes a folder and those above it, and marks each that was not there. */
function makeMarked(folder: string, root?: Root): void {
  const missing: string[] = []
  for (let at = resolve(folder); !fs.existsSync(at) && dirname(at) !== at; at = dirname(at)) missing.push(at)
  makeFolders(folder)
  if (root !== undefined && missing.length > 0) ensureSecretDirectory(root.kept)
  for (const at of missing) fs.writeFileSync(markOf(at, root), '', { mode: NEW_FILE_MODE })
}

/** Takes out the folders that svc made for these files and in which nothing stands any more; others lose their mark. */
export function leaveFolders(paths: readonly string[], root?: Root): void {
  const folders = paths.map(path => dirname(placeOf(path, root)))
  // the deeper ones first: until they are gone, those above hold something
  for (const folder of folders.sort((a, b) => b.split(sep).length - a.split(sep).length))
    leaveFolder(folder, root)
}

function leaveFolder(folder: string, root?: Root): void {
  for (let at = folder; fs.existsSync(markOf(at, root)); at = dirname(at)) {
    fs.rmSync(markOf(at, root))
    if (!fs.existsSync(at) || fs.readdirSync(at).length > 0) continue
    fs.rmdirSync(at)
  }
}

/** Where the bytes really are; of a project, nowhere outside of it. */
function placeOf(path: string, root: Root | undefined): string {
  const place = realPlace(path)
  if (root === undefined || (isInside(root.folder, place) && !isOfGit(root.folder, place))) return place
  throw new CommandFailed(
    `${path} leads to ${place}, outside of the project; nothing was changed`,
    'take that link out of the project, then run this again',
  )
}

/** Where the bytes really are, also of a link, or a chain of them, to a file that does not exist yet. */
export function realPlace(path: string): string {
  try {
    return fs.realpathSync(path)
  } catch (error) {
    if (systemCode(error) !== 'ENOENT' || dirname(path) === path) throw error
    const isLink = fs.lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true
    return isLink
      ? realPlace(resolve(fs.realpathSync(dirname(path)), fs.readlinkSync(path)))
      : join(realPlace(dirname(path)), basename(path))
  }
}

/** Whether a real path is this folder, or lies below it. */
export function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path)
  return way !== '..' && !way.startsWith(`..${sep}`)
}

/** What git keeps for itself is no file of the project: hooks and settings of it are run. */
const isOfGit = (folder: string, place: string): boolean =>
  relative(folder, place)
    .split(sep)
    .some(part => part.toLowerCase() === '.git')

/** A folder that became a link since it was looked at leads somewhere else. */
function requireUnmoved(path: string, folder: string): void {
  if (fs.realpathSync(folder) === folder) return
  throw new CommandFailed(`${path} was moved meanwhile; nothing was changed`, 'run this again')
}
