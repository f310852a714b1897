/** What was written and not sent on the screens, beside the data of the node: for the eyes of its user alone. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { ensureSecretDirectory, findFile, removeDurably, replaceFile } from '../platform/files.ts'

const ENDING = '.json'
/** Paths of files go along. */
export type Draft = { readonly text: string; readonly files: readonly string[] }
/** By the task or the agent that they are for; what has another name is no draft. */
export type Drafts = {
  names(): readonly string[]
  read(name: string): Draft | undefined
  write(name: string, draft: Draft): void
  remove(name: string): void
}

/** Ids of tasks and AIDs: nothing that leads out of the folder. */
const NAME = /^[A-Za-z0-9_-]{22,64}$/

export function draftsIn(dataDir: string): Drafts {
  const folder = join(dataDir, 'drafts')
  const pathOf = (name: string): string | undefined =>
    NAME.test(name) ? join(folder, `${name}${ENDING}`) : undefined
  return {
    names() {
      try {
        return readdirSync(folder).flatMap(file =>
          file.endsWith(ENDING) ? [file.slice(0, -ENDING.length)] : [],
        )
      } catch {
        return []
      }
    },
    read(name) {
      const path = pathOf(name)
      return path === undefined ? undefined : draftIn(findFile(path))
    },
    write(name, draft) {
      const path = pathOf(name)
      if (path === undefined) return
      ensureSecretDirectory(folder)
      replaceFile(path, JSON.stringify(draft))
    },
    remove(name) {
      const path = pathOf(name)
      if (path !== undefined && findFile(path) !== undefined) removeDurably(path)
    },
  }
}

/** What a file holds, as far as it is a draft: it may have been edited or cut off. */
function draftIn(bytes: Buffer | undefined): Draft | undefined {
  if (bytes === undefined) return undefined
  try {
    const { text, files } = JSON.parse(bytes.toString()) as { text?: unknown; files?: unknown }
    if (typeof text !== 'string') return undefined
    const paths = Array.isArray(files) ? files.filter(file => typeof file === 'string') : []
    return { text, files: paths }
  } catch {
    return undefined
  }
}
