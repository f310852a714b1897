/** Orders of the operator, mutated: each is carried out, or refused with a sentence of the hub. */
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Order, orderShape } from '../../hub/operator/order-shapes.ts'
import type { OperatorReply } from '../../hub/operator/socket.ts'
import { startTestHub, type TestHub } from '../../hub/testing/hub.ts'
import { Wire1Client } from '../../hub/testing/wire1.ts'
import { toBase64url, utf8 } from '../../protocol/encoding/bytes.ts'
import { Failure, Refusal } from '../../protocol/encoding/errors.ts'
import { parseJson } from '../../protocol/encoding/json.ts'
import { encodeKel } from '../../protocol/identity/kel.ts'
import { agent } from '../../protocol/testing/agents.ts'
import { seed } from '../../protocol/testing/slow.ts'
import { mutateMember } from './members.ts'
import { drawFrom, mutate } from './mutate.ts'

const peer = agent('a peer of the sample')

/** An order of each kind, about this agent. */
const orders: { [C in Order['command']]: (aid: string) => Order & { command: C } } = {
  admission: () => ({ command: 'admission', mode: 'closed' }),
  agents: aid => ({ command: 'agents', after: aid, limit: 10 }),
  agent: aid => ({ command: 'agent', aid }),
  admit: aid => ({ command: 'admit', aid }),
  unadmit: aid => ({ command: 'unadmit', aid }),
  block: aid => ({ command: 'block', aid }),
  unblock: aid => ({ command: 'unblock', aid }),
  remove: aid => ({ command: 'remove', aid }),
  archive: aid => ({ command: 'archive', aid, reason: 'as asked', before: 5 }),
  unarchive: aid => ({ command: 'unarchive', aid }),
  listed: aid => ({ command: 'listed', aid, listed: true }),
  ranges: () => ({ command: 'ranges', refuse: '10.0.0.0/8', allow: '10.1.0.0/16' }),
  quota: aid => ({ command: 'quota', aid, quota: { envelopes: 10, bytes: 1_000_000 }, reset: true }),
  grant: aid => ({ command: 'grant', aid, amount: 5, reason: 'a test', id: 'ab'.repeat(16), repeat: true }),
  redemptions: () => ({ command: 'redemptions', since: 0, before: 5, limit: 10 }),
  witness: aid => ({ command: 'witness', add: aid, url: 'https://witness.example', remove: aid }),
  peers: () => ({
    command: 'peers',
    add: {
      url: 'https://peer.example',
      open_url: 'https://open.example',
      kel: toBase64url(encodeKel(peer.log.events)),
    },
    limit: { aid: peer.aid, credits: 100 },
    paid: { aid: peer.aid, amount: 1, reference: 'invoice 7' },
    reopen: peer.aid,
    remove: peer.aid,
  }),
  invites: () => ({ command: 'invites', make: { days: 7 }, revoke: 'abc' }),
  clock: () => ({ command: 'clock', accept: true }),
  rotate: () => ({ command: 'rotate' }),
  stats: () => ({ command: 'stats' }),
  running: () => ({ command: 'running' }),
  keep_files: () => ({ command: 'keep_files' }),
  let_go: () => ({ command: 'let_go', lease: 'abc' }),
}
const commands = Object.keys(orders) as Order['command'][]

let hub: TestHub
let aid: string

const bytesOf = (command: Order['command']): Uint8Array => utf8(JSON.stringify(orders[command](aid)))

function mutatedOrder(command: Order['command'], seed: number): Uint8Array {
  const draw = drawFrom(seed)
  const real = bytesOf(command)
  return draw(3) > 0 ? mutateMember(real, draw) : mutate([real], draw)
}

/** What is thrown where an order is read and carried out. */
async function thrownBy(bytes: Uint8Array): Promise<unknown> {
  try {
    const read = orderShape.safeParse(parseJson(bytes))
    if (read.success) await hub.running.order(read.data)
    return undefined
  } catch (error) {
    return error
  }
}

/** The answer of the socket, to bytes as they are. */
async function answered(bytes: Uint8Array): Promise<OperatorReply> {
  const socket = connect({ path: join(hub.directory, 'operator.sock'), allowHalfOpen: true })
  socket.end(bytes)
  const parts: Buffer[] = []
  for await (const part of socket) parts.push(part as Buffer)
  return JSON.parse(Buffer.concat(parts).toString()) as OperatorReply
}

/** The test of so many orders of each kind. */
export function testOrders(cases: number): void {
  const first = seed

  describe('orders of the operator', () => {
    beforeAll(async () => {
      hub = await startTestHub({ wires: [1, 3] })
      aid = (await new Wire1Client(hub).registered()).aid
    })
    afterAll(() => hub.close())

    test.each(commands)(
      `${cases} mutated orders (from ${first}): %s is carried out or refused`,
      async command => {
        for (let seed = first; seed < first + cases; seed++) {
          const error = await thrownBy(mutatedOrder(command, seed))
          const isNamed = error === undefined || error instanceof Refusal || error instanceof Failure
          if (!isNamed) throw new Error(`seed ${seed}`, { cause: error })
        }
      },
    )

    test.each(commands)(
      `${cases} mutated orders (from ${first}): %s is answered over the socket`,
      async command => {
        for (let seed = first; seed < first + cases; seed++) {
          const reply = await answered(mutatedOrder(command, seed))
          expect(reply.ok || typeof reply.error === 'string', `seed ${seed}`).toBe(true)
        }
        expect(await answered(bytesOf('running'))).toMatchObject({ ok: true })
      },
    )
  })
}
