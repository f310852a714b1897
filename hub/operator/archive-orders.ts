/** Orders about agents whose mail the hub can read: archiving them, bringing them back, and whether listings show them. */
import { present } from '../../protocol/encoding/present.ts'
import { Refusal } from '../core/refusal.ts'
import { StoreRefused } from '../store/port.ts'
import { LISTED_MAX, momentOf, type OperatorContext, type OrderOf, type OrderResult } from './order-shapes.ts'

/** Archives one agent, or lists those that are archived. */
export async function archive(
  { aid, reason = '', before }: OrderOf<'archive'>,
  { moderation, store }: OperatorContext,
): Promise<OrderResult> {
  if (aid === undefined) {
    const found = await moderation.archivedAgents({ before, limit: LISTED_MAX + 1 })
    const shown = found.slice(0, LISTED_MAX)
    return {
      archived: shown.map(one => ({
        ...{ aid: one.aid, name: one.name, archived_at: momentOf(one.atMs), reason: one.reason },
      })),
      ...present({ next: found.length > LISTED_MAX ? shown.at(-1)?.n : undefined }),
    }
  }
  const { agent } = await told(aid, () => moderation.archive(aid, reason))
  const waiting = (await store.openMailbox(agent.row.number))?.messages ?? 0
  return {
    aid,
    archived: true,
    waiting_messages: waiting,
    next: `bring it back with: svc-hub unarchive ${aid}`,
  }
}

/** Brings an archived agent back. */
export async function unarchive(
  { aid }: OrderOf<'unarchive'>,
  { moderation }: OperatorContext,
): Promise<OrderResult> {
  if (!(await told(aid, () => moderation.restore(aid))))
    throw new StoreRefused(`${aid} is not archived; list who is with: svc-hub archive`)
  return { aid, archived: false }
}

/** Shows whether listings name an agent, or sets that. */
export async function listed(
  { aid, listed: wanted }: OrderOf<'listed'>,
  { moderation }: OperatorContext,
): Promise<OrderResult> {
  if (wanted !== undefined) await told(aid, () => moderation.list(aid, wanted))
  return { aid, listed: (await told(aid, () => moderation.find(aid))).box.listed }
}

/** What an operator reads where the core refuses. */
async function told<T>(aid: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    if (error.code === 'hubItself')
      throw new StoreRefused(`${aid} is the hub itself, which is none of its agents; name an agent`)
    if (error.code === 'unknownAgent')
      throw new StoreRefused(
        `${aid} has no open mail here; an agent whose mail is sealed is shut out with: svc-hub block ${aid}`,
      )
    throw error
  }
}
