/**
 * For tests: engines that each break one promise of the store, as a real one might. They show that the contract has a
 * rule for it.
 */
import { setTimeout } from 'node:timers/promises'
import type { Enqueue, EnqueueResult, Store } from '../store/port.ts'
import type { KeptVoucher } from '../store/voucher-port.ts'
import type { Open } from './contract/world.ts'
import type { contract } from './store-contract.ts'

type Changes = Partial<Store>
/** Rules of its subject, how the name of the one that it breaks begins, and what it does instead. */
type Wrong = { rules: keyof typeof contract; breaks: string; changes: (store: Store) => Changes }

/** An engine with some operations in place of its own, again after each start. */
export function withChanges(open: Open, changes: Wrong['changes']): Open {
  return async () => {
    const opened = await open()
    const changed = (store: Store): Store => ({ ...store, ...changes(store) })
    return { ...opened, store: changed(opened.store), reopen: async () => changed(await opened.reopen()) }
  }
}

/** Every third envelope has its id at once and is seen some milliseconds later, as behind a sequence. */
function lateIds(store: Store): Changes {
  const hidden = new Set<string>()
  let count = 0
  return {
    async enqueue(item) {
      const isLate = count++ % 3 === 0
      const result = await store.enqueue(item)
      if (!isLate || result.outcome !== 'queued') return result
      const key = `${item.mailbox} ${result.id}`
      hidden.add(key)
      await setTimeout(5)
      hidden.delete(key)
      return result
    },
    async poll(query) {
      const { envelopes, more } = await store.poll(query)
      return { envelopes: envelopes.filter(({ id }) => !hidden.has(`${query.mailbox} ${id}`)), more }
    },
  }
}

type Waiting = { item: Enqueue; answer: PromiseWithResolvers<EnqueueResult> }

/** What arrives together is taken or refused together. */
function oneForAll(store: Store): Changes {
  let group: Waiting[] = []
  async function commit(): Promise<void> {
    const waiting = group
    group = []
    const settled = await Promise.allSettled(waiting.map(({ item }) => store.enqueue(item)))
    const broken = settled.find(one => one.status === 'rejected')
    for (const [at, { answer }] of waiting.entries()) {
      const one = settled[at]
      if (broken !== undefined) answer.reject(broken.reason)
      else if (one?.status === 'fulfilled') answer.resolve(one.value)
    }
  }
  return {
    enqueue(item) {
      const answer = Promise.withResolvers<EnqueueResult>()
      group.push({ item, answer })
      if (group.length === 1) setImmediate(() => void commit())
      return answer.promise
    },
  }
}

/** A repeat is queued once more, under a digest that nothing has. */
const lostDuplicates = (store: Store): Changes => ({
  async enqueue(item) {
    const result = await store.enqueue({ ...item, content: item.content?.slice() })
    if (result.outcome !== 'duplicate') return result
    return await store.enqueue({ ...item, digest: item.digest.map(byte => byte ^ 255) })
  },
})

export const wrongEngines: Readonly<Record<string, Wrong>> = {
  'whose ids commit late': { rules: 'mail', breaks: 'shows mail in the order of its ids', changes: lateIds },
  'of which one item fails its neighbours': {
    rules: 'mail',
    breaks: 'rolls an item back whose change breaks half-way',
    changes: oneForAll,
  },
  'that queues whatever was judged before': {
    rules: 'mail',
    breaks: 'queues nothing that was judged by a row of before',
    changes: store => ({ enqueue: item => store.enqueue({ ...item, judgedBy: undefined }) }),
  },
  'that loses the content of what it sends back': {
    rules: 'mail',
    breaks: 'queues nothing that was judged by a row of before',
    changes: store => ({
      async enqueue(item) {
        const result = await store.enqueue(item)
        return result.outcome === 'moved' ? { ...result, content: undefined } : result
      },
    }),
  },
  'that posts whatever was judged before': {
    rules: 'ledger',
    breaks: 'posts nothing that was judged by a row of before',
    changes: store => ({ post: posting => store.post({ ...posting, judgedBy: undefined }) }),
  },
  'that loses a duplicate': {
    rules: 'mail',
    breaks: 'answers a repeat that still waits as duplicate',
    changes: lostDuplicates,
  },
  'that shows what has expired': {
    rules: 'mail',
    breaks: 'does not return an envelope whose expiry',
    changes: store => ({ poll: query => store.poll({ ...query, nowMs: 0 }) }),
  },
  'that takes the last page for all of them': {
    rules: 'mail',
    breaks: 'polls in id order after an id',
    changes: store => ({ poll: async query => ({ ...(await store.poll(query)), more: false }) }),
  },
  'that reads contents of any mailbox': {
    rules: 'mail',
    breaks: 'reads contents of the mailbox alone',
    changes: store => ({ contents: ({ ids }) => store.contents({ mailbox: 1, ids }) }),
  },
  'that forgets revocations': {
    rules: 'mail',
    breaks: 'keeps revocations',
    changes: store => ({
      async enqueue(item) {
        const result = await store.enqueue({ ...item, content: item.content?.slice() })
        return result.outcome === 'capabilityRevoked'
          ? await store.enqueue({ ...item, use: undefined })
          : result
      },
    }),
  },
  'that keeps a confirmation for as long as it is fetched': {
    rules: 'mail',
    breaks: 'tells the state of a delivery',
    changes: store => ({ markFetched: async () => void (await store.totals()) }),
  },
  'of which the last writer wins': {
    rules: 'registry',
    breaks: 'writes an agent only over the version',
    changes: store => ({
      async putAgent(change) {
        for (;;) {
          const { version = 0, number = 0 } = (await store.findAgent(change.row.aid)) ?? {}
          const put = await store.putAgent({ ...change, row: { ...change.row, version, number } })
          if (put.outcome !== 'conflict') return put
        }
      },
    }),
  },
  'that takes a proof of work twice': {
    rules: 'registry',
    breaks: 'counts the accounts of a range',
    changes: store => ({ putAgent: change => store.putAgent({ ...change, signUp: undefined }) }),
  },
  'that lists whom nobody may see': {
    rules: 'registry',
    breaks: 'finds by capability',
    changes: store => ({ listAgents: query => store.listAgents({ ...query, onlyPublic: false }) }),
  },
  'that tells peers whatever it has': {
    rules: 'peerReviews',
    breaks: 'tells of an agent that is registered elsewhere its home alone',
    changes: store => ({
      async toldReviews(query) {
        const [page, other] = await Promise.all([
          store.toldReviews(query),
          store.toldReviews({ ...query, peer: 'hub-peer' }),
        ])
        return page.told.length > 0 ? page : other
      },
    }),
  },
  'that tells an agent anew for whatever changes': {
    rules: 'peerCards',
    breaks: 'tells an agent anew for other keys',
    changes: store => {
      let writes = 0
      return {
        putAgent(change) {
          writes += 1
          return store.putAgent(change)
        },
        async toldCards(query) {
          const { told, more } = await store.toldCards(query)
          return { told: told.map(one => ({ ...one, fedSeq: one.fedSeq + writes })), more }
        },
      }
    },
  },
  'that reads a peer from further back': {
    rules: 'peerReviews',
    breaks: 'counts what is told again once',
    changes: store => {
      const read = new Map<string, number>()
      return {
        async takePeerReviews(given) {
          read.set(given.hub, given.fedSeq)
          return await store.takePeerReviews(given)
        },
        peerReviewsRead: async hub => read.get(hub) ?? (await store.peerReviewsRead(hub)),
      }
    },
  },
  'whose floors fall': {
    rules: 'operator',
    breaks: 'keeps accounts, floors that only rise',
    changes: store => {
      const given = new Map<string, number>()
      return {
        raiseFloor: async (aid, floorMs) => void given.set(aid, floorMs),
        account: async aid => ({ ...(await store.account(aid)), floorMs: given.get(aid) ?? 0 }),
      }
    },
  },
  'that writes on after its disk has failed': {
    rules: 'operator',
    breaks: 'refuses every write once',
    changes: () => ({ fail: async () => undefined }),
  },
  'that posts a transfer twice': {
    rules: 'ledger',
    breaks: 'posts a transfer once for ever',
    changes: store => ({
      async post(posting) {
        const posted = await store.post(posting)
        if (posted.outcome !== 'held') return posted
        return await store.post({ ...posting, id: posting.id.map(byte => byte ^ 255) })
      },
    }),
  },
  'whose supply chain goes on from anywhere': {
    rules: 'ledger',
    breaks: 'lets the supply chain go on',
    changes: store => ({
      async post(posting) {
        const posted = await store.post(posting)
        return posted.outcome === 'headMoved' ? await store.post({ ...posting, supply: undefined }) : posted
      },
    }),
  },
  'that takes back what fits and leaves the rest': {
    rules: 'ledger',
    breaks: 'takes back records with their transfers',
    changes: store => ({
      async returnSupply(given) {
        await store.returnSupply({ ...given, postings: [] })
        for (const posting of given.postings) {
          const { outcome } = await store.post(posting)
          if (outcome !== 'posted') throw new Error(outcome)
        }
      },
    }),
  },
  'that writes a card over whatever was written meanwhile': {
    rules: 'board',
    breaks: 'writes a card over the version that was read',
    changes: store => ({
      async putBoardCard(change) {
        const version = (await store.boardCard(change.card.id))?.version ?? 0
        return await store.putBoardCard({ ...change, card: { ...change.card, version } })
      },
    }),
  },
  'that lets one agent fill the board': {
    rules: 'board',
    breaks: 'holds the board to its cards',
    changes: store => ({
      putBoardCard: change =>
        store.putBoardCard({
          ...change,
          limits: { ...change.limits, ofCreatorMax: Number.MAX_SAFE_INTEGER },
        }),
    }),
  },
  'that keeps each card for ever': {
    rules: 'board',
    breaks: 'lets the card go that was done first',
    changes: store => ({
      putBoardCard: change =>
        store.putBoardCard({ ...change, limits: { ...change.limits, doneBeforeMs: 0 } }),
    }),
  },
  'that lets an invitation in again': {
    rules: 'invites',
    breaks: 'lets one account in',
    changes: store => ({
      async putAgent(change) {
        const stored = await store.putAgent(change)
        return stored.outcome === 'inviteGone'
          ? await store.putAgent({ ...change, invite: undefined })
          : stored
      },
    }),
  },
  'that lets a second review of a task in': {
    rules: 'openReviews',
    breaks: 'keeps one review of a task',
    changes: store => ({
      async addOpenReview(given) {
        const added = await store.addOpenReview(given)
        if (added.outcome !== 'exists') return added
        return await store.addOpenReview({ ...given, interaction: given.interaction.map(byte => byte ^ 255) })
      },
    }),
  },
  'that forgets the number of a card with it': {
    rules: 'openCards',
    breaks: 'takes a card away and none',
    changes: store => {
      const removed = new Set<string>()
      return {
        async removeOpenCard(aid) {
          removed.add(aid)
          await store.removeOpenCard(aid)
        },
        putOpenCard: async card =>
          removed.has(card.aid) ? { outcome: 'stored' } : await store.putOpenCard(card),
      }
    },
  },
  'that tells peers of cards that stay at the hub': {
    rules: 'openCards',
    breaks: 'tells the cards of federated agents',
    changes: store => ({
      async toldOpenCards(query) {
        const { told, next } = await store.toldOpenCards(query)
        const dave = await store.openCard('dave')
        const shown = dave === undefined ? [] : [{ ...dave, fedSeq: 99, kel: new Uint8Array(0) }]
        return { told: [...told, ...shown], next }
      },
    }),
  },
  'that gives a card no new place': {
    rules: 'openCards',
    breaks: 'tells the cards of federated agents',
    changes: () => ({ retellOpenCard: async () => undefined }),
  },
  'that lets a peer show an older card': {
    rules: 'openPeers',
    breaks: 'takes no card below',
    changes: store => ({
      async takeOpenAgents(given) {
        const held = await Promise.all(
          given.agents.map(({ aid, seq }) =>
            store.openPeerAgent(aid, [given.hub]).then(kept => (kept?.seq ?? 0) > seq),
          ),
        )
        if (held.includes(true)) await store.forgetOpenAgents(given.hub)
        return await store.takeOpenAgents(given)
      },
    }),
  },
  'that keeps what a peer tells no more': {
    rules: 'openPeers',
    breaks: 'forgets what a peer tells no more',
    changes: () => ({ dropUntold: async () => undefined }),
  },
  'that takes twice what a hub handed on': {
    rules: 'openMail',
    breaks: 'queues what a hub hands on once',
    changes: store => ({ sendOpen: item => store.sendOpen({ ...item, once: undefined }) }),
  },
  'that lists agents of whomever was a peer': {
    rules: 'openPeers',
    breaks: 'lists an agent once',
    changes: store => ({
      openPeerAgents: query => store.openPeerAgents({ ...query, hubs: [...query.hubs, 'hub-three'] }),
    }),
  },
  'that lets anybody remove open mail': {
    rules: 'openMail',
    breaks: 'removes nothing of another mailbox',
    changes: store => {
      const boxes = new Map<string, number>()
      return {
        async sendOpen(item) {
          boxes.set(item.id, item.mailbox)
          return await store.sendOpen(item)
        },
        ackOpen: async ({ mailbox, ids }) =>
          await store.ackOpen({ mailbox: boxes.get(ids[0] ?? '') ?? mailbox, ids }),
      }
    },
  },
  'that holds each open mailbox to its room and not all together': {
    rules: 'openMail',
    breaks: 'refuses what one mailbox, or all together',
    changes: store => ({
      sendOpen: item =>
        store.sendOpen({ ...item, limits: { ...item.limits, totalBytesMax: Number.MAX_SAFE_INTEGER } }),
    }),
  },
  'that remembers every task that anybody says was done': {
    rules: 'openMail',
    breaks: 'remembers so many tasks',
    changes: store => ({
      sendOpen: item =>
        store.sendOpen({ ...item, limits: { ...item.limits, tasksMax: Number.MAX_SAFE_INTEGER } }),
    }),
  },
  'that draws visitors whom nobody reads': {
    rules: 'openMail',
    breaks: 'draws nobody whose mail was not asked for',
    changes: () => ({ noteAway: async () => ({ more: false }) }),
  },
  'that draws the same ones from every place': {
    rules: 'openMail',
    breaks: 'draws those that take visitors from any place',
    changes: store => ({ guestTakers: query => store.guestTakers({ ...query, place: 0 }) }),
  },
  'that forgets at once who left': {
    rules: 'openMail',
    breaks: 'keeps the mail of an agent that left',
    changes: store => ({
      async noteLeft(given) {
        await store.noteLeft(given)
        await store.sweepOpen({ leftBeforeMs: given.leftMs ?? 0, limit: 100 })
      },
    }),
  },
  'that lets an archived agent register': {
    rules: 'moderation',
    breaks: 'puts nobody on the registry who is archived',
    changes: store => ({
      async putAgent(change) {
        const stored = await store.putAgent(change)
        return stored.outcome === 'archived'
          ? await store.putAgent({ ...change, archiving: 'restored' })
          : stored
      },
    }),
  },
  'that keeps all that an operator ever did': {
    rules: 'moderation',
    breaks: 'writes down what was done',
    changes: store => ({ noteAct: given => store.noteAct({ ...given, max: 1000 }) }),
  },
  'that sets the visitors of all mailboxes': {
    rules: 'moderation',
    breaks: 'sets the visitors of one mailbox',
    changes: store => ({
      async setGuestQuota({ number, guestQuota }) {
        for (let other = 1; other <= number + 1; other++)
          await store.setGuestQuota({ number: other, guestQuota })
      },
    }),
  },
  'that vouches without end': {
    rules: 'moderation',
    breaks: 'keeps whom the operator vouches for',
    changes: store => ({ putOfficial: given => store.putOfficial({ ...given, max: 1000 }) }),
  },
  'that keeps a voucher of a payment that was made before': {
    rules: 'vouchers',
    breaks: 'keeps a voucher with the payment that bought it',
    changes: store => {
      const kept = new Map<string, KeptVoucher>()
      return {
        async post(posting) {
          if (posting.voucher !== undefined) kept.set(String(posting.id), posting.voucher)
          return await store.post(posting)
        },
        voucher: async id => kept.get(String(id)) ?? (await store.voucher(id)),
      }
    },
  },
  'that takes statements of the past': {
    rules: 'witness',
    breaks: 'takes only statements that go on',
    changes: store => ({
      keepStatement: async given =>
        (await store.keepStatement(given)) || (await store.witness(given.witness)) !== undefined,
    }),
  },
}
