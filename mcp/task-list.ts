/** A list of tasks as a tool shows it: as many rows as fit, and the cursors with which it goes on. */
import { cursorAfter, readCursor } from '../protocol/control/cursors.ts'
import type { InteractionSummary } from '../protocol/control/shapes.ts'
import { present } from '../protocol/encoding/present.ts'
import { fitPage } from './budget.ts'
import { summaryRow } from './rows.ts'
import type { ToolContext } from './tool.ts'

const LIMIT_DEFAULT = 20

type Asked = { limit?: number | undefined; wait_s?: number | undefined; cursor?: string | undefined }
type Found = { items: InteractionSummary[]; next_cursor?: string | undefined; new_cursor: string }

export async function taskList(
  { limit = LIMIT_DEFAULT, wait_s, cursor }: Asked,
  context: ToolContext,
  fetchPage: (limit: number, waitSeconds: number | undefined) => Promise<Found>,
): Promise<Record<string, unknown>> {
  // changes since a moment go from the earliest on: only the node knows the moment of the last one that is shown
  const isSince = cursor !== undefined && readCursor(cursor)?.kind === 'since'
  const page = await fitPage(
    limit,
    wait_s,
    async (limit, waitSeconds) => {
      const found = await fetchPage(limit, waitSeconds)
      return { ...found, rows: found.items.map(item => summaryRow(item, context)) }
    },
    (whole, rows) => {
      const last = whole.items[rows.length - 1]
      return isSince || last === undefined ? undefined : { ...whole, rows, next_cursor: cursorAfter(last) }
    },
  )
  const { rows, next_cursor, new_cursor } = page
  return { items: rows, ...present({ next_cursor }), new_cursor }
}
