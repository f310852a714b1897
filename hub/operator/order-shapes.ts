/** What orders there are, what each needs, and what they work with: the same on a running hub and on a stopped one. */
import * as z from 'zod'
import { CREDITS_MAX } from '../../protocol/contract/limits.ts'
import { aidShape, lineShape, count as whole } from '../../protocol/contract/shapes.ts'
import type { EngineChoice } from '../../protocol/crypto/signature-engine.ts'
import type { Agents } from '../core/agents.ts'
import type { PaidDebts } from '../core/federation/paid-debts.ts'
import type { Peers } from '../core/federation/peers.ts'
import type { HubIdentity } from '../core/identity.ts'
import type { HoldClock } from '../core/ledger/hold-clock.ts'
import type { Issuance } from '../core/ledger/issuance.ts'
import type { Limits } from '../core/limits.ts'
import type { Invites } from '../core/membership/invites.ts'
import type { RefusedNewcomers } from '../core/membership/refused-lately.ts'
import type { EndSigner } from '../core/membership/registry.ts'
import type { Moderation } from '../core/moderation/moderation.ts'
import { limitSettings } from '../limits-config.ts'
import type { PeerList } from '../peers/list.ts'
import type { DatabaseFigures } from '../store/operator-port.ts'
import type { Quota, Store } from '../store/port.ts'
import type { FileLeases } from './leases.ts'

/** Agents on one page of a listing. */
export const LISTED_MAX = 500
export const GRANT_REASON_CHARS_MAX = 200
export const ARCHIVE_REASON_CHARS_MAX = 256
const WITNESS_URL_CHARS_MAX = 256
/** For so long an invitation may stand. */
export const INVITE_DAYS_MAX = 365
/** Of a paid debt, as its statement has it. */
export const REFERENCE_BYTES_MAX = 256
const count = z.int().min(0).optional()
const ofAgent = <const C extends string>(command: C) =>
  z.strictObject({ command: z.literal(command), aid: aidShape })

/** Limits of one mailbox as the operator writes them. */
const quotaShape = z.strictObject({
  envelopes: count,
  bytes: count,
  stranger_envelopes: count,
  stranger_bytes: count,
  stranger_per_minute: count,
})

export const orderShape = z.discriminatedUnion('command', [
  z.strictObject({ command: z.literal('admission'), mode: z.enum(['open', 'closed']).optional() }),
  z.strictObject({
    command: z.literal('agents'),
    after: aidShape.optional(),
    limit: z.int().min(1).max(LISTED_MAX).optional(),
  }),
  ofAgent('agent'),
  ofAgent('admit'),
  ofAgent('unadmit'),
  ofAgent('block'),
  ofAgent('unblock'),
  ofAgent('remove'),
  z.strictObject({
    command: z.literal('archive'),
    /** Without it those that are archived are listed. */
    aid: aidShape.optional(),
    reason: z.string().max(ARCHIVE_REASON_CHARS_MAX).optional(),
    before: z.int().min(1).optional(),
  }),
  ofAgent('unarchive'),
  z.strictObject({ command: z.literal('listed'), aid: aidShape, listed: z.boolean().optional() }),
  z.strictObject({
    command: z.literal('ranges'),
    refuse: z.string().max(64).optional(),
    allow: z.string().max(64).optional(),
  }),
  z.strictObject({
    command: z.literal('quota'),
    aid: aidShape,
    quota: quotaShape.optional(),
    reset: z.boolean().optional(),
  }),
  z.strictObject({
    command: z.literal('grant'),
    aid: aidShape,
    amount: z.int().min(1).max(CREDITS_MAX),
    /** For the log alone. */
    reason: z.string().min(1).max(GRANT_REASON_CHARS_MAX),
    /** Names this order: repeated, it gives nothing more. */
    id: z.string().regex(/^[0-9a-f]{32}$/),
    /** The id was said by the operator. */
    repeat: z.literal(true).optional(),
  }),
  z.strictObject({
    command: z.literal('redemptions'),
    /** Unix ms. */
    since: z.int().min(0).optional(),
    before: z.int().min(1).optional(),
    limit: z.int().min(1).max(LISTED_MAX).optional(),
  }),
  z.strictObject({
    command: z.literal('witness'),
    add: aidShape.optional(),
    /** Where the one that is added can be asked. */
    url: z.string().max(WITNESS_URL_CHARS_MAX).optional(),
    remove: aidShape.optional(),
  }),
  z.strictObject({
    command: z.literal('peers'),
    /** The key history by which it is known from here on, as base64url; `open_url`: where it takes open mail. */
    add: z
      .strictObject({ url: z.string().optional(), open_url: z.string().optional(), kel: z.string() })
      .optional(),
    /** What it may owe this hub. */
    limit: z.strictObject({ aid: aidShape, credits: whole }).optional(),
    /** What came in of its debt, outside; the reference stands for one payment. */
    paid: z
      .strictObject({
        aid: aidShape,
        amount: z.int().min(1).max(CREDITS_MAX),
        reference: lineShape(REFERENCE_BYTES_MAX).min(1),
      })
      .optional(),
    /** Payments cross again, with the difference that there is. */
    reopen: aidShape.optional(),
    remove: aidShape.optional(),
  }),
  z.strictObject({
    command: z.literal('invites'),
    make: z.strictObject({ days: z.int().min(1).max(INVITE_DAYS_MAX).optional() }).optional(),
    /** By its name. */
    revoke: z.string().max(64).optional(),
  }),
  z.strictObject({ command: z.literal('clock'), accept: z.literal(true).optional() }),
  z.strictObject({ command: z.literal('rotate') }),
  z.strictObject({ command: z.literal('stats') }),
  z.strictObject({ command: z.literal('running') }),
  z.strictObject({ command: z.literal('keep_files') }),
  z.strictObject({ command: z.literal('let_go'), lease: z.string() }),
])
export type Order = z.infer<typeof orderShape>
export type OrderOf<C extends Order['command']> = Extract<Order, { command: C }>
export type OrderResult = Record<string, unknown>

export type OperatorContext = {
  /** Of this hub. */
  aid: string
  /** Gives credits. */
  issuance: () => Promise<Issuance>
  /** Books what peers paid of their debts. */
  paidDebts: () => Promise<PaidDebts>
  store: Store
  agents: Agents
  invites: Invites
  moderation: Moderation
  now: () => number
  limits: Limits
  /** Rotates the hub's own key. */
  rotate: () => Promise<HubIdentity>
  peers: Peers
  peerList: PeerList
  /** Writes down what an operator changed. */
  audit: (order: Order & { granted?: number }) => void
  /** Tells a running hub that what it remembers of an AID has changed. */
  changed: (aid: string) => void
  /** Ends what an agent holds open at a running hub. */
  endSigner: EndSigner
  /** Only a hub that runs has these. */
  refused?: RefusedNewcomers
  /** Clears with a peer soon. */
  clearSoon?: (peer: string) => void
  holdClock?: HoldClock
  /** How far the clock lies behind the latest time that it showed. */
  clockBehindMs?: () => number
  leases?: FileLeases
  /** Why nobody can use an invitation there. */
  invitesUnusable?: string | undefined
  running?: () => Promise<RunningState>
  /** Where the rows lie in a database. */
  database?: (() => Promise<DatabaseFigures>) | undefined
}
export type RunningState = {
  url: string
  baseUrl: string
  operatorUrl: string | undefined
  /** Of the page of the operator, where there is one. */
  adminUrl?: string | undefined
  /** Of the listener beside the first one, where there is one. */
  besideUrl: string | undefined
  /** Names of settings that stand outside the data directory. */
  outside: string[]
  pid: number
  clockBehindMs: number
  /** Mail is refused for want of room; another program holds the store; its database is away; no write succeeds any more. */
  full: boolean
  locked: boolean
  away: boolean
  broken: boolean
  /** What checks signatures; undefined where its thread failed. */
  signatures: EngineChoice | undefined
}

/** A time as the operator reads it. */
export const momentOf = (ms: number): string => new Date(ms).toISOString()

/** What one mailbox may be given: what all of them may. */
export function quotaBounds(member: string): { min: number; max: number } {
  const bounds = limitSettings[member] ?? limitSettings[`mailbox_${member}`]
  if (bounds === undefined) throw new Error(`no limit is called ${member}`)
  return bounds
}

/** The limits that hold for a mailbox, as the operator writes them. */
export function quotaMembers(quota: Quota, limits: Limits): OrderResult {
  return {
    envelopes: quota.envelopesMax ?? limits.mailboxEnvelopesMax,
    bytes: quota.bytesMax ?? limits.mailboxBytesMax,
    stranger_envelopes: quota.strangerEnvelopesMax ?? limits.strangerEnvelopesMax,
    stranger_bytes: quota.strangerBytesMax ?? limits.strangerBytesMax,
    stranger_per_minute: quota.strangerPerMinute ?? limits.strangerPerMinute,
  }
}
