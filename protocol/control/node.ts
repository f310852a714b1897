/** Operations on the node itself: status, identity, hub, contacts, evidence. */

import * as z from 'zod'
import { NAME_BYTES_MAX, README_BYTES_MAX, SUMMARY_BYTES_MAX } from '../contract/limits.ts'
import {
  aidShape,
  capTag,
  count,
  lineShape,
  millis,
  plainShape,
  visibilityShape,
} from '../contract/shapes.ts'
import {
  GUEST_MESSAGES_MAX,
  PASSPHRASE_CHARACTERS_MAX,
  PASSPHRASE_CHARACTERS_MIN,
  PATH_CHARACTERS_MAX,
  PETNAME_CHARACTERS_MAX,
  TOKEN_CHARACTERS_MAX,
} from './bounds.ts'
import { interactionId } from './ids.ts'
import { ledgerReason } from './ledger.ts'
import { atHub, hubAddress, LONG_MS, operation, paging, TEXT_BODY_BYTES, text } from './operation.ts'
import { paymentProblem, paymentState } from './payment-shapes.ts'
import {
  chainHeadShape,
  contactShape,
  evidenceRecordShape,
  foundAgent,
  nodeStatusShape,
  peerName,
} from './shapes.ts'

const EVIDENCE_LIMIT_MAX = 1000

const petname = new RegExp(`^[\\p{L}\\p{N}][\\p{L}\\p{N}._-]{0,${PETNAME_CHARACTERS_MAX - 1}}$`, 'u')
/** More than a message takes: what is too much is said where it is sent, and lost nowhere. */
const draftFiles = z.array(z.string().max(4096)).max(1024)
/** Of the files, those that a screen gave to the node and that are not there any more. */
const goneFiles = z.array(z.string()).optional()
const draftWas = z.strictObject({ text, files: draftFiles })
const draftFor = z.union([interactionId, aidShape], { error: 'expected an interaction id or an AID' })

const identityReply = z.strictObject({
  aid: aidShape,
  kel_seq: count,
  state: z.string(),
  hub: z.string().optional(),
  /** Why the hub does not know of the key event yet. */
  note: z.string().optional(),
  /**
   * What was signed under the key before and is not done yet. Receipts, orders about holds, refunds, redemptions and moves of
   * credits are signed anew; an authorization that its payee used too late comes back as a price.
   */
  waits: z
    .strictObject({
      receipts: count,
      orders: count,
      authorizations: count,
      refunds: count,
      redemptions: count,
      moves: count,
    })
    .optional(),
})

/** Rows of the node itself; docs/operations.md has their members and codes. */
export const nodeOperations = {
  status: operation('/status', { method: 'GET', reads: true, reply: nodeStatusShape }),
  shutdown: operation('/shutdown', {
    reads: false,
    afterEnd: true,
    request: z.strictObject({}),
    reply: z.strictObject({ state: z.literal('stopping') }),
  }),
  /** An address that opens the console once, within a minute. */
  consoleTicket: operation('/console/ticket', {
    reads: false,
    afterEnd: true,
    request: z.strictObject({}),
    reply: z.strictObject({ console_url: z.string(), expires_at: millis }),
  }),
  /** Words, or an AID, which is looked up at the peers of the hub too and names nobody to any of them. */
  find: operation('/find', {
    reads: true,
    request: z.strictObject({
      query: z.string().max(256).optional(),
      capability: z.string().max(1024).optional(),
      /** Leaves out this node itself. */
      others: z.boolean().optional(),
      ...paging,
    }),
    reply: z.strictObject({
      agents: z.array(foundAgent),
      searched: z.enum(['own_hub', 'all_hubs']),
      /** A peer of the hub did not answer: who is not found may be listed all the same. */
      partial: z.literal(true).optional(),
      /** What the directory holds of this AID does not verify. */
      unusable: z.literal(true).optional(),
      next_cursor: z.string().optional(),
    }),
    codes: ['no_hub', 'hub_unreachable', 'hub_refused', 'hub_incompatible', 'identity_deactivated'],
  }),
  /** The prices that the card of an agent names at our hub, which learns who is asked about; none where it has no card. */
  agentPrices: operation('/agent/prices', {
    reads: true,
    request: z.strictObject({ aid: aidShape }),
    reply: z.strictObject({
      prices: z.array(z.strictObject({ capability: z.string(), amount: z.int().min(1) })),
    }),
    codes: ['no_hub', 'hub_unreachable', 'hub_refused', 'hub_incompatible', 'identity_deactivated'],
  }),
  keyHistory: operation('/key-history', {
    reads: true,
    request: z.strictObject({ agent: peerName.optional() }),
    reply: z.strictObject({
      aid: aidShape,
      kel_seq: count,
      /** Base64 of the key event log, for `verify --kel`. */
      kel: z.string(),
    }),
    codes: ['unknown_peer'],
  }),
  contacts: operation('/contacts', {
    method: 'GET',
    reads: true,
    reply: z.strictObject({ contacts: z.array(contactShape) }),
  }),
  /** What was written and not sent, for a task or an agent by its id; both screens keep it here. */
  draft: operation('/draft', {
    reads: true,
    request: z.strictObject({ for: draftFor }),
    reply: z.strictObject({ text: z.string(), files: z.array(z.string()), gone: goneFiles }),
  }),
  /**
   * Without words and files it is removed. Where `was` is given, it is kept or removed only if that is what is kept; else
   * that stays, and `other` is it.
   */
  draftKeep: operation('/draft/keep', {
    reads: false,
    afterEnd: true,
    request: z.strictObject({ for: draftFor, text, files: draftFiles, was: draftWas.optional() }),
    reply: z.strictObject({
      kept: z.boolean(),
      other: z.strictObject({ text: z.string(), files: z.array(z.string()) }).optional(),
      gone: goneFiles,
    }),
    limits: { bodyBytes: 2 * TEXT_BODY_BYTES },
  }),
  contactAdd: operation('/contact/add', {
    reads: false,
    request: z.strictObject({
      aid: aidShape,
      petname: z.string().regex(petname, {
        error: `expected a petname: letters, digits, ".", "_" and "-", at most ${PETNAME_CHARACTERS_MAX} characters`,
      }),
    }),
    reply: contactShape,
    codes: ['petname_taken'],
  }),
  contactRemove: operation('/contact/rm', {
    reads: false,
    request: z.strictObject({ peer: peerName }),
    reply: contactShape.extend({ removed: z.literal(true) }),
    codes: ['unknown_contact'],
  }),
  contactBlock: operation('/contact/block', {
    reads: false,
    request: z.strictObject({ peer: peerName, blocked: z.boolean() }),
    reply: contactShape,
    codes: ['unknown_contact'],
  }),
  hubRegister: operation('/hub/register', {
    reads: false,
    timeoutMs: LONG_MS,
    request: z.strictObject({
      url: hubAddress,
      name: lineShape(NAME_BYTES_MAX).optional(),
      caps: z.array(capTag).max(64).optional(),
      guest_messages: z.int().min(0).max(GUEST_MESSAGES_MAX).optional(),
      accept_delegations: z.boolean().optional(),
      wire: z.int().min(1).max(3).optional(),
      /** Of the hub's operator, at a hub of wire 1. */
      token: z.string().min(1).max(TOKEN_CHARACTERS_MAX).optional(),
      recovery_phrase: z.string().optional(),
    }),
    reply: z.strictObject({
      status: z.string(),
      aid: aidShape,
      hub_url: z.string(),
      hub_aid: aidShape,
      wire: z.int(),
      sealed: z.boolean(),
      keys_status: z.string().optional(),
      card_status: z.string().optional(),
      /** What to know about it, such as a card that the hub did not take. */
      note: z.string().optional(),
      probation_until: millis.optional(),
      trial: z.string().optional(),
    }),
    codes: ['hub_unreachable', 'hub_refused', 'hub_incompatible', 'hub_unsealed', 'next_key_missing'],
  }),
  hubLeave: operation('/hub/leave', {
    reads: false,
    request: z.strictObject({ url: z.string().optional() }),
    reply: z.strictObject({
      status: z.string(),
      hub_url: z.string(),
      current: z.boolean(),
      /** What the hub still owes this agent. */
      note: z.string().optional(),
      next: z.string().optional(),
    }),
    codes: ['no_hub', 'hub_unreachable', 'hub_refused', 'hub_incompatible'],
  }),
  /** Looks at once whether a hub of another wire, which the node talks to no longer, speaks its wire again. */
  hubLook: operation('/hub/look', {
    reads: false,
    request: z.strictObject({}),
    reply: z.strictObject({ talking: z.boolean() }),
  }),
  accept: operation('/accept', {
    reads: false,
    request: z.strictObject({ on: z.boolean() }),
    reply: z.strictObject({ accept_delegations: z.boolean() }),
  }),
  /** Whether keys of one letter act on the page of the console. */
  consoleSet: operation('/console/set', {
    reads: false,
    request: z.strictObject({ keys: z.boolean() }),
    reply: z.strictObject({ keys: z.boolean() }),
  }),
  profileSet: operation('/profile', {
    reads: false,
    request: z.strictObject({
      caps: z.array(capTag).max(64).optional(),
      summary: lineShape(SUMMARY_BYTES_MAX).optional(),
      readme: plainShape(README_BYTES_MAX).optional(),
      pricing: z.string().max(4096).optional(),
    }),
    reply: z.strictObject({
      status: z.string(),
      summary: z.string(),
      readme: z.string(),
      pricing: z.string(),
      caps: z.array(z.string()),
      note: z.string().optional(),
    }),
    codes: ['hub_unreachable', 'hub_refused', 'hub_incompatible'],
    limits: { bodyBytes: 256 * 1024 },
  }),
  visibility: operation('/visibility', {
    reads: false,
    request: z.strictObject({ visibility: visibilityShape }),
    reply: z.strictObject({ visibility: visibilityShape }),
    codes: ['no_hub', 'hub_unreachable', 'hub_refused', 'hub_incompatible'],
  }),
  idRotate: operation('/id/rotate', {
    reads: false,
    request: z.strictObject({ recovery_phrase: z.string().optional() }),
    reply: identityReply,
    codes: ['next_key_missing'],
  }),
  /**
   * Writes a backup that the passphrase opens, as `svc backup` does: into a folder of this machine by its path from the root
   * on, or into `backups` of the data directory.
   */
  backup: operation('/backup', {
    reads: false,
    afterEnd: true,
    timeoutMs: LONG_MS,
    request: z.strictObject({
      passphrase: z.string().min(PASSPHRASE_CHARACTERS_MIN).max(PASSPHRASE_CHARACTERS_MAX),
      folder: z.string().min(1).max(PATH_CHARACTERS_MAX).optional(),
    }),
    reply: z.strictObject({ archive: z.string(), bytes: count, attachments: count, made_at: millis }),
    codes: ['bad_request', 'wrong_state'],
  }),
  idDeactivate: operation('/id/deactivate', {
    reads: false,
    request: z.strictObject({
      recovery_phrase: z.string().optional(),
      /** Also where credits at the hub are lost with the identity. */
      forfeit_credits: z.boolean().optional(),
    }),
    reply: identityReply,
    codes: ['next_key_missing', 'credits_remain'],
  }),
  evidence: operation('/evidence', {
    reads: true,
    request: z.strictObject({
      event_type: z.string().max(128).optional(),
      since: count.optional(),
      /** Only records below this number. */
      before: count.optional(),
      interaction_id: interactionId.optional(),
      limit: z.int().min(1).max(EVIDENCE_LIMIT_MAX).optional(),
    }),
    reply: z.strictObject({
      head: chainHeadShape,
      records: z.array(evidenceRecordShape),
      next_since: count.optional(),
    }),
  }),
  evidenceExport: operation('/evidence/export', {
    reads: false,
    request: z.strictObject({}),
    reply: z.strictObject({
      aid: aidShape,
      length: count,
      head_id: z.string(),
      /** Where the records stand: so many lines of this file are what the first line is about. */
      data_dir: z.string(),
      chain_file: z.string(),
      first_line: z.string(),
    }),
  }),
  evidenceHeads: operation('/evidence/heads', {
    reads: true,
    request: z.strictObject({ peer: peerName.optional() }),
    reply: z.strictObject({
      heads: z.array(
        z.strictObject({
          peer: aidShape,
          peer_name: z.string().nullable(),
          length: count,
          head_id: z.string(),
          /** Base64 of what the peer signed, for `verify --chain --head`. */
          head: z.string(),
        }),
      ),
    }),
    codes: ['unknown_peer'],
  }),
  balance: operation('/balance', {
    method: 'GET',
    reads: true,
    query: atHub,
    reply: z.strictObject({
      hub: aidShape,
      network: z.string(),
      /** Whole credits that the hub owes this agent, and those that its holds have. */
      balance: count,
      held: count,
      trial: z.enum(['pending', 'granted']).optional(),
      probation_until: millis.optional(),
      /** Payments to this agent of which the hub has not said what it was asked. */
      open: z
        .array(
          z.strictObject({
            interaction_id: interactionId,
            transaction: z.string(),
            amount: count,
            /** What of it is taken; absent while the hub has not said whether it holds the credits. */
            takes: count.optional(),
            problem: paymentProblem.optional(),
            next_try_at: millis,
          }),
        )
        .optional(),
      /** The latest, newest first. */
      entries: z.array(
        z.strictObject({
          at: millis,
          /** Above 0 what came, below what went. */
          delta: z.int(),
          reason: ledgerReason,
          transaction: z.string().optional(),
          /** What became of it in the end, where it is the payment of a task. */
          payment: paymentState.optional(),
          /** What its payee took of a hold, which is `paid` from then on; what was left came back in an entry of its own. */
          paid: count.optional(),
          counterparty: aidShape.optional(),
          /** The task that was paid for, as the counterparty says, which this node lost with a restore. */
          lost_task: z.string().optional(),
          contact: z.string().optional(),
        }),
      ),
    }),
    codes: ['no_hub', 'hub_unreachable', 'hub_refused', 'hub_incompatible', 'identity_deactivated'],
  }),
} as const
