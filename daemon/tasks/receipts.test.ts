import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { contentId } from '../../protocol/crypto/hash.ts'
import { utf8 } from '../../protocol/encoding/bytes.ts'
import { decodePayload, kinds } from '../../protocol/mail/payload.ts'
import { documentBytes } from '../../protocol/proof/documents.ts'
import { GENESIS } from '../../protocol/proof/evidence.ts'
import { CounterSignature, Receipt, type ReceiptBody, receiptBodyHash } from '../../protocol/proof/receipt.ts'
import { taskReading, warningsOf } from '../control/parts.ts'
import type { Interaction, Message } from '../store/threads.ts'
import { DAY_MS, HOUR_MS, type TestNode, TestWorld } from '../testing/node.ts'
import { textMessage } from './messages.ts'
import { coveredMessages, resultOf } from './receipts.ts'
import { keepReview } from './reviews.ts'

let world: TestWorld
let alice: TestNode
let bob: TestNode
let id: string

beforeEach(async () => {
  world = new TestWorld()
  ;({ alice, bob, id } = await world.conversation())
})
afterEach(() => world[Symbol.asyncDispose]())

const of = (node: TestNode) => node.thread(id)
const set = (node: TestNode, changes: Partial<Interaction>) =>
  node.within(() => node.ctx.threads.update(of(node), changes))
/** Both last messages exist on both sides; the receipt has not arrived. */
async function cut(): Promise<Receipt> {
  alice.within(() => alice.tasks.endings.propose(of(alice)))
  await world.settle()
  bob.within(() => bob.tasks.endings.accept(of(bob)))
  const made = Receipt.decode(of(bob).receipt as Uint8Array)
  // The acceptance goes ahead of the receipt.
  alice.hub.answers({})
  bob.ctx.store.run(
    'UPDATE outbox SET next_at = ? WHERE message IN (SELECT key FROM messages WHERE kind = ?)',
    world.clock.ms + DAY_MS,
    kinds.receipt,
  )
  await world.settle()
  return made
}
const signed = (body: ReceiptBody, changes: Partial<ReceiptBody> = {}) =>
  Receipt.sign(bob.ctx.identity.seed, { ...body, ...changes })
const taken = (receipt: Receipt) => alice.within(() => alice.tasks.heldReceipts.take(of(alice), receipt))
const records = (node: TestNode, eventType: string) => node.ctx.chain.read({ eventType })

describe('the receipt of a provider', () => {
  test('covers both sides up to the cut and names request, result and the head of its chain', async () => {
    const position = bob.ctx.chain.position
    const { body } = await cut()
    expect(body.cover).toEqual([
      [2, []],
      [2, []],
    ])
    expect(body).toMatchObject({ provider: bob.aid, status: 'UNVERIFIED', end: world.clock.ms })
    expect(body.start).toBeLessThanOrEqual(body.end)
    expect(body.providerHead).toEqual(position)
    expect(of(bob)).toMatchObject({ state: 'ended', receiptState: 'made', status: 'UNVERIFIED' })
    expect(records(bob, 'svc.interaction.receipt')).toHaveLength(1)
    expect(of(bob).receiptSeq).toBe(position[0])
  })

  test('starts no later than it ends, whatever the clocks say', async () => {
    set(bob, { startedAt: world.clock.ms + HOUR_MS })
    const { body } = await cut()
    expect(body.start).toBe(body.end)
  })

  test('leaves out what the requester lacks, what was refused and what never came', async () => {
    bob.say(id, 'lost')
    alice.say(id, 'never came')
    const [lost] = bob.messages(id).slice(-1) as [Message]
    bob.within(() => bob.ctx.threads.setDelivery(lost.key, 'failed', 'x'))
    set(bob, { peerLast: 3, ownLast: 4, peerLacks: '[3,9]', commitment: of(bob).commitment })
    const made = bob.within(() => bob.tasks.ownReceipts.make(of(bob)))
    const { cover } = Receipt.decode(made.receipt as Uint8Array).body
    expect(cover).toEqual([
      [3, [2, 3]],
      [4, [2, 3]],
    ])
  })

  test('is not made where too much is missing, or while the chain is quarantined', () => {
    set(bob, { peerLast: 1026, ownLast: 1 })
    expect(bob.within(() => bob.tasks.ownReceipts.make(of(bob)))).toMatchObject({
      reason: 'no receipt: too many messages are missing',
      receipt: null,
    })
    set(bob, { peerLast: 1025 })
    expect(bob.within(() => bob.tasks.ownReceipts.make(of(bob))).receipt).not.toBeNull()
    set(bob, { receipt: null })
    bob.ctx.chain.append('svc.chain.fork', {})
    expect(bob.within(() => bob.tasks.ownReceipts.make(of(bob)))).toMatchObject({
      reason: 'no receipt: the evidence chain is quarantined',
      receipt: null,
    })
  })

  test('made anew has one record, and the requester may sign either', async () => {
    const first = await cut()
    world.pass(1000)
    bob.within(() => bob.tasks.ownReceipts.make(of(bob)))
    expect(records(bob, 'svc.interaction.receipt')).toHaveLength(1)
    const signer = alice.ctx.identity
    const counter = CounterSignature.sign(signer.seed, {
      requester: alice.aid,
      kelSeq: signer.log.seq,
      chainLength: 0,
      chainHead: GENESIS,
      bodyHash: receiptBodyHash(first.bodyBytes),
    })
    const kept = bob.within(() => bob.tasks.counterSignatures.take(of(bob), { counterSignature: counter }))
    expect(kept).toMatchObject({ receiptState: 'signed', receipt: Receipt.encode(first) })
    const own = bob.messages(id).filter(({ kind }) => kind === kinds.receipt)
    expect(own.map(({ delivery }) => delivery)).toEqual(['delivered', 'delivered'])
    const { peers } = bob.ctx
    const { log } = signer
    signer.rotate(alice.hub.identity.aid, world.clock.ms + 1)
    bob.within(() => peers.learn(signer.log, undefined))
    expect(log.seq).toBe(counter.body.kelSeq)
    expect(bob.tasks.counterSignatures.take(of(bob), { counterSignature: counter })).toBeUndefined()
    const foreign = { ...counter, body: { ...counter.body, bodyHash: new Uint8Array(32) } }
    expect(
      bob.tasks.counterSignatures.take(of(bob), { counterSignature: foreign as CounterSignature }),
    ).toBeUndefined()
  })
})

describe('the answer in a receipt', () => {
  test('is the last result, else the last message, else an empty one that failed', () => {
    const all = bob.messages(id)
    const answer = all.filter(({ direction }) => direction === 'out')
    expect(resultOf(answer)).toMatchObject({ status: 'UNVERIFIED' })
    expect(resultOf([])).toMatchObject({ status: 'FAILED' })
    const result = bob.within(() =>
      bob.ctx.threads.queue(of(bob), { ...textMessage('done', []), kind: kinds.result }),
    ).message
    const later = bob.say(id, 'by the way')
    expect(resultOf([...answer, result, later]).bytes).toEqual(
      documentBytes({ text: 'done', attachments: [] }),
    )
    expect(resultOf([...answer, later]).bytes).toEqual(documentBytes({ text: 'by the way', attachments: [] }))
  })

  test('comes from the messages of its side that are held and not left out', () => {
    const numbers = (side: [number, number[]]) =>
      coveredMessages(bob.ctx.threads, of(bob), 'in', side).map(({ number }) => number)
    expect([numbers([1, []]), numbers([5, []]), numbers([1, [1]])]).toEqual([[1], [1], []])
  })
})

describe('a requester', () => {
  test('signs a receipt that is what it holds, once, and records that', async () => {
    const receipt = await cut()
    expect(taken(receipt)).toMatchObject({ receiptState: 'signed', receiptNote: null })
    expect(records(alice, 'svc.result.accepted')).toHaveLength(1)
    const first = of(alice).counterSignature
    world.pass(1000)
    expect(taken(receipt).counterSignature).toEqual(first)
    expect(records(alice, 'svc.result.accepted')).toHaveLength(1)
    const sent = alice.messages(id).filter(({ kind }) => kind === kinds.counterSignature)
    expect(sent).toHaveLength(2)
  })

  test.each([
    ['another status', { status: 'CONFIRMED' }],
    ['another result', { resultCid: contentId(new Uint8Array([1])) }],
    ['another request', { requestCid: contentId(new Uint8Array([1])) }],
    ['another transcript', { transcriptDigest: new Uint8Array(32) }],
    ['another commitment', { requesterCommitment: new Uint8Array(32) }],
  ] as const)('disputes %s', async (_, changes) => {
    const { body } = await cut()
    const disputed = taken(signed(body, changes as Partial<ReceiptBody>))
    expect(disputed).toMatchObject({ receiptState: 'disputed', counterSignature: null })
    expect(disputed.receiptNote).toMatch(/^the receipt differs in: /)
    expect(records(alice, 'svc.result.accepted')).toMatchObject([{ payload: { receipt_verified: false } }])
  })

  test('disputes a signature that is not the one of the provider', async () => {
    const { body } = await cut()
    const forged = Receipt.sign(alice.ctx.identity.seed, body)
    expect(taken(forged)).toMatchObject({
      receiptState: 'disputed',
      receiptNote: 'the signature of the provider does not hold',
    })
  })

  test('records a dispute once, however often the provider sends what is disputed', async () => {
    const { body } = await cut()
    const wrong = (end: number) => signed(body, { transcriptDigest: new Uint8Array(32), end })
    for (const receipt of [wrong(body.end), wrong(body.end), wrong(body.end + 1), wrong(body.end + 2)])
      expect(taken(receipt).receiptState).toBe('disputed')
    expect(records(alice, 'svc.result.accepted')).toHaveLength(1)
  })

  test('takes for a receipt only what the provider signed', async () => {
    const { body } = await cut()
    const isTaken = (seed: Uint8Array) => alice.tasks.judge.isOfProvider(of(alice), Receipt.sign(seed, body))
    expect(isTaken(bob.ctx.identity.seed)).toBe(true)
    expect([alice.ctx.identity.seed, new Uint8Array(32).fill(9)].map(isTaken)).toEqual([false, false])
  })

  test('disputes a start of long before it delegated', async () => {
    const { body } = await cut()
    const year = 365 * 86_400_000
    expect(taken(signed(body, { start: body.start - year })).receiptNote).toBe(
      'the receipt differs in: times',
    )
  })

  test('that gets a second receipt which contradicts the signed one keeps both, and reviews neither', async () => {
    const receipt = await cut()
    taken(receipt)
    const other = signed(receipt.body, { status: 'FAILED' })
    expect(taken(other)).toMatchObject({
      receiptState: 'disputed',
      receiptNote: expect.stringContaining('contradict each other'),
      receipt: Receipt.encode(receipt),
      contradicting: Receipt.encode(other),
    })
    const [record] = records(alice, 'svc.receipt.contradiction')
    expect(record?.['payload']).toMatchObject({ interaction_id: id, provider_aid: bob.aid })
    taken(other)
    taken(receipt)
    expect(records(alice, 'svc.receipt.contradiction')).toHaveLength(1)
    expect(of(alice)).toMatchObject({ receiptState: 'disputed', contradicting: Receipt.encode(other) })
    expect(warningsOf(alice.ctx).list().join()).toContain('two receipts of one task')
    expect(alice.tasks.verdicts.on(of(alice), true).verdict).toBe('invalid')
    const uploads = { firstAnswer: async () => {} }
    const rated = keepReview(
      { store: alice.ctx.store, ratings: alice.tasks.ratings, uploads: uploads },
      of(alice),
      { rating: 5, comment: '' },
    )
    await expect(rated).rejects.toMatchObject({ code: 'no_receipt' })
  })

  describe('whose provider signed a wrong receipt first and a right one later', () => {
    const wrong = { status: 'FAILED' } as const
    const accepted = () => alice.within(() => alice.tasks.heldReceipts.accept(of(alice)))
    const isOffered = () =>
      taskReading(alice.ctx)
        .views.thread(of(alice), { fromTurn: 1, maxChars: 1 })
        .actions.includes('accept_receipt')

    test('signs the right one once its person says so, and keeps the first in its chain', async () => {
      const right = await cut()
      taken(signed(right.body, wrong))
      expect(isOffered()).toBe(false)
      expect(taken(right)).toMatchObject({ receiptState: 'disputed', counterSignature: null })
      expect(isOffered()).toBe(true)
      expect(accepted()).toMatchObject({
        receiptState: 'signed',
        receiptNote: null,
        receipt: Receipt.encode(right),
        contradicting: null,
      })
      expect(records(alice, 'svc.receipt.contradiction')).toHaveLength(1)
      expect(records(alice, 'svc.result.accepted')).toMatchObject([
        { payload: { receipt_verified: false } },
        { payload: { receipt_verified: true } },
      ])
      expect(alice.tasks.verdicts.on(of(alice), true).verdict).toBe('valid')
      expect(isOffered()).toBe(false)
    })

    test('is offered a third one where the second does not agree either', async () => {
      const right = await cut()
      taken(signed(right.body, wrong))
      taken(signed(right.body, { resultCid: contentId(new Uint8Array([1])) }))
      expect(isOffered()).toBe(false)
      taken(right)
      taken(signed(right.body, { resultCid: contentId(new Uint8Array([2])) }))
      expect(isOffered()).toBe(true)
      expect(accepted().receipt).toEqual(Receipt.encode(right))
    })

    test('signs no second one of a task whose first it had signed', async () => {
      const first = await cut()
      taken(first)
      taken(signed(first.body, wrong))
      taken(first)
      expect(isOffered()).toBe(false)
    })
  })

  test('takes a receipt that was made anew for the same, and a forged one for nothing', async () => {
    const receipt = await cut()
    taken(receipt)
    const anew = signed(receipt.body, {
      end: receipt.body.end + 1,
      providerHead: [9, contentId(utf8('another'))],
    })
    expect(taken(anew)).toMatchObject({ receiptState: 'signed', contradicting: null })
    const forged = Receipt.sign(alice.ctx.identity.seed, { ...receipt.body, status: 'FAILED' })
    expect(taken(forged)).toMatchObject({ receiptState: 'signed', contradicting: null })
    const verdict = alice.tasks.verdicts.on(of(alice), true)
    expect(verdict.signed_by).toEqual(['provider', 'requester'])
    expect(verdict.says).toContain('The requester counter-signed it.')
    set(alice, { counterSignature: null })
    expect(alice.tasks.verdicts.on(of(alice), true)).toMatchObject({
      signed_by: ['provider'],
      says: expect.stringContaining("requester's signature was not shown"),
    })
  })

  test('disputes a receipt that leaves out what the provider said, and keeps both versions', async () => {
    const { body } = await cut()
    const [requester, [last]] = body.cover
    const empty = resultOf([])
    const nothing = { status: empty.status, resultCid: empty.cid }
    const all: [number, number[]] = [last, Array.from({ length: last }, (_, i) => i + 1)]
    const emptied = signed(body, { ...nothing, cover: [requester, all] })
    expect(taken(emptied)).toMatchObject({
      receiptState: 'disputed',
      receiptNote: 'the receipt differs in: dropped message, number 1',
      receipt: Receipt.encode(emptied),
    })
    expect(alice.messages(id).some(({ text }) => text === 'the answer')).toBe(true)
    set(alice, { receipt: null, receiptState: null, receiptNote: null })
    const short = taken(signed(body, { cover: [requester, [last - 1, []]] }))
    expect(short.receiptNote).toBe(`the receipt differs in: dropped message, number ${last}`)
  })

  test('signs a receipt without the message that it had itself named as missing', async () => {
    bob.say(id, 'overtaken')
    bob.say(id, 'arrives first')
    const overtaken = bob.messages(id).find(({ text }) => text === 'overtaken')?.key ?? 0
    bob.ctx.store.run('UPDATE outbox SET next_at = ? WHERE message = ?', world.clock.ms + DAY_MS, overtaken)
    bob.ctx.store.run('UPDATE outbox SET interaction = NULL WHERE message <> ?', overtaken)
    await world.settle()
    const receipt = await cut()
    expect(receipt.body.cover[1]).toEqual([4, [2]])
    bob.ctx.store.run('UPDATE outbox SET next_at = 0 WHERE message = ?', overtaken)
    set(alice, { receiptState: 'waiting' })
    await world.settle()
    set(alice, { receiptState: null })
    expect(alice.messages(id).some(({ text }) => text === 'overtaken')).toBe(true)
    expect(taken(receipt).receiptState).toBe('signed')
  })

  test('disputes messages that it never sent, and those after the end of the other side', async () => {
    const { body } = await cut()
    const [[asked], [answered]] = body.cover
    const invented = taken(signed(body, { cover: [[asked + 1, []], body.cover[1]] }))
    expect(invented.receiptNote).toBe(`the receipt differs in: message never sent, number ${asked + 1}`)
    set(alice, { receipt: null, receiptState: null, receiptNote: null })
    const late = taken(signed(body, { cover: [body.cover[0], [answered + 1, []]] }))
    expect(late.receiptNote).toBe(`the receipt differs in: message after the end, number ${answered + 1}`)
  })

  test('waits for a message on its way, signs when it is here, and disputes after a fortnight', async () => {
    const receipt = await cut()
    const [answer] = alice.messages(id).filter(({ kind }) => kind === kinds.message)
    alice.ctx.store.run('UPDATE messages SET number = 0 WHERE key = ?', answer?.key ?? 0)
    expect(taken(receipt)).toMatchObject({ receiptState: 'waiting', counterSignature: null })
    expect(of(alice).receiptNote).toContain('missing message')
    alice.ctx.store.run('UPDATE messages SET number = 1 WHERE key = ?', answer?.key ?? 0)
    expect(alice.within(() => alice.tasks.heldReceipts.settle(of(alice), receipt)).receiptState).toBe(
      'signed',
    )
  })

  test('disputes what still waits when no mail of its time can come any more', async () => {
    const receipt = await cut()
    const [answer] = alice.messages(id).filter(({ kind }) => kind === kinds.message)
    alice.ctx.store.run('UPDATE messages SET number = 0 WHERE key = ?', answer?.key ?? 0)
    taken(receipt)
    alice.ctx.store.run('UPDATE messages SET kind = ? WHERE key = ?', kinds.receipt, answer?.key ?? 0)
    const at = alice.ctx.threads.message(answer?.key ?? 0).at
    world.clock.ms = at + 14 * DAY_MS + HOUR_MS
    alice.within(() => alice.tasks.heldReceipts.disputeOverdue(alice.ctx.store, alice.ctx.now()))
    expect(of(alice).receiptState).toBe('waiting')
    world.pass(1)
    alice.within(() => alice.tasks.heldReceipts.disputeOverdue(alice.ctx.store, alice.ctx.now()))
    expect(of(alice).receiptState).toBe('disputed')
  })

  test('signs nothing while its chain is quarantined', async () => {
    const receipt = await cut()
    alice.ctx.chain.append('svc.chain.fork', {})
    expect(taken(receipt)).toMatchObject({
      receiptState: 'waiting',
      receiptNote: 'not signed: the evidence chain is quarantined',
      counterSignature: null,
    })
  })

  test('makes its signature anew under a new key, and only where there is one', async () => {
    const receipt = await cut()
    const plain = { withReceipt: false }
    expect(alice.within(() => alice.tasks.counterSigner.remake(of(alice), plain)).counterSignature).toBeNull()
    taken(receipt)
    alice.ctx.identity.rotate(alice.hub.identity.aid, world.clock.ms + 1)
    const made = alice.within(() => alice.tasks.counterSigner.remake(of(alice), plain))
    const counter = CounterSignature.decode(made.counterSignature as Uint8Array)
    expect(counter.body.kelSeq).toBe(alice.ctx.identity.log.seq)
    const [newest] = alice.messages(id).slice(-1) as [Message]
    const sent = decodePayload(newest.kind, newest.payload)
    expect(sent).toMatchObject({ payload: { counterSignature: { body: counter.body } } })
  })
})
