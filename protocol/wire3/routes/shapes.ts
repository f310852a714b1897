/** Shapes that several groups of routes share. */
import * as z from 'zod'
import { KEY_SET_BYTES_MAX, LIST_LIMIT_MAX } from '../../contract/limits.ts'
import { aidShape, blobText, millis } from '../../contract/shapes.ts'
import { KEL_BYTES_MAX } from '../../identity/kel.ts'
import type { Code } from '../codes.ts'

const NOTICE_BYTES_MAX = 512
const SUPPLY_RECORD_BYTES_MAX = 8 * 1024
const REVIEW_BYTES_MAX = 8 * 1024
const ATTESTATION_BYTES_MAX = 512
/** Requests that a listing counts as. */
export const LISTING_WEIGHT = 5

/** A key event log as base64url, at most 256 KiB of bytes (objects §4). */
export const kel = blobText(KEL_BYTES_MAX)
/** A key set as base64url, at most 8 KiB of bytes (objects §5). */
export const keySetText = blobText(KEY_SET_BYTES_MAX)
/** A key state notice as base64url, at most 512 bytes (objects §5). */
export const notice = blobText(NOTICE_BYTES_MAX)
/** A review as base64url, at most 8 KiB of bytes (objects §12). */
export const reviewText = blobText(REVIEW_BYTES_MAX)
/** The attestation of a review as base64url, at most 512 bytes (objects §12). */
export const attestationText = blobText(ATTESTATION_BYTES_MAX)
/** Codes of a route, checked against the table of codes. */
export const codes = <C extends Code[]>(...names: C): C => names

/** What a hub shows of one agent, wire-3 (GET `/agents/{aid}`). */
export const agentEntry = z.strictObject({
  aid: aidShape,
  name: z.string(),
  caps: z.array(z.string()),
  summary: z.string(),
  kel,
  keys: keySetText.nullable(),
  key_state_notice: notice.optional(),
  /** Unix ms, cut to the hour. */
  lastSeen: millis.nullable(),
  /** Unix ms, cut to the day. */
  registered_at: millis,
  quiet: z.boolean(),
})
/** Credits, none included. */
export const credits = z.int().min(0)
/** A record of the supply chain as base64url, at most 8 KiB of bytes (objects §19). */
export const supplyRecord = blobText(SUPPLY_RECORD_BYTES_MAX)
/** A number in a query. */
export const whole = (digits: number) =>
  z.string().regex(new RegExp(`^[0-9]{1,${digits}}$`), {
    error: `expected a whole number of at most ${digits} digits`,
  })
/** Members of a query for one page of a listing, as text. */
export const page = {
  limit: z
    .string()
    .regex(/^[0-9]{1,3}$/, { error: `expected a number from 1 to ${LIST_LIMIT_MAX}` })
    .optional(),
  cursor: z.string().max(256).optional(),
}
