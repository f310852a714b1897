/** Routes of a hub's supply (hub API §4.4, §6): its signed chain, the epoch of each day, and what its witnesses say. */
import * as z from 'zod'
import { route } from '../../contract/route.ts'
import { aidShape, blobText, bytesText, count, millis, textOf, textShape } from '../../contract/shapes.ts'
import { WITNESS_BYTES_MAX } from '../../proof/witness.ts'
import { codes, credits, LISTING_WEIGHT, supplyRecord as record, whole } from './shapes.ts'

const KIB = 1024
/** Records of one page of `/x402/issuance` at most. */
export const ISSUANCE_LIMIT_MAX = 5000
/** Of a witness's key history, which every reader of the list gets. */
const WITNESS_KEL_BYTES_MAX = 16 * KIB
const WITNESSES_REPLY_BYTES_MAX = 4 * 1024 * KIB

const PROOF_HASHES_MAX = 64
/** Of the name of a witness of transparency logs. */
const COSIGNER_CHARACTERS_MAX = 256
const sizeOfTree = whole(16)
  .optional()
  .describe('number of records, as text; all that there are unless it is said')
const hashes = z.array(bytesText(32)).max(PROOF_HASHES_MAX)

/** Routes of the supply chain, wire-3 (Members); amounts are whole credits. */
export const supplyRoutes = {
  supply: route({
    method: 'GET',
    path: '/x402/supply',
    auth: 'none',
    reply: z.strictObject({
      day: count,
      from_day: count,
      issued: credits,
      retired: credits,
      outstanding: credits,
      held: credits,
      owed_by_peers: credits,
      due_to_peers: credits,
      root: bytesText(32),
      root_sum: credits,
      depth: count,
      accounts: count,
      ledger_hw: count,
      chain_hw: count,
      seq: count,
      id: textOf('CID'),
      record,
    }),
    codes: codes('rate_limited'),
  }),
  issuance: route({
    method: 'GET',
    path: '/x402/issuance',
    auth: 'none',
    query: z.strictObject({
      from: whole(16).optional(),
      limit: whole(4).optional().describe(`whole number 1 to ${ISSUANCE_LIMIT_MAX}, as text`),
    }),
    reply: z.strictObject({
      chain_did: textOf('DID of a chain'),
      entries: z.array(
        z.strictObject({
          seq: count,
          id: textOf('CID'),
          prev_id: textOf('CID'),
          kind: z.string(),
          at: millis,
          aid: aidShape.optional(),
          amount: credits.optional(),
          reason: z.string().optional(),
          record,
        }),
      ),
      head_seq: count,
      head_id: textOf('CID'),
      next: z.string().optional(),
    }),
    codes: codes('rate_limited'),
  }),
  issuanceHead: route({
    method: 'GET',
    path: '/x402/issuance/head',
    auth: 'none',
    reply: z.strictObject({ chain_did: textOf('DID of a chain'), seq: count, head_id: textOf('CID') }),
    codes: codes('rate_limited'),
  }),
  checkpoint: route({
    method: 'GET',
    path: '/x402/checkpoint',
    auth: 'none',
    own: true,
    query: z.strictObject({
      newest: z
        .enum(['true', 'false'])
        .optional()
        .describe(
          '`true`: the newest, also where no witness has cosigned it yet; else the newest that one has',
        ),
      cosigner: textShape(COSIGNER_CHARACTERS_MAX)
        .optional()
        .describe('name of a witness: the newest that this one has cosigned, where it has cosigned any'),
    }),
    produces: 'text',
    codes: codes('rate_limited'),
  }),
  checkpointConsistency: route({
    method: 'GET',
    path: '/x402/checkpoint/consistency',
    auth: 'none',
    own: true,
    query: z.strictObject({ old: whole(16).optional(), size: sizeOfTree }),
    reply: z.strictObject({
      chain_did: textOf('DID of a chain'),
      old: count,
      size: count,
      proof: hashes.describe('base64url: that the tree of `old` records is where that of `size` began'),
    }),
    codes: codes('rate_limited'),
    limits: { weight: LISTING_WEIGHT },
  }),
  checkpointInclusion: route({
    method: 'GET',
    path: '/x402/checkpoint/inclusion',
    auth: 'none',
    own: true,
    query: z.strictObject({ seq: whole(16).optional(), size: sizeOfTree }),
    reply: z.strictObject({
      chain_did: textOf('DID of a chain'),
      seq: count,
      size: count,
      id: textOf('CID'),
      proof: hashes.describe('base64url: that record `seq` stands in the tree of `size` records'),
    }),
    codes: codes('rate_limited'),
    limits: { weight: LISTING_WEIGHT },
  }),
  witnesses: route({
    method: 'GET',
    path: '/x402/witnesses',
    auth: 'none',
    reply: z.strictObject({
      chain_did: textOf('DID of a chain'),
      attestations: z.array(
        z.strictObject({
          witness: aidShape,
          seq: count,
          head_id: textOf('CID'),
          observed_at: millis,
          attestation: blobText(WITNESS_BYTES_MAX),
          kel: blobText(WITNESS_KEL_BYTES_MAX).optional(),
        }),
      ),
      health: z.strictObject({
        witnesses: count,
        attestations: count,
        latest_seq: count.nullable(),
        stale_seconds: count.nullable(),
        unwitnessed_records: count,
        witness_aids: z.array(aidShape),
      }),
      witness_endpoints: z.array(z.strictObject({ aid: aidShape, url: z.string() })),
      verify: z.string(),
      note: z.string(),
    }),
    codes: codes('rate_limited'),
    limits: { weight: LISTING_WEIGHT, replyBytes: WITNESSES_REPLY_BYTES_MAX },
  }),
  witnessed: route({
    method: 'GET',
    path: '/x402/witnessed/{aid}',
    auth: 'none',
    own: true,
    query: z.strictObject({ from: whole(16).optional(), limit: whole(4).optional() }),
    reply: z.strictObject({
      chain_did: textOf('DID of a chain'),
      from: count,
      records: z.array(record),
      length: count,
      attestation: blobText(WITNESS_BYTES_MAX),
    }),
    codes: codes('rate_limited', 'unknown_aid'),
    limits: { weight: LISTING_WEIGHT },
  }),
  witness: route({
    method: 'POST',
    path: '/x402/witness',
    auth: 'anonymous',
    request: z.strictObject({
      attestation: blobText(WITNESS_BYTES_MAX),
      kel: blobText(WITNESS_KEL_BYTES_MAX)
        .optional()
        .describe(
          `at most ${WITNESS_KEL_BYTES_MAX} bytes as base64url; needed with the first statement of a witness, and after each rotation of its key`,
        ),
    }),
    reply: z.strictObject({
      status: z
        .enum(['stored', 'unchanged'])
        .describe(
          '`stored`, or `unchanged`: a newer statement of this witness, or this one, is here already, and the signature of the one that came need not have been checked',
        ),
    }),
    codes: codes(
      'rate_limited',
      'unknown_aid',
      'aid_deactivated',
      'kel_invalid',
      'kel_fork',
      'head_conflict',
    ),
    limits: { bodyBytes: 2 * WITNESS_KEL_BYTES_MAX },
  }),
} as const
