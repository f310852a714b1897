/** Direct delivery at a hub of open mail, put together. */
import type { Taker } from '../carrier/carrier.ts'
import type { Ground } from '../context.ts'
import { Reading } from '../open/letters.ts'
import { DirectTaking } from './taking.ts'

/** What takes letters that came to the address of this node. */
function takingOf({ identity, hub, store, peers, now, log }: Ground, taker: Taker): DirectTaking {
  const reading = new Reading(() => identity.aid, peers)
  return new DirectTaking({ identity, hub, store, reading, taker }, now, log)
}

type Direct = { takingOf: typeof takingOf }

export const module: Direct | undefined = { takingOf }
