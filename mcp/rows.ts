/** Rows as tools show them: the members a model needs, a peer's words fenced. */
import * as z from 'zod'
import type { Delivery, InteractionSummary, Turn } from '../protocol/control/shapes.ts'
import { plainLine } from '../protocol/encoding/plain-text.ts'
import { present } from '../protocol/encoding/present.ts'
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

/** The start of a peer's words, fenced; undefined where there are none. */
export const previewOf = (words: string | undefined, context: ToolContext) =>
  words === undefined ? undefined : context.fence(plainLine(words, PREVIEW_CHARACTERS_MAX))

export function summaryRow(item: InteractionSummary, context: ToolContext): Record<string, unknown> {
  return {
    interaction_id: item.interaction_id,
    peer: item.peer,
    ...present({ peer_name: item.peer_name === null ? undefined : own(item.peer_name) }),
    state: item.state,
    ...present({ reason: previewOf(item.reason, context) }),
    last_at: item.last_at,
    ...present({ capability: previewOf(item.capability, context) }),
    preview: context.fence(plainLine(item.preview, PREVIEW_CHARACTERS_MAX)),
    ...present({
      unread: item.unread === 0 ? undefined : item.unread,
      attachments: item.attachments === 0 ? undefined : item.attachments,
      delivery: item.delivery === undefined ? undefined : sayDelivery(item.delivery, context),
      receipt: receiptRow(item.receipt),
    }),
  }
}

const receiptRow = (receipt: InteractionSummary['receipt']) =>
  receipt && { verified: receipt.verified, status: receipt.status, id: receipt.id }

const file = ({ name, path, bytes, media_type, cid }: Turn['attachments'][number], context: ToolContext) => ({
  name: context.fence(plainLine(name, 80)),
  path: path === null ? null : own(path),
  bytes,
  media_type: context.fence(plainLine(media_type, 80)),
  cid,
})

export function turnRow(turn: Turn, context: ToolContext): Record<string, unknown> {
  return {
    n: turn.n,
    from: turn.mine ? 'me' : turn.from,
    kind: turn.kind,
    at: turn.at,
    // What auto-reply wrote may be a correspondent's words.
    text: turn.mine && turn.auto !== true ? own(turn.text) : context.fence(turn.text),
    ...present({
      truncated: turn.truncated || undefined,
      attachments:
        turn.attachments.length === 0 ? undefined : turn.attachments.map(each => file(each, context)),
      delivery: turn.delivery === undefined ? undefined : sayDelivery(turn.delivery, context),
      retired_key: turn.retired_key || undefined,
    }),
  }
}
