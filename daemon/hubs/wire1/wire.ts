/** Wire 1 as the node chooses it: only where it was told to. */
import { sayNoHubOf } from '../../../protocol/contract/no-hub.ts'
import { WIRE1 } from '../../../protocol/wire1/headers.ts'
import { NoHub, type Wire } from '../hub.ts'
import { fetchHubIdentity } from './calls.ts'
import { Wire1Hub } from './hub.ts'

/** Somebody waits for it. */
const MEET_TIMEOUT_MS = 15_000

export const wire1: Wire = {
  number: WIRE1,
  sealed: false,
  async meet(url, { connections, timers }) {
    try {
      return await fetchHubIdentity(url, connections.signed, timers.deadline(MEET_TIMEOUT_MS))
    } catch (error) {
      // a hub refuses nobody who asks who it is
      const sentence = sayNoHubOf(error, url, () => false)
      throw sentence === undefined ? error : new NoHub(sentence, { cause: error })
    }
  },
  open: (url, identity, inputs) => new Wire1Hub(url, identity, inputs),
}
