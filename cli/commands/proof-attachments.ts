/** The files beside a receipt: which of them request and result list, by their content, and which nobody signed. */
import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { attachmentFileName, documentNames } from '../../daemon/attachments/file-names.ts'
import { ENVELOPE_BYTES_MAX } from '../../protocol/contract/limits.ts'
import { cidText, contentIdOfDigest } from '../../protocol/crypto/hash.ts'
import { Malformed } from '../../protocol/encoding/bytes.ts'
import { parseRequestDocument, parseResultDocument } from '../../protocol/proof/documents.ts'

const PIECE_BYTES = 1024 * 1024
const FILES_MAX = 1000

/** Names of files: as listed and here, listed with other content here, listed and not here, here and not listed. */
export type ComparedFiles = {
  files_match: string[]
  files_differ: string[]
  files_missing: string[]
  files_not_listed: string[]
}
/** `name`: under which it is saved. */
type Listed = { name: string; cid: string }
const DOCUMENTS: readonly string[] = Object.values(documentNames)

/** Compares the files of a folder with what the two documents in it list. */
export function compareFiles(
  folder: string,
  { request, result }: { request: Uint8Array | undefined; result: Uint8Array | undefined },
): ComparedFiles {
  const listed = [...listedIn(parseRequestDocument, request), ...listedIn(parseResultDocument, result)]
  const names = [...new Set(listed.map(({ name }) => name))]
  const all = fs.readdirSync(folder).filter(name => !DOCUMENTS.includes(name))
  // however many files lie there, those that people look for by name are among them
  const found = all
    .toSorted((a, b) => Number(names.includes(b)) - Number(names.includes(a)))
    .slice(0, FILES_MAX)
  const cids = new Map(found.map(name => [name, contentOf(join(folder, name))]))
  const isListed = (file: string) => listed.some(({ cid }) => cid === cids.get(file))
  const differing = names.filter(
    name => cids.has(name) && !listed.some(one => one.name === name && one.cid === cids.get(name)),
  )
  const here = new Set(cids.values())
  const missing = names.filter(name => listed.some(one => one.name === name && !here.has(one.cid)))
  return {
    files_match: found.filter(name => isListed(name) && !differing.includes(name)),
    files_differ: differing,
    files_missing: missing.filter(name => !differing.includes(name)),
    files_not_listed: found.filter(name => !isListed(name) && !differing.includes(name)),
  }
}

/** What a document lists; one that is no document lists nothing, and is told where it is compared. */
function listedIn(parse: (bytes: Uint8Array) => object, bytes: Uint8Array | undefined): readonly Listed[] {
  if (bytes === undefined) return []
  try {
    const { attachments = [] } = parse(bytes) as { attachments?: readonly Listed[] }
    return attachments.map(({ name, cid }) => ({ name: attachmentFileName(name), cid }))
  } catch (error) {
    if (error instanceof Malformed) return []
    throw error
  }
}

/** Content id of a file as text; undefined for what is no file, or larger than any that is sent. */
function contentOf(path: string): string | undefined {
  let file: number
  try {
    file = fs.openSync(path, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW | fs.constants.O_NONBLOCK)
  } catch {
    return undefined
  }
  try {
    const stat = fs.fstatSync(file)
    if (!stat.isFile() || stat.size > ENVELOPE_BYTES_MAX) return undefined
    const hash = createHash('sha256')
    const piece = new Uint8Array(PIECE_BYTES)
    for (let read = fs.readSync(file, piece); read > 0; read = fs.readSync(file, piece))
      hash.update(piece.subarray(0, read))
    return cidText(contentIdOfDigest(hash.digest()))
  } catch {
    return undefined
  } finally {
    fs.closeSync(file)
  }
}
