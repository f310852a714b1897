/**
 * Builds beside each other: each stands in a folder named after what went into it, and the entry file of the program
 * names the current one. It is switched by one rename, so that a process that started from an older build still finds
 * every part that it may load later.
 */
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'

/** How many builds stay, the current one included. */
export const BUILDS_KEPT = 8
const IGNORED = '.npmignore'
const ID_CHARACTERS = 12
const UNFINISHED_MS = 3_600_000
const OTHER_FOLDERS = /^(?:node_modules|dist|test|testing)$/
const OTHER_FILES = /\.test\.ts$/

/** One name for everything that goes into a build: these files and folders under `root`, and `more`. */
export function fingerprint(root: string, paths: readonly string[], more: string): string {
  const hash = createHash('sha256').update(more)
  for (const path of paths.flatMap(path => filesUnder(root, path)).sort()) {
    const bytes = readFileSync(join(root, path))
    hash.update(`\0${path}\0${bytes.length}\0`).update(bytes)
  }
  return hash.digest('hex').slice(0, ID_CHARACTERS)
}

function filesUnder(root: string, path: string): string[] {
  if (!statSync(join(root, path)).isDirectory()) return OTHER_FILES.test(path) ? [] : [path]
  return readdirSync(join(root, path))
    .filter(name => !OTHER_FOLDERS.test(name))
    .flatMap(name => filesUnder(root, join(path, name)))
}

export type Build = {
  /** Folder of the program: the entry file and the builds. */
  dist: string
  id: string
  /** Name of the entry file. */
  entry: string
  /** Writes the parts into a folder. */
  parts(folder: string): Promise<void>
  /** Writes the entry file, which loads its parts from `folder` beside it. */
  start(file: string, folder: string): Promise<void>
  /** Only this build goes into a package; the others stay for whoever runs from them. */
  alone?: boolean
}

export const folderOf = (id: string): string => `build-${id}`

/** Makes the build and switches to it; says whether there was anything to do. */
export async function install({ dist, id, entry, parts, start, alone = false }: Build): Promise<boolean> {
  const [folder, current] = [join(dist, folderOf(id)), join(dist, entry)]
  if (existsSync(folder) && existsSync(current) && readFileSync(current, 'utf8').includes(folderOf(id))) {
    if (alone) leaveOut(dist, id)
    return false
  }
  mkdirSync(dist, { recursive: true })
  const [newFolder, newEntry] = [join(dist, `new-${process.pid}`), join(dist, `new-${process.pid}-${entry}`)]
  if (!existsSync(folder)) {
    await parts(newFolder)
    settle(newFolder, folder)
  }
  await start(newEntry, folderOf(id))
  renameSync(newEntry, current)
  const now = new Date()
  utimesSync(folder, now, now)
  removeOld(dist, entry)
  if (alone) leaveOut(dist, id)
  return true
}

/** Another build of the same sources may have come first. */
function settle(made: string, folder: string): void {
  try {
    renameSync(made, folder)
  } catch (error) {
    rmSync(made, { recursive: true })
    if (!existsSync(folder)) throw error
  }
}

/** Tells npm which builds are no part of a package that is made now. */
function leaveOut(dist: string, id: string): void {
  const others = readdirSync(dist).filter(name => /^(build|new)-/.test(name) && name !== folderOf(id))
  writeFileSync(join(dist, IGNORED), `${[IGNORED, ...others].join('\n')}\n`)
}

/** Removes all but the newest builds, and what an interrupted build or a release without folders left. */
function removeOld(dist: string, entry: string): void {
  const time = (name: string) => statSync(join(dist, name)).mtimeMs
  const names = readdirSync(dist).filter(name => name !== entry)
  const old = names
    .filter(name => name.startsWith('build-'))
    .sort((a, b) => time(b) - time(a))
    .slice(BUILDS_KEPT)
  const isUnderWay = (name: string) => name.startsWith('new-') && time(name) > Date.now() - UNFINISHED_MS
  const strays = names.filter(name => !name.startsWith('build-') && !isUnderWay(name))
  for (const name of [...old, ...strays]) rmSync(join(dist, name), { recursive: true, force: true })
}
