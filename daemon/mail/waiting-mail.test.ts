import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { present } from '../../protocol/encoding/present.ts'
import { encodePayload, kinds } from '../../protocol/mail/payload.ts'
import { CounterSignature } from '../../protocol/proof/receipt.ts'
import { systemTimers } from '../../protocol/timers.ts'
import type { OtherPolls, PolledEnvelope, SealedMail } from '../hubs/hub.ts'
import { type TestNode, TestWorld } from '../testing/node.ts'
import { OwnHeads } from './heads.ts'
import { WaitingMail } from './waiting-mail.ts'

let world: TestWorld
let alice: TestNode
let bob: TestNode
let counterSignature: CounterSignature

/** Bob holds a head of alice's chain from a task that both signed; a task of his and that head wait for her. */
beforeEach(async () => {
  world = new TestWorld()
  let id: string
  ;({ alice, bob, id } = await world.conversation('signed'))
  counterSignature = CounterSignature.decode(bob.thread(id).counterSignature as Uint8Array)
  bob.delegate(alice, 'before the head')
  bob.within(() =>
    bob.ctx.threads.queueLoose(alice.aid, {
      kind: kinds.heldHead,
      payload: encodePayload(kinds.heldHead, { counterSignature }),
      text: '',
      numbered: false,
    }),
  )
  await bob.send()
  alice.hub.calls.length = 0
})
afterEach(() => world[Symbol.asyncDispose]())

const waiting = () => world.post.carried.filter(({ to }) => to === alice.aid)
const look = () => alice.mail.waiting.lookForHeads(alice.hub, new AbortController().signal)
/** The directory as it was before what the head is of. */
const putBack = () =>
  alice.ctx.store.run('DELETE FROM chain WHERE seq >= ?', counterSignature.body.chainLength - 1)
const tasks = () => alice.ctx.store.all("SELECT 1 FROM interactions WHERE side = 'received'")

/** A mailbox that gives one envelope a page, and the ids after which it was asked. */
function pages(): (number | undefined)[] {
  const asked: (number | undefined)[] = []
  const mine = waiting()
  const poll: SealedMail['poll'] = async ({ afterId }) => {
    asked.push(afterId)
    const left = mine.filter(({ id }) => id > (afterId ?? 0))
    const envelopes = left
      .slice(0, 1)
      .map(({ id, bytes, acceptedAtMs }): PolledEnvelope => ({ id, source: [bytes], acceptedAtMs }))
    return { envelopes, more: left.length > 1, held: true, [Symbol.dispose]: () => {} }
  }
  alice.hub.answers({ poll })
  return asked
}

test('a head behind other mail shows an old copy, and all of it stays where it is', async () => {
  putBack()
  const before = waiting().length
  await look()
  expect(alice.ctx.hub.oldCopy).toMatch(/^bob holds this identity's signature/)
  expect([waiting().length, tasks().length]).toEqual([before, 0])
  expect(alice.hub.calls).toEqual(['poll'])
})

test('where no head shows anything the mail is left as well, and taken afterwards', async () => {
  await look()
  expect(alice.ctx.hub.oldCopy).toBeUndefined()
  expect(tasks()).toHaveLength(0)
  await alice.receive()
  expect(tasks()).toHaveLength(1)
})

test('every page is looked at, up to the one that shows it', async () => {
  const ids = waiting().map(({ id }) => id)
  const asked = pages()
  await look()
  expect(asked).toEqual([undefined, ...ids.slice(0, -1)])
  putBack()
  asked.length = 0
  await look()
  expect(alice.ctx.hub.oldCopy).toBeDefined()
  expect(asked).toEqual([undefined, ...ids.slice(0, -1)])
})

test('what cannot be opened, or is of a key that its sender retired, says nothing and hides nothing', async () => {
  const [first] = waiting()
  world.post.take(alice.aid, new Uint8Array(700).fill(1), world.clock.ms)
  if (first !== undefined) first.bytes = first.bytes.slice(0, 300)
  putBack()
  bob.ctx.identity.rotate(bob.hub.identity.aid, world.clock.ms + 1)
  alice.within(() => alice.ctx.peers.learn(bob.ctx.identity.log, undefined))
  await look()
  expect(alice.ctx.hub.oldCopy).toBeUndefined()
})

test('a hub that fails is a failure of the look', async () => {
  alice.hub.answers({ poll: () => Promise.reject(new Error('down')) })
  await expect(look()).rejects.toThrow('down')
})

test('a hub that promises more and gives nothing is asked once', async () => {
  let asked = 0
  const poll: SealedMail['poll'] = async () => {
    asked += 1
    if (asked > 3) throw new Error('asked for ever')
    return { envelopes: [], more: true, held: false, [Symbol.dispose]: () => {} }
  }
  alice.hub.answers({ poll })
  await look()
  expect(asked).toBe(1)
})

test('a failure of this machine is not taken for mail that cannot be opened', async () => {
  Object.assign(alice.ctx.keys, {
    seedOf: () => {
      throw new Error('the disk is gone')
    },
  })
  await expect(look()).rejects.toThrow('the disk is gone')
})

describe('another node of the same identity', () => {
  const watch = () => alice.mail.waiting.watchForTwin(alice.hub, new AbortController().signal)
  /** A hub that holds a poll with a wait for so long, and says that it held it. */
  const holding = (ms: number, held = true): SealedMail['poll'] => {
    return async ({ waitSeconds }) => {
      if (waitSeconds > 0) await new Promise(done => setTimeout(done, ms))
      return { envelopes: [], more: false, held: held && waitSeconds > 0, [Symbol.dispose]: () => {} }
    }
  }
  beforeEach(() => void Object.assign(alice.ctx.timings, { pollSettledMs: 400 }))

  test('is not there where a poll is held in peace', async () => {
    alice.hub.answers({ poll: holding(450) })
    expect(await watch()).toBe('alone')
    expect(alice.hub.calls).toEqual(['poll', 'poll'])
  })

  /**
   * What a node concludes of a hub that holds each poll for ten seconds and names the other polls that it met; and how
   * many polls it took.
   */
  async function meeting(met: (OtherPolls | undefined)[]): Promise<[string, number]> {
    const { ctx } = alice
    let at = 0
    let polls = 0
    const poll: SealedMail['poll'] = async ({ waitSeconds }) => {
      const answer = { envelopes: [], more: false, held: waitSeconds > 0, [Symbol.dispose]: () => {} }
      if (waitSeconds === 0) return answer
      at += 10_000
      return { ...answer, ...present({ others: met[polls++] }) }
    }
    alice.hub.answers({ poll })
    const heads = new OwnHeads(ctx)
    const timers = { ...systemTimers, monotonic: () => at }
    const found = new WaitingMail({ ...ctx, heads }, timers, 10_000)
    return [await found.watchForTwin(alice.hub, new AbortController().signal), polls]
  }
  const [older, newer] = [
    { older: true, newer: false },
    { older: false, newer: true },
  ]

  test('is there although it is slow, where the hub says that each poll met another', async () => {
    expect(await meeting([older, undefined, newer, undefined, newer, newer, newer])).toEqual([
      'came_second',
      7,
    ])
  })

  test('is gone once no poll met another for a minute', async () => {
    expect(await meeting([older])).toEqual(['alone', 7])
    expect(await meeting([undefined])).toEqual(['alone', 1])
  })

  test('is there where polls end at once, again and again; nothing but polls was asked', async () => {
    alice.hub.answers({ poll: holding(0) })
    expect(await watch()).toBe('came_second')
    expect(new Set(alice.hub.calls)).toEqual(new Set(['poll']))
  })

  test('gives its mail back as the sign of an old copy, also while it is watched for', async () => {
    putBack()
    let polls = 0
    const mine = waiting()
    alice.hub.answers({
      poll: async () => {
        const envelopes =
          polls++ === 0
            ? []
            : mine.map(({ id, bytes, acceptedAtMs }) => ({ id, source: [bytes], acceptedAtMs }))
        return { envelopes, more: false, held: true, [Symbol.dispose]: () => {} }
      },
    })
    await watch()
    expect(alice.ctx.hub.oldCopy).toMatch(/^bob holds this identity's signature/)
    expect(waiting()).toHaveLength(mine.length)
  })
})
