/**
 * What the hub holds of this identity beside what this machine holds. Later key events there: this is an old copy, and
 * whatever it signed would stand beside what the newer one signed (design: restore). Less than it once confirmed: the
 * hub came back from a backup, and is told again.
 */

import { Refused } from '../../protocol/contract/client.ts'
import { equal, Malformed } from '../../protocol/encoding/bytes.ts'
import { compareKel, KelInvalid, type KeyEvent, type VerifiedKel } from '../../protocol/identity/kel.ts'
import { KeySet } from '../../protocol/identity/keyset.ts'
import { dueSet, isCopyAccepted, noteCaughtUp } from '../chain/accept.ts'
import type { Context } from '../context.ts'
import type { HubClient } from '../hubs/hub.ts'
import { forgetRegistered } from '../store/hubs.ts'
import { doubtAtHub } from '../store/outbox.ts'

type Needs = Pick<Context, 'identity' | 'keys' | 'store' | 'hub' | 'log' | 'now'>

/** Brings our belief about the hub in line with it; why this machine is an old copy, when it is one. */
export async function compareWithHub(ctx: Needs, hub: HubClient): Promise<string | undefined> {
  const { identity, keys, store } = ctx
  const held = await servedState(hub, identity.aid)
  const set = held?.keySet && ownSet(ctx, held.keySet)
  const why = held && (contradiction(identity.log, held.log) ?? newerSet(ctx, set))
  if (why !== undefined) return stopped(ctx, why)
  const isBehind =
    held === undefined || held.log.length < identity.log.events.length || held.keySet === undefined
  const own = keys.set?.body.setSeq ?? 0
  if (isBehind) {
    forgetRegistered(store, hub.url)
    doubtAtHub(store, ctx.now())
  }
  if (!isBehind && set !== undefined && set.body.setSeq !== own) keys.unconfirm()
  if (dueSet(store) === undefined && (set === undefined || set.body.setSeq <= own)) noteCaughtUp(store)
  return undefined
}

type Served = { log: KeyEvent[]; keySet: Uint8Array | undefined }

/** Log and key set as the hub serves them; of an agent that is not registered there, the log alone. */
async function servedState(hub: HubClient, aid: string): Promise<Served | undefined> {
  try {
    return (await hub.fetchAgent(aid)) ?? { log: await hub.fetchLog(aid), keySet: undefined }
  } catch (error) {
    // A hub that never knew the identity, or shows nothing that can be read, knows no better.
    if (error instanceof Malformed || (error instanceof Refused && error.code === 'unknown_aid'))
      return undefined
    throw error
  }
}

/**
 * Why this machine is an old copy, by what another hub than its home holds; a copy that is lost may have told it of a key
 * event that the home never saw.
 */
export async function compareWithOther(ctx: Needs, other: HubClient): Promise<string | undefined> {
  const held = await servedState(other, ctx.identity.aid)
  const why = held && contradiction(ctx.identity.log, held.log, `the hub ${other.url}`)
  return why === undefined ? undefined : stopped(ctx, why)
}

function stopped({ hub, log }: Needs, why: string): string {
  log.error({ reason: why }, 'stopped talking to the hub')
  if (hub.home !== undefined) hub.halt(hub.home, why)
  return why
}

function contradiction(own: VerifiedKel, held: readonly KeyEvent[], who = 'the hub'): string | undefined {
  try {
    const verdict = compareKel(own, held)
    if (verdict.verdict === 'extends')
      return `${who} holds key event ${verdict.log.seq} of this identity and this machine ${own.seq}: it is an old copy; restore the newest backup of identity.kel and interactions, or use the machine that rotated the key`
    if (verdict.verdict === 'fork')
      return `${who} holds another key history of this identity than this machine; stop one of the two machines that have its keys`
    return undefined
  } catch (error) {
    // What does not verify proves nothing.
    if (error instanceof KelInvalid) return undefined
    throw error
  }
}

/** A set that this identity signed under its present key. */
function ownSet({ identity, keys }: Needs, encoded: Uint8Array): KeySet | undefined {
  const { aid, log } = identity
  const { set: newest } = keys
  if (newest?.body.kelSeq === log.seq && equal(encoded, KeySet.encode(newest))) return newest
  try {
    const set = KeySet.decode(encoded)
    const isOwn = set.body.aid === aid && set.body.kelSeq === log.seq && KeySet.verify(log.publicKey, set)
    return isOwn ? set : undefined
  } catch (error) {
    if (error instanceof Malformed) return undefined
    throw error
  }
}

/** Sets are durable before anybody sees them: one that is not here was made by a newer copy. */
function newerSet({ identity, keys, store }: Needs, held: KeySet | undefined): string | undefined {
  const own = keys.set?.body.kelSeq === identity.log.seq ? keys.set : undefined
  const ownSeq = own?.body.setSeq ?? 0
  if (held === undefined || held.body.setSeq < ownSeq || isCopyAccepted(store)) return undefined
  if (own !== undefined && equal(KeySet.encode(held), KeySet.encode(own))) return undefined
  const here = held.body.setSeq === ownSeq ? 'another one under that number' : ownSeq
  return `the hub holds key set ${held.body.setSeq} of this identity and this machine ${here}: it is an old copy; stop the node and put the newest copy of its directory in its place, or, if that is lost, run svc evidence accept`
}
