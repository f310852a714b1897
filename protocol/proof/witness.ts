/**
 * A witness's statement (objects: supply): the largest record of a hub's supply chain that it had seen and followed, link
 * by link, at a time. Two of them, or one and a chain, that name different records at one place show two histories.
 */
import { CID_BYTES } from '../crypto/hash.ts'
import { type Signed, signed } from '../crypto/signed.ts'
import { Malformed } from '../encoding/bytes.ts'
import {
  bytes,
  type Field,
  type Infer,
  literal,
  mapped,
  record,
  required,
  text,
  uint,
} from '../encoding/record.ts'
import { aid, isAid } from '../identity/aid.ts'
import { keyAt, type VerifiedKel } from '../identity/kel.ts'

const BODY_BYTES_MAX = 256
/** Two heads and the signature. */
const SIGNED_OVERHEAD_BYTES = 70
/** Bytes of a statement at most, with its signature; its body has 256, objects §3. */
export const WITNESS_BYTES_MAX = BODY_BYTES_MAX + SIGNED_OVERHEAD_BYTES
const DID_PREFIX = 'did:svc:'

/** The hub whose chain a name names; undefined for anything else. */
export function hubOfChain(did: string): string | undefined {
  const hub = did.slice(DID_PREFIX.length)
  return did.startsWith(DID_PREFIX) && isAid(hub) ? hub : undefined
}

const chainName: Field<string> = mapped(text(64), checkedName, checkedName)

function checkedName(did: string): string {
  if (hubOfChain(did) === undefined)
    throw new Malformed(`expected the name of a chain: ${DID_PREFIX} and the AID of the hub`)
  return did
}

/** Keys 1 to 7 of a statement, objects §19; a chain that is no hub's throws {@link Malformed}. */
export const WitnessBody = record('witness statement', {
  v: required(1, literal(1)),
  chainDid: required(2, chainName),
  seq: required(3, uint),
  headId: required(4, bytes(CID_BYTES)),
  /** Unix ms by the witness's clock. */
  observedAt: required(5, uint),
  witness: required(6, aid),
  witnessKelSeq: required(7, uint),
})
/** `headId` is a content id of 36 bytes, `observedAt` in Unix milliseconds. */
export type WitnessBody = Infer<typeof WitnessBody>

/** `[body, sig]` by the witness's identity key. */
export const WitnessStatement = signed('svc-wit/v1', WitnessBody, BODY_BYTES_MAX)
/** As parsed: {@link statementHolds} checks its signature. */
export type WitnessStatement = Signed<WitnessBody>

/** Whether a statement is that of the witness whose log this is, under the key state that it names. */
export function statementHolds(log: VerifiedKel, statement: WitnessStatement): boolean {
  const { witness, witnessKelSeq } = statement.body
  const key = log.aid === witness ? keyAt(log, witnessKelSeq) : undefined
  return key !== undefined && WitnessStatement.verify(key, statement)
}
