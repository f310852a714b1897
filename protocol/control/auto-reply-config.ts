/** Settings of the auto-reply. */
import * as z from 'zod'
import { ANSWERS_MAX, RUN_SECONDS_MAX, TURNS_SEEN_MAX } from './bounds.ts'

/** Intervals and timeouts are in seconds; docs/node/settings.md has the defaults. */
export const autoReplyConfig = z.strictObject({
  backend: z.enum(['exec', 'openai']),
  agent: z.string().optional(),
  command: z.string().optional(),
  work_dir: z.string().optional(),
  openclaw_agent: z.string().optional(),
  model: z.string().optional(),
  api_base: z.string().optional(),
  api_key: z.string().optional(),
  system_prompt: z.string().optional(),
  require_image: z.boolean().optional(),
  usage_hint: z.string().optional(),
  error_reply: z.string().optional(),
  poll_interval_seconds: z.int().min(1).max(RUN_SECONDS_MAX).optional(),
  max_history: z.int().min(1).max(TURNS_SEEN_MAX).optional(),
  api_timeout_seconds: z.int().min(1).max(RUN_SECONDS_MAX).optional(),
  max_auto_replies: z.int().min(1).max(ANSWERS_MAX).optional(),
  /** A server of models for an agent, and the variable that holds its key. */
  provider_url: z.url({ protocol: /^https?$/, error: 'expected an http or https address' }).optional(),
  provider_key_env: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, { error: 'expected the name of a variable of the environment' })
    .optional(),
  extra_args: z.array(z.string()).optional(),
  /** Hold the program in bubblewrap where that is to be had; so unless set. */
  sandbox: z.boolean().optional(),
  /** Also answer those who are no contacts. */
  strangers: z.boolean().optional(),
  /** Also answer visitors without keys, for whom the home hub delegates. */
  guests: z.boolean().optional(),
  /** Also send what a run leaves in the folder `out` of its working folder. */
  send_files: z.boolean().optional(),
  /** What the answering agent may use; reply-only unless set. */
  tools: z.enum(['none', 'read', 'write']).optional(),
})
/** Settings as they are kept, `api_key` in the clear. */
export type AutoReplyConfig = z.infer<typeof autoReplyConfig>
