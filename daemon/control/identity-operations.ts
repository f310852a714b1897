/** Operations on the identity: another key, and its end. */
import { present } from '../../protocol/encoding/present.ts'
import type { Timers } from '../../protocol/timers.ts'
import type { CurrentHub } from '../hubs/current.ts'
import { type Identity, KeyRefused } from '../identity/identity.ts'
import type { Membership } from '../membership/membership.ts'
import { refuse } from '../refusal.ts'
import { refuseWhileCreditsRemain } from './accounts.ts'
import type { Handlers } from './handlers.ts'
import { hubCall } from './hub-call.ts'

type IdentityParts = {
  identity: Identity
  hub: CurrentHub
  membership: Membership
  timers: Timers
  /** What was signed under the key before and has not been proven to be done. */
  waits: () => object
}

/** `lifetime` is that of the node; `wake` looks at once at everything that waits. */
export function identityOperations(
  { identity, hub, membership, timers, waits }: IdentityParts,
  { wake, lifetime }: { wake: () => void; lifetime: AbortSignal },
): Pick<Handlers, 'idRotate' | 'idDeactivate'> {
  /** `untold`: why the hub does not know of the key event yet. */
  const view = (state: string, untold: string | undefined) => {
    const note = untold && `the hub does not know of it yet (${untold}); the node goes on telling it`
    const { aid, log } = identity
    return { aid, kel_seq: log.seq, state, ...present({ hub: hub.last?.url, note }) }
  }
  return {
    async idRotate(given) {
      return withNextKey(identity, given.recovery_phrase, async () => {
        const untold = await membership.rotate(lifetime)
        return { ...view('rotated', untold), ...waits() }
      })
    },
    async idDeactivate(given) {
      if (given.forfeit_credits !== true) await refuseWhileCreditsRemain(membership.accounts(), timers)
      return withNextKey(identity, given.recovery_phrase, async () => {
        const untold = await membership.deactivate(lifetime)
        wake()
        return view('deactivated', untold)
      })
    },
  }
}

async function withNextKey<T>(
  identity: Identity,
  phrase: string | undefined,
  work: () => Promise<T>,
): Promise<T> {
  if (phrase !== undefined) importPhrase(identity, phrase)
  if (!identity.hasNextKey) refuse('next_key_missing', 'the next key is not on this machine')
  return hubCall(identity, work)
}

/** Takes the next key from a phrase. */
export function importPhrase(identity: Identity, phrase: string): void {
  try {
    identity.importNext(phrase)
  } catch (error) {
    if (error instanceof KeyRefused) refuse('next_key_missing', error.message)
    throw error
  }
}
