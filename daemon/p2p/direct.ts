/** Direct delivery, put together: of open letters, and of sealed envelopes. */
import type { Taker } from '../carrier/carrier.ts'
import type { Ground } from '../context.ts'
import type { HubClient } from '../hubs/hub.ts'
import { isProxied } from '../hubs/pools.ts'
import type { Shortcut } from '../open/carrier.ts'
import { Reading } from '../open/letters.ts'
import type { SealedShortcut } from '../sealed/carrier.ts'
import { openJudging } from '../sealed/open.ts'
import { callDirectly, callWithEnvelope } from './call.ts'
import { EnvelopeSending } from './envelope-sending.ts'
import { EnvelopeTaking } from './envelope-taking.ts'
import { DirectSending } from './sending.ts'
import { DirectTaking } from './taking.ts'

/** What takes what came to the address of this node. */
export type Taking = {
  letters: Pick<DirectTaking, 'take'>
  envelopes: Pick<EnvelopeTaking, 'admit' | 'take'>
}

function takingOf(ground: Ground, taker: Taker) {
  const { identity, keys, hub, store, peers, capabilities, now, log } = ground
  const reading = new Reading(() => identity.aid, peers)
  const judging = openJudging(ground)
  return {
    letters: new DirectTaking({ identity, hub, store, reading, taker }, now, log),
    envelopes: new EnvelopeTaking({ identity, keys, hub, store, capabilities, judging, taker }, log),
  }
}

/** The way past each hub of open mail, for letters to whoever takes them directly. */
function shortcutsOf(ground: Ground, call = callDirectly): (hub: HubClient) => Shortcut {
  const { settings, contacts, peers, store } = ground
  const sending = new DirectSending({ settings, contacts, peers, store, isProxied, call }, ground)
  return hub => (written, entry) => sending.send(hub, written, entry)
}

/** The way past hubs that seal mail, for envelopes to contacts that said where they take them. */
function sealedShortcutOf(ground: Ground, call = callWithEnvelope): SealedShortcut {
  const { settings, contacts, store } = ground
  const sending = new EnvelopeSending({ settings, contacts, store, isProxied, call }, ground)
  return (entry, delivery, judge) => sending.send(entry, delivery, judge)
}

type Direct = {
  takingOf: typeof takingOf
  shortcutsOf: typeof shortcutsOf
  sealedShortcutOf: typeof sealedShortcutOf
}

export const module: Direct | undefined = { takingOf, shortcutsOf, sealedShortcutOf }
