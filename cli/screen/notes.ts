/** What was said or offered to a person once, kept beside the data of the node. */
import { join } from 'node:path'
import { findFile, replaceFile } from '../../daemon/platform/files.ts'

export type Notes = { read(): readonly string[]; write(notes: readonly string[]): void }

/** The three ways on of a node without a hub were offered on the command line; the inbox offers them once by itself. */
export const WAYS = 'ways on the command line'

export function notesIn(dataDir: string): Notes {
  const path = join(dataDir, 'seen.json')
  return {
    read() {
      try {
        const { seen } = JSON.parse(String(findFile(path) ?? '{}')) as { seen?: unknown }
        return Array.isArray(seen) ? seen.filter(note => typeof note === 'string') : []
      } catch {
        return []
      }
    },
    write(seen) {
      replaceFile(path, `${JSON.stringify({ seen }, null, 2)}\n`)
    },
  }
}
