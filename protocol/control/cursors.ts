/** Cursors of lists of tasks, as the node writes and reads them, and its MCP server for the part of a page that it shows. */
import type { InteractionSummary } from './shapes.ts'

/** A place in a list, which goes from the newest row to older ones: after the task that is named. */
export type Page = { readonly kind: 'page'; readonly lastAt: number; readonly interactionId: string }
/** A moment after which changes count: the newest message then, and the time in ms. */
export type Since = { readonly kind: 'since'; readonly message: number; readonly at: number }

/** The cursor with which a list goes on after one of its rows. */
export const cursorAfter = (row: Pick<InteractionSummary, 'last_at' | 'interaction_id'>): string =>
  `${row.last_at}.${row.interaction_id}`

/** The text that {@link readCursor} reads as this moment. */
export const sinceCursor = ({ message, at }: Omit<Since, 'kind'>): string => `n${message}.${at}`

/** Undefined for a text that is no cursor of such a list. */
export function readCursor(cursor: string): Page | Since | undefined {
  const [, lastAt, interactionId] = /^(0|[1-9]\d{0,14})\.([\w-]{22})$/.exec(cursor) ?? []
  if (lastAt !== undefined && interactionId !== undefined)
    return { kind: 'page', lastAt: Number(lastAt), interactionId }
  const [, message, at] = /^n(0|[1-9]\d{0,14})\.(0|[1-9]\d{0,14})$/.exec(cursor) ?? []
  if (message !== undefined && at !== undefined)
    return { kind: 'since', message: Number(message), at: Number(at) }
  return undefined
}
