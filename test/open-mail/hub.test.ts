/** A hub of wire 1 as the node talks to it: who it is, its clock, its refusals, its directory and its credits. */
import * as http from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ClocksApart, HubHalted, HubStopped, presented, UnsealedHub } from '../../daemon/hubs/hub.ts'
import { meetHub, openHub } from '../../daemon/hubs/open.ts'
import { startTestHub, type TestHub } from '../../hub/testing/hub.ts'
import { OpenAgent, Wire1Client } from '../../hub/testing/wire1.ts'
import { causeCode } from '../../protocol/encoding/errors.ts'
import { verifyKel } from '../../protocol/identity/kel.ts'
import { networkOf } from '../../protocol/proof/payment.ts'
import { systemTimers } from '../../protocol/timers.ts'
import { never, type OpenNode, openNode } from './node.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

let hub: TestHub
let client: Wire1Client
let node: OpenNode
beforeAll(async () => {
  hub = await startTestHub({ wires: [1] })
  client = new Wire1Client(hub)
  node = await openNode(hub)
})
afterAll(async () => {
  await node.close()
  await hub.close()
})

const letterTo = (to: string) => ({
  ...{ to, from: node.aid, kind: 'message' as const },
  ...{ interaction: '', payload: new Uint8Array(3) },
})

describe('meeting', () => {
  test('a hub that seals nothing is used only by its wire', async () => {
    await expect(meetHub(hub.url, node.inputs)).rejects.toBeInstanceOf(UnsealedHub)
    await expect(meetHub(hub.url, node.inputs, 3)).rejects.toThrow('speaks wire 1 at this address, not 3')
    expect((await meetHub(hub.url, node.inputs, 1)).identity).toMatchObject({ aid: hub.aid, wire: 1 })
  })

  test('a hub of wire 3 is none of wire 1', async () => {
    const sealed = await startTestHub()
    const meeting = meetHub(sealed.url, node.inputs, 1)
    await expect(meeting).rejects.toThrow('speaks wire 3 at this address, not 1')
    await sealed.close()
  })

  test('an address with something else is told as such', async () => {
    await expect(meetHub(`${hub.url}/research`, node.inputs, 1)).rejects.toMatchObject({ name: 'NoHub' })
  })
})

describe('a refusal', () => {
  test('of somebody who is not here is unknown_aid, of what cannot be read bad_request', async () => {
    const stranger = new OpenAgent(client)
    const { openMail } = node.hub
    await expect(openMail?.send(letterTo(stranger.aid), never)).rejects.toMatchObject({
      code: 'unknown_aid',
      status: 404,
    })
    await expect(openMail?.send(letterTo('nobody'), never)).rejects.toMatchObject({ code: 'bad_request' })
    await expect(node.hub.fetchLog(stranger.aid)).rejects.toMatchObject({ code: 'unknown_aid' })
    expect(await node.hub.fetchAgent(stranger.aid)).toBeUndefined()
  })

  test('of whom nobody let in is admission_required', async () => {
    const other = await openNode(hub, { admitted: false })
    await expect(other.hub.checkAdmission(other.ground.identity.log)).rejects.toMatchObject({
      code: 'admission_required',
      members: { hint: expect.stringContaining('svc-hub admit') },
    })
    await other.close()
  })
})

describe('the clock of the hub', () => {
  test('is followed where it is hours off, at the second try', async () => {
    const skewed = await openNode(hub, { skewMs: -3 * HOUR_MS })
    expect(await skewed.hub.openMail?.poll(never)).toEqual([])
    expect(Math.abs((skewed.hub.apartMs ?? 0) - 3 * HOUR_MS)).toBeLessThan(5000)
    await skewed.close()
  })

  test('is not followed where it is days off', async () => {
    await expect(openNode(hub, { skewMs: -3 * DAY_MS })).rejects.toBeInstanceOf(ClocksApart)
  })
})

test('an agent has a log and no key set', async () => {
  const agent = await client.registered({ name: 'carol' })
  const found = await node.hub.fetchAgent(agent.aid)
  expect(found?.keySet).toBeUndefined()
  expect(verifyKel(found?.log ?? []).aid).toBe(agent.aid)
})

test('the directory is paged here, and searched by words or by capability', async () => {
  for (const name of ['ann', 'ben', 'cid']) await client.registered({ name, caps: [`demo.${name}`] })
  const first = await node.hub.listAgents({ limit: 2 })
  expect(first.agents).toHaveLength(2)
  const rest = await node.hub.listAgents({ limit: 100, cursor: String(first.next) })
  const all = [...first.agents, ...rest.agents].map(({ name }) => name)
  expect(all).toEqual(expect.arrayContaining(['ann', 'ben', 'cid']))
  expect(new Set([...first.agents, ...rest.agents].map(({ aid }) => aid)).size).toBe(all.length)
  const names = async (query: object) =>
    (await node.hub.listAgents({ limit: 100, ...query })).agents.map(({ name }) => name)
  expect(await names({ q: 'ben' })).toEqual(['ben'])
  expect(await names({ cap: 'demo.cid' })).toEqual(['cid'])
})

test('the account has its entries numbered from the oldest, and nothing is held', async () => {
  await hub.running.order({
    command: 'grant',
    aid: node.aid,
    amount: 7,
    reason: 'a test',
    id: 'ab'.repeat(16),
  })
  const account = await node.hub.credits.account(10, never)
  expect(account).toMatchObject({ network: networkOf(hub.aid), held: 0 })
  const [newest] = account.entries
  expect(newest).toMatchObject({ delta: 7, seq: account.entries.length })
  expect(account.balance).toBe(account.entries.reduce((sum, { delta }) => sum + delta, 0))
  expect(await node.hub.credits.entriesAfter(account.entries.length - 1, never)).toHaveLength(1)
})

test('the supply chain is read to its head', async () => {
  const page = await node.hub.credits.supplyRecords(0, never)
  expect([page.isLast, page.records.length]).toEqual([true, page.headSeq + 1])
})

test('a hub that speaks another wire for a while is talked to again once somebody looks', async () => {
  const other = await openNode(hub)
  const served = other.inputs.connections.signed
  const isOther = { now: true }
  Object.assign(other.inputs.connections, {
    signed: async (request: Parameters<typeof served>[0]) => {
      const { body, status, headers } = await served(request)
      const named = new Headers(headers)
      if (isOther.now) named.set('X-Svc-Wire', '9')
      return new Response(body, { status, headers: named })
    },
  })
  await expect(other.hub.openMail?.poll(never)).rejects.toThrow('speaks wire version 9')
  await expect(other.hub.refresh()).rejects.toThrow('speaks wire version 9')
  isOther.now = false
  await expect(other.hub.openMail?.poll(never)).rejects.toThrow('speaks wire version 9')
  await other.hub.refresh(true)
  expect([other.hub.stopped, await other.hub.openMail?.poll(never)]).toEqual([undefined, []])
  await other.close()
})

test('a node that talks to it no longer says why', async () => {
  const other = await openNode(hub)
  other.hub.halt('an old copy')
  await expect(other.hub.openMail?.poll(never)).rejects.toBeInstanceOf(HubHalted)
  expect(other.hub.stopped).toBe('an old copy')
  await other.close()
})

test('a hub with another key history at the same address is talked to no longer', async () => {
  const [first, second] = [await startTestHub({ wires: [1] }), await startTestHub({ wires: [1] })]
  const other = await openNode(first, { answers: second })
  await expect(other.hub.refresh()).rejects.toBeInstanceOf(HubStopped)
  await other.close()
  for (const one of [first, second]) await one.close()
})

/** Answers of somebody else in the place of the hub; nobody waits for what takes seconds. */
async function answeredBy(answer: http.RequestListener) {
  const server = http.createServer((request, response) => {
    request.resume()
    answer(request, response)
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const after = (ms: number, work: () => void) => systemTimers.after(ms / 100, work)
  const timers = { ...systemTimers, after }
  const inputs = { ...node.inputs, timers }
  const close = () => void server.close().closeAllConnections()
  return { asked: openHub({ ...presented(node.hub), url }, inputs), inputs, url, close }
}
const zipped = { 'Content-Encoding': 'gzip' }

describe('an answer to a poll', () => {
  test.each<[string, http.RequestListener, string]>([
    ['begins and rests', (_, answer) => void answer.write('{"messages":['), 'ETIMEDOUT'],
    ['never begins', () => undefined, 'ETIMEDOUT'],
    [
      'is cut',
      (_, answer) => {
        answer.writeHead(200, { 'Content-Length': '1000' }).write('{"messages":[')
        setTimeout(() => answer.destroy(), 50)
      },
      'UND_ERR_SOCKET',
    ],
    [
      'is badly packed',
      (_, answer) => answer.writeHead(200, zipped).end(gzipSync('{"messages":[]}').fill(7, 12, 16)),
      'Z_DATA_ERROR',
    ],
  ])('that %s is a failure of the line', async (_, answer, code) => {
    const { asked, close } = await answeredBy(answer)
    const error: unknown = await asked.openMail?.poll(never).catch((why: unknown) => why)
    expect(causeCode(error)).toBe(code)
    close()
  })

  test('that unpacks to more than an answer has is not read on', async () => {
    const bomb = gzipSync(Buffer.alloc(100 * 1024 * 1024, ' '))
    const { asked, close } = await answeredBy((_, answer) => answer.writeHead(200, zipped).end(bomb))
    await expect(asked.openMail?.poll(never)).rejects.toThrow('the reply is too large')
    close()
  })
})

test('a hub whose key history does not verify is told as such', async () => {
  const identity = JSON.stringify({ aid: hub.aid, kel: Buffer.from('nothing').toString('base64') })
  const { asked, inputs, url, close } = await answeredBy((_, answer) => answer.end(identity))
  await expect(meetHub(url, inputs, 1)).rejects.toThrow('the key history of the hub is not its own')
  await expect(asked.refresh()).rejects.toBeInstanceOf(HubStopped)
  close()
})

test.each([
  ['no text', Buffer.from([0xff, 0xfe]), 'the reply is no text'],
  ['no JSON', Buffer.from('{"a":'), undefined],
])('a card that is %s is none', async (_, body, why) => {
  const { asked, close } = await answeredBy((_request, answer) => answer.end(body))
  const card = asked.fetchCard(node.aid)
  if (why === undefined) expect(await card).toBeUndefined()
  else await expect(card).rejects.toThrow(why)
  close()
})
