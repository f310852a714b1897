/** Settings that belong to one data directory, and not to the hub that several of them serve. */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod'

const FILE = 'process.json'
const PRIVATE = 0o600
const shape = z.record(z.string(), z.string())

/** What a directory has; nothing where its file is missing or can't be read. */
export function ownSettings(directory: string): ReadonlyMap<string, string> {
  try {
    return new Map(Object.entries(shape.parse(JSON.parse(readFileSync(join(directory, FILE), 'utf8')))))
  } catch {
    return new Map()
  }
}

export function keepOwnSetting(directory: string, name: string, value: string): void {
  const path = join(directory, FILE)
  const all = Object.fromEntries([...ownSettings(directory), [name, value]])
  writeFileSync(`${path}.new`, `${JSON.stringify(all)}\n`, { mode: PRIVATE })
  renameSync(`${path}.new`, path)
}
