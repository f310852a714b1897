/**
 * What the witnesses of a hub's supply chain signed. A statement about another record than the one that this node is shown
 * is evidence of two histories; and a hub whose witnesses are all silent is no longer watched.
 */
import { cidText } from '../../protocol/crypto/hash.ts'
import { equal, Malformed } from '../../protocol/encoding/bytes.ts'
import { decodeKel, KelInvalid, type VerifiedKel, verifyKel } from '../../protocol/identity/kel.ts'
import { chainDid } from '../../protocol/proof/evidence.ts'
import { SupplyFault } from '../../protocol/proof/supply-reader.ts'
import { statementHolds, type WitnessBody, WitnessStatement } from '../../protocol/proof/witness.ts'
import type { HubClient, ShownStatement } from '../hubs/hub.ts'
import { keepWitnessed, witnessedOf } from '../store/hub-accounts.ts'
import type { Store } from '../store/open.ts'

const WITNESS_FRESH_MS = 48 * 3_600_000
/** One witness has one for each of 14 days, and a hub 64 witnesses. */
const AGREED_MAX = 1024

/** Statements that hold; `open` are those of which it is not known yet whether they agree with the chain. */
export type Witnessed = { all: WitnessBody[]; open: WitnessBody[] }

/** Asks before the chain is read: what somebody saw before then has to be on it. */
export async function askWitnesses(
  store: Store,
  hub: Pick<HubClient, 'identity' | 'credits'>,
  signal: AbortSignal,
): Promise<Witnessed> {
  const { aid } = hub.identity
  const shown = await hub.credits.witnessStatements(signal)
  const logs = logsOf(shown)
  const all = shown.flatMap(({ bytes }) => {
    const statement = statementIn(bytes)
    const log = statement && logs.get(statement.body.witness)
    const isOfThis = statement?.body.chainDid === chainDid(aid) && statement.body.witness !== aid
    return log !== undefined && isOfThis && statementHolds(log, statement) ? [statement.body] : []
  })
  const agreed = new Map(witnessedOf(store, aid)?.agreed)
  const isAgreed = (seq: number, id: Uint8Array) => equal(agreed.get(seq) ?? Uint8Array.of(), id)
  return { all, open: all.filter(({ seq, headId }) => !isAgreed(seq, headId)) }
}

function logsOf(shown: readonly ShownStatement[]): Map<string, VerifiedKel> {
  const logs = new Map<string, VerifiedKel>()
  for (const { kel } of shown) {
    const log = kel && logIn(kel)
    if (log !== undefined) logs.set(log.aid, log)
  }
  return logs
}

function logIn(kel: Uint8Array): VerifiedKel | undefined {
  try {
    return verifyKel(decodeKel(kel))
  } catch (error) {
    if (error instanceof KelInvalid || error instanceof Malformed) return undefined
    throw error
  }
}

function statementIn(bytes: Uint8Array): WitnessStatement | undefined {
  try {
    return WitnessStatement.decode(bytes)
  } catch (error) {
    if (error instanceof Malformed) return undefined
    throw error
  }
}

/** The record that was read last is the one that was witnessed, where one was. */
export function requireWitnessed(
  { length, head }: { length: number; head: Uint8Array },
  { open }: Witnessed,
): void {
  const other = open.find(({ seq, headId }) => seq === length - 1 && !equal(headId, head))
  if (other !== undefined)
    throw new SupplyFault(`witness ${other.witness} signed another one, ${cidText(other.headId)}`, other.seq)
}

/** Nothing was witnessed after the end of the chain. */
export function requireAsLong({ length }: { length: number }, { open }: Witnessed): void {
  const later = open.find(({ seq }) => seq >= length)
  if (later !== undefined)
    throw new SupplyFault(
      `witness ${later.witness} signed ${cidText(later.headId)}, and it is missing`,
      later.seq,
    )
}

/** All of them agree with the chain. */
export function noteWitnessed(
  store: Store,
  hub: string,
  { all }: Witnessed,
  { cosignedMs, nowMs }: { cosignedMs: readonly number[]; nowMs: number },
): void {
  const before = witnessedOf(store, hub)
  if (before === undefined && all.length + cosignedMs.length === 0) return
  // one whose clock runs ahead is not fresher for that
  const said = [...all.map(({ observedAt }) => observedAt), ...cosignedMs]
  const times = said.map(ms => Math.min(ms, nowMs))
  const lastMs = Math.max(before?.lastMs ?? 0, ...times)
  const agreed = all.slice(0, AGREED_MAX).map(({ seq, headId }) => [seq, headId] as const)
  keepWitnessed(store, hub, { lastMs, isStale: nowMs - lastMs > WITNESS_FRESH_MS, agreed })
}
