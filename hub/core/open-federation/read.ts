/** What a hub reads in the background of peers that take open mail: their agents, and the reviews that were given there. */
import type { Agents } from '../agents.ts'
import type { HubContext } from '../context.ts'
import { keepForgetting } from '../federation/forgetting.ts'
import { PeerFeed } from '../federation/peer-feed.ts'
import { PeerLogs } from '../federation/peer-logs.ts'
import type { Peer } from '../federation/peers.ts'
import type { PeerReading } from '../federation/read-peers.ts'
import type { KeyLogs } from '../membership/key-logs.ts'
import { openSourceOf } from '../open-reviews/sources.ts'
import type { OpenPeerCalls } from './calls.ts'
import { OpenCardCheck } from './card-check.ts'
import { OpenReviewCheck } from './review-check.ts'

/** A peer is read from the start again after so long, and later where it has many agents. */
const PASS_MS_MIN = 15 * 60_000
const PASS_MS_PER_AGENT = 100

export type OpenReadingParts = { agents: Agents; keyLogs: KeyLogs; calls: OpenPeerCalls }

const takesOpenMail = ({ openUrl }: Peer): boolean => openUrl !== undefined

/** Begins to read. */
export function readOpenPeers(
  context: HubContext,
  { agents, keyLogs, calls }: OpenReadingParts,
): PeerReading {
  const { store } = context
  const logs = new PeerLogs(agents, keyLogs)
  const cardCheck = new OpenCardCheck(context, logs)
  const reviewCheck = new OpenReviewCheck(context, logs)
  const cards = new PeerFeed(context, {
    what: 'cards',
    duty: 'open peer cards',
    asks: takesOpenMail,
    page: (peer, after, ended) => calls.cards(peer, after, ended),
    judge: (told, by) => cardCheck.judge(told, by),
    readTo: hub => store.openAgentsRead(hub),
    take: ({ items, ...given }) => store.takeOpenAgents({ ...given, agents: items }),
    forget: hub => store.forgetOpenAgents(hub),
    passes: {
      everyMs: async hub => Math.max(PASS_MS_MIN, PASS_MS_PER_AGENT * (await store.openPeerCount([hub]))),
      begin: hub => store.rereadOpenAgents(hub),
      end: hub => store.dropUntold(hub),
    },
  })
  const reviews = new PeerFeed(context, {
    what: 'reviews',
    duty: 'open peer reviews',
    asks: takesOpenMail,
    page: (peer, after, ended) => calls.reviews(peer, after, ended),
    judge: (told, by) => reviewCheck.judge(told, by),
    readTo: hub => store.peerReviewsRead(openSourceOf(hub)),
    take: ({ hub, ...given }) => store.takePeerReviews({ ...given, hub: openSourceOf(hub) }),
    forget: hub => store.forgetPeerReviews(openSourceOf(hub)),
  })
  cards.start()
  reviews.start()
  return {
    async now() {
      await Promise.all([cards.readNow(), reviews.readNow()])
    },
    async stop() {
      await Promise.all([cards.stop(), reviews.stop()])
    },
  }
}

/** Agents of whom nobody hears any more are forgotten: of former peers, or of all where none is read; returns how to end. */
export function keepForgettingOpen(context: HubContext, isRead: boolean): () => void {
  const { store, peers } = context
  return keepForgetting(context, {
    duty: 'open peer cards',
    hubs: () => store.hubsOfOpenAgents(),
    keeps: hub => isRead && peers.find(hub)?.openUrl !== undefined,
    forget: hub => store.forgetOpenAgents(hub),
  })
}
