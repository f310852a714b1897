/** What a requester does with a receipt that is not the one it could sign, and which receipts a provider recognizes. */

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expiryOf } from '../../daemon/maintenance.ts'
import type { Node } from '../../daemon/node.ts'
import type { Interaction } from '../../daemon/store/threads.ts'
import { taskParts } from '../../daemon/tasks/open.ts'
import { FORK_ANCHOR } from '../../protocol/proof/evidence.ts'
import { CounterSignature, Receipt, type ReceiptBody, receiptBodyHash } from '../../protocol/proof/receipt.ts'
import { delegated, finished, type Lab, never, openPair, until } from './world.ts'

let lab: Lab
let alice: Node
let bob: Node
let id: string
let body: ReceiptBody

beforeAll(async () => {
  ;({ lab, alice, bob } = await openPair())
  id = await delegated(alice, bob, 'sum it up')
  await bob.handlers.message({ interaction_id: id, text: 'done' }, never)
  await until('it is there', () => at(alice).lastIn > 0)
  await finished(alice, bob, id)
  body = Receipt.decode(at(alice).receipt as Uint8Array).body
})
afterAll(() => lab.close())

const at = (node: Node) => node.ctx.threads.findById(id) as Interaction

/** What alice makes of a receipt that bob signed over something else; she keeps nothing of it. */
function judged(changed: Partial<ReceiptBody>, before: (node: Node) => void = () => {}): Interaction {
  const receipt = Receipt.sign(bob.ctx.identity.seed, { ...body, ...changed })
  let verdict: Interaction | undefined
  const undo = new Error('undo')
  try {
    alice.ctx.store.transaction(() => {
      const blank = { receipt: null, receiptState: null, receiptNote: null, counterSignature: null }
      const fresh = alice.ctx.threads.update(at(alice), blank)
      before(alice)
      taskParts(alice.ctx).heldReceipts.take(fresh, receipt)
      verdict = at(alice)
      throw undo
    })
  } catch (error) {
    if (error !== undo) throw error
  }
  return verdict as Interaction
}

const loses = (number: number) => (node: Node) =>
  node.ctx.store.run(
    "UPDATE messages SET number = 90 + number WHERE interaction = ? AND direction = 'in' AND number = ?",
    at(node).key,
    number,
  )

describe('a receipt', () => {
  test('as it was sent is counter-signed', () => {
    expect(judged({}).receiptState).toBe('signed')
  })

  test('that covers a message which the requester never sent is disputed at once', () => {
    const cover: ReceiptBody['cover'] = [[body.cover[0][0] + 1, []], body.cover[1]]
    expect(judged({ cover })).toMatchObject({
      receiptState: 'disputed',
      receiptNote: expect.stringContaining('message never sent'),
    })
  })

  test('that covers a message after the last one of the provider is disputed at once', () => {
    const cover: ReceiptBody['cover'] = [body.cover[0], [body.cover[1][0] + 3, []]]
    expect(judged({ cover })).toMatchObject({
      receiptState: 'disputed',
      receiptNote: expect.stringContaining('message after the end'),
    })
  })

  test('waits for a covered message that is on its way, but not when another member is wrong already', () => {
    expect(judged({}, loses(1)).receiptState).toBe('waiting')
    const requestCid = new Uint8Array(body.requestCid).fill(1, 4)
    expect(judged({ requestCid }, loses(1)).receiptState).toBe('disputed')
  })

  test('is signed by neither side while its evidence chain is quarantined', () => {
    const quarantine = (node: Node) => void node.ctx.chain.append(FORK_ANCHOR, {})
    const held = judged({}, quarantine)
    expect(held).toMatchObject({
      receiptState: 'waiting',
      counterSignature: null,
      receiptNote: 'not signed: the evidence chain is quarantined',
    })
    let made: Interaction | undefined
    const undo = new Error('undo')
    const provide = () =>
      bob.ctx.store.transaction(() => {
        quarantine(bob)
        made = taskParts(bob.ctx).ownReceipts.make(bob.ctx.threads.update(at(bob), { receipt: null }))
        throw undo
      })
    expect(provide).toThrow(undo)
    expect(made).toMatchObject({ receipt: null, reason: 'no receipt: the evidence chain is quarantined' })
  })

  test('that waited longer than any mail takes is disputed', () => {
    const { ctx } = alice
    const signed = at(alice)
    ctx.threads.update(signed, { receiptState: 'waiting', receiptNote: 'missing message, number 1' })
    ctx.store.run('UPDATE messages SET at = at - ?', 15 * 86_400_000)
    expiryOf(ctx).expire()
    expect(at(alice)).toMatchObject({ receiptState: 'disputed', receiptNote: 'missing message, number 1' })
    ctx.threads.update(at(alice), { receiptState: 'signed', receiptNote: null })
  })
})

test('a counter-signature over any receipt that was ever sent is recognized, also the second of three', () => {
  const { ctx } = bob
  const undo = new Error('undo')
  const check = () => {
    ctx.store.transaction(() => {
      const blank = ctx.threads.update(at(bob), { counterSignature: null, receiptState: 'made' })
      const second = taskParts(ctx).ownReceipts.make(blank)
      taskParts(ctx).ownReceipts.make(second)
      const given = Receipt.decode(second.receipt as Uint8Array)
      const [chainLength, chainHead] = alice.ctx.chain.position
      const counter = CounterSignature.sign(alice.ctx.identity.seed, {
        requester: alice.aid,
        kelSeq: alice.ctx.identity.log.seq,
        chainLength,
        chainHead,
        bodyHash: receiptBodyHash(given.bodyBytes),
      })
      const settled = taskParts(ctx).counterSignatures.take(at(bob), { counterSignature: counter })
      expect(settled?.receiptState).toBe('signed')
      expect(settled?.receipt).toEqual(second.receipt)
      throw undo
    })
  }
  expect(check).toThrow(undo)
})
