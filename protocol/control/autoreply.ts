/** Operations on the auto-reply. */
import * as z from 'zod'
import { count, millis } from '../contract/shapes.ts'
import { autoReplyConfig } from './auto-reply-config.ts'
import { interactionId } from './ids.ts'
import { LONG_MS, operation, text } from './operation.ts'

const autoReplyView = z.strictObject({
  enabled: z.boolean(),
  /** What answers whom, with which tools and limits. */
  says: z.string().optional(),
  auto_reply: autoReplyConfig.omit({ api_key: true }).extend({ api_key_set: z.boolean() }).optional(),
})

const change = autoReplyConfig.partial()

/** Rows of `/autoreply` and below it; docs/operations.md has their members and codes. */
export const autoReplyOperations = {
  autoReplyShow: operation('/autoreply', { method: 'GET', reads: true, reply: autoReplyView }),
  autoReplyRuns: operation('/autoreply/runs', {
    method: 'GET',
    reads: true,
    reply: z.strictObject({
      /** Since the node started, the newest first, some two hundred at most. */
      runs: z.array(
        z.strictObject({
          interaction_id: interactionId,
          at: millis,
          event: z.enum(['answered', 'failed']),
          ms: count,
          /** What it cost, in the words of the program or the server, where it says so. */
          cost: z.string().optional(),
        }),
      ),
    }),
  }),
  /** The coding agents that this build knows, and whether the node finds the program of each. */
  autoReplyAgents: operation('/autoreply/agents', {
    method: 'GET',
    reads: true,
    reply: z.strictObject({ agents: z.array(z.strictObject({ agent: z.string(), found: z.boolean() })) }),
  }),
  autoReplySet: operation('/autoreply/set', {
    reads: false,
    timeoutMs: LONG_MS,
    /** `unsafe`: also an agent that leaks when it is attacked. A text that is empty takes its setting out. */
    request: change.extend({ unsafe: z.boolean().optional() }),
    reply: autoReplyView,
    limits: { bodyBytes: 256 * 1024 },
  }),
  autoReplyOff: operation('/autoreply/off', {
    reads: false,
    afterEnd: true,
    request: z.strictObject({}),
    reply: autoReplyView,
  }),
  autoReplyTest: operation('/autoreply/test', {
    reads: false,
    timeoutMs: LONG_MS,
    /** `settings`: asks what autoReplySet would make of them, and keeps nothing. */
    request: z.strictObject({ question: text.optional(), settings: change.optional() }),
    reply: z.strictObject({
      backend: z.string(),
      /** What a correspondent would get. */
      answer: z.string(),
      /** What was taken off or cut before, in sentences. */
      changes: z.array(z.string()).optional(),
      ms: count,
    }),
    codes: ['no_auto_reply', 'backend_failed'],
    limits: { bodyBytes: 256 * 1024 },
  }),
  autoReplyAttack: operation('/autoreply/attack', {
    reads: false,
    timeoutMs: LONG_MS,
    request: z.strictObject({ settings: change.optional() }),
    reply: z.strictObject({
      agent: z.string(),
      version: z.string(),
      sandbox: z.enum(['bubblewrap', 'none']),
      /** What got out, in sentences; none when it withstood. */
      leaks: z.array(z.string()),
    }),
    codes: ['no_auto_reply', 'backend_failed'],
    limits: { bodyBytes: 256 * 1024 },
  }),
} as const
