/** Open mail between this hub and its peers, as one thing: what comes, what goes, what is told and what is read. */
import type { Agents } from '../agents.ts'
import type { HubContext } from '../context.ts'
import type { Federation } from '../federation/federation.ts'
import type { KeyLogs } from '../membership/key-logs.ts'
import type { OpenMail } from '../open-mail/open-mail.ts'
import type { OpenPeerCalls } from './calls.ts'
import { HandingOn } from './hand-on.ts'
import { keepForgettingOpen, readOpenPeers } from './read.ts'
import { ReceivedForwards } from './received.ts'
import { SenderLogs } from './sender-logs.ts'
import { ToldCards } from './told-cards.ts'

/** What is needed to federate open mail. `tells`: anybody may read who is here. */
export type OpenFederationParts = { calls: OpenPeerCalls; tells: boolean }
export type OpenFederation = {
  tells: boolean
  received: ReceivedForwards
  handingOn: HandingOn
  toldCards: ToldCards
  senders: SenderLogs
}

type Around = { agents: Agents; keyLogs: KeyLogs; federation: Federation; openMail: OpenMail }

/** Open mail between this hub and its peers. What was remembered of it is swept also where it is off. */
export function federateOpenMail(
  context: HubContext,
  parts: OpenFederationParts | undefined,
  { agents, keyLogs, federation, openMail }: Around,
) {
  const senders = parts && new SenderLogs(context, parts.calls)
  const received = new ReceivedForwards(context, { openMail, federation, senders })
  const stopForgetting = keepForgettingOpen(context, parts !== undefined)
  if (parts === undefined || senders === undefined)
    return {
      ...{ received, openFederation: undefined },
      readNow: async () => undefined,
      stop: async () => stopForgetting(),
    }
  const { calls, tells } = parts
  const reading = readOpenPeers(context, { agents, keyLogs, calls })
  const handingOn = new HandingOn(context, { agents, files: openMail.files, calls })
  return {
    received,
    openFederation: { tells, received, handingOn, toldCards: new ToldCards(context, agents), senders },
    readNow: () => reading.now(),
    async stop() {
      stopForgetting()
      await reading.stop()
    },
  }
}
