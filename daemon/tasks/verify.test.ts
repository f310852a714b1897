import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { toBase64 } from '../../protocol/encoding/bytes.ts'
import { Receipt } from '../../protocol/proof/receipt.ts'
import { HubUnreachable } from '../hubs/hub.ts'
import { markQuotePaid, orderPayment } from '../store/quotes.ts'
import { concludeReview } from '../store/reviews.ts'
import type { Interaction } from '../store/threads.ts'
import { HOUR_MS, type TestNode, TestWorld } from '../testing/node.ts'

let world: TestWorld
let alice: TestNode
let bob: TestNode
let id: string

/** A task that bob answered and both have signed off. */
beforeEach(async () => {
  world = new TestWorld()
  ;({ alice, bob, id } = await world.conversation('signed'))
})
afterEach(() => world[Symbol.asyncDispose]())

const set = (node: TestNode, changes: Partial<Interaction>) =>
  node.within(() => node.ctx.threads.update(node.thread(id), changes))
const verdict = (node: TestNode, isKeyChecked = true) => node.tasks.verdicts.on(node.thread(id), isKeyChecked)
const forget = (node: TestNode) =>
  node.ctx.store.run('UPDATE interactions SET receipt_seq = NULL WHERE key = ?', node.thread(id).key)
const isOutOfReach = async () => {
  throw new HubUnreachable('http://hub.test')
}

describe('the verdict on a signed task', () => {
  test('is the same for both sides: valid, signed by both, with the content at hand', () => {
    for (const node of [alice, bob])
      expect(verdict(node)).toMatchObject({
        verdict: 'valid',
        interaction_id: id,
        provider: bob.aid,
        requester: alice.aid,
        status: 'UNVERIFIED',
        content_checked: true,
        counter_signed: true,
        signed_by: ['provider', 'requester'],
        key_checked: true,
        receipt: toBase64(node.thread(id).receipt as Uint8Array),
      })
    const [ofAlice, ofBob] = [verdict(alice), verdict(bob)]
    expect(ofAlice).toEqual(ofBob)
    expect(ofAlice).not.toHaveProperty('attestation')
    expect(ofAlice).not.toHaveProperty('retired_at')
  })

  test('finds the answer under later words, and says where it is not held', () => {
    set(alice, { state: 'open', ownLast: null })
    alice.say(id, 'thank you')
    expect(verdict(alice).content_checked).toBe(true)
    alice.ctx.store.run("UPDATE messages SET interaction = NULL WHERE text = 'the answer'")
    expect(verdict(alice)).toMatchObject({ verdict: 'valid', content_checked: false })
  })

  test('of a counter-signature that does not hold is the word of the provider alone', () => {
    const forged = Uint8Array.from(alice.thread(id).counterSignature as Uint8Array)
    forged.set([(forged.at(-1) ?? 0) ^ 1], forged.length - 1)
    set(alice, { counterSignature: forged })
    expect(verdict(alice)).toMatchObject({ counter_signed: false, signed_by: ['provider'] })
  })

  test('holds for a provider that no longer has the key history of the requester', () => {
    const stranger = { ...bob.thread(id), peer: `A${'a'.repeat(43)}` }
    expect(bob.tasks.verdicts.on(stranger, true)).toMatchObject({
      verdict: 'valid',
      counter_signed: false,
      signed_by: ['provider'],
    })
  })

  test('needs the key history of the provider', () => {
    const stranger = { ...alice.thread(id), peer: `A${'a'.repeat(43)}` }
    expect(() => alice.tasks.verdicts.on(stranger, true)).toThrow(
      expect.objectContaining({ code: 'no_receipt', message: expect.stringContaining('key history') }),
    )
  })

  test('of a signature that is nobody’s names no side, whoever counter-signed', () => {
    const { body } = Receipt.decode(alice.thread(id).receipt as Uint8Array)
    set(alice, { receipt: Receipt.encode(Receipt.sign(alice.ctx.identity.seed, body)) })
    expect(verdict(alice)).toMatchObject({ verdict: 'invalid', signed_by: [] })
  })

  test('of a disputed receipt is invalid, in the words of the dispute', () => {
    set(alice, { receiptState: 'disputed', receiptNote: 'the receipt differs in: times' })
    expect(verdict(alice)).toMatchObject({ verdict: 'invalid', says: 'the receipt differs in: times' })
    set(alice, { receiptNote: null })
    expect(verdict(alice).says).toBe('the receipt is disputed')
  })

  test('has the word of the hub on the rating, where there is one', () => {
    alice.within(() => alice.tasks.ratings.keep(alice.thread(id), { rating: 5, comment: '' }))
    expect(verdict(alice)).not.toHaveProperty('attestation')
    const attestation = new Uint8Array([1, 2, 3])
    concludeReview(alice.ctx.store, alice.thread(id).key, {
      state: 'uploaded',
      reason: null,
      reasonBy: null,
      attestation,
    })
    expect(verdict(alice).attestation).toBe(toBase64(attestation))
  })

  test('on a price that was paid names the task that was paid for', () => {
    expect(verdict(alice).says).not.toContain('paid')
    const work = alice.delegate(bob, 'the work')
    alice.within(() => orderPayment(alice.ctx.store, alice.thread(id).key, 'person', undefined))
    alice.within(() => markQuotePaid(alice.ctx.store, alice.thread(id).key, work.key))
    expect(verdict(alice).says).toContain(
      `It is the receipt of the price; that of the work that was paid for: svc verify ${work.id}`,
    )
  })
})

describe('a task without a receipt', () => {
  test.each(['declined', 'cancelled', 'failed'] as const)('that is %s gets none', state => {
    set(alice, { receipt: null, state })
    expect(() => verdict(alice)).toThrow(
      expect.objectContaining({
        code: 'no_receipt',
        message: `this task is ${state}; it has no receipt and gets none`,
      }),
    )
  })

  test('that goes on gets one when both sides end it', () => {
    set(alice, { receipt: null, state: 'open' })
    expect(() => verdict(alice)).toThrow(
      expect.objectContaining({
        code: 'no_receipt',
        message: 'this interaction has no receipt yet',
        next: expect.stringContaining('both sides must end first') as string,
      }),
    )
  })
})

describe('the key of a provider', () => {
  const rotates = (node: TestNode) => {
    node.ctx.identity.rotate(node.hub.identity.aid, world.clock.ms)
    const { log } = node.ctx.identity
    alice.within(() => alice.ctx.peers.learn(log, undefined))
  }

  test.each([
    ['noted', () => {}],
    ['found, in stores of before it was noted', forget],
  ] as const)(
    'that was retired since holds by when the receipt was first held: its record is %s',
    (_, before) => {
      for (const node of [alice, bob]) before(node)
      world.pass(HOUR_MS)
      rotates(bob)
      for (const [node, type] of [
        [alice, 'svc.result.accepted'],
        [bob, 'svc.interaction.receipt'],
      ] as const) {
        const [record] = node.ctx.chain.read({ eventType: type })
        expect(verdict(node)).toMatchObject({
          verdict: 'valid_retired_key',
          retired_at: world.clock.ms,
          evidence: `record ${String(record?.['seq'])} of the evidence chain`,
        })
      }
    },
  )

  test('that was retired proves nothing where no record says when the receipt was held', () => {
    world.pass(HOUR_MS)
    rotates(bob)
    forget(alice)
    alice.ctx.store.run("DELETE FROM chain WHERE type = 'svc.result.accepted'")
    expect(verdict(alice).verdict).not.toBe('valid_retired_key')
    expect(verdict(alice)).not.toHaveProperty('evidence')
  })

  test('is asked for at a hub by the requester, who says so where none answers', async () => {
    expect(await alice.tasks.freshVerdicts.on(alice.thread(id))).toMatchObject({ key_checked: true })
    alice.hub.answers({ bucket: isOutOfReach })
    const unchecked = await alice.tasks.freshVerdicts.on(alice.thread(id))
    expect(unchecked).toMatchObject({ verdict: 'valid', key_checked: false })
    expect(unchecked.says).toContain('no hub could say whether it has rotated its key since')
    expect(verdict(alice).says).not.toContain('no hub could say')
  })

  test('is its own affair: a provider asks no hub for it', async () => {
    bob.hub.answers({ bucket: isOutOfReach })
    const asked = bob.hub.calls.length
    expect(await bob.tasks.freshVerdicts.on(bob.thread(id))).toMatchObject({
      verdict: 'valid',
      key_checked: true,
    })
    expect(bob.hub.calls.length).toBe(asked)
  })
})
