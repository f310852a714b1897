/** `svc verify`: a receipt or a chain, by one's own records or offline, and the page that does the same in a browser. */

import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { FILE_BYTES_MAX, readRegular } from '../../daemon/platform/files.ts'
import { cidText, contentId } from '../../protocol/crypto/hash.ts'
import { Malformed, toBase64url } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import type { VerifiedKel } from '../../protocol/identity/kel.ts'
import {
  attestedTime,
  type Judgement,
  requestMatches,
  resultMatches,
  type Side,
  sayJudgement,
  saySides,
} from '../../protocol/proof/judge.ts'
import { Attestation, Receipt, receiptId, verifyReceipt } from '../../protocol/proof/receipt.ts'
import { judgeShown } from '../../protocol/proof/shown.ts'
import { connect } from '../client/control.ts'
import type { Input, Run } from '../command.ts'
import { CommandFailed, type Io, messageOf, printReply, UsageRefused } from '../io.ts'
import { chainHistory, providerLog } from './key-histories.ts'
import type { ComparedFiles, compareFiles } from './proof-attachments.ts'
import { bytesOf, flags, newFile } from './values.ts'

/** Each way of verifying, and how it is asked for; one at a time. */
const WAYS = {
  stored: {
    asks: ({ positionals, flags }: Input) => isId(positionals[0]) && !flags.has('--offline'),
    name: 'an interaction id',
  },
  kept: { asks: ({ flags }: Input) => flags.has('--offline'), name: '--offline' },
  shown: { asks: ({ positionals }: Input) => isPath(positionals[0]), name: 'the path of a proof' },
  proof: { asks: ({ flags }: Input) => flags.has('--proof'), name: '--proof' },
  offline: { asks: ({ flags }: Input) => flags.has('--receipt'), name: '--receipt' },
  chain: { asks: ({ flags }: Input) => flags.has('--chain'), name: '--chain' },
  witnessed: {
    asks: ({ flags }: Input) => flags.has('--attestation') && !flags.has('--receipt'),
    name: '--attestation',
  },
  page: { asks: ({ flags }: Input) => flags.has('--page'), name: '--page' },
} as const
type Way = keyof typeof WAYS

/** What is no id of an interaction is the path of what `--offline` wrote. */
const ID = /^[\w-]{22}$/
const isId = (word: string | undefined) => word !== undefined && ID.test(word)
const isPath = (word: string | undefined) => word !== undefined && !ID.test(word)

/** Exit code 1 when what was given is not acceptable; the verdict stands on standard output either way. */
export const verify: Run = async (io, input) => {
  switch (wayOf(input)) {
    case 'page':
      return writePage(io, input)
    case 'chain':
      return verifyChain(io, input)
    case 'witnessed': {
      const { verifyWitnessed } = await import('./witnessed.ts')
      const said = await verifyWitnessed(io, input)
      printReply(io, said)
      return said.verdict === 'valid' ? 0 : 1
    }
    case 'kept':
      return printVerdict(io, await verifyKept(io, input))
    case 'shown': {
      const { positionals, flags } = input
      const named = new Map(flags).set('--proof', positionals)
      return printVerdict(io, await verifyProof(io, { ...input, positionals: [], flags: named }))
    }
    case 'proof':
      return printVerdict(io, await verifyProof(io, input))
    case 'offline':
      return printVerdict(io, await verifyOffline(io, input))
    default:
      return printVerdict(io, await verifyStored(io, input))
  }
}

function wayOf(input: Input): Way {
  const asked = (Object.keys(WAYS) as Way[]).filter(way => WAYS[way].asks(input))
  const [way, another] = asked
  if (way === undefined)
    throw new UsageRefused(
      'expected an interaction id, the folder or file of a proof, --proof, --receipt, --chain, --attestation or --page',
      'svc help verify',
    )
  if (another !== undefined)
    throw new UsageRefused(
      `${WAYS[way].name} and ${WAYS[another].name} were both given; give one of them`,
      'svc help verify',
    )
  if (way === 'kept' && input.positionals[0] === undefined)
    throw new UsageRefused('--offline goes with an interaction id', 'svc help verify')
  if ((way === 'proof' || way === 'shown') && input.flags.has('--kel'))
    throw new UsageRefused(`${WAYS[way].name} and --kel were both given; give one of them`, 'svc help verify')
  if (input.flags.has('--out') && way !== 'kept')
    throw new UsageRefused('--out goes with --offline', 'svc help verify')
  if (input.flags.has('--head') && way !== 'chain')
    throw new UsageRefused('--head goes with --chain', 'svc help verify')
  return way
}

function printVerdict(io: Io, verdict: { verdict: string }): number {
  printReply(io, verdict)
  return verdict.verdict === 'invalid' ? 1 : 0
}

async function verifyChain(io: Io, input: Input): Promise<number> {
  const chain = await import('./chain.ts')
  const verdict = await chain.verifyChain(io, input, aid => chainHistory(io, input, aid))
  printReply(io, verdict)
  return verdict.verdict === 'valid' ? 0 : 1
}

/** The page is part of the build, beside the file that this is bundled into. */
const PAGE = new URL('verify.html', import.meta.url)

async function writePage(io: Io, input: Input): Promise<number> {
  const path = resolve(io.cwd, flags(input, '--page')[0] as string)
  const page = readFileSync(PAGE)
  newFile(path, '--page', file => writeFileSync(file, page))
  printReply(io, {
    file: path,
    bytes: page.length,
    says: 'Open it in a browser; it works without a network.',
  })
  return 0
}

async function verifyStored(io: Io, input: Input) {
  return await connect(io, input).call('verify', { interaction_id: input.positionals[0] as string })
}

/** Writes what shows the receipt of a task, and judges those files alone. */
async function verifyKept(io: Io, input: Input) {
  const { keepProof } = await import('./proof-files.ts')
  const kept = await keepProof(io, input)
  return { ...(await verifyOffline(io, kept.input, kept.folder)), files: kept.files }
}

async function verifyProof(io: Io, input: Input) {
  const { proofFolder, withProof } = await import('./proof-files.ts')
  return verifyOffline(io, withProof(io, input), proofFolder(io, input))
}

/** Judges what was given, and the files of a folder where it came in one. */
async function verifyOffline(io: Io, input: Input, folder?: string) {
  const receipt = readReceipt(flags(input, '--receipt')[0] as string)
  const given = flags(input, '--attestation').map(decodeAttestation)
  const { provider, hub } = await providerLog(io, input, receipt.body.provider)
  const attestations = wordsOf(hub, given, receipt)
  const request = readNamed(io, input, '--request')
  const result = readNamed(io, input, '--result')
  const hubs = hub === undefined ? [] : [hub]
  const logs = new Map(hubs.map(log => [log.aid, log]))
  const shown = { attestations, logs, named: new Set(logs.keys()) }
  const judgement = judgeShown(receipt, provider, shown, present({ hub, request, result }))
  const sides: Side[] = verifyReceipt(receipt, provider) === undefined ? [] : ['provider']
  const key = input.flags.has('--kel') ? 'the newest key of the key history that was given' : undefined
  const files = folder === undefined ? undefined : await compareFolder(folder, { request, result })
  const said = describe(receipt, sayJudgement(judgement, key), judgement, sides)
  return {
    ...(files === undefined ? said : withFiles(said, files)),
    ...present({ request_matches: request && requestMatches(receipt, request) }),
    ...compareResult(result, receipt),
    ...files,
  }
}

async function compareFolder(...given: Parameters<typeof compareFiles>): Promise<ComparedFiles> {
  const files = await import('./proof-attachments.ts')
  return files.compareFiles(...given)
}

/** A file that is not the one that was signed makes the whole of a folder untrue, whatever its receipt is worth. */
function withFiles<T extends { verdict: string; says: string }>(said: T, files: ComparedFiles): T {
  const [first] = files.files_differ
  if (first === undefined || said.verdict === 'invalid') return said
  const says = `The file ${first} in this folder is not the one that was signed. ${said.says}`
  return { ...said, verdict: 'invalid', says }
}

/** What the hub that was asked signed about a receipt; the word of another one shows nothing. */
function wordsOf(
  hub: VerifiedKel | undefined,
  given: readonly Attestation[],
  receipt: Receipt,
): readonly Attestation[] {
  if (given.length === 0) return []
  if (hub === undefined)
    throw new UsageRefused('--attestation needs the hub that signed it: --hub URL', 'svc help verify')
  const words = given.filter(attestation => attestedTime(attestation, receipt, hub) !== undefined)
  if (words.length === 0)
    throw new CommandFailed(
      'the attestation is not the word of this hub about this receipt, or the hub has rotated its key since',
      'svc help verify',
    )
  return words
}

function decodeAttestation(value: string): Attestation {
  try {
    return Attestation.decode(bytesOf(value, '--attestation'))
  } catch (error) {
    if (error instanceof Malformed)
      throw new UsageRefused(`not an attestation: ${error.message}`, 'svc verify <id>')
    throw error
  }
}

function describe(receipt: Receipt, said: string, judgement: Judgement, sides: readonly Side[]) {
  const { body } = receipt
  return {
    verdict: judgement.verdict,
    says: `${said} ${saySides(sides)}`.trim(),
    signed_by: sides,
    interaction_id: toBase64url(body.interactionId),
    provider: body.provider,
    status: body.status,
    receipt_id: receiptId(receipt),
    request_cid: cidText(body.requestCid),
    result_cid: cidText(body.resultCid),
    started_at: body.start,
    ended_at: body.end,
  }
}

function compareResult(result: Uint8Array | undefined, receipt: Receipt) {
  if (result === undefined)
    return {
      content_checked: false,
      content_says: 'The content was not checked; give it with --result FILE.',
    }
  return {
    content_checked: true,
    result_matches: resultMatches(receipt, result),
    result_cid_of_file: cidText(contentId(result)),
  }
}

function readNamed(io: Io, input: Input, flag: '--request' | '--result'): Uint8Array | undefined {
  const path = flags(input, flag)[0]
  if (path === undefined) return undefined
  try {
    return new Uint8Array(readRegular(resolve(io.cwd, path), FILE_BYTES_MAX))
  } catch (error) {
    throw new CommandFailed(`${flag}: ${messageOf(error)}`, 'check the path')
  }
}

function readReceipt(value: string): Receipt {
  try {
    return Receipt.decode(bytesOf(value, '--receipt'))
  } catch (error) {
    if (error instanceof Malformed)
      throw new UsageRefused(`not a receipt: ${error.message}`, 'svc verify <id>')
    throw error
  }
}
