/** Puts together what carries sealed mail, from the bottom up. */
import type { Carrier, Carriers } from '../carrier/carrier.ts'
import type { Ground } from '../context.ts'
import type { HubClient, SealedMail } from '../hubs/hub.ts'
import { CountedTransfers, SealedCarrier, type SealedShortcut } from './carrier.ts'
import { Confirmations, ReadConfirmations } from './confirmations.ts'
import { Directory } from './directory.ts'
import { EnvelopeJudging } from './judging.ts'
import { KeyNotices } from './key-notices.ts'
import { Mailbox, type MailboxParts } from './mailbox.ts'
import { Grants, Introductions, MessageBodies } from './message-bodies.ts'
import { Opening } from './opening.ts'
import { Recipients } from './recipients.ts'
import { Refusals } from './refusals.ts'
import { OutgoingFiles, Sealing } from './sealing.ts'
import { ShownCredentials } from './shown-credentials.ts'
import { AskedCapabilities, TopUps } from './top-ups.ts'

/** One carrier for each hub, for as long as the hub is talked to; `shortcut` is tried before the way over it. */
export function sealedCarriers(ground: Ground, shortcut?: SealedShortcut): Carriers {
  const { store, peers, hub: home, threads, capabilities, transfers, log, now } = ground
  const directory = new Directory({ store, peers, hub: home })
  const asked = new AskedCapabilities(store, threads, now)
  const parts = {
    store,
    capabilities,
    sealing: sealingOf(ground, directory),
    refusals: new Refusals({ store, peers, capabilities, directory, asked }),
    counted: new CountedTransfers(threads, transfers),
    confirmations: new ReadConfirmations({ store, peers, threads }),
  }
  const receiving = mailboxParts(ground, directory)
  const carriers = new WeakMap<HubClient, Carrier>()
  const open = (hub: HubClient): Carrier => {
    const at = { hub, mail: mailOf(hub) }
    return new SealedCarrier({ ...parts, shortcut }, at, new Mailbox(receiving, at, log))
  }
  return {
    over(hub) {
      const carrier = carriers.get(hub) ?? open(hub)
      carriers.set(hub, carrier)
      return carrier
    },
    find: aid => directory.lookup(aid),
  }
}

/** A wire that seals nothing has a carrier of its own. */
function mailOf({ mail, url }: HubClient): SealedMail {
  if (mail === undefined) throw new Error(`the hub ${url} carries no sealed mail`)
  return mail
}

export function sealingOf(ground: Ground, directory: Directory): Sealing {
  const { identity, keys, store, contacts, peers, capabilities, threads, attachments, hubNow } = ground
  const grants = new Grants({ store, threads, contacts, capabilities })
  const introductions = new Introductions(identity, keys, peers)
  const bodies = new MessageBodies({ identity, threads, grants, introductions }, hubNow)
  const recipients = new Recipients(peers, directory, hubNow)
  const files = new OutgoingFiles(threads, attachments)
  return new Sealing({ identity, store, capabilities, recipients, files, bodies }, ground, hubNow)
}

function mailboxParts(ground: Ground, directory: Directory): MailboxParts {
  const { identity, store, log } = ground
  return { store, judging: judgingOf(ground, directory), keyNotices: new KeyNotices(identity, store, log) }
}

function judgingOf(ground: Ground, directory: Directory): EnvelopeJudging {
  const { identity, keys, store, peers, capabilities, threads, log } = ground
  const parts = {
    store,
    opening: new Opening({ identity, keys, peers, directory }),
    confirmations: new Confirmations(identity, ground),
    credentials: new ShownCredentials({ capabilities, peers, threads }),
  }
  return new EnvelopeJudging(parts, log)
}

/** What judges an envelope that no hub brought. */
export function openJudging(ground: Ground): EnvelopeJudging {
  const { store, peers, hub } = ground
  return judgingOf(ground, new Directory({ store, peers, hub }))
}

/** What looks after the stock of capabilities that peers hold of this node. */
export function openTopUps(ground: Ground): TopUps {
  const { store, threads, contacts, capabilities, hub } = ground
  return new TopUps({ store, threads, contacts, capabilities, hub }, ground, ground.timings)
}
