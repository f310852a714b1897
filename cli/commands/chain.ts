/** Whole chains: handing out one's own, and verifying somebody's beside the heads of it that others hold. */
import * as fs from 'node:fs'
import { join, resolve } from 'node:path'
import { linesOf } from '../../daemon/chain/file.ts'
import { isJsonLine, recordOfJsonLine } from '../../daemon/chain/json-lines.ts'
import { SignatureChecks } from '../../daemon/chain/signatures.ts'
import { openRegular, SECRET_FILE_MODE } from '../../daemon/platform/files.ts'
import { Malformed } from '../../protocol/encoding/bytes.ts'
import { KelInvalid, type VerifiedKel } from '../../protocol/identity/kel.ts'
import { isExportLine, parseExportLine } from '../../protocol/proof/chain-export.ts'
import { ChainReader } from '../../protocol/proof/chain-reader.ts'
import { type ChainVerdict, type Claims, judgeChain, lengthsOf } from '../../protocol/proof/chain-verdict.ts'
import { ChainInvalid, parseRecordLine, recordLine } from '../../protocol/proof/evidence.ts'
import { type HeldHead, readHead } from '../../protocol/proof/held-head.ts'
import { connect } from '../client/control.ts'
import type { Input, Run } from '../command.ts'
import { CommandFailed, type Io, messageOf, printReply, UsageRefused } from '../io.ts'
import { longest } from './key-histories.ts'
import { bytesOf, flags, newFile } from './values.ts'

/** Writes the chain of this node with a first line that signs how long it is. */
export const evidenceExport: Run = async (io, input) => {
  const out = flags(input, '--out')[0]
  if (out === undefined) throw new UsageRefused('expected --out FILE', 'svc help evidence export')
  const path = resolve(io.cwd, out)
  const { first_line, chain_file, data_dir, ...reply } = await connect(io, input).call('evidenceExport', {})
  const from = openRegular(join(data_dir, chain_file))
  const write = (to: number): void => {
    fs.writeFileSync(to, `${first_line}\n`)
    const written = copyRecords(from, to, reply.length)
    if (written < reply.length)
      throw new CommandFailed(`${chain_file} ends after ${written} of ${reply.length} records`, 'svc logs')
  }
  try {
    newFile(path, '--out', write, SECRET_FILE_MODE)
  } finally {
    fs.closeSync(from)
  }
  printReply(io, { file: path, ...reply })
  return 0
}

/** As many records as there are up to `length`, in the one form, whatever form older lines have. */
function copyRecords(from: number, to: number, length: number): number {
  let written = 0
  for (const { text } of linesOf(from)) {
    if (written === length) break
    fs.writeFileSync(to, isJsonLine(text) ? recordLine(jsonRecord(text)) : `${text}\n`)
    written += 1
  }
  return written
}

export const evidenceHeads: Run = async (io, input) => {
  const peer = input.positionals[0]
  printReply(io, await connect(io, input).call('evidenceHeads', peer === undefined ? {} : { peer }))
  return 0
}

/** What somebody hands out: its owner's key history, the owner's signature over its length, and where the records begin. */
type Given = { owner: VerifiedKel; claims: Claims; firstRecord: number }

/** The verdict on a chain file; `history`: the key history that was given beside it, if any. */
export async function verifyChain(
  io: Io,
  input: Input,
  history: (aid: string | undefined) => Promise<VerifiedKel | undefined>,
): Promise<ChainVerdict> {
  const path = resolve(io.cwd, flags(input, '--chain')[0] as string)
  const heads = flags(input, '--head').map(head)
  const file = openChain(path)
  try {
    const { owner, claims, firstRecord } = await opening(file, heads, history)
    const reader = new ChainReader(owner, lengthsOf(claims))
    const fault = await readRecords(file, firstRecord, reader)
    return judgeChain(reader, claims, fault)
  } finally {
    fs.closeSync(file)
  }
}

function openChain(path: string): number {
  try {
    return openRegular(path)
  } catch (error) {
    throw new CommandFailed(`--chain: ${messageOf(error)}`, 'check the path')
  }
}

function head(value: string): HeldHead {
  try {
    return readHead(bytesOf(value, '--head'))
  } catch (error) {
    if (!(error instanceof Malformed)) throw error
    throw new UsageRefused(`--head is no head of a chain: ${error.message}`, 'svc evidence heads')
  }
}

async function opening(
  file: number,
  heads: readonly HeldHead[],
  history: (aid: string | undefined) => Promise<VerifiedKel | undefined>,
): Promise<Given> {
  const first = linesOf(file).next().value?.text ?? ''
  if (!isExportLine(first)) {
    const owner = await history(undefined)
    if (owner === undefined)
      throw new UsageRefused(
        'a chain without the first line of an export needs the key history of its owner: --kel BASE64',
        'svc evidence export --out FILE',
      )
    return { owner, claims: { heads }, firstRecord: 0 }
  }
  try {
    const { signed, owner } = parseExportLine(first)
    // a longer history than that of the export may be known elsewhere
    const given = await history(owner.aid)
    const known = given && longest([owner, given])
    return { owner: known ?? owner, claims: { exported: signed, heads }, firstRecord: 1 }
  } catch (error) {
    if (error instanceof Malformed || error instanceof KelInvalid)
      throw new CommandFailed(`not a chain export: ${error.message}`, 'svc help evidence export')
    throw error
  }
}

/** Reads and checks every record; what is wrong with the first that is, if any. */
async function readRecords(
  file: number,
  first: number,
  reader: ChainReader,
): Promise<Pick<ChainInvalid, 'seq' | 'code'> | undefined> {
  await using checks = new SignatureChecks(0)
  let number = 0
  let fault: Pick<ChainInvalid, 'seq' | 'code'> | undefined
  for (const { text } of linesOf(file)) {
    if (number++ < first) continue
    fault = await readRecord(text, reader, checks)
    if (fault !== undefined || checks.bad !== undefined) break
  }
  const bad = await checks.end()
  return bad === undefined ? fault : { seq: bad, code: 'signature' }
}

async function readRecord(text: string, reader: ChainReader, checks: SignatureChecks) {
  try {
    const bytes = isJsonLine(text) ? jsonRecord(text) : parseRecordLine(text)
    await checks.add(reader.add(bytes).toVerify)
    return undefined
  } catch (error) {
    if (error instanceof ChainInvalid) return error
    if (error instanceof Malformed) return { seq: reader.length, code: 'malformed' as const }
    throw error
  }
}

const jsonRecord = (text: string): Uint8Array =>
  recordOfJsonLine(Buffer.from(text, 'latin1').toString('utf8'))
