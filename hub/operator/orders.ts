/** What an operator may change, as plain functions over a store: the same on a running hub and on a stopped one. */
import * as z from 'zod'
import { aidShape } from '../../protocol/contract/shapes.ts'
import { MODE_SETTING } from '../core/admission.ts'
import { HOUR_MS, type Limits } from '../core/limits.ts'
import type { EngineChoice } from '../core/signature-engine.ts'
import type { Quota, Store } from '../store/port.ts'
import type { FileLeases } from './leases.ts'

const count = z.int().min(0).optional()

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
  z.strictObject({ command: z.literal('admit'), aid: aidShape }),
  z.strictObject({
    command: z.literal('quota'),
    aid: aidShape,
    quota: quotaShape.optional(),
    reset: z.boolean().optional(),
  }),
  z.strictObject({ command: z.literal('stats') }),
  z.strictObject({ command: z.literal('running') }),
  z.strictObject({ command: z.literal('keep_files') }),
  z.strictObject({ command: z.literal('let_go'), lease: z.string() }),
])
export type Order = z.infer<typeof orderShape>
export type OperatorContext = {
  store: Store
  now: () => number
  limits: Limits
  /** Tells a running hub that what it remembers of an AID has changed. */
  changed: (aid: string) => void
  /** Only a hub that runs has these. */
  leases?: FileLeases
  running?: () => Promise<RunningState>
}
export type RunningState = {
  url: string
  baseUrl: string
  operatorUrl: string | undefined
  pid: number
  full: boolean
  broken: boolean
  /** What checks signatures; undefined where its thread failed. */
  signatures: EngineChoice | undefined
}

/** Carries out an order and tells the state after it. */
export async function carryOut(order: Order, context: OperatorContext): Promise<Record<string, unknown>> {
  const { store } = context
  switch (order.command) {
    case 'admission':
      if (order.mode !== undefined) await store.putSetting(MODE_SETTING, order.mode)
      return { admission: (await store.setting(MODE_SETTING)) ?? 'closed' }
    case 'admit':
      await store.admit(order.aid, true)
      context.changed(order.aid)
      return { aid: order.aid, admitted: true }
    case 'quota':
      return await quota(order, context)
    case 'stats':
      return await stats(context)
    case 'running':
      return { ...(await context.running?.()) }
    case 'keep_files':
      return { lease: context.leases?.take() }
    case 'let_go':
      return { ended: await context.leases?.end(order.lease) }
  }
}

async function quota(
  order: Extract<Order, { command: 'quota' }>,
  { store, limits, changed }: OperatorContext,
): Promise<Record<string, unknown>> {
  const held = order.reset === true ? {} : (await store.account(order.aid)).quota
  const given = order.quota ?? {}
  const next: Quota = {
    envelopesMax: given.envelopes ?? held.envelopesMax,
    bytesMax: given.bytes ?? held.bytesMax,
    strangerEnvelopesMax: given.stranger_envelopes ?? held.strangerEnvelopesMax,
    strangerBytesMax: given.stranger_bytes ?? held.strangerBytesMax,
    strangerPerMinute: given.stranger_per_minute ?? held.strangerPerMinute,
  }
  if (order.quota !== undefined || order.reset === true) await store.setQuota(order.aid, next)
  changed(order.aid)
  return {
    aid: order.aid,
    envelopes: next.envelopesMax ?? limits.mailboxEnvelopesMax,
    bytes: next.bytesMax ?? limits.mailboxBytesMax,
    stranger_envelopes: next.strangerEnvelopesMax ?? limits.strangerEnvelopesMax,
    stranger_bytes: next.strangerBytesMax ?? limits.strangerBytesMax,
    stranger_per_minute: next.strangerPerMinute ?? limits.strangerPerMinute,
  }
}

async function stats({ store, now }: OperatorContext): Promise<Record<string, unknown>> {
  const hourMs = Math.floor(now() / HOUR_MS) * HOUR_MS
  const { agents, onlineAgents } = await store.counts(hourMs - HOUR_MS)
  return { agents, online_nodes: onlineAgents, admission: (await store.setting(MODE_SETTING)) ?? 'closed' }
}
