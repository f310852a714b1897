/** Mail from node to node without the hub, at a hub of wire 1. */

import { writeFileSync } from 'node:fs'
import * as http from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Node } from '../../daemon/node.ts'
import { DirectServer, LetterRefused } from '../../daemon/p2p/serve/server.ts'
import { LETTER_BYTES_MAX } from '../../protocol/contract/letter.ts'
import { systemTimers } from '../../protocol/timers.ts'
import { handsOf } from './hands.ts'
import { delegated, finished, inboxIds, type Lab, never, openLab, texts, thread, until } from './world.ts'

const HOST = '127.0.0.1'

let lab: Lab
let alice: Node
beforeAll(async () => {
  lab = await openLab({}, { wires: [1] })
  alice = await lab.member('alice')
})
afterAll(() => lab.close())

/** What ends with the test that opened it. */
let opened = new AsyncDisposableStack()
afterEach(async () => {
  await opened.disposeAsync()
  opened = new AsyncDisposableStack()
})

const status = (node: Node) => node.handlers.status(undefined, never)
const listed = async (node: Node) => {
  const answer = await fetch(`${lab.hub.url}/agents/${node.aid}/p2p`)
  return answer.status === 404 ? undefined : ((await answer.json()) as { addr: string }).addr
}

describe('an address', () => {
  const address = 'agent.example:4001'

  test('is published by its own command, and the status shows it', async () => {
    expect((await status(alice)).p2p).toBeUndefined()
    expect(await alice.handlers.p2pAdvertise({ address }, never)).toEqual({ status: 'published', address })
    expect((await status(alice)).p2p).toEqual({ address, listed: true, send: false })
    expect(await listed(alice)).toBe(address)
  })

  test('is published again by a new registration', async () => {
    await alice.handlers.hubLeave({}, never)
    expect(await listed(alice)).toBeUndefined()
    expect((await status(alice)).p2p).toEqual({ address, listed: false, send: false })
    await alice.handlers.hubRegister({ url: lab.line.url, name: 'alice', wire: 1 }, never)
    await until('it is listed', async () => (await listed(alice)) === address)
    expect((await status(alice)).p2p).toEqual({ address, listed: true, send: false })
  })

  test('is kept where the hub does not answer, and told once it does', async () => {
    await lab.line.down()
    const elsewhere = 'agent.example:4002'
    await expect(alice.handlers.p2pAdvertise({ address: elsewhere }, never)).rejects.toMatchObject({
      code: 'hub_unreachable',
      message: expect.stringContaining('told to the hub once that answers'),
    })
    expect((await status(alice)).p2p).toEqual({ address: elsewhere, listed: false, send: false })
    await lab.line.up()
    alice.wake()
    await until('it is listed', async () => (await listed(alice)) === elsewhere)
  })

  test('is withdrawn without a word', async () => {
    expect(await alice.handlers.p2pAdvertise({}, never)).toEqual({ status: 'withdrawn' })
    expect((await status(alice)).p2p).toBeUndefined()
    expect(await listed(alice)).toBeUndefined()
  })

  test('is refused by a node that has no hub', async () => {
    const dora = await lab.start('dora')
    await expect(dora.handlers.p2pAdvertise({ address }, never)).rejects.toMatchObject({ code: 'no_hub' })
    expect(await dora.handlers.p2pSet({ send: true }, never)).toEqual({ send: true })
  })
})

/** An address at which a node takes letters, as its own process would. */
async function taking(node: Node, given: { losesAnswers?: boolean } = {}): Promise<Address> {
  const seen = { came: 0 }
  const hands = handsOf(node)
  const letter: typeof hands.letter = async (...one) => {
    seen.came += 1
    const confirmation = await hands.letter(...one)
    if (given.losesAnswers === true) throw new LetterRefused('not_now')
    return confirmation
  }
  const server = new DirectServer({ ...hands, letter }, systemTimers)
  const at = await server.listen(HOST, 0)
  opened.defer(() => server.close())
  return { at, seen }
}

type Address = { at: string; seen: { came: number } }

/** An address at which somebody else answers. */
async function answering(answer: http.RequestListener): Promise<Address> {
  const seen = { came: 0 }
  const server = http.createServer((request, response) => {
    seen.came += 1
    request.resume()
    answer(request, response)
  })
  await new Promise<void>(done => server.listen(0, HOST, done))
  opened.defer(async () => void server.close().closeAllConnections())
  return { at: `${HOST}:${(server.address() as AddressInfo).port}`, seen }
}

let pairs = 0
/** A requester who sends directly and a provider, who know each other. */
async function pair(): Promise<{ ann: Node; ben: Node }> {
  pairs += 1
  const [ann, ben] = [await lab.member(`ann-${pairs}`), await lab.member(`ben-${pairs}`)]
  await ann.handlers.contactAdd({ aid: ben.aid, petname: 'ben' }, never)
  await ben.handlers.contactAdd({ aid: ann.aid, petname: 'ann' }, never)
  await ann.handlers.p2pSet({ send: true, hosts: [HOST] }, never)
  return { ann, ben }
}
const advertise = (node: Node, address: string) => node.handlers.p2pAdvertise({ address }, never)
const deliveries = async (node: Node, id: string) =>
  (await thread(node, id)).turns.filter(({ mine }) => mine).map(({ delivery }) => delivery)
/** A task that the other side has, and how the request for it went. */
async function sent(ann: Node, ben: Node, task: string) {
  const id = await delegated(ann, ben, task)
  await until('it has left', async () => (await deliveries(ann, id))[0]?.state !== 'queued')
  return { id, delivery: (await deliveries(ann, id))[0] }
}

describe('a letter', () => {
  test('goes directly, both ways, and a whole task is done while the hub is away', async () => {
    const { ann, ben } = await pair()
    await ben.handlers.p2pSet({ send: true, hosts: [HOST] }, never)
    const [atAnn, atBen] = [await taking(ann), await taking(ben)]
    await advertise(ann, atAnn.at)
    await advertise(ben, atBen.at)
    const first = await sent(ann, ben, 'while the hub is here')
    expect(first.delivery).toMatchObject({ state: 'delivered', direct: true })
    await ben.handlers.message({ interaction_id: first.id, text: 'done' }, never)
    await until('it came', async () => (await texts(ann, first.id)).includes('done'))
    expect([atAnn.seen.came, atBen.seen.came]).toEqual([1, 1])

    await lab.line.down()
    const { id, delivery } = await sent(ann, ben, 'while it is away')
    expect(delivery).toMatchObject({ state: 'delivered', direct: true })
    await ben.handlers.message({ interaction_id: id, text: 'done as well' }, never)
    await until('it came', async () => (await texts(ann, id)).includes('done as well'))
    await finished(ann, ben, id)
    await lab.line.up()
    expect(await ann.handlers.verify({ interaction_id: id }, never)).toMatchObject({ verdict: 'valid' })
    expect((await thread(ann, id)).sealed).toBe(false)
  })

  test('takes its files along', async () => {
    const { ann, ben } = await pair()
    const { at } = await taking(ben)
    await advertise(ben, at)
    const file = join(lab.folder, 'report.bin')
    writeFileSync(file, Buffer.alloc(3 * 1024 * 1024, 7))
    const given = { to: ben.aid, task: 'read this', attach: [file] }
    const { interaction_id: id } = await ann.handlers.delegate(given, never)
    await until('it came', async () => (await inboxIds(ben)).includes(id))
    const delivery = async () => (await deliveries(ann, id))[0]
    await until('its sender knows', async () => (await delivery())?.state === 'delivered')
    expect(await delivery()).toMatchObject({ direct: true })
    const files = async () => (await thread(ben, id)).turns.flatMap(({ attachments }) => attachments)
    await until('its file is there', async () => (await files()).length > 0)
    expect(await files()).toMatchObject([{ bytes: 3 * 1024 * 1024 }])
  })

  test('that is longer than an address takes goes by the hub at once, and the next one directly', async () => {
    const { ann, ben } = await pair()
    const { at, seen } = await taking(ben)
    await advertise(ben, at)
    const file = join(lab.folder, 'long.bin')
    writeFileSync(file, Buffer.alloc(LETTER_BYTES_MAX, 7))
    const given = { to: ben.aid, task: 'read this', attach: [file] }
    const { interaction_id: id } = await ann.handlers.delegate(given, never)
    await until('it came', async () => (await inboxIds(ben)).includes(id))
    expect((await deliveries(ann, id))[0]?.direct).toBeUndefined()
    expect(seen.came).toBe(0)
    expect((await sent(ann, ben, 'short')).delivery).toMatchObject({ state: 'delivered', direct: true })
  })

  test.each<[string, (pair: { ann: Node; ben: Node }) => Promise<unknown>]>([
    ['unless its sender said so', ({ ann }) => ann.handlers.p2pSet({ send: false }, never)],
    ['unless its recipient is a contact', ({ ann }) => ann.handlers.contactRemove({ peer: 'ben' }, never)],
    [
      'to a host that is not public, unless it is listed',
      ({ ann }) => ann.handlers.p2pSet({ send: true, hosts: [] }, never),
    ],
    [
      'to another port than the one that is listed',
      ({ ann }) => ann.handlers.p2pSet({ send: true, hosts: [`${HOST}:1`] }, never),
    ],
  ])('never goes directly %s', async (_, change) => {
    const both = await pair()
    const { at, seen } = await taking(both.ben)
    await advertise(both.ben, at)
    await change(both)
    const { delivery } = await sent(both.ann, both.ben, 'by the hub')
    expect(delivery).toMatchObject({ state: 'at_hub' })
    expect(delivery?.direct).toBeUndefined()
    expect(seen.came).toBe(0)
  })

  test('goes by the hub where nobody answers at the address', async () => {
    const { ann, ben } = await pair()
    await advertise(ben, `${HOST}:1`)
    expect((await sent(ann, ben, 'by the hub')).delivery).toMatchObject({ state: 'at_hub' })
  })

  test('goes by the hub where a name leads to this machine', async () => {
    const { ann, ben } = await pair()
    const { at, seen } = await taking(ben)
    await advertise(ben, at.replace(HOST, 'localhost'))
    expect((await sent(ann, ben, 'by the hub')).delivery).toMatchObject({ state: 'at_hub' })
    expect(seen.came).toBe(0)
  })

  const confirmation = Buffer.alloc(300).toString('base64')
  test.each<[string, http.RequestListener]>([
    ['says that it has it, and signs nothing', (_, answer) => answer.end('{"status":"taken"}')],
    ['signs with nothing', (_, answer) => answer.end(JSON.stringify({ status: 'taken', confirmation }))],
    [
      'sends it elsewhere',
      (_, answer) => answer.writeHead(302, { Location: 'http://127.0.0.1:1/p2p/send' }).end(),
    ],
    ['answers without end', (_, answer) => void setInterval(() => answer.write('x'.repeat(1000)), 1)],
    ['hangs up', request => request.socket.destroy()],
    ['refuses it', (_, answer) => answer.writeHead(403).end('{"error":"no"}')],
  ])('goes by the hub where somebody %s', async (_, answer) => {
    const { ann, ben } = await pair()
    const { at, seen } = await answering(answer)
    await advertise(ben, at)
    const { id, delivery } = await sent(ann, ben, 'by the hub')
    expect(delivery).toMatchObject({ state: 'at_hub' })
    expect(seen.came).toBe(1)
    // an address that took nothing is left in peace
    await ann.handlers.message({ interaction_id: id, text: 'more' }, never)
    await until('it came', async () => (await texts(ben, id)).includes('more'))
    expect(seen.came).toBe(1)
  })

  test('goes by the hub where somebody says nothing, within seconds', async () => {
    const { ann, ben } = await pair()
    const { at } = await answering(() => undefined)
    await advertise(ben, at)
    const { interaction_id: id } = await ann.handlers.delegate({ to: ben.aid, task: 'by the hub' }, never)
    const started = Date.now()
    while (!(await inboxIds(ben)).includes(id) && Date.now() - started < 60_000)
      await new Promise(resolve => setTimeout(resolve, 200))
    expect((await deliveries(ann, id))[0]).toMatchObject({ state: 'at_hub' })
    expect(Date.now() - started).toBeLessThan(30_000)
  })

  test('whose answer was lost comes by the hub too, and is taken once', async () => {
    const { ann, ben } = await pair()
    const { at, seen } = await taking(ben, { losesAnswers: true })
    await advertise(ben, at)
    const { id, delivery } = await sent(ann, ben, 'count me once')
    expect([delivery?.state, seen.came]).toEqual(['at_hub', 1])
    await ann.handlers.message({ interaction_id: id, text: 'behind it, by the hub' }, never)
    await until('both copies came', async () => (await texts(ben, id)).includes('behind it, by the hub'))
    await ben.handlers.message({ interaction_id: id, text: 'here' }, never)
    await until('it is confirmed', async () => (await deliveries(ann, id))[0]?.state === 'delivered')
    expect((await texts(ben, id)).filter(text => text.includes('count me once'))).toHaveLength(1)
    expect(ben.ctx.store.get('SELECT count(*) AS n FROM messages WHERE direction = ?', 'in')).toEqual({
      n: 2,
    })
  })

  test('overtakes none of its task that lies at the hub', async () => {
    const { ann, ben } = await pair()
    const { at, seen } = await taking(ben)
    await ann.handlers.p2pSet({ send: false }, never)
    const { id } = await sent(ann, ben, 'by the hub')
    await advertise(ben, at)
    await ann.handlers.p2pSet({ send: true }, never)
    await ann.handlers.message({ interaction_id: id, text: 'behind it' }, never)
    await until('it came', async () => (await texts(ben, id)).includes('behind it'))
    expect(seen.came).toBe(0)
    await ben.handlers.message({ interaction_id: id, text: 'both are here' }, never)
    await until('ann hears', async () => (await texts(ann, id)).includes('both are here'))
    await ann.handlers.message({ interaction_id: id, text: 'and now directly' }, never)
    await until('it came', async () => (await texts(ben, id)).includes('and now directly'))
    expect(seen.came).toBe(1)
  })

  test('is of whom its signature says, whoever is claimed beside it, and for nobody else', async () => {
    const { ann, ben } = await pair()
    const letters: Record<string, unknown>[] = []
    const { at } = await answering((request, answer) => {
      const parts: Buffer[] = []
      request.on('data', part => parts.push(part))
      request.on('end', () => {
        letters.push(JSON.parse(Buffer.concat(parts).toString()))
        answer.writeHead(503).end()
      })
    })
    await advertise(ben, at)
    await sent(ann, ben, 'whose task is this?')
    const [letter] = letters as [Parameters<Node['handlers']['p2pTake']>[0]]
    expect(await alice.handlers.p2pTake(letter, never)).toEqual({ refused: 'not_here' })
    expect(await alice.handlers.p2pTake({ ...letter, to_aid: alice.aid }, never)).toEqual({
      refused: 'malformed',
    })
    const claimed = { ...letter, from_aid: alice.aid }
    expect(await ben.handlers.p2pTake(claimed, never)).toMatchObject({ confirmation: expect.any(String) })
    const [id] = await inboxIds(ben)
    expect((await thread(ben, id as string)).peer).toBe(ann.aid)
    expect(await ben.handlers.p2pTake(letter, never)).toMatchObject({ confirmation: expect.any(String) })
    await ben.handlers.contactBlock({ peer: ann.aid, blocked: true }, never)
    expect((await inboxIds(ben)).length).toBe(1)
  })

  test('ends with its sender', async () => {
    const { ann, ben } = await pair()
    const { at, seen } = await answering(() => undefined)
    await advertise(ben, at)
    await ann.handlers.delegate({ to: ben.aid, task: 'no answer' }, never)
    await until('it is on its way', () => seen.came === 1)
    const started = Date.now()
    await ann.stop()
    expect(Date.now() - started).toBeLessThan(3000)
  })
})
