/** Proof: review, evidence, verify. */

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { selectIdentity } from '../../daemon/home/home.ts'
import { call } from '../../protocol/contract/client.ts'
import { cidText, contentId } from '../../protocol/crypto/hash.ts'
import { fromBase64url, Malformed, toBase64url } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { decodeKel, KelInvalid, type VerifiedKel, verifyKel } from '../../protocol/identity/kel.ts'
import {
  type Judgement,
  judgeReceipt,
  resultMatches,
  type Side,
  sayJudgement,
  saySides,
} from '../../protocol/proof/judge.ts'
import { Receipt, receiptId, verifyReceipt } from '../../protocol/proof/receipt.ts'
import { wire3Routes } from '../../protocol/wire3/routes.ts'
import { connect } from '../client/control.ts'
import { hubSend } from '../client/hub.ts'
import type { Input, Run } from '../command.ts'
import { CommandFailed, type Io, messageOf, printJson } from '../io.ts'
import { flag, flags, integer, parseInteger } from './values.ts'

const FETCH_TIMEOUT_MS = 30_000

export const review: Run = async (io, input) => {
  const [id, rating, comment] = input.positionals as [string, string, string?]
  const stars = parseInteger(rating, '<rating>')
  if (stars < 1 || stars > 5) throw new CommandFailed('expected a rating from 1 to 5', 'svc help review')
  const body = { interaction_id: id, rating: stars, ...present({ comment }) }
  printJson(io, await connect(io, input).call('review', body))
  return 0
}

export const evidence: Run = async (io, input) => {
  const reply = await connect(io, input).call('evidence', {
    ...flag(input, '--type', 'event_type'),
    ...integer(input, '--since', 'since'),
    ...integer(input, '--limit', 'limit'),
  })
  printJson(io, reply)
  return 0
}

export const keyHistory: Run = async (io, input) => {
  const agent = input.positionals[0]
  printJson(io, await connect(io, input).call('keyHistory', present({ agent })))
  return 0
}

/** Reads the whole chain file, verifies it, and completes the store from it. */
export const evidenceImport: Run = (io, input) =>
  ofStoppedNode('svc evidence import', async () => {
    const { dir } = selectIdentity(io.env, input.id)
    const { importChain } = await import('../../daemon/chain/import.ts')
    const { length, imported, fork } = await importChain(dir)
    printJson(io, {
      length,
      imported,
      state: fork === undefined ? 'ACTIVE' : 'QUARANTINED',
      ...present({ fork_at: fork }),
    })
    return fork === undefined ? 0 : 1
  })

/** Goes on from an older copy of the data directory. */
export const evidenceAccept: Run = (io, input) =>
  ofStoppedNode('svc evidence accept', async () => {
    const { dir } = selectIdentity(io.env, input.id)
    const { acceptCopy } = await import('../../daemon/chain/accept.ts')
    const { aid, length } = acceptCopy(dir, io.env)
    printJson(io, { aid, length, accepted: true })
    return 0
  })

/** Runs what needs the data directory for itself. */
async function ofStoppedNode(command: string, work: () => Promise<number>): Promise<number> {
  const { ChainRefused } = await import('../../daemon/chain/file.ts')
  const { DirectoryBusy } = await import('../../daemon/home/lock.ts')
  try {
    return await work()
  } catch (error) {
    if (error instanceof DirectoryBusy) throw new CommandFailed(error.message, `svc stop, then ${command}`)
    if (error instanceof ChainRefused) throw new CommandFailed(error.message, 'svc logs')
    throw error
  }
}

/** Exit code 1 when the receipt is not acceptable; the verdict stands on standard output either way. */
export const verify: Run = async (io, input) => {
  const offline = input.flags.has('--receipt')
  if (offline === (input.positionals[0] !== undefined)) {
    throw new CommandFailed('expected an interaction id or --receipt', 'svc help verify')
  }
  const verdict = offline ? await verifyOffline(io, input) : await verifyStored(io, input)
  printJson(io, verdict)
  return verdict.verdict === 'invalid' || verdict.result_matches === false ? 1 : 0
}

async function verifyStored(io: Io, input: Input) {
  const reply = await connect(io, input).call('verify', { interaction_id: input.positionals[0] as string })
  return { ...reply, result_matches: undefined }
}

async function verifyOffline(io: Io, input: Input) {
  const receipt = readReceipt(flags(input, '--receipt')[0] as string)
  const { provider, hub } = await providerLog(input, receipt.body.provider)
  const file = flags(input, '--result')[0]
  const result = file === undefined ? undefined : readFile(io, file)
  const judgement = judgeReceipt(receipt, provider, present({ hub, result }))
  const sides: Side[] = verifyReceipt(receipt, provider) === undefined ? [] : ['provider']
  return { ...describe(receipt, judgement, sides), ...compareResult(result, receipt) }
}

function describe(receipt: Receipt, judgement: Judgement, sides: readonly Side[]) {
  const { body } = receipt
  return {
    verdict: judgement.verdict,
    says: `${sayJudgement(judgement)} ${saySides(sides)}`.trim(),
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

function readFile(io: Io, path: string): Uint8Array {
  try {
    return new Uint8Array(readFileSync(resolve(io.cwd, path)))
  } catch (error) {
    throw new CommandFailed(`--result: ${messageOf(error)}`, 'check the path')
  }
}

/** base64 with or without padding, or base64url: people paste all three. */
function bytesOf(value: string, name: string): Uint8Array {
  const url = value.trim().replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
  try {
    return fromBase64url(url, name)
  } catch {
    throw new CommandFailed(`${name} is not base64`, 'svc help verify')
  }
}

function readReceipt(value: string): Receipt {
  try {
    return Receipt.decode(bytesOf(value, '--receipt'))
  } catch (error) {
    if (error instanceof Malformed)
      throw new CommandFailed(`not a receipt: ${error.message}`, 'svc verify <id> prints it')
    throw error
  }
}

async function providerLog(input: Input, aid: string): Promise<{ provider: VerifiedKel; hub?: VerifiedKel }> {
  const kel = flags(input, '--kel')[0]
  const url = flags(input, '--hub')[0]
  if ((kel === undefined) === (url === undefined)) {
    throw new CommandFailed('--receipt needs the key history: --kel BASE64 or --hub URL', 'svc help verify')
  }
  if (kel !== undefined) return { provider: readLog(bytesOf(kel, '--kel'), '--kel', aid) }
  return await fetchLogs(url as string, aid)
}

async function fetchLogs(baseUrl: string, aid: string) {
  const given = { baseUrl, headers: { 'X-Svc-Wire': '3' } }
  const send = hubSend(FETCH_TIMEOUT_MS)
  try {
    const answer = await call(wire3Routes.agentKel, send, { ...given, params: { aid } })
    const identity = await call(wire3Routes.hubIdentity, send, given)
    return {
      provider: readLog(fromBase64url(answer.kel), 'the history of the hub', aid),
      hub: readLog(fromBase64url(identity.kel), 'the history of the hub itself', identity.aid),
    }
  } catch (error) {
    if (error instanceof CommandFailed) throw error
    throw new CommandFailed(
      `the hub gave no key history: ${messageOf(error)}`,
      'svc verify --receipt … --kel BASE64',
    )
  }
}

function readLog(bytes: Uint8Array, name: string, aid: string): VerifiedKel {
  try {
    const log = verifyKel(decodeKel(bytes))
    if (log.aid !== aid) throw new CommandFailed(`${name} belongs to ${log.aid}, the receipt names ${aid}`)
    return log
  } catch (error) {
    if (error instanceof KelInvalid || error instanceof Malformed) {
      throw new CommandFailed(`${name} does not verify: ${error.message}`)
    }
    throw error
  }
}
