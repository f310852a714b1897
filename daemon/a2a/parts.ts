/**
 * What a client of A2A says, as this node sends it on: words with files, or the call of a capability. A part with data
 * that names a capability is a call; nothing that a part points to is fetched.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as z from 'zod'
import { capTag } from '../../protocol/contract/shapes.ts'
import { fromBase64url, Malformed } from '../../protocol/encoding/bytes.ts'
import type { JsonValue } from '../../protocol/encoding/json.ts'
import { attachmentFileName } from '../attachments/file-names.ts'
import { refuseA2a } from './errors.ts'
import type { Part } from './shapes.ts'

/** Types of files, with the ending by which they are known on the way. */
export const fileTypes: Readonly<Record<string, string>> = {
  'text/plain': '.txt',
  'text/markdown': '.md',
  'application/json': '.json',
  'text/csv': '.csv',
  'text/html': '.html',
  'application/pdf': '.pdf',
  'image/png': '.png',
  'image/jpeg': '.jpg',
  'image/gif': '.gif',
  'image/webp': '.webp',
  'image/svg+xml': '.svg',
  'application/zip': '.zip',
  'application/gzip': '.gz',
  'application/octet-stream': '.bin',
}

export type FilePart = { name: string; bytes: Uint8Array }
export type Asked =
  | { capability: string; args: Record<string, JsonValue> }
  | { words: string; files: readonly FilePart[] }

const callShape = z.strictObject({ capability: capTag, args: z.record(z.string(), z.json()).default({}) })

/** What these parts ask for; refuses content that cannot be sent on. */
export function askedBy(parts: readonly Part[]): Asked {
  for (const [index, part] of parts.entries()) requireType(part, index)
  const call = callIn(parts)
  if (call !== undefined) return call
  const words: string[] = []
  const files: FilePart[] = []
  for (const [index, part] of parts.entries()) {
    if (part.text !== undefined) words.push(part.text)
    if (part.url !== undefined) words.push([part.filename, part.url].filter(Boolean).join(': '))
    if (part.raw !== undefined) files.push(fileOf(part, part.raw, index))
    if (part.data !== undefined) files.push(dataFile(part, index))
  }
  return { words: words.join('\n\n'), files }
}

/** The whole message is one call. */
function callIn(parts: readonly Part[]): Asked | undefined {
  const [data, ...others] = parts.filter(part => part.text?.trim() !== '')
  if (data?.data === undefined || others.length > 0) return undefined
  const isCall = typeof data.data === 'object' && data.data !== null && 'capability' in data.data
  if (!isCall) return undefined
  const read = callShape.safeParse(data.data)
  if (read.success) return read.data as Asked
  return refuseA2a(
    'InvalidParams',
    'a call is {"capability": …, "args": {…}} and nothing else; see the skills of the card',
    'message.parts.data',
  )
}

/** Files may be of any type; words and data are what they are. */
function requireType({ mediaType = '', text, data }: Part, index: number): void {
  const type = mediaType.split(';')[0]?.trim().toLowerCase() ?? ''
  if (type === '' || (text === undefined && data === undefined)) return
  const isTaken = type === 'application/json' || (text !== undefined && type.startsWith('text/'))
  if (!isTaken)
    refuseA2a(
      'ContentTypeNotSupported',
      `part ${index + 1} is of another type than its content: text is text/… or application/json, data is application/json`,
    )
}

function fileOf({ filename, mediaType = '' }: Part, raw: string, index: number): FilePart {
  try {
    // ProtoJSON writers use either alphabet
    const bytes = fromBase64url(raw.replace(/=+$/, '').replaceAll('+', '-').replaceAll('/', '_'))
    return { name: named(filename ?? `file-${index + 1}`, fileTypes[mediaType.toLowerCase()] ?? ''), bytes }
  } catch (error) {
    if (!(error instanceof Malformed)) throw error
    return refuseA2a('InvalidParams', 'expected base64', `message.parts.${index}.raw`)
  }
}

const dataFile = ({ filename, data }: Part, index: number): FilePart => ({
  name: named(filename ?? `data-${index + 1}`, '.json'),
  bytes: Buffer.from(JSON.stringify(data)),
})

function named(given: string, ending: string): string {
  const name = attachmentFileName(given)
  return name.toLowerCase().endsWith(ending) ? name : `${name}${ending}`
}

/** Runs `work` with the paths of these files, which are gone after it. */
export async function withFiles<T>(
  files: readonly FilePart[],
  work: (paths: string[]) => Promise<T>,
): Promise<T> {
  if (files.length === 0) return work([])
  const folder = mkdtempSync(join(tmpdir(), 'svc-a2a-'))
  try {
    const paths = files.map(({ name, bytes }, index) => {
      mkdirSync(join(folder, String(index)), { mode: 0o700 })
      const path = join(folder, String(index), name)
      writeFileSync(path, bytes, { mode: 0o600, flag: 'wx' })
      return path
    })
    return await work(paths)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
