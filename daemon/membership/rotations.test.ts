/** Everything but payments that is signed or sealed to be sent later is there once after the key has gone, under the new one. */

import { afterEach, beforeEach, expect, test } from 'vitest'
import { verifyCard } from '../../protocol/identity/card.ts'
import { KeySet } from '../../protocol/identity/keyset.ts'
import { CounterSignature, Receipt } from '../../protocol/proof/receipt.ts'
import { type HubInputs, presented, type RegisterRequest } from '../hubs/hub.ts'
import { dueRevocations } from '../store/capabilities.ts'
import { writeHome } from '../store/hubs.ts'
import { reviewOf } from '../store/reviews.ts'
import { openReviewUploads, taskParts } from '../tasks/open.ts'
import type { ReviewUploads } from '../tasks/reviews.ts'
import { type TestNode, TestWorld } from '../testing/node.ts'
import { refusedWith } from '../testing/scripted-hub.ts'
import { openMembership } from './open.ts'
import { sendRevocations } from './revocations.ts'

let world: TestWorld
let alice: TestNode
let bob: TestNode
let id: string

beforeEach(async () => {
  world = new TestWorld()
  ;({ alice, bob, id } = await world.conversation('answered'))
  for (const node of [alice, bob]) writeHome(node.ctx.store, presented(node.hub), false, world.clock.ms)
})
afterEach(() => world[Symbol.asyncDispose]())

const { signal } = new AbortController()
const away = () => Promise.reject(refusedWith('overloaded'))
const seqOf = ({ ctx }: TestNode): number => ctx.identity.log.seq
const signed = () => [alice, bob].map(node => node.thread(id).receiptState)
const syncOf = ({ ctx }: TestNode) =>
  openMembership(ctx, {} as HubInputs).sync.run({ signal, profile: false })

/** Both agreed to end; whatever `by` signs of that stays on its machine. */
async function agreed(by: TestNode): Promise<void> {
  alice.within(() => alice.tasks.endings.propose(alice.thread(id)))
  await world.settle()
  if (by === bob) return bob.within(() => void bob.tasks.endings.accept(bob.thread(id)))
  bob.within(() => bob.tasks.endings.accept(bob.thread(id)))
  await bob.send()
  await alice.receive()
}

async function review(): Promise<ReviewUploads> {
  const { ctx } = alice
  await world.end({ alice, bob, id })
  alice.within(() => taskParts(ctx).ratings.keep(alice.thread(id), { rating: 4, comment: 'fine' }))
  return openReviewUploads(ctx)
}

const REGISTRATION = 'a registration: log, key set and card'
type Row = { by: () => TestNode; begin: () => Promise<unknown>; goOn: () => Promise<void> }
const rows: Record<string, Row> = {
  'a receipt with the signature of its provider': {
    by: () => bob,
    begin: () => agreed(bob),
    async goOn() {
      await world.settle()
      expect(signed()).toEqual(['signed', 'signed'])
      const { receipt } = alice.thread(id)
      expect(Receipt.decode(receipt as Uint8Array).body.providerKelSeq).toBe(seqOf(bob))
    },
  },
  'a counter-signature': {
    by: () => alice,
    begin: () => agreed(alice),
    async goOn() {
      await world.settle()
      expect(signed()).toEqual(['signed', 'signed'])
      const { counterSignature } = bob.thread(id)
      expect(CounterSignature.decode(counterSignature as Uint8Array).body.kelSeq).toBe(seqOf(alice))
    },
  },
  'a review': {
    by: () => alice,
    async begin() {
      const uploads = await review()
      alice.hub.answers({ uploadReview: away })
      await uploads.look()
      alice.hub.answers({})
    },
    async goOn() {
      world.pass(3_600_000)
      await openReviewUploads(alice.ctx).look()
      expect(reviewOf(alice.ctx.store, alice.thread(id).key)).toMatchObject({ state: 'uploaded', rating: 4 })
    },
  },
  [REGISTRATION]: {
    by: () => alice,
    async begin() {
      alice.ctx.settings.change({ caps: ['text.count'] })
      alice.hub.answers({ register: away })
      await expect(syncOf(alice)).rejects.toThrow()
      alice.hub.answers({})
    },
    async goOn() {
      const asked: RegisterRequest[] = []
      const stored = { keysStatus: 'stored', cardStatus: 'stored' } as const
      alice.hub.answers({
        register: async request => {
          asked.push(request)
          return stored
        },
      })
      await syncOf(alice)
      await syncOf(alice)
      expect(asked).toHaveLength(1)
      const [{ log, keySet, card } = {} as RegisterRequest] = asked
      const under = [log.seq, KeySet.decode(keySet as Uint8Array).body.kelSeq]
      expect(under).toEqual([seqOf(alice), seqOf(alice)])
      expect(verifyCard(card, alice.ctx.identity.log, alice.hub.url)).toBeDefined()
    },
  },
  'capabilities that are taken back': {
    by: () => alice,
    async begin() {
      alice.ctx.contacts.block(bob.aid, true)
      alice.ctx.capabilities.revokeIssued(bob.aid)
      expect(dueRevocations(alice.ctx.store, alice.ctx.now(), 100).length).toBeGreaterThan(0)
      alice.hub.answers({ revoke: away })
      await expect(sendRevocations(alice.ctx.store, alice.ctx.now, alice.hub)).rejects.toThrow()
      alice.hub.answers({})
    },
    async goOn() {
      const due = dueRevocations(alice.ctx.store, alice.ctx.now(), 100)
      const told: Uint8Array[] = []
      alice.hub.answers({ revoke: async ids => void told.push(...ids) })
      await sendRevocations(alice.ctx.store, alice.ctx.now, alice.hub)
      await sendRevocations(alice.ctx.store, alice.ctx.now, alice.hub)
      expect(told).toEqual(due)
    },
  },
}

const cases = Object.keys(rows).flatMap(what => [true, false].map(told => [what, told] as const))

test.each(cases)('%s goes on after a rotation (hub told: %s)', async (what, told) => {
  const { by, begin, goOn } = rows[what] as Row
  await begin()
  await by().rotate({ told })
  if (!told && what !== REGISTRATION) {
    await world.settle()
    await syncOf(by())
    world.pass(600_000)
  }
  await goOn()
})
