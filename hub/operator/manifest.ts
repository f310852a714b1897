/**
 * What a backup holds: the list of its files with their digests, written last. Paths are taken only in the forms that a
 * backup itself writes, so a manifest can't name a file anywhere else.
 */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import * as z from 'zod'
import { aidShape } from '../../protocol/contract/shapes.ts'
import { systemCode, wordsOf } from '../../protocol/encoding/errors.ts'
import { parseJson } from '../../protocol/encoding/json.ts'
import { writeAll } from '../files.ts'
import { StoreRefused } from '../store/port.ts'

export const MANIFEST_FILE = 'manifest.json'
export const DATABASE_COPY = 'hub.db'
/** Small files of a data directory that a backup takes along where they exist. */
export const SMALL_FILES = ['identity.kel', 'identity.next', 'config.json', 'federation.json'] as const
const FORMAT = 'svc-hub-backup/1'
const PATH =
  /^(hub\.db|identity\.kel|identity\.next|config\.json|federation\.json|(?:open-)?blobs\/([0-9a-f]{2})\/\2[0-9a-f]{30})$/
const DIGEST = /^[0-9a-f]{64}$/
const NAME_CHARS_MAX = 4096
const NAMES_MAX = 64
const PIECE_BYTES = 256 * 1024

const fileShape = z.strictObject({
  path: z.string().regex(PATH),
  bytes: z.int().min(0),
  sha256: z.string().regex(DIGEST),
})
const manifestShape = z.strictObject({
  format: z.literal(FORMAT),
  release: z.string(),
  schema: z.int().min(1),
  hub: aidShape,
  made_ms: z.int().min(0),
  /** Waiting envelopes whose content was gone already when the backup was made. */
  missing: z.int().min(0),
  /** Settings that stood outside the data directory, by name; a release before this member saved none. */
  outside: z.array(z.string().max(NAME_CHARS_MAX)).max(NAMES_MAX).optional(),
  files: z.array(fileShape),
})
export type FileEntry = z.infer<typeof fileShape>
export type Manifest = z.infer<typeof manifestShape>

export function makeManifest(given: Omit<Manifest, 'format'>): Manifest {
  return { format: FORMAT, ...given }
}

/** The manifest of a backup, or the reason why this folder is none. */
export function readManifest(folder: string): Manifest {
  let text: Uint8Array
  try {
    text = readFileSync(join(folder, MANIFEST_FILE))
  } catch (error) {
    const give = 'give a folder that svc-hub backup wrote'
    if (systemCode(error) === 'ENOENT')
      throw new StoreRefused(
        existsSync(folder)
          ? `${folder} contains no ${MANIFEST_FILE}; ${give}`
          : `${folder} does not exist; ${give}`,
      )
    throw new StoreRefused(
      `${join(folder, MANIFEST_FILE)} cannot be read: ${wordsOf(error)}; run svc-hub as a user who may read it, or ${give}`,
    )
  }
  try {
    return manifestShape.parse(parseJson(text, { depthMax: 8 }))
  } catch {
    throw new StoreRefused(
      `${join(folder, MANIFEST_FILE)} is not a manifest of this release; use another backup, or the release that wrote it`,
    )
  }
}

/** Copies a file, forces the copy to the disk and tells its length and digest. */
export async function copyFile(source: string, target: string): Promise<{ bytes: number; sha256: string }> {
  const copy = await open(target, 'wx', 0o600)
  try {
    const digest = await digestFile(source, copy)
    await copy.sync()
    return digest
  } finally {
    await copy.close()
  }
}

/** Length and SHA-256 of a file, which is written to `copy` on the way where one is given. */
export async function digestFile(
  path: string,
  copy?: FileHandle,
): Promise<{ bytes: number; sha256: string }> {
  const file = await open(path, 'r')
  const hash = createHash('sha256')
  const piece = new Uint8Array(PIECE_BYTES)
  let bytes = 0
  try {
    for (;;) {
      const { bytesRead } = await file.read(piece, 0, PIECE_BYTES)
      if (bytesRead === 0) break
      hash.update(piece.subarray(0, bytesRead))
      if (copy !== undefined) await writeAll(copy, piece.subarray(0, bytesRead))
      bytes += bytesRead
    }
  } finally {
    await file.close()
  }
  return { bytes, sha256: hash.digest('hex') }
}
