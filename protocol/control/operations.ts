/**
 * The operations of a node, once: the control interface serves this table, and command line, screens and MCP tools are
 * its clients. Members are wire names, because replies are printed as they are.
 */
import * as z from 'zod'
import { ATTACHMENT_BYTES_MAX } from '../contract/limits.ts'
import { type QueryOf, type ReplyOf, type RequestOf, route } from '../contract/route.ts'
import { a2aOperations } from './a2a.ts'
import { autoReplyOperations } from './autoreply.ts'
import { boardOperations } from './board.ts'
import { capabilityOperations } from './capabilities.ts'
import { nodeOperations } from './node.ts'
import { p2pOperations } from './p2p.ts'
import { BODY_CONTENT_BYTES_MAX, FRAME_BYTES_MAX } from './page-frames.ts'
import { paymentOperations } from './payments.ts'
import { taskOperations } from './tasks.ts'

/** Every operation by its name; docs/operations.md has their members and codes. */
export const operations = {
  ...taskOperations,
  ...nodeOperations,
  ...autoReplyOperations,
  ...boardOperations,
  ...capabilityOperations,
  ...paymentOperations,
  ...a2aOperations,
  ...p2pOperations,
} as const

/** The table as a type; its keys are {@link OperationName}. */
export type Operations = typeof operations
/** Name by which clients call an operation, such as `delegate`. */
export type OperationName = keyof Operations
/** JSON reply of an operation, as docs/operations.md lists its members. */
export type OperationReply<N extends OperationName> = ReplyOf<Operations[N]>
/** What an operation is given: the query of one that is a GET, else the body. */
export type OperationInput<N extends OperationName> = Operations[N] extends { request: unknown }
  ? RequestOf<Operations[N]>
  : Operations[N] extends { query: unknown }
    ? NonNullable<QueryOf<Operations[N]>>
    : Record<string, never>

const hex = (bytes: number) =>
  z.string().regex(new RegExp(`^[0-9a-f]{${2 * bytes}}$`), `${bytes} bytes in hex`)

const wholeNumber = z.string().regex(/^(0|[1-9][0-9]{0,8})$/, 'a whole number')
/** Content in several frames, and what seals them. */
const CALL_BODY_BYTES_MAX = BODY_CONTENT_BYTES_MAX + FRAME_BYTES_MAX

/** Routes of the control interface that are no operations: pages, files and the event stream. */
export const controlRoutes = {
  root: route({ method: 'GET', path: '/', auth: 'open' }),
  console: route({ method: 'GET', path: '/console', auth: 'open', produces: 'html' }),
  /** Trades a ticket, which counts once and for a minute, for a session of the page; neither it nor the key is said. */
  consoleSession: route({
    method: 'POST',
    path: '/console/session',
    auth: 'open',
    request: z.strictObject({ ticket: hex(16), nonce: hex(16), proof: hex(32) }),
    reply: z.strictObject({ session: hex(16), masked_key: hex(32) }),
    codes: ['unauthorized', 'forbidden_origin'],
    own: true,
  }),
  /** Page and node prove themselves to each other before anything is asked; the page times its calls by `now`. */
  consoleOpen: route({
    method: 'POST',
    path: '/console/open',
    auth: 'open',
    request: z.strictObject({ session: hex(16), nonce: hex(16), proof: hex(32) }),
    reply: z.strictObject({
      challenge: hex(16),
      now: z.number(),
      up: z.number(),
      masked_tabs: hex(32),
      proof: hex(32),
    }),
    codes: ['unauthorized', 'forbidden_origin'],
    own: true,
  }),
  /** One call of an opened page, sealed with its key; `frame` is the number of the first frame in this body. */
  consoleCall: route({
    method: 'POST',
    path: '/console/call',
    auth: 'open',
    raw: 'application/octet-stream',
    produces: 'bytes',
    query: z.strictObject({ session: hex(16), call: wholeNumber, frame: wholeNumber }),
    codes: ['unauthorized', 'too_large'],
    limits: { bodyBytes: CALL_BODY_BYTES_MAX },
    own: true,
  }),
  ping: route({
    method: 'GET',
    path: '/ping',
    auth: 'open',
    query: z.strictObject({ nonce: z.string().optional() }),
    reply: z.strictObject({ ok: z.literal(true), proof: z.string().optional() }),
  }),
  attachment: route({
    method: 'GET',
    path: '/attachment',
    auth: 'open',
    produces: 'bytes',
    query: z.strictObject({ cid: z.string(), exp: z.string(), cap: z.string() }),
  }),
  /** A file of the page, as bytes; `path` is named among the files of a message. */
  upload: route({
    method: 'POST',
    path: '/upload',
    auth: 'bearer',
    query: z.strictObject({ name: z.string().min(1).max(1024) }),
    reply: z.strictObject({ path: z.string(), bytes: z.int() }),
    codes: ['too_large', 'disk_full', 'bad_request'],
    limits: { bodyBytes: ATTACHMENT_BYTES_MAX },
    own: true,
  }),
  events: route({
    method: 'GET',
    path: '/events',
    auth: 'bearer',
    produces: 'events',
    query: z.strictObject({
      since: z
        .string()
        .regex(/^[0-9]{1,15}$/, { error: 'expected the id of an event, a whole number' })
        .optional(),
    }),
    own: true,
  }),
} as const

/** Names of the events on `GET /events`; their payloads hold ids and short summaries, never message text. */
export const eventTypes = [
  'inbox',
  'message',
  'delivery',
  'transfer',
  'evidence',
  'autoreply',
  'hub',
  'settings',
  'shutdown',
  'reset',
] as const
/** `event` of a server-sent event, docs/operations.md (GET `/events`). */
export type EventType = (typeof eventTypes)[number]
