/** Directories of nodes: kept in memory as they are at a moment, and made anew from that. */
import * as fs from 'node:fs'
import { join } from 'node:path'
import { storePath } from '../../daemon/store/open.ts'
import { putStore } from '../../daemon/testing/warm-stores.ts'

type Entry = { path: string; mode: number; bytes: Buffer | undefined }

/** What a directory holds, each folder before what is in it. */
export type KeptFolder = readonly Entry[]

export function keptFolder(dir: string): KeptFolder {
  const entries = fs.readdirSync(dir, { recursive: true, withFileTypes: true })
  const paths = entries.map(entry => join(entry.parentPath, entry.name)).sort()
  return paths.map(path => {
    const stat = fs.statSync(path)
    const bytes = stat.isDirectory() ? undefined : fs.readFileSync(path)
    return { path: path.slice(dir.length + 1), mode: stat.mode, bytes }
  })
}

/** A directory in place of the one that is there, as a copy that was put there. */
export function fillFolder(dir: string, kept: KeptFolder): void {
  const old = `${dir}.old`
  fs.renameSync(dir, old)
  fs.mkdirSync(dir, { mode: fs.statSync(old).mode })
  fillEmpty(dir, kept, old)
  fs.rmSync(old, { recursive: true })
}

/** The same in a directory that has nothing; `previous`: where the one is now that was there. */
export function fillEmpty(dir: string, kept: KeptFolder, previous = dir): void {
  const store = storePath(dir)
  for (const { path, mode, bytes } of kept) {
    const place = join(dir, path)
    if (bytes === undefined) fs.mkdirSync(place, { mode })
    else if (place === store) putStore(store, join(previous, path), bytes)
    else fs.writeFileSync(place, bytes, { mode })
  }
}
