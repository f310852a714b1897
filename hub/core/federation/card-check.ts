/**
 * What a peer tells of an agent, verified: the agent itself names that peer as its home, and signed its keys. Attacker: a
 * peer that makes agents of other hubs its own, or shows old keys.
 */
import { Malformed } from '../../../protocol/encoding/bytes.ts'
import { aidOfInception } from '../../../protocol/identity/aid.ts'
import { KelInvalid, type KeyEvent, type VerifiedKel } from '../../../protocol/identity/kel.ts'
import { decodeKelLazily } from '../../../protocol/identity/kel-lazy.ts'
import { KeySet, KeySetInvalid, verifyKeySet } from '../../../protocol/identity/keyset.ts'
import type { PeerCard, ToldCard } from '../../store/peer-card-port.ts'
import { Doubtful } from './doubtful.ts'
import type { PeerLogs } from './peer-logs.ts'
import type { Peer } from './peers.ts'

export class CardCheck {
  readonly #logs: PeerLogs

  constructor(logs: PeerLogs) {
    this.#logs = logs
  }

  /** What counts of it; throws {@link Doubtful}, or a refusal where it cannot be judged now. */
  async judge(told: ToldCard, peer: Peer): Promise<PeerCard> {
    if ('withdrawn' in told) return { withdrawn: told.withdrawn }
    const log = await this.#logs.longest(aidOf(told.kel), told.kel, peer)
    if (log.home !== peer.aid || log.deactivated) throw new Doubtful('home of the agent')
    checkKeys(log, told.keys)
    return { aid: log.aid, kel: told.kel }
  }
}

/** Of a log that is not verified; throws {@link Doubtful}. */
export function aidOf(kel: Uint8Array): string {
  try {
    const [inception] = decodeKelLazily(kel) as [KeyEvent | undefined]
    if (inception !== undefined) return aidOfInception(inception.bodyBytes)
  } catch (error) {
    if (!(error instanceof Malformed || error instanceof KelInvalid)) throw error
  }
  throw new Doubtful('key history of the agent')
}

function checkKeys(log: VerifiedKel, keys: Uint8Array): void {
  try {
    verifyKeySet(log, KeySet.decode(keys))
  } catch (error) {
    if (error instanceof Malformed || error instanceof KeySetInvalid)
      throw new Doubtful('key set of the agent', { cause: error })
    throw error
  }
}
