/** The key history of a hub, as far as it was shown so far. */
import { Malformed } from '../../protocol/encoding/bytes.ts'
import {
  compareKel,
  decodeKel,
  KelInvalid,
  type VerifiedKel,
  verifyKel,
} from '../../protocol/identity/kel.ts'
import { type HubClient, HubStopped } from './hub.ts'

const NOT_ITS_OWN = 'the key history of the hub is not its own; check the address'

/** The key history that a hub shows of itself; throws {@link HubStopped} where it does not verify, or is of another one. */
export function hubLog(kel: Uint8Array, aid: string): VerifiedKel {
  try {
    const log = verifyKel(decodeKel(kel))
    if (log.aid === aid) return log
  } catch (error) {
    if (!(error instanceof Malformed) && !(error instanceof KelInvalid)) throw error
    throw new HubStopped(NOT_ITS_OWN, { cause: error })
  }
  throw new HubStopped(NOT_ITS_OWN)
}

/** The held log of a hub with what it now shows; undefined when that contradicts it or is another's. */
export function mergeHubLog(held: VerifiedKel, offered: VerifiedKel): VerifiedKel | undefined {
  if (held.aid !== offered.aid) return undefined
  const verdict = compareKel(held, offered.events)
  if (verdict.verdict === 'fork') return undefined
  return verdict.verdict === 'extends' ? verdict.log : held
}

/** Asks a hub for its history where it signs under a key that it has not shown yet: its operator rotated it. */
export async function learnHubKey(hub: HubClient, hubSeq: number): Promise<void> {
  if (hubSeq > hub.identity.log.seq) await hub.refresh()
}
