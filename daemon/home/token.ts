/** The bearer tokens of the local interfaces: each made at its first start, compared in constant time. */
import { join } from 'node:path'
import { equalSecret } from '#crypto'
import { utf8 } from '../../protocol/encoding/bytes.ts'
import { findFile, replaceFile } from '../platform/files.ts'

const TOKEN_BYTES = 24

/** Files of the tokens, each of the interface that it opens. */
export const tokenFiles = { control: 'control_token.txt', a2a: 'a2a_token.txt' } as const

/** The token of a data directory; deleting the file and restarting makes a new one. */
export function ensureToken(
  dir: string,
  random: (length: number) => Uint8Array,
  name: keyof typeof tokenFiles = 'control',
): string {
  const path = join(dir, tokenFiles[name])
  const stored = findFile(path)?.toString('utf8').trim()
  if (stored) return stored
  return renewToken(dir, random, name)
}

/** A new token in the place of the one before. */
export function renewToken(
  dir: string,
  random: (length: number) => Uint8Array,
  name: keyof typeof tokenFiles,
): string {
  const token = Buffer.from(random(TOKEN_BYTES)).toString('hex')
  replaceFile(join(dir, tokenFiles[name]), `${token}\n`)
  return token
}

/** The scheme in whatever case (RFC 9110 section 11.1). */
export function isBearer(header = '', token: string): boolean {
  return equalSecret(utf8(header.replace(/^bearer /i, 'Bearer ')), utf8(`Bearer ${token}`))
}
