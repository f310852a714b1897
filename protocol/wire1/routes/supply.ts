/** The supply of a hub over wire 1: what it issued and retired, its signed chain, and who watches it. */
import * as z from 'zod'
import { CREDITS_MAX } from '../../contract/limits.ts'
import { route } from '../../contract/route.ts'
import { aidShape, blob64, count, millis } from '../../contract/shapes.ts'
import { KEL_BYTES_MAX } from '../../identity/kel.ts'
import { kel64 } from './shapes.ts'

const KIB = 1024
const MIB = 1024 * KIB
const RECORD_BYTES_MAX = 4 * KIB
const STATEMENT_BYTES_MAX = 1 * KIB

const credits = z.int().min(0).max(CREDITS_MAX)
const record = blob64(RECORD_BYTES_MAX)
const attestation = blob64(STATEMENT_BYTES_MAX)

/** Routes of the supply chain; amounts are whole credits. */
export const supplyRoutes = {
  supply: route({
    method: 'GET',
    path: '/x402/supply',
    auth: 'none',
    reply: z.object({
      hub: aidShape,
      supply: z.object({
        issued: credits,
        redeemed: credits,
        outstanding: credits,
        balances: credits,
        owed_by_peers: credits,
        due_to_peers: credits,
        chain_issued: credits,
        chain_retired: credits,
        chain_opening: credits,
        chain_outstanding: z.int(),
        chain_agrees: z.boolean(),
        chain_head: z.string(),
        chain_head_seq: count,
      }),
      note: z.string(),
    }),
    codes: ['failed'],
  }),
  issuance: route({
    method: 'GET',
    path: '/x402/issuance',
    auth: 'none',
    query: z.object({
      from: z
        .string()
        .regex(/^[0-9]{1,16}$/)
        .optional(),
    }),
    reply: z.object({
      chain_did: z.string(),
      entries: z.array(
        z.object({
          seq: count,
          id: z.string(),
          prev_id: z.string(),
          kind: z.string(),
          aid: aidShape,
          amount: credits,
          reason: z.string(),
          at: millis,
          record,
        }),
      ),
      head_id: z.string(),
      head_seq: count,
      note: z.string(),
    }),
    codes: ['malformed'],
  }),
  issuanceHead: route({
    method: 'GET',
    path: '/x402/issuance/head',
    auth: 'none',
    reply: z.object({ chain_did: z.string(), seq: count, head_id: z.string() }),
  }),
  witness: route({
    method: 'POST',
    path: '/x402/witness',
    auth: 'none',
    request: z.object({ attestation, kel: kel64.optional() }),
    reply: z.object({ status: z.enum(['stored', 'unchanged']) }),
    codes: ['malformed', 'unauthorized', 'unknown', 'conflict'],
    limits: { bodyBytes: MIB },
  }),
  witnesses: route({
    method: 'GET',
    path: '/x402/witnesses',
    auth: 'none',
    reply: z.object({
      chain_did: z.string(),
      attestations: z.array(
        z.object({
          witness: aidShape,
          seq: count,
          head_id: z.string(),
          observed_at: millis,
          attestation,
          kel: blob64(KEL_BYTES_MAX).optional(),
        }),
      ),
      health: z.object({
        witnesses: count,
        attestations: count,
        latest_seq: count.nullable(),
        stale_seconds: count.nullable(),
        unwitnessed_records: count,
        witness_aids: z.array(aidShape),
      }),
      witness_endpoints: z.array(z.object({ aid: aidShape, url: z.string() })),
      verify: z.string(),
      note: z.string(),
    }),
  }),
} as const
