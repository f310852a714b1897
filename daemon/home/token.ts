/** The bearer token of the control interface: made at the first start, compared in constant time. */
import { join } from 'node:path'
import { equalSecret } from '#crypto'
import { utf8 } from '../../protocol/encoding/bytes.ts'
import { findFile, replaceFile } from '../platform/files.ts'

const TOKEN_BYTES = 24

/** The token of a data directory; deleting the file and restarting makes a new one. */
export function ensureToken(dir: string, random: (length: number) => Uint8Array): string {
  const path = join(dir, 'control_token.txt')
  const stored = findFile(path)?.toString('utf8').trim()
  if (stored) return stored
  const token = Buffer.from(random(TOKEN_BYTES)).toString('hex')
  replaceFile(path, `${token}\n`)
  return token
}

export function isBearer(header: string | undefined, token: string): boolean {
  return equalSecret(utf8(header ?? ''), utf8(`Bearer ${token}`))
}
