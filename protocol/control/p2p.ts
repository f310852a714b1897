/** Operations on direct delivery: the address at which this node is reached without its hub, and what comes there. */
import * as z from 'zod'
import { confirmationShape } from '../contract/direct.ts'
import { LETTER_BODY_BYTES_MAX, letterMembers } from '../contract/letter.ts'
import { hostName } from './a2a.ts'
import { operation } from './operation.ts'

/** Hosts in the list of those that are called besides public ones. */
export const DIRECT_HOSTS_MAX = 16

const ADDRESS_BYTES_MAX = 256
const PORT_MAX = 65_535
const ADDRESS = /^(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\]):([0-9]{1,5})$/i

/** Whether a text is a host and a port at which somebody can be reached. */
export function isDirectAddress(text: string): boolean {
  const port = Number(ADDRESS.exec(text)?.[1] ?? 0)
  return text.length <= ADDRESS_BYTES_MAX && port > 0 && port <= PORT_MAX
}

/** A host and a port, at most 256 bytes. */
export const directAddress = z.string().refine(isDirectAddress, {
  error: `expected a host and a port of at most ${ADDRESS_BYTES_MAX} bytes, such as agent.example:4001`,
})

/** Rows of `/p2p/` and below it; docs/operations.md has their members and codes. */
export const p2pOperations = {
  /** Without an address the one before is withdrawn. */
  p2pAdvertise: operation('/p2p/advertise', {
    reads: false,
    request: z.strictObject({ address: directAddress.optional() }),
    reply: z.strictObject({
      status: z.enum(['published', 'withdrawn']),
      address: z.string().optional(),
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
} as const
