/** What a hub reads of its peers in the background. */
import type { Agents } from '../agents.ts'
import type { HubContext } from '../context.ts'
import type { KeyLogs } from '../membership/key-logs.ts'
import type { PeerCalls } from './calls.ts'
import { CardCheck } from './card-check.ts'
import type { Federation } from './federation.ts'
import { PeerFeed } from './peer-feed.ts'
import { PeerLogs } from './peer-logs.ts'
import type { Peer } from './peers.ts'
import { ReviewCheck } from './review-check.ts'

const FORGET_EVERY_MS = 10_000

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
  const { store } = context
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
  const stopForgetting = keepForgetting(context)
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

/** Whom a hub told of that is listed no more counts as told no more: nobody would hear that it withdraws them. */
function keepForgetting({ store, peers, memory, timers, alert }: HubContext): () => void {
  const forget = async (): Promise<void> => {
    try {
      await memory.leader.lead('peer cards', async () => {
        for (const hub of await store.peersWithCards())
          if (peers.find(hub) === undefined) await store.forgetPeerCards(hub)
      })
    } catch (error) {
      alert('cards of a former peer could not be forgotten', { error: String(error) })
    }
  }
  const timer = timers.every(FORGET_EVERY_MS, () => void forget())
  timer.unref()
  return () => timers.clear(timer)
}
