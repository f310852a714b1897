/** The seeds of an identity in the ways in which they can be written out, so that none of them is published. */
import { toBase64, toBase64url, toHex } from '../../protocol/encoding/bytes.ts'
import { type Identity, phraseOfSeed } from './identity.ts'

type Spelled = { log: Identity['log']; phrases: string[]; keys: string[] }

/** The identity's seeds as they could be written out; spelled anew once the log has grown, not with each request. */
export function spelledSeeds(identity: Identity): () => Spelled {
  let spelled: Spelled | undefined
  return () => {
    if (spelled !== undefined && spelled.log === identity.log) return spelled
    const next = identity.nextSeed
    const seeds = next === undefined ? [identity.seed] : [identity.seed, next]
    const now = {
      log: identity.log,
      phrases: seeds.map(phraseOfSeed),
      keys: seeds.flatMap(seed => [toBase64url(seed), toBase64(seed), toHex(seed)]),
    }
    // a next key that is away may come back, so only what is whole is kept
    if (next !== undefined) spelled = now
    return now
  }
}
