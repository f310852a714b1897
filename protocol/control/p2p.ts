/** Operations on direct delivery: the address at which this node is reached without its hub, and what comes there. */
import * as z from 'zod'
import {
  confirmationShape,
  DIRECT_ENVELOPE_BYTES_MAX,
  directAddress,
  JUDGED_BYTES_MAX,
  sealedConfirmation,
} from '../contract/direct.ts'
import { LETTER_BODY_BYTES_MAX, letterMembers } from '../contract/letter.ts'
import { blob64, count } from '../contract/shapes.ts'
import { hostName } from './a2a.ts'
import { operation } from './operation.ts'

/** Hosts in the list of those that are called besides public ones. */
export const DIRECT_HOSTS_MAX = 16

const envelopeRefusal = z.enum(['bad_envelope', 'not_admitted', 'busy', 'not_now'])

/** Rows of `/p2p/` and below it; docs/operations.md has their members and codes. */
export const p2pOperations = {
  /** Without an address the one before is withdrawn. */
  p2pAdvertise: operation('/p2p/advertise', {
    reads: false,
    request: z.strictObject({ address: directAddress.optional() }),
    reply: z.strictObject({
      status: z.enum(['published', 'withdrawn']),
      address: z.string().optional(),
      /** Contacts that are told it, sealed, where the hub lists no addresses. */
      told: count.optional(),
      /** A hub that may list the one before still. */
      note: z.string().optional(),
    }),
    codes: ['no_hub', 'no_direct', 'hub_unreachable', 'hub_refused', 'hub_incompatible'],
  }),
  /** Whether letters to contacts go directly, which shows them the address of this machine. */
  p2pSet: operation('/p2p/set', {
    reads: false,
    /** Hosts that are not named stay as they are; an empty list takes all away. */
    request: z.strictObject({
      send: z.boolean(),
      hosts: z.array(hostName).max(DIRECT_HOSTS_MAX).optional(),
    }),
    reply: z.strictObject({
      send: z.boolean(),
      hosts: z.array(z.string()).optional(),
      /** Why everything goes by the hub all the same. */
      note: z.string().optional(),
    }),
    codes: ['no_direct'],
  }),
  /** What is set of direct delivery, and where contacts take mail that said so, sealed. */
  p2pStatus: operation('/p2p/status', {
    method: 'GET',
    reads: true,
    reply: z.strictObject({
      address: z.string().optional(),
      /** Whether the hub lists it, or how many contacts were told it. */
      listed: z.boolean().optional(),
      told: count.optional(),
      send: z.boolean(),
      hosts: z.array(z.string()).optional(),
      /** Contacts that said where they take mail. */
      contacts: z.array(z.strictObject({ aid: z.string(), petname: z.string(), address: z.string() })),
      /** Why everything goes by the hub all the same. */
      note: z.string().optional(),
    }),
    codes: ['no_direct'],
  }),
  /** A letter that came to the address of this node; nothing of it is believed but what its sender signed. */
  p2pTake: operation('/p2p/take', {
    reads: false,
    request: z.strictObject(letterMembers),
    /** What this node signed of a letter that it has stored, or why it has not. */
    reply: z.strictObject({
      confirmation: confirmationShape.optional(),
      refused: z.enum(['not_here', 'malformed', 'not_taken', 'busy', 'not_now']).optional(),
    }),
    codes: ['no_direct', 'disk_full'],
    limits: { bodyBytes: LETTER_BODY_BYTES_MAX },
  }),
  /** Whether an envelope that comes to the address of this node is let in, before more than its first bytes are read. */
  p2pAdmit: operation('/p2p/admit', {
    reads: true,
    request: z.strictObject({ head: blob64(JUDGED_BYTES_MAX), size: count }),
    reply: z.strictObject({ refused: envelopeRefusal.optional() }),
    codes: ['no_direct'],
  }),
  /** An envelope that came to the address of this node: judged as its hub would, then as mail of the hub. */
  p2pTakeEnvelope: operation('/p2p/take-envelope', {
    reads: false,
    request: z.strictObject({ envelope: blob64(DIRECT_ENVELOPE_BYTES_MAX) }),
    /** What this node signed of an envelope that it has judged, sealed for its sender, or why it has not. */
    reply: z.strictObject({
      confirmation: sealedConfirmation.optional(),
      refused: envelopeRefusal.optional(),
    }),
    codes: ['no_direct', 'disk_full'],
    limits: { bodyBytes: LETTER_BODY_BYTES_MAX },
  }),
} as const
