/** What a hub reads of its peers in the background. */
import type { Agents } from '../agents.ts'
import type { HubContext } from '../context.ts'
import type { KeyLogs } from '../membership/key-logs.ts'
import type { PeerCalls } from './calls.ts'
import { CardCheck } from './card-check.ts'
import type { Federation } from './federation.ts'
import { keepForgetting } from './forgetting.ts'
import { PeerFeed } from './peer-feed.ts'
import { PeerLogs } from './peer-logs.ts'
import type { Peer } from './peers.ts'
import { ReviewCheck } from './review-check.ts'

const isSealed = ({ isOpenOnly }: Peer): boolean => isOpenOnly !== true

export type ReadingParts = { agents: Agents; keyLogs: KeyLogs; federation: Federation; calls: PeerCalls }

export type PeerReading = {
  /** Reads all peers at once; resolves when that has ended. */
  now(): Promise<void>
  /** Ends, and waits for what is under way. */
  stop(): Promise<void>
}

/** Begins to read. */
export function readPeers(
  context: HubContext,
  { agents, keyLogs, federation, calls }: ReadingParts,
): PeerReading {
  const { store, peers } = context
  const logs = new PeerLogs(agents, keyLogs)
  const reviewCheck = new ReviewCheck(context, { logs, federation })
  const cardCheck = new CardCheck(logs)
  const reviews = new PeerFeed(context, {
    what: 'reviews',
    duty: 'peer reviews',
    asks: isSealed,
    page: (peer, after, ended) => calls.reviews(peer, after, ended),
    judge: (told, by) => reviewCheck.judge(told, by),
    readTo: hub => store.peerReviewsRead(hub),
    take: given => store.takePeerReviews(given),
    forget: hub => store.forgetPeerReviews(hub),
  })
  const cards = new PeerFeed(context, {
    what: 'cards',
    duty: 'peer cards',
    asks: isSealed,
    page: (peer, after, ended) => calls.cards(peer, after, ended),
    judge: (told, by) => cardCheck.judge(told, by),
    readTo: hub => store.peerCardsRead(hub),
    take: given => store.takePeerCards(given),
    forget: hub => store.forgetPeerCards(hub),
  })
  reviews.start()
  cards.start()
  // nobody would hear that a hub which is listed no more withdraws whom it told of
  const stopForgetting = keepForgetting(context, {
    duty: 'peer cards',
    hubs: () => store.peersWithCards(),
    keeps: hub => peers.find(hub) !== undefined,
    forget: hub => store.forgetPeerCards(hub),
  })
  return {
    async now() {
      await Promise.all([reviews.readNow(), cards.readNow()])
    },
    async stop() {
      stopForgetting()
      await Promise.all([reviews.stop(), cards.stop()])
    },
  }
}
