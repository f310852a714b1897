/** Records with which one hub hands another open mail, which both can read (objects: forward records). */
import { labelled, labelledSign } from '../crypto/hash.ts'
import { encode } from '../encoding/cbor.ts'

const LABEL = 'svc-open-fwd/v1'
/** Version of the record, objects §25. */
export const FORWARD_VERSION = 1
/** Hubs that a message may come through at most. */
export const HOPS_MAX = 3

/** What the origin hub signs: texts as in the JSON, `ts` Unix ms, `kelSeq` its own key state (objects §25). */
export type Forward = {
  v: number
  origin: string
  dest: string
  from: string
  kind: string
  interaction: string
  payloadCid: string
  hop: number
  seenHubs: readonly string[]
  ts: number
  kelSeq: number
}

const preimage = (one: Forward): Uint8Array =>
  encode([
    ...[one.v, one.origin, one.dest, one.from, one.kind, one.interaction, one.payloadCid, one.hop],
    ...[[...one.seenHubs], one.ts, one.kelSeq],
  ])

/** The bytes under the signature, label and all (objects §25). */
export const forwardText = (forward: Forward): Uint8Array => labelled(LABEL, preimage(forward))

/** Signature of 64 bytes by the origin hub under its key of `kelSeq` (objects §25). */
export const signForward = (seed: Uint8Array, forward: Forward): Uint8Array =>
  labelledSign(LABEL, seed, preimage(forward))
