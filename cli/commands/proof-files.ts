/** A receipt as files: what shows it to others, written beside the result, and read again without node or network. */
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { documentNames } from '../../daemon/attachments/file-names.ts'
import { readRegular, SECRET_FILE_MODE } from '../../daemon/platform/files.ts'
import { makeFolders } from '../../daemon/platform/folders.ts'
import { parseJson } from '../../protocol/encoding/json.ts'
import { present } from '../../protocol/encoding/present.ts'
import { connect } from '../client/control.ts'
import type { Input } from '../command.ts'
import { CommandFailed, type Io, messageOf, UsageRefused } from '../io.ts'
import { flags, newFile } from './values.ts'

/** A receipt and a key history of a thousand rotations take less. */
const PROOF_BYTES_MAX = 512 * 1024

/** What the file holds: each member as `svc verify <id>` prints it. */
type Proof = { receipt: string; kel: string; attestation?: string }

/**
 * Writes the receipt of a task with its key history, and its result, to a folder of their own; resolves to what checks
 * them: the flags of `verify` that name them.
 */
export async function keepProof(io: Io, input: Input): Promise<{ input: Input; files: readonly string[] }> {
  const id = input.positionals[0] as string
  const control = connect(io, input)
  const { receipt, kel, attestation } = await control.call('verify', { interaction_id: id })
  if (receipt === undefined || kel === undefined)
    throw new CommandFailed('no receipt with a key history is here yet', `svc verify ${id}`)
  const folder = resolve(io.cwd, flags(input, '--out')[0] ?? `proof-${id}`)
  makeFolder(folder)
  const path = join(folder, documentNames.proof)
  const text = `${JSON.stringify({ receipt, kel, attestation }, null, 2)}\n`
  newFile(path, '--out', file => writeFileSync(file, text), SECRET_FILE_MODE)
  // what others sent comes after it, so that nothing of theirs has its name
  const { result_file: result } = await control.call('pull', { interaction_id: id, out: folder })
  const named = new Map([['--proof', [path]]])
  if (result !== undefined) named.set('--result', [result])
  return {
    input: withProof(io, { ...input, positionals: [], flags: named }),
    files: [...named.values()].flat(),
  }
}

function makeFolder(path: string): void {
  try {
    makeFolders(path)
  } catch (error) {
    throw new CommandFailed(`--out: cannot make the folder ${path}: ${messageOf(error)}`, 'name another one')
  }
}

/** The same line with what its `--proof` file holds in place of the flags that hold it. */
export function withProof(io: Io, input: Input): Input {
  const { receipt, kel, attestation } = readProof(resolve(io.cwd, flags(input, '--proof')[0] as string))
  const given = new Map(input.flags).set('--receipt', [receipt])
  // a hub that the reader names has the key history, and its word says something only beside that hub
  if (!given.has('--hub')) given.set('--kel', [kel])
  else if (attestation !== undefined) given.set('--attestation', [attestation])
  return { ...input, flags: given }
}

function readProof(path: string): Proof {
  let said: unknown
  try {
    said = parseJson(readRegular(path, PROOF_BYTES_MAX))
  } catch (error) {
    throw new CommandFailed(`--proof: ${path} cannot be read: ${messageOf(error)}`, 'check the path')
  }
  const { receipt, kel, attestation } = (said ?? {}) as Partial<Record<keyof Proof, unknown>>
  if (typeof receipt !== 'string' || typeof kel !== 'string')
    throw new UsageRefused(
      `${path} holds no receipt with a key history; svc verify <id> --offline writes such a file`,
      'svc help verify',
    )
  return {
    receipt,
    kel,
    ...present({ attestation: typeof attestation === 'string' ? attestation : undefined }),
  }
}
