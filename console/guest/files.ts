/** Files that go along with a message: which fit, how they are called, and their bytes as base64. */
import { plainLine } from '../../protocol/encoding/plain-text.ts'
import type { SentFile } from './gateway.ts'

const NAME_MAX = 60
const ANY_TYPE = 'application/octet-stream'
const KIB = 1024

export type FilesMax = { count: number; bytes: number }

/** Adds what fits; says which did not, and why. */
export function adding(
  held: readonly File[],
  more: readonly File[],
  { count, bytes }: FilesMax,
): { files: File[]; refused: string | undefined } {
  const files = [...held]
  const refused: string[] = []
  for (const file of more) {
    const sum = files.reduce((total, { size }) => total + size, 0)
    if (files.length < count && sum + file.size <= bytes) files.push(file)
    else refused.push(file.name)
  }
  if (refused.length === 0) return { files, refused: undefined }
  const most = `a message takes ${count} files with ${sizeText(bytes)} together`
  return { files, refused: `Not attached: ${refused.join(', ')}. ${most[0]?.toUpperCase()}${most.slice(1)}.` }
}

export function sizeText(bytes: number): string {
  if (bytes < KIB) return `${bytes} B`
  const unit = bytes < KIB * KIB ? 'KiB' : 'MiB'
  const size = bytes / (unit === 'KiB' ? KIB : KIB * KIB)
  return `${size < 10 ? Math.round(size * 10) / 10 : Math.round(size)} ${unit}`
}

/** A name that a hub takes, with its ending where it has one. */
export function sentName(name: string): string {
  const line = plainLine(name, Number.POSITIVE_INFINITY)
  if (line === '') return 'file'
  if (line.length <= NAME_MAX) return line
  const ending = /\.\w{1,10}$/.exec(line)?.[0] ?? ''
  return `${line.slice(0, NAME_MAX - ending.length - 1).replace(/[\ud800-\udbff]$/, '')}…${ending}`
}

/** Reads them; a file that is gone by now rejects with its name. */
export function read(files: readonly File[]): Promise<SentFile[]> {
  return Promise.all(
    files.map(async file => ({
      name: sentName(file.name),
      mime: file.type === '' || file.type.length > NAME_MAX ? ANY_TYPE : file.type,
      data: await base64(file),
    })),
  )
}

function base64(file: File): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const reader = new FileReader()
  reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,?/, ''))
  reader.onerror = () => reject(new Error(`${file.name} cannot be read any more; attach it again`))
  reader.readAsDataURL(file)
  return promise
}
