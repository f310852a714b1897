/** Puts together what carries open mail. */
import type { Carrier, Carriers } from '../carrier/carrier.ts'
import type { Lookup } from '../carrier/lookup.ts'
import type { Ground } from '../context.ts'
import { isOwnFailure } from '../hubs/failures.ts'
import type { HubClient } from '../hubs/hub.ts'
import type { OpenMail } from '../hubs/open-mail.ts'
import { isUnusable } from '../peers/peers.ts'
import { OpenCarrier, type Shortcut } from './carrier.ts'
import { Judging } from './judging.ts'
import { Reading, Writing } from './letters.ts'
import { logAt } from './logs.ts'
import { OpenMailbox } from './mailbox.ts'

/** One carrier for each hub, for as long as the hub is talked to; `shortcutAt` gives a way past it. */
export function openCarriers(ground: Ground, shortcutAt?: (hub: HubClient) => Shortcut): Carriers {
  const { identity, store, threads, attachments, peers, timers, log, hubNow } = ground
  const { pollSettledMs: settledMs } = ground.timings
  const writing = new Writing({ identity, threads, attachments, hubNow })
  const reading = new Reading(() => identity.aid, peers)
  const carriers = new WeakMap<HubClient, Carrier>()
  const open = (hub: HubClient): Carrier => {
    const at = { hub, mail: mailOf(hub) }
    const judging = new Judging(store, reading, hub)
    const parts = { store, timers, log, own: () => identity.aid, settledMs, home: () => ground.hub.home }
    const mailbox = new OpenMailbox(parts, at, judging)
    const hubAid = hub.identity.aid
    const carried = { store, threads, writing, timers, shortcut: shortcutAt?.(hub), hubAid }
    return new OpenCarrier(carried, at.mail, mailbox)
  }
  return {
    over(hub) {
      const carrier = carriers.get(hub) ?? open(hub)
      carriers.set(hub, carrier)
      return carrier
    },
    find: aid => find(ground, aid),
  }
}

function mailOf({ openMail, url }: HubClient): OpenMail {
  if (openMail === undefined) throw new Error(`the hub ${url} carries no open mail`)
  return openMail
}

/** Asks the home hub by name: this wire hides from nobody who is looked for. */
async function find({ hub: { home }, peers }: Ground, aid: string): Promise<Lookup> {
  if (home === undefined) return { outcome: 'not_known', why: 'no_hub' }
  try {
    const shown = await logAt(home, aid)
    if (shown === undefined) return { outcome: 'not_listed' }
    return { outcome: 'found', peer: peers.learn(peers.merge(aid, shown), undefined) }
  } catch (error) {
    if (isUnusable(error)) return { outcome: 'not_known', why: 'unusable' }
    if (isOwnFailure(error)) throw error
    return { outcome: 'not_known', why: 'unanswered', error }
  }
}
