/** What `svc-hub archive` and `svc-hub listed` understand. */
import type { Config } from '../config.ts'
import { ARCHIVE_REASON_CHARS_MAX, type Order } from '../operator/order-shapes.ts'
import { aidOf, type Flags, inPages, order, UsageError } from './commands.ts'

/** Archives one agent, or lists all that are archived. */
export async function archive(aid: string | undefined, { reason }: Flags, config: Config): Promise<number> {
  if (aid === undefined || aid === 'ls') {
    if (reason !== undefined) throw new UsageError('--reason goes with the AID of an agent')
    return await inPages(config, 'archived', before => ({
      command: 'archive',
      ...(before !== undefined && { before }),
    }))
  }
  const given = reason === undefined ? {} : { reason: reasonOf(reason) }
  return await order({ command: 'archive', aid: aidOf(aid), ...given }, config)
}

function reasonOf(text: string | boolean): string {
  if (typeof text === 'string' && text.length <= ARCHIVE_REASON_CHARS_MAX) return text
  throw new UsageError(`--reason expects at most ${ARCHIVE_REASON_CHARS_MAX} characters`)
}

export function listedOrder(aid: string, word: string | undefined): Order {
  if (word === undefined) return { command: 'listed', aid }
  if (word !== 'yes' && word !== 'no') throw new UsageError(`expected yes or no, got ${word}`)
  return { command: 'listed', aid, listed: word === 'yes' }
}
