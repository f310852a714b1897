/** A witness's statement about a hub's supply chain, beside what that hub shows now. */
import { call } from '../../protocol/contract/client.ts'
import { cidText } from '../../protocol/crypto/hash.ts'
import { equal, fromBase64url, Malformed } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { keyAt, type VerifiedKel } from '../../protocol/identity/kel.ts'
import { ChainInvalid, ChainRecord, readRecord, recordSignatureHolds } from '../../protocol/proof/evidence.ts'
import {
  hubOfChain,
  statementHolds,
  type WitnessBody,
  WitnessStatement,
} from '../../protocol/proof/witness.ts'
import { sayNoHub } from '../../protocol/wire3/no-hub.ts'
import { wire3Routes } from '../../protocol/wire3/routes.ts'
import { hubSend } from '../client/hub.ts'
import type { Input } from '../command.ts'
import { CommandFailed, type Io, messageOf, UsageRefused } from '../io.ts'
import { readLog } from './key-histories.ts'
import { bytesOf, flags } from './values.ts'

const FETCH_TIMEOUT_MS = 15_000

/** `contradicted`: the witness signed it, and the hub shows another record there, or none. */
type Verdict = { verdict: 'valid' | 'contradicted' | 'invalid'; says: string; shown_id?: string }

export async function verifyWitnessed(io: Io, input: Input) {
  const { body, statement } = readStatement(flags(input, '--attestation')[0] as string)
  const url = flags(input, '--hub')[0]
  if (url === undefined || !/^https?:\/\//i.test(url) || !URL.canParse(url))
    throw new UsageRefused(
      '--attestation alone is a statement about the chain of a hub, and needs it: --hub URL',
      'svc help verify',
    )
  const verdict = await asking(url, () => compare(io, input, url, statement))
  return {
    ...verdict,
    witness: body.witness,
    chain_did: body.chainDid,
    seq: body.seq,
    head_id: cidText(body.headId),
    observed_at: body.observedAt,
  }
}

function readStatement(value: string): { body: WitnessBody; statement: WitnessStatement } {
  try {
    const statement = WitnessStatement.decode(bytesOf(value, '--attestation'))
    return { body: statement.body, statement }
  } catch (error) {
    if (error instanceof Malformed)
      throw new UsageRefused(`not a statement of a witness: ${error.message}`, 'svc help verify')
    throw error
  }
}

async function asking<T>(url: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof CommandFailed || error instanceof UsageRefused) throw error
    throw new CommandFailed(sayNoHub(error, url) ?? `the hub was not to be asked: ${messageOf(error)}`)
  }
}

const invalid = (says: string): Verdict => ({ verdict: 'invalid', says })

async function compare(io: Io, input: Input, baseUrl: string, statement: WitnessStatement): Promise<Verdict> {
  const { witness, chainDid, seq, headId, observedAt } = statement.body
  const given = { baseUrl, headers: { 'X-Svc-Wire': '3' } }
  const send = hubSend(io, FETCH_TIMEOUT_MS)
  const identity = await call(wire3Routes.hubIdentity, send, given)
  const hub = readLog(fromBase64url(identity.kel), 'the history of the hub itself', identity.aid)
  if (hubOfChain(chainDid) !== hub.aid)
    return invalid(`the statement is about ${chainDid}, and this hub is ${hub.aid}`)
  const list = await call(wire3Routes.witnesses, send, given)
  const kel = flags(input, '--kel')[0]
  const listed = list.attestations.find(one => one.witness === witness && one.kel !== undefined)?.kel
  const bytes = kel === undefined ? fromBase64url(listed ?? '') : bytesOf(kel, '--kel')
  if (bytes.length === 0)
    throw new CommandFailed(
      `the hub shows no key history of ${witness}, so nothing can be said of its signature`,
      'svc verify --attestation … --hub … --kel BASE64',
    )
  const log = readLog(bytes, 'the key history', witness, 'the statement')
  if (!statementHolds(log, statement)) return invalid('the signature of the witness does not hold')
  const query = { from: String(seq), limit: '1' }
  const page = await call(wire3Routes.issuance, send, { ...given, query })
  const [entry] = page.entries
  const when = new Date(observedAt).toISOString()
  const saw = `the witness followed this chain to record ${seq}, and saw it at ${when}`
  if (entry === undefined)
    return {
      verdict: 'contradicted',
      says: `${saw}; the hub shows no such record, only ${page.head_seq + 1}`,
    }
  const shown = shownId(fromBase64url(entry.record), { seq, chainDid, hub })
  if (equal(shown, headId)) return { verdict: 'valid', says: `${saw}; the hub shows the same one now` }
  const shownText = cidText(shown)
  return {
    verdict: 'contradicted',
    says: `${saw}; the hub shows another one now, ${shownText}, and keeping both shows that it has two histories`,
    ...present({ shown_id: shownText }),
  }
}

/** The id of a record that the hub signed; one that it did not shows nothing. */
function shownId(
  bytes: Uint8Array,
  { seq, chainDid, hub }: { seq: number; chainDid: string; hub: VerifiedKel },
): Uint8Array {
  try {
    const { previous, keyStateSeq } = ChainRecord.decode(bytes)
    const read = readRecord(bytes, { seq, previous, chainDid })
    const key = keyAt(hub, keyStateSeq)
    if (key !== undefined && recordSignatureHolds(key, read)) return read.record.id
  } catch (error) {
    if (!(error instanceof Malformed) && !(error instanceof ChainInvalid)) throw error
  }
  throw new CommandFailed(`the record ${seq} that the hub shows is not signed by it`)
}
