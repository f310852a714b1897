/** Direct delivery at a hub of open mail, put together. */
import type { Taker } from '../carrier/carrier.ts'
import type { Ground } from '../context.ts'
import type { HubClient } from '../hubs/hub.ts'
import { isProxied } from '../hubs/pools.ts'
import type { Shortcut } from '../open/carrier.ts'
import { Reading } from '../open/letters.ts'
import { callDirectly } from './call.ts'
import { DirectSending } from './sending.ts'
import { DirectTaking } from './taking.ts'

/** What takes letters that came to the address of this node. */
function takingOf({ identity, hub, store, peers, now, log }: Ground, taker: Taker): DirectTaking {
  const reading = new Reading(() => identity.aid, peers)
  return new DirectTaking({ identity, hub, store, reading, taker }, now, log)
}

/** The way past each hub, for letters to whoever takes them directly. */
function shortcutsOf(ground: Ground, call = callDirectly): (hub: HubClient) => Shortcut {
  const { settings, contacts, peers, store } = ground
  const sending = new DirectSending({ settings, contacts, peers, store, isProxied, call }, ground)
  return hub => (written, entry) => sending.send(hub, written, entry)
}

type Direct = { takingOf: typeof takingOf; shortcutsOf: typeof shortcutsOf }

export const module: Direct | undefined = { takingOf, shortcutsOf }
