/** Hubs that have to hear of key events beside the home, or in its place once the identity has ended. */
import { Refused } from '../../protocol/contract/client.ts'
import type { Context } from '../context.ts'
import { describe } from '../hubs/failures.ts'
import type { HubClient } from '../hubs/hub.ts'
import { hubRow, noteRegistered } from '../store/hubs.ts'

type Needs = Pick<Context, 'identity' | 'store' | 'log'>

/** Shows a hub the whole log, unless it has seen its last event; one that never knew the identity needs nothing. */
export async function pushLog(ctx: Needs, hub: HubClient): Promise<void> {
  const { identity, store } = ctx
  const { log } = identity
  const row = hubRow(store, hub.url)
  if (row === undefined || row.registeredSeq === log.seq) return
  try {
    await hub.pushLog(log)
  } catch (error) {
    if (!(error instanceof Refused && error.code === 'unknown_aid')) throw error
  }
  noteRegistered(store, hub.url, log.seq)
}

/** Tells every one of these hubs what it has not seen; one that cannot be reached is told another time. */
export async function pushLogTo(ctx: Needs, hubs: readonly HubClient[]): Promise<void> {
  const tell = (hub: HubClient) =>
    pushLog(ctx, hub).catch(error => ctx.log.info({ reason: describe(error) }, 'previous hub not told'))
  await Promise.all(hubs.map(tell))
}
