/** Several tasks, some of which the node did not answer about: it is asked what became of them once it answers again. */
import type { InteractionSummary } from '../protocol/control/shapes.ts'
import { type BulkName, type BulkResult, isDoneWith } from './bulk.ts'
import { ROWS_ASKED_MAX } from './coalesce.ts'
import type { Live } from './live.ts'
import { NodeGone } from './node-client.ts'

type Again = { live: Pick<Live, 'ask'>; pause: () => Promise<void> }

/** The results with nothing unknown in them, as the node has the tasks by then. Throws what the node refuses. */
export async function lookAgain(
  name: BulkName,
  results: readonly BulkResult[],
  { live, pause }: Again,
): Promise<readonly BulkResult[]> {
  const ids = results.flatMap(({ item, isUnknown }) => (isUnknown === true ? item.interaction_id : []))
  const now = new Map<string, InteractionSummary>()
  for (let at = 0; at < ids.length; at += ROWS_ASKED_MAX) {
    const items = await asked(ids.slice(at, at + ROWS_ASKED_MAX), { live, pause })
    for (const item of items) now.set(item.interaction_id, item)
  }
  return results.map(result => (result.isUnknown === true ? settled(name, result, now) : result))
}

async function asked(ids: string[], { live, pause }: Again): Promise<readonly InteractionSummary[]> {
  for (;;) {
    await pause()
    try {
      return (await live.ask('interactions', { interaction_ids: ids })).items
    } catch (error) {
      if (!(error instanceof NodeGone)) throw error
    }
  }
}

function settled(
  name: BulkName,
  { item }: BulkResult,
  now: ReadonlyMap<string, InteractionSummary>,
): BulkResult {
  const found = now.get(item.interaction_id)
  if (found === undefined) return { item, fault: 'the node does not show it any more' }
  return isDoneWith(name, found)
    ? { item: found }
    : { item: found, fault: 'it was not done: the node went away before it' }
}
