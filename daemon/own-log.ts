/**
 * Whether the hub holds a later key state of this identity than this machine (design: restore): then it is an old copy,
 * and whatever it signed would stand beside what the newer one signed. The first look comes before a start registers.
 */
import { Malformed } from '../protocol/bytes.ts'
import { Refused } from '../protocol/client.ts'
import { compareKel, KelInvalid, type KeyEvent, type VerifiedKel } from '../protocol/kel.ts'
import type { Context } from './context.ts'
import type { HubLine } from './hub-line.ts'

/** Stops talking to a hub that knows better and says why: nothing is signed any more, what is here can still be read. */
export async function haltOldCopy(ctx: Context, hub: HubLine): Promise<string | undefined> {
  const { identity } = ctx
  const held = await servedLog(hub, identity.aid)
  const why = held === undefined ? undefined : contradiction(identity.log, held)
  if (why === undefined) return undefined
  ctx.log.error({ reason: why }, 'stopped talking to the hub')
  hub.halt(why)
  ctx.events.emit('hub', { state: 'stopped' })
  return why
}

async function servedLog(hub: HubLine, aid: string): Promise<KeyEvent[] | undefined> {
  try {
    return await hub.fetchLog(aid)
  } catch (error) {
    // A hub that never knew the identity, or shows nothing that can be read, knows no better.
    if (error instanceof Malformed || (error instanceof Refused && error.code === 'unknown_aid'))
      return undefined
    throw error
  }
}

function contradiction(own: VerifiedKel, held: readonly KeyEvent[]): string | undefined {
  try {
    const verdict = compareKel(own, held)
    if (verdict.verdict === 'extends')
      return `the hub holds key event ${verdict.log.seq} of this identity and this machine ${own.seq}: it is an old copy; restore the newest backup of identity.kel and interactions, or use the machine that rotated the key`
    if (verdict.verdict === 'fork')
      return 'the hub holds another key history of this identity than this machine; stop one of the two machines that have its keys'
    return undefined
  } catch (error) {
    // What does not verify proves nothing.
    if (error instanceof KelInvalid) return undefined
    throw error
  }
}
