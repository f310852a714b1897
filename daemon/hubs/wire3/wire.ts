/** Wire 3 as the node chooses it. */
import { WIRE } from '../../../protocol/wire3/headers.ts'
import { sayNoHub } from '../../../protocol/wire3/no-hub.ts'
import { NoHub, type Wire } from '../hub.ts'
import { fetchHubIdentity } from './calls.ts'
import { Wire3Hub } from './hub.ts'

/** Somebody waits for it. */
const MEET_TIMEOUT_MS = 15_000

export const wire3: Wire = {
  number: WIRE,
  sealed: true,
  async meet(url, { connections, timers }) {
    try {
      return await fetchHubIdentity(url, connections.signed, timers.deadline(MEET_TIMEOUT_MS))
    } catch (error) {
      const sentence = sayNoHub(error, url)
      throw sentence === undefined ? error : new NoHub(sentence, { cause: error })
    }
  },
  open: (url, identity, inputs) => new Wire3Hub(url, identity, inputs),
}
