/** Letters of a poll over wire 1, one of them mutated: it is taken or counted, and the others are taken in any case. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Taker } from '../../daemon/carrier/carrier.ts'
import { startTestHub, type TestHub } from '../../hub/testing/hub.ts'
import { type OpenAgent, Wire1Client } from '../../hub/testing/wire1.ts'
import { ForeignAnswer, type Send } from '../../protocol/contract/client.ts'
import { toBase64, toBase64url, utf8 } from '../../protocol/encoding/bytes.ts'
import { parseJson } from '../../protocol/encoding/json.ts'
import { encodeOpen, signOpen } from '../../protocol/mail/open-message.ts'
import { seed } from '../../protocol/testing/slow.ts'
import { bodyOf } from '../open-mail/letter.ts'
import { never, type OpenNode, openNode } from '../open-mail/node.ts'
import { mutateMember } from './members.ts'
import { type Draw, drawFrom, mutate } from './mutate.ts'

const LETTERS = 3

let hub: TestHub
let node: OpenNode
let mallory: OpenAgent
let real: Record<string, unknown>[]
const came: string[] = []
let verdicts = 0
const taker: Taker = {
  earlier: () => undefined,
  showRetired() {
    verdicts += 1
  },
  async take({ body }) {
    came.push(toBase64url(body.messageId))
    return 'stored'
  },
}

/** A message with one of its members in another way, or the bytes of its payload. */
function mutated(message: Record<string, unknown>, draw: Draw): Uint8Array {
  if (draw(3) > 0) return mutateMember(utf8(JSON.stringify(message)), draw)
  const payload = Buffer.from(String(message['payload']), 'base64')
  return utf8(JSON.stringify({ ...message, payload: toBase64(mutate([payload], draw)) }))
}

const answer = (body: Uint8Array) => new Response(Buffer.from(body), { headers: { 'X-Svc-Wire': '1' } })

/** The hub, but for an answer to its first poll; it never hands anything out after that. */
function giving(first: Uint8Array, send: Send): Send {
  const answers = [first]
  return async request => {
    const { pathname } = new URL(request.url)
    if (pathname === '/relay/poll') return answer(answers.shift() ?? utf8('{"messages":[]}'))
    return pathname === '/relay/ack' ? answer(utf8('{"acked":0}')) : await send(request)
  }
}

/** Whether the answer as a whole, and what the hub itself says in it, can be read. */
function isWhole(body: Uint8Array): boolean {
  try {
    const { messages } = parseJson(body) as { messages: { id?: unknown }[] }
    return messages.every(message => typeof message.id === 'string' && /^.{1,256}$/su.test(message.id))
  } catch {
    return false
  }
}

const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  )

const counted = () =>
  ['malformed', 'sender_unknown', 'sender_awaited', 'peer_forks'].reduce(
    (sum, name) => sum + node.counted(name),
    0,
  )

async function collect(body: Uint8Array): Promise<unknown> {
  const { connections } = node.inputs
  const { signed } = connections
  Object.assign(connections, { signed: giving(body, signed) })
  try {
    return await node.carrier.collect({ waitMs: 0, signal: never }, taker)
  } finally {
    Object.assign(connections, { signed })
  }
}

async function checkOne(seed: number): Promise<void> {
  const draw = drawFrom(seed)
  const at = draw(LETTERS)
  const parts = real.map((message, nth) =>
    nth === at ? mutated(message, draw) : utf8(JSON.stringify(message)),
  )
  const commas = parts.flatMap((part, nth) => (nth === 0 ? [part] : [utf8(','), part]))
  const body = Buffer.concat([utf8('{"messages":['), ...commas, utf8(']}')])
  came.length = 0
  verdicts = 0
  const before = counted()
  const error = await failureOf(collect(body))
  if (error !== undefined) {
    expect([isWhole(body), error, came], `seed ${seed}`).toEqual([false, expect.any(ForeignAnswer), []])
    return
  }
  expect(came.length, `seed ${seed}`).toBeGreaterThanOrEqual(LETTERS - 1)
  expect(came.length + verdicts + counted() - before, `seed ${seed}`).toBe(LETTERS)
}

/** The test of so many answers. */
export function testPolledLetters(cases: number): void {
  const first = seed

  describe('letters of a poll over wire 1', () => {
    beforeAll(async () => {
      hub = await startTestHub({ wires: [1] })
      const client = new Wire1Client(hub)
      node = await openNode(hub)
      mallory = await client.registered()
      real = Array.from({ length: LETTERS }, (_, nth) => {
        const body = bodyOf(mallory, { aid: node.aid, hub })
        const payload = toBase64(encodeOpen(signOpen(mallory.seed, body, [])))
        const from = { from_aid: mallory.aid, interaction_id: toBase64url(body.interactionId as Uint8Array) }
        return {
          id: `letter-${nth}`,
          ...from,
          kind: 'message',
          payload,
          created_at: new Date().toISOString(),
        }
      })
    })
    afterAll(async () => {
      await node.close()
      await hub.close()
    })
    beforeEach(() => {
      came.length = 0
    })

    test('as they are, all are taken', async () => {
      expect(await collect(utf8(JSON.stringify({ messages: real })))).toMatchObject({ taken: LETTERS })
      expect(came).toHaveLength(LETTERS)
    })

    test(`${cases} answers (from ${first}) with a bad letter: it is taken or counted, and the others are taken`, async () => {
      for (let seed = first; seed < first + cases; seed++) {
        await checkOne(seed)
      }
    })

    test('a hub that gives new letters without end is left for a moment', async () => {
      const { connections } = node.inputs
      const { signed } = connections
      let nth = 0
      const given = () => ({ messages: [{ ...real[0], id: `letter ${nth++}` }] })
      const send: Send = async request => {
        if (request.url.endsWith('/relay/poll')) return answer(utf8(JSON.stringify(given())))
        return await giving(utf8(''), signed)(request)
      }
      Object.assign(connections, { signed: send })
      await node.carrier.collect({ waitMs: 0, signal: never }, taker)
      Object.assign(connections, { signed })
      expect(nth).toBeLessThan(200)
    })
  })
}
