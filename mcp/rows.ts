/** Rows as tools show them: the members a model needs, a peer's words fenced. */
import * as z from 'zod'
import type { Delivery, InteractionSummary, Turn } from '../protocol/control/shapes.ts'
import { plainLine } from '../protocol/encoding/plain-text.ts'
import { type OwnWords, own } from './fence.ts'
import type { ToolContext } from './tool.ts'

export const PREVIEW_CHARACTERS_MAX = 120

export const interactionArgument = z.string().describe('interaction_id')
export const waitArgument = z.int().min(0).max(45).optional().describe('seconds to wait for something new')
export const cursorArgument = z.string().optional()
export const limitArgument = z.int().min(1).max(50).optional()
export const rowsShape = z.array(z.looseObject({ interaction_id: z.string(), state: z.string() }))

export function sayDelivery({ state, reason }: Delivery, context: ToolContext): string | OwnWords {
  return reason === undefined ? state : own(`${state}(${context.fence(reason)})`)
}

export function summaryRow(item: InteractionSummary, context: ToolContext): Record<string, unknown> {
  return {
    interaction_id: item.interaction_id,
    peer: item.peer,
    ...(item.peer_name === null ? {} : { peer_name: own(item.peer_name) }),
    state: item.state,
    ...(item.reason === undefined
      ? {}
      : { reason: context.fence(plainLine(item.reason, PREVIEW_CHARACTERS_MAX)) }),
    last_at: item.last_at,
    ...(item.capability === undefined
      ? {}
      : { capability: context.fence(plainLine(item.capability, PREVIEW_CHARACTERS_MAX)) }),
    preview: context.fence(plainLine(item.preview, PREVIEW_CHARACTERS_MAX)),
    ...(item.unread === 0 ? {} : { unread: item.unread }),
    ...(item.attachments === 0 ? {} : { attachments: item.attachments }),
    ...(item.delivery === undefined ? {} : { delivery: sayDelivery(item.delivery, context) }),
    ...(item.receipt === undefined
      ? {}
      : { receipt: { verified: item.receipt.verified, status: item.receipt.status, id: item.receipt.id } }),
  }
}

export function turnRow(turn: Turn, context: ToolContext): Record<string, unknown> {
  return {
    n: turn.n,
    from: turn.mine ? 'me' : turn.from,
    kind: turn.kind,
    at: turn.at,
    // What auto-reply wrote may be a correspondent's words.
    text: turn.mine && turn.auto !== true ? own(turn.text) : context.fence(turn.text),
    ...(turn.truncated ? { truncated: true } : {}),
    ...(turn.attachments.length === 0
      ? {}
      : {
          attachments: turn.attachments.map(attachment => ({
            name: context.fence(plainLine(attachment.name, 80)),
            path: attachment.path === null ? null : own(attachment.path),
            bytes: attachment.bytes,
            media_type: context.fence(plainLine(attachment.media_type, 80)),
            cid: attachment.cid,
          })),
        }),
    ...(turn.delivery === undefined ? {} : { delivery: sayDelivery(turn.delivery, context) }),
    ...(turn.retired_key ? { retired_key: true } : {}),
  }
}
