/**
 * What the data directory of the user knows of a project: its identity, and what its files were before. All of that lies
 * outside of the project, in which anything may have been written by somebody else.
 */
import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { checkIdentityName, homeDirectory } from '../../daemon/home/home.ts'
import { ensureSecretDirectory, findFile, replaceFile } from '../../daemon/platform/files.ts'
import { systemCode } from '../../protocol/encoding/errors.ts'
import type { Env } from './places.ts'

/** A project as it is written to: its real path, and the folder of the data directory that is kept for it. */
export type Root = { readonly folder: string; readonly kept: string }

const DIGEST_CHARACTERS = 32
const RECORD = 'project.json'

/** A short name for a path. */
export const digestOf = (path: string): string =>
  createHash('sha256').update(path).digest('hex').slice(0, DIGEST_CHARACTERS)

const foldersOf = (env: Env) => join(homeDirectory(env), 'projects')

export const rootAt = (env: Env, folder: string): Root => ({
  folder,
  kept: join(foldersOf(env), digestOf(folder)),
})

/** The identity that this user gave the project; undefined for one that is not known here. */
export function knownIdentity({ folder, kept }: Root): string | undefined {
  const record = recordIn(kept)
  return record?.folder === folder ? record.identity : undefined
}

export function rememberIdentity({ folder, kept }: Root, identity: string): void {
  ensureSecretDirectory(kept)
  replaceFile(join(kept, RECORD), `${JSON.stringify({ folder, identity })}\n`)
}

/** The names that were given to projects, whether they are in use by now or not. */
export function givenNames(env: Env): string[] {
  return namesIn(foldersOf(env)).flatMap(name => recordIn(join(foldersOf(env), name))?.identity ?? [])
}

function recordIn(kept: string): { folder: string; identity: string } | undefined {
  try {
    const bytes = findFile(join(kept, RECORD))
    if (bytes === undefined) return undefined
    const { folder, identity } = JSON.parse(bytes.toString('utf8')) as Record<string, unknown>
    if (typeof folder !== 'string' || typeof identity !== 'string') return undefined
    return { folder, identity: checkIdentityName(identity, 'select') }
  } catch {
    return undefined
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return []
    throw error
  }
}
