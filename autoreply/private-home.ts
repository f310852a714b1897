/**
 * A home of its own for each run of a coding agent: the owner's login, and none of the owner's instructions, servers
 * or settings. What the program keeps of a run (the words of a stranger, as a session) goes away with it.
 */
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'

type Env = Readonly<Record<string, string | undefined>>

export const ownersHome = (env: Env): string => env['HOME'] ?? homedir()

/** Makes a folder in the home of the run with these files of the owner's folder, as far as they are there. */
export function withLogin(folder: string, owners: string, files: readonly string[]): string {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  for (const file of files) {
    const from = join(owners, file)
    if (existsSync(from)) copyFileSync(from, join(folder, file))
  }
  return folder
}

/** Writes a file of the run. */
export function place(path: string, text: string): string {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  writeFileSync(path, text, { mode: 0o600 })
  return path
}

/** How the owner logs in, of the settings of a program that keep everything in one file. */
export function authOf(path: string): unknown {
  try {
    const { security } = JSON.parse(readFileSync(path, 'utf8')) as { security?: { auth?: unknown } }
    return security?.auth
  } catch {
    return undefined
  }
}
