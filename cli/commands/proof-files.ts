/** A receipt as files: what shows it to others, written beside the result, and read again without node or network. */
import { existsSync, lstatSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { documentNames } from '../../daemon/attachments/file-names.ts'
import { FILE_BYTES_MAX, readRegular, SECRET_FILE_MODE } from '../../daemon/platform/files.ts'
import { makeFolders } from '../../daemon/platform/folders.ts'
import { contentId } from '../../protocol/crypto/hash.ts'
import { equal, fromUtf8 } from '../../protocol/encoding/bytes.ts'
import { parseJson } from '../../protocol/encoding/json.ts'
import { shownLine } from '../../protocol/encoding/plain-text.ts'
import { present } from '../../protocol/encoding/present.ts'
import { Receipt } from '../../protocol/proof/receipt.ts'
import { connect } from '../client/control.ts'
import type { Input } from '../command.ts'
import { CommandFailed, type Io, messageOf, notice, UsageRefused } from '../io.ts'
import { bytesOf, flags, newFile } from './values.ts'

/** A receipt and a key history of a thousand rotations take less. */
const PROOF_BYTES_MAX = 512 * 1024

/** What the file holds: each member as `svc verify <id>` prints it. */
type Proof = { receipt: string; kel: string; attestation?: string }

/**
 * Writes the receipt of a task with its key history, its request and its result, to a folder of their own, or finds them
 * there; resolves to what checks them: the flags of `verify` that name them.
 */
export async function keepProof(
  io: Io,
  input: Input,
): Promise<{ input: Input; folder: string; files: readonly string[] }> {
  const id = input.positionals[0] as string
  const control = connect(io, input)
  const { receipt, kel, attestation } = await control.call('verify', { interaction_id: id })
  if (receipt === undefined || kel === undefined)
    throw new CommandFailed('no receipt with a key history is here yet', `svc verify ${id}`)
  const text = `${JSON.stringify({ receipt, kel, attestation }, null, 2)}\n`
  const out = flags(input, '--out')[0]
  const folder = out === undefined ? ownFolder(io, `proof-${id}`, { text, receipt }) : resolve(io.cwd, out)
  makeFolder(folder)
  const path = join(folder, documentNames.proof)
  if (!holds(path, text)) newFile(path, '--out', file => writeFileSync(file, text), SECRET_FILE_MODE)
  // what others sent comes after it, so that nothing of theirs has its name
  const { request_file: request, result_file: result } = await control.call('pull', {
    interaction_id: id,
    out: folder,
  })
  const named = new Map([['--proof', [path]]])
  if (request !== undefined) named.set('--request', [request])
  if (result !== undefined) named.set('--result', [result])
  return {
    input: withProof(io, { ...input, positionals: [], flags: named }),
    folder,
    files: [...named.values()].flat(),
  }
}

const FOLDERS_MAX = 1000

/** The first folder of this name, or of the name with a number, in which no other file is in the way. */
function ownFolder(io: Io, name: string, { text, receipt }: { text: string; receipt: string }): string {
  const { requestCid, resultCid } = Receipt.decode(bytesOf(receipt, 'receipt')).body
  const isOwn = (folder: string) =>
    [
      holds(join(folder, documentNames.proof), text) ?? true,
      holds(join(folder, documentNames.request), requestCid) ?? true,
      holds(join(folder, documentNames.result), resultCid) ?? true,
    ].every(Boolean)
  for (let n = 1; n <= FOLDERS_MAX; n++) {
    const folder = resolve(io.cwd, n === 1 ? name : `${name}-${n}`)
    if (!isOwn(folder)) continue
    if (n > 1) notice(io, `${name} holds other files; these are in ${name}-${n}`)
    return folder
  }
  throw new CommandFailed(`there are ${FOLDERS_MAX} folders ${name}`, 'name another one with --out')
}

/** Whether a file is this text or has this content id; undefined where none is there. */
function holds(path: string, content: string | Uint8Array): boolean | undefined {
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return undefined
  try {
    const bytes = new Uint8Array(readRegular(path, FILE_BYTES_MAX))
    return typeof content === 'string' ? fromUtf8(bytes) === content : equal(contentId(bytes), content)
  } catch {
    return false
  }
}

function makeFolder(path: string): void {
  try {
    makeFolders(path)
  } catch (error) {
    throw new CommandFailed(`--out: cannot make the folder ${path}: ${messageOf(error)}`, 'name another one')
  }
}

/** The same line with what its `--proof` file holds, and the files beside it where it names their folder, as flags. */
export function withProof(io: Io, input: Input): Input {
  const path = resolve(io.cwd, flags(input, '--proof')[0] as string)
  const isFolder = isDirectory(path)
  const { receipt, kel, attestation } = readProof(isFolder ? join(path, documentNames.proof) : path)
  const given = new Map(input.flags).set('--receipt', [receipt])
  for (const name of isFolder ? (['request', 'result'] as const) : []) {
    const file = join(path, documentNames[name])
    if (!given.has(`--${name}`) && existsSync(file)) given.set(`--${name}`, [file])
  }
  // a hub that the reader names has the key history, and its word says something only beside that hub
  if (!given.has('--hub')) given.set('--kel', [kel])
  else if (attestation !== undefined) given.set('--attestation', [attestation])
  return { ...input, flags: given }
}

/** The folder that `--proof` names; undefined where it names a file. */
export function proofFolder(io: Io, input: Input): string | undefined {
  const path = resolve(io.cwd, flags(input, '--proof')[0] as string)
  return isDirectory(path) ? path : undefined
}

/** What cannot be looked at is told where it is read. */
function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}

function readProof(path: string): Proof {
  let said: unknown
  try {
    said = parseJson(readRegular(path, PROOF_BYTES_MAX))
  } catch (error) {
    throw new CommandFailed(
      `${shownLine(path)} cannot be read: ${messageOf(error)}`,
      'check the path, or give an interaction id as inbox and results list it',
    )
  }
  const { receipt, kel, attestation } = (said ?? {}) as Partial<Record<keyof Proof, unknown>>
  if (typeof receipt !== 'string' || typeof kel !== 'string')
    throw new UsageRefused(
      `${shownLine(path)} holds no receipt with a key history; svc verify <id> --offline writes such a file`,
      'svc help verify',
    )
  return {
    receipt,
    kel,
    ...present({ attestation: typeof attestation === 'string' ? attestation : undefined }),
  }
}
