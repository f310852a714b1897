/** Every kind of message in every state of an interaction, as the vectors have it. */

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { contentId } from '../../protocol/crypto/hash.ts'
import { fromBase64url, toBase64url } from '../../protocol/encoding/bytes.ts'
import { type MessageBody, messageDigest } from '../../protocol/mail/message.ts'
import { encodePayload, kinds, noReceiptReasons } from '../../protocol/mail/payload.ts'
import { documentBytes, documentCid } from '../../protocol/proof/documents.ts'
import { GENESIS } from '../../protocol/proof/evidence.ts'
import { CounterSignature, Receipt } from '../../protocol/proof/receipt.ts'
import { fixture } from '../../protocol/testing/agents.ts'
import { verdicts } from '../store/seen.ts'
import type { Interaction } from '../store/threads.ts'
import { arrivedFrom } from '../testing/arrived.ts'
import { type TestNode, TestWorld } from '../testing/node.ts'
import { receivingOf } from './open.ts'

type Role = 'provider' | 'requester'
type Standing = Pick<Interaction, 'state'> & {
  name: string
  endBy?: 'me' | 'peer'
  ownLast?: number
  peerLast?: number
  receiptWaits?: boolean
}
type Case = { receiver: Role; standing: string; kind: number; number: number; code: number; becomes: string }
const { standings, cases } = fixture<{ standings: Record<Role, Standing[]>; cases: Case[] }>(
  'interaction/steps.json',
)
const task = documentBytes({ task: 'count', attachments: [] })
const words = documentBytes({ text: 'words', attachments: [] })
const commitment = new Uint8Array(32)

let world: TestWorld
let peer: TestNode
let receiver: TestNode
let drawn = 0

beforeAll(async () => {
  world = new TestWorld()
  ;({ alice: peer, bob: receiver } = await world.pair())
  receiver.ctx.settings.change({ guest_messages: 1000 })
  receiver.within(() => receiver.ctx.peers.learn(peer.ctx.identity.log, peer.ctx.keys.set))
})
afterAll(() => world[Symbol.asyncDispose]())

const drawId = () =>
  new Uint8Array(16)
    .fill(9)
    .with(0, ++drawn & 255)
    .with(1, drawn >> 8)

/** An interaction that stands like this, with the first message of the peer. */
function placed(role: Role, { name: _, receiptWaits, ...standing }: Standing): Interaction {
  const { threads } = receiver.ctx
  const isProvider = role === 'provider'
  const created = threads.create({
    id: toBase64url(drawId()),
    delegator: isProvider ? peer.aid : receiver.aid,
    peer: peer.aid,
    side: isProvider ? 'received' : 'sent',
    state: standing.state,
    way: 'sealed',
    capability: null,
    preview: 'count',
    commitment,
    requestCid: documentCid(task),
  })
  const first = isProvider ? bodyOf(created, kinds.delegate, 1) : bodyOf(created, kinds.message, 1)
  const { interaction } = threads.storeIncoming(created, first, {
    digest: messageDigest(first),
    text: 'words',
  })
  const waits = receiptWaits === true ? { receipt: receiptOf(created), receiptState: 'waiting' as const } : {}
  return threads.update(interaction, { numbered: 1, ...standing, ...waits })
}

const receiptOf = (of: Interaction, seed = peer.ctx.identity.seed): Uint8Array =>
  Receipt.encode(
    Receipt.sign(seed, {
      v: 1,
      interactionId: fromBase64url(of.id),
      provider: peer.aid,
      providerKelSeq: peer.ctx.identity.log.seq,
      requesterCommitment: commitment,
      requestCid: contentId(task),
      resultCid: contentId(words),
      start: 1,
      end: 2,
      status: 'UNVERIFIED',
      providerHead: [0, GENESIS],
      cover: [
        [1, []],
        [1, []],
      ],
      transcriptDigest: new Uint8Array(32),
    }),
  )

/** A well-formed payload of each kind; an accept-end names the last number of the receiver. */
function payloadOf(interaction: Interaction, kind: number, number: number): Uint8Array {
  const cut = { number, peerHighest: 0, missing: [] }
  const counter = {
    requester: peer.aid,
    kelSeq: peer.ctx.identity.log.seq,
    chainLength: 0,
    chainHead: GENESIS,
    bodyHash: new Uint8Array(32),
  }
  switch (kind) {
    case kinds.delegate:
      return encodePayload(kinds.delegate, { document: task, requesterCommitment: commitment })
    case kinds.end:
      return encodePayload(kinds.end, cut)
    case kinds.acceptEnd:
      return encodePayload(kinds.acceptEnd, { endNumber: interaction.ownLast ?? 1, ...cut })
    case kinds.receipt:
      return encodePayload(kinds.receipt, { receipt: Receipt.decode(receiptOf(interaction)) })
    case kinds.counterSignature:
      return encodePayload(kinds.counterSignature, {
        counterSignature: CounterSignature.sign(peer.ctx.identity.seed, counter),
      })
    case kinds.capabilities:
      return encodePayload(kinds.capabilities, {})
    case kinds.heldHead:
      return encodePayload(kinds.heldHead, {
        counterSignature: CounterSignature.sign(receiver.ctx.identity.seed, {
          ...counter,
          requester: receiver.aid,
        }),
      })
    case kinds.settlements:
      return encodePayload(kinds.settlements, { settlements: [Uint8Array.of(1)] })
    case kinds.noReceipt:
      return encodePayload(kinds.noReceipt, { reason: noReceiptReasons.answerLost })
    case kinds.declined:
    case kinds.cancelled:
      return encodePayload(kind, { reason: 'enough' })
    default:
      return encodePayload(kinds.message, { document: words })
  }
}

const bodyOf = (interaction: Interaction, kind: number, number: number): MessageBody => ({
  v: 1,
  from: peer.aid,
  to: receiver.aid,
  kelSeq: peer.ctx.identity.log.seq,
  messageId: drawId(),
  tsMs: world.clock.ms,
  kind,
  interactionId: fromBase64url(interaction.id),
  number,
  storedUpTo: 0,
  payload: payloadOf(interaction, kind, number),
  kelHeadDigest: peer.ctx.identity.log.headDigest,
  attachments: [],
})

function taken(interaction: Interaction, kind: number, number: number): number {
  return takenAs(bodyOf(interaction, kind, number))
}

function takenAs(body: MessageBody): number {
  return verdicts[receivingOf(receiver.ctx).takeIn(arrivedFrom(peer, receiver, body))]
}

describe.each(['provider', 'requester'] as const)('a %s whose interaction is', receiverRole => {
  test.each(standings[receiverRole])('$name answers every kind as the vectors say', standing => {
    const own = cases.filter(one => one.receiver === receiverRole && one.standing === standing.name)
    expect(own).toHaveLength(28)
    const found = own.map(({ kind, number, ...expected }) => {
      const interaction = receiver.within(() => placed(receiverRole, standing))
      const messages = receiver.messages(interaction.id).length
      const code = taken(interaction, kind, number)
      const after = receiver.thread(interaction.id)
      const held = receiver.messages(interaction.id).filter(({ direction }) => direction === 'in').length
      if (code !== 0) expect([kind, number, held]).toEqual([kind, number, messages])
      return { ...expected, kind, number, code, becomes: after.state }
    })
    expect(found).toEqual(own)
  })
})

test('a receipt that its provider did not sign is malformed, before the cut and after it, and stands in no record', () => {
  const forged = (interaction: Interaction) => {
    const receipt = Receipt.decode(receiptOf(interaction, receiver.ctx.identity.seed))
    const body = bodyOf(interaction, kinds.receipt, 0)
    return takenAs({ ...body, payload: encodePayload(kinds.receipt, { receipt }) })
  }
  const standing = (name: string) => standings.requester.find(one => one.name === name) as Standing
  const length = receiver.ctx.chain.position[0]
  for (const name of ['own end proposed', 'ended']) {
    const interaction = receiver.within(() => placed('requester', standing(name)))
    expect([forged(interaction), taken(interaction, kinds.receipt, 0)]).toEqual([2, 0])
  }
  // of the two that are signed one is disputed, because its interaction is over
  expect(receiver.ctx.chain.position[0]).toBe(length + 1)
})
