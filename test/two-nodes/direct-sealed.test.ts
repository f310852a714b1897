/** Sealed mail from node to node without the hub, at a hub of wire 3. */

import { writeFileSync } from 'node:fs'
import * as http from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Node } from '../../daemon/node.ts'
import { DirectServer, LetterRefused } from '../../daemon/p2p/serve/server.ts'
import { addressOf, keepAddress } from '../../daemon/store/direct.ts'
import { noteSettled } from '../../daemon/store/restores.ts'
import { DIRECT_ENVELOPE_BYTES_MAX } from '../../protocol/contract/direct.ts'
import { systemTimers } from '../../protocol/timers.ts'
import { handsOf } from './hands.ts'
import { delegated, finished, inboxIds, type Lab, never, openLab, texts, thread, until } from './world.ts'

const HOST = '127.0.0.1'

let lab: Lab
beforeAll(async () => {
  lab = await openLab()
})
afterAll(() => lab.close())

/** What ends with the test that opened it. */
let opened = new AsyncDisposableStack()
afterEach(async () => {
  await opened.disposeAsync()
  opened = new AsyncDisposableStack()
})

type Seen = { judged: number; came: Uint8Array[]; confirmed: number }
type Address = { at: string; seen: Seen; close: () => Promise<void> }

/** An address at which a node takes mail, as its own process would. */
async function taking(
  node: Node,
  given: { losesAnswers?: boolean; answers?: Promise<void> } = {},
): Promise<Address> {
  const seen: Seen = { judged: 0, came: [], confirmed: 0 }
  const hands = handsOf(node)
  const server = new DirectServer(
    {
      ...hands,
      async admit(...one) {
        seen.judged += 1
        await hands.admit(...one)
      },
      async envelope(envelope, signal) {
        seen.came.push(envelope)
        const confirmation = await hands.envelope(envelope, signal)
        await given.answers
        if (given.losesAnswers === true) throw new LetterRefused('not_now')
        seen.confirmed += 1
        return confirmation
      },
    },
    systemTimers,
  )
  const at = await server.listen(HOST, 0)
  opened.defer(() => server.close())
  return { at, seen, close: () => server.close() }
}

/** An address at which somebody else answers. */
async function answering(answer: http.RequestListener): Promise<{ at: string; seen: { came: number } }> {
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

type Pair = { ann: Node; ben: Node }
let pairs = 0
/** A requester who sends directly and a provider, who know each other and have worked together. */
async function pair(): Promise<Pair> {
  pairs += 1
  const [ann, ben] = [await lab.member(`ann-${pairs}`), await lab.member(`ben-${pairs}`)]
  await ann.handlers.contactAdd({ aid: ben.aid, petname: 'ben' }, never)
  await ben.handlers.contactAdd({ aid: ann.aid, petname: 'ann' }, never)
  await ann.handlers.p2pSet({ send: true, hosts: [HOST] }, never)
  const id = await delegated(ann, ben, 'before')
  await ben.handlers.message({ interaction_id: id, text: 'here I am' }, never)
  await until('they have met', async () => (await texts(ann, id)).includes('here I am'))
  return { ann, ben }
}

/** A node says where it takes mail, and its contact knows. */
async function advertise(node: Node, to: Node, address: string) {
  const said = await node.handlers.p2pAdvertise(address === '' ? {} : { address }, never)
  await until('its contact knows', () => (addressOf(to.ctx.store, node.aid) ?? '') === address)
  return said
}
const deliveries = async (node: Node, id: string) =>
  (await thread(node, id)).turns.filter(({ mine }) => mine).map(({ delivery }) => delivery)
/** A task that the other side has, and how the request for it went. */
async function sent(ann: Node, ben: Node, task: string) {
  const id = await delegated(ann, ben, task)
  await until('it has left', async () => (await deliveries(ann, id))[0]?.state !== 'queued')
  return { id, delivery: (await deliveries(ann, id))[0] }
}
const heard = (node: Node, id: string, words: string) =>
  until(`somebody reads "${words}"`, async () => (await texts(node, id)).includes(words))
const times = async (node: Node, id: string, words: string) =>
  (await texts(node, id)).filter(text => text.includes(words)).length

describe('an address', () => {
  test('goes to contacts, sealed, and the hub is told nothing; its withdrawal too', async () => {
    const { ann, ben } = await pair()
    expect(await advertise(ben, ann, 'agent.example:4001')).toEqual({
      status: 'published',
      address: 'agent.example:4001',
      told: 1,
    })
    expect((await ben.handlers.status(undefined, never)).p2p).toEqual({
      address: 'agent.example:4001',
      told: 1,
      send: false,
    })
    expect(await advertise(ben, ann, '')).toEqual({ status: 'withdrawn' })
    expect((await ben.handlers.status(undefined, never)).p2p).toBeUndefined()
  })

  test('is told anew after a restore, and what was said before it does not outlast it', async () => {
    const { ann, ben } = await pair()
    await advertise(ben, ann, 'agent.example:4001')
    const { store, settings } = ben.ctx
    const now = ben.ctx.now()
    store.transaction(() => noteSettled(store, now, now))
    settings.change({ p2p: { address: 'agent.example:4000' } })
    ben.wake()
    await until('it is told', () => addressOf(ann.ctx.store, ben.aid) === 'agent.example:4000')
    keepAddress(ann.ctx.store, ben.aid, { address: 'agent.example:4001', atMs: now - 1 })
    expect(addressOf(ann.ctx.store, ben.aid)).toBe('agent.example:4000')
  })

  test('is withdrawn from who is no contact any more, and never told to a stranger', async () => {
    const { ann, ben } = await pair()
    await advertise(ben, ann, 'agent.example:4001')
    await ben.handlers.contactRemove({ peer: 'ann' }, never)
    await until('it is withdrawn', () => addressOf(ann.ctx.store, ben.aid) === undefined)
    await ben.handlers.contactAdd({ aid: ann.aid, petname: 'ann' }, never)
    await until('it is told again', () => addressOf(ann.ctx.store, ben.aid) === 'agent.example:4001')
    await ben.handlers.contactBlock({ peer: 'ann', blocked: true }, never)
    await ben.handlers.p2pAdvertise({ address: 'agent.example:4002' }, never)
    expect((await ben.handlers.status(undefined, never)).p2p).toMatchObject({ told: 0 })
  })
})

describe('an envelope', () => {
  test('goes directly, both ways, and a whole task is done while the hub is away', async () => {
    const { ann, ben } = await pair()
    await ben.handlers.p2pSet({ send: true, hosts: [HOST] }, never)
    const [atAnn, atBen] = [await taking(ann), await taking(ben)]
    await advertise(ben, ann, atBen.at)
    await advertise(ann, ben, atAnn.at)
    await lab.line.down()
    const { id, delivery } = await sent(ann, ben, 'while it is away')
    expect(delivery).toEqual({ state: 'delivered' })
    await ben.handlers.message({ interaction_id: id, text: 'done' }, never)
    await heard(ann, id, 'done')
    await finished(ann, ben, id)
    expect([atAnn.seen.confirmed > 0, atBen.seen.confirmed > 0]).toEqual([true, true])
    await lab.line.up()
    expect(await ann.handlers.verify({ interaction_id: id }, never)).toMatchObject({ verdict: 'valid' })
    expect((await thread(ann, id)).sealed).toBe(true)
  })

  test('of which more go at once than an address gets waits, and goes directly while the hub is away', async () => {
    const { ann, ben } = await pair()
    const { at, seen } = await taking(ben)
    await advertise(ben, ann, at)
    await lab.line.down()
    const before = seen.confirmed
    const tasks = ['one', 'two', 'three', 'four', 'five', 'six']
    const ids = await Promise.all(tasks.map(words => delegated(ann, ben, words)))
    for (const [n, id] of ids.entries()) await heard(ben, id, tasks[n] ?? '')
    expect(seen.confirmed - before).toBe(tasks.length)
    await lab.line.up()
  })

  test('takes its files along; one that is longer than an address takes goes by the hub', async () => {
    const { ann, ben } = await pair()
    const { at, seen } = await taking(ben)
    await advertise(ben, ann, at)
    for (const [bytes, ways] of [
      [2 * 1024 * 1024, 1],
      [DIRECT_ENVELOPE_BYTES_MAX, 0],
    ] as const) {
      const before = seen.confirmed
      const file = join(lab.folder, `${bytes}.bin`)
      writeFileSync(file, Buffer.alloc(bytes, 7))
      const given = { to: ben.aid, task: 'read this', attach: [file] }
      const { interaction_id: id } = await ann.handlers.delegate(given, never)
      await until('it came', async () => (await inboxIds(ben)).includes(id))
      const files = async () => (await thread(ben, id)).turns.flatMap(({ attachments }) => attachments)
      await until('its file is there', async () => (await files()).length > 0)
      expect(await files()).toMatchObject([{ bytes }])
      expect(seen.confirmed - before).toBe(ways)
    }
  })

  test.each<[string, (pair: Pair) => Promise<unknown>]>([
    ['unless its sender said so', ({ ann }) => ann.handlers.p2pSet({ send: false }, never)],
    ['unless its recipient is a contact', ({ ann }) => ann.handlers.contactRemove({ peer: 'ben' }, never)],
    [
      'to a host that is not public, unless it is listed',
      ({ ann }) => ann.handlers.p2pSet({ send: true, hosts: [] }, never),
    ],
  ])('never goes directly %s', async (_, change) => {
    const both = await pair()
    const { at, seen } = await taking(both.ben)
    await advertise(both.ben, both.ann, at)
    await change(both)
    const { delivery } = await sent(both.ann, both.ben, 'by the hub')
    expect(delivery).toMatchObject({ state: 'at_hub' })
    expect(seen.judged).toBe(0)
  })

  const confirmation = Buffer.alloc(540).toString('base64')
  test.each<[string, http.RequestListener]>([
    ['signs with nothing', (_, answer) => answer.end(JSON.stringify({ status: 'taken', confirmation }))],
    ['answers without end', (_, answer) => void setInterval(() => answer.write('x'.repeat(1000)), 1)],
    ['hangs up', request => request.socket.destroy()],
    ['refuses it', (_, answer) => answer.writeHead(403).end('{"error":"no"}')],
  ])('goes by the hub where somebody %s', async (_, answer) => {
    const { ann, ben } = await pair()
    const { at, seen } = await answering(answer)
    await advertise(ben, ann, at)
    const { id, delivery } = await sent(ann, ben, 'by the hub')
    expect(delivery).toMatchObject({ state: 'at_hub' })
    expect(seen.came).toBe(1)
    // a way that took nothing is left in peace
    await ann.handlers.message({ interaction_id: id, text: 'more' }, never)
    await heard(ben, id, 'more')
    expect(seen.came).toBe(1)
  })

  test('where the confirmation is none of its recipient, the address is left in peace as well', async () => {
    const { ann, ben } = await pair()
    const taken = JSON.stringify({ status: 'taken', confirmation: Buffer.alloc(540, 7).toString('base64') })
    const { at, seen } = await answering((_, answer) => answer.end(taken))
    await advertise(ben, ann, at)
    for (const words of ['one', 'two', 'three']) {
      const id = await delegated(ann, ben, words)
      await heard(ben, id, words)
    }
    expect(seen.came).toBe(1)
  })

  test('whose answer was lost comes by the hub too, and is taken once', async () => {
    const { ann, ben } = await pair()
    const { at, seen } = await taking(ben, { losesAnswers: true })
    await advertise(ben, ann, at)
    const { id, delivery } = await sent(ann, ben, 'count me once')
    expect([delivery?.state, seen.came.length]).toEqual(['at_hub', 1])
    await ann.handlers.message({ interaction_id: id, text: 'behind it' }, never)
    await heard(ben, id, 'behind it')
    expect(await times(ben, id, 'count me once')).toBe(1)
  })

  test('that is taken and answered too late comes by the hub too, and is taken once', async () => {
    const { ann, ben } = await pair()
    const { promise: answers, resolve } = Promise.withResolvers<void>()
    const { at, seen } = await taking(ben, { answers })
    await advertise(ben, ann, at)
    const started = Date.now()
    const id = await delegated(ann, ben, 'count me once')
    expect(await times(ben, id, 'count me once')).toBe(1)
    // the sender waits for ten seconds, and not for the answer
    while ((await deliveries(ann, id))[0]?.state === 'queued' && Date.now() - started < 60_000)
      await new Promise(done => setTimeout(done, 200))
    expect((await deliveries(ann, id))[0]).toMatchObject({ state: 'at_hub' })
    expect(Date.now() - started).toBeLessThan(30_000)
    resolve()
    await ann.handlers.message({ interaction_id: id, text: 'behind it' }, never)
    await heard(ben, id, 'behind it')
    expect([await times(ben, id, 'count me once'), seen.came.length]).toEqual([1, 1])
  })

  test('that comes again is confirmed again and taken once, by whoever sends it', async () => {
    const { ann, ben } = await pair()
    const { at, seen } = await taking(ben)
    await advertise(ben, ann, at)
    const { id } = await sent(ann, ben, 'once')
    const envelope = seen.came[0] as Uint8Array
    const answers = new Set<string>()
    for (let i = 0; i < 6; i++) answers.add(await (await posted(at, envelope)).text())
    // a confirmation that is made anew has other bytes: repeats are not opened
    expect([...answers]).toEqual([expect.stringContaining('"taken"')])
    expect(await times(ben, id, 'once')).toBe(1)
    await ben.handlers.idRotate({}, never)
    const rotated = await (await posted(at, envelope)).text()
    expect(answers.has(rotated)).toBe(false)
  })

  test('under a capability that was taken back is not read', async () => {
    const { ann, ben } = await pair()
    const { at, seen } = await taking(ben)
    await advertise(ben, ann, at)
    await sent(ann, ben, 'before the block')
    const envelope = seen.came[0] as Uint8Array
    await ben.handlers.contactBlock({ peer: 'ann', blocked: true }, never)
    const came = seen.came.length
    expect(await post(at, envelope)).toBe(403)
    const { interaction_id: id } = await ann.handlers.delegate({ to: ben.aid, task: 'after it' }, never)
    await until('it was tried', () => seen.judged > came + 1)
    expect(seen.came).toHaveLength(came)
    expect(await inboxIds(ben)).not.toContain(id)
  })

  test('under a capability that is used up goes by the hub', async () => {
    const { ann, ben } = await pair()
    const { at, seen } = await taking(ben)
    await advertise(ben, ann, at)
    const { capabilities, store } = ben.ctx
    store.transaction(() => {
      for (const id of capabilities.issuedTo(ann.aid))
        for (let n = 0; n < 4; n++) capabilities.noteUse(id, new Uint8Array(32).fill(n))
    })
    const { id } = await sent(ann, ben, 'one too many')
    expect([seen.judged, seen.came.length]).toEqual([1, 0])
    expect(await times(ben, id, 'one too many')).toBe(1)
  })

  test('under a capability of a block that is over is not read either', async () => {
    const { ann, ben } = await pair()
    const { at, seen } = await taking(ben)
    await advertise(ben, ann, at)
    await sent(ann, ben, 'in time')
    const envelope = seen.came[0] as Uint8Array
    for (const blocked of [true, false]) await ben.handlers.contactBlock({ peer: 'ann', blocked }, never)
    expect(await post(at, envelope)).toBe(403)
    expect(seen.came).toHaveLength(1)
  })

  test('is taken under the keys of now, after either side rotated', async () => {
    const { ann, ben } = await pair()
    const { at, seen } = await taking(ben)
    await advertise(ben, ann, at)
    await ann.handlers.idRotate({}, never)
    const { id } = await sent(ann, ben, 'under my new key')
    expect(await times(ben, id, 'under my new key')).toBe(1)
    await ben.handlers.idRotate({}, never)
    const later = await sent(ann, ben, 'to your new key')
    expect(await times(ben, later.id, 'to your new key')).toBe(1)
    await ben.handlers.message({ interaction_id: later.id, text: 'here' }, never)
    await heard(ann, later.id, 'here')
    const came = seen.confirmed
    const last = await sent(ann, ben, 'and directly again')
    expect([last.delivery, seen.confirmed]).toEqual([{ state: 'delivered' }, came + 1])
  })

  test('goes by the hub where the recipient knows nothing of its capability, as after a restore', async () => {
    const { ann, ben } = await pair()
    const { at, seen } = await taking(ben)
    await advertise(ben, ann, at)
    ben.ctx.store.run('DELETE FROM capabilities_issued')
    const { id } = await sent(ann, ben, 'after the backup')
    expect([seen.judged > 0, seen.came.length]).toEqual([true, 0])
    expect(await times(ben, id, 'after the backup')).toBe(1)
  })

  test("of a first contact is the hub's, whoever knows the address", async () => {
    const { ann, ben } = await pair()
    const { at, seen } = await taking(ben)
    await advertise(ben, ann, at)
    const eve = await lab.member(`eve-${pairs}`)
    await eve.handlers.contactAdd({ aid: ben.aid, petname: 'ben' }, never)
    await eve.handlers.p2pSet({ send: true, hosts: [HOST] }, never)
    eve.ctx.store.run('INSERT INTO direct_addresses (peer, address, said_at) VALUES (?, ?, 1)', ben.aid, at)
    const { delivery } = await sent(eve, ben, 'let me in')
    expect(delivery).toMatchObject({ state: 'at_hub' })
    expect(seen.judged).toBe(0)
  })

  test('is none for another agent, nor where a byte of it is another', async () => {
    const { ann, ben } = await pair()
    const [atBen, atAnn] = [await taking(ben), await taking(ann)]
    await advertise(ben, ann, atBen.at)
    await sent(ann, ben, 'mine')
    const envelope = atBen.seen.came[0] as Uint8Array
    expect(await post(atAnn.at, envelope)).toBe(403)
    for (const at of [0, 40, 1000, 1300, envelope.length - 1]) {
      const changed = envelope.slice()
      changed[at] = (changed[at] as number) ^ 1
      expect([400, 403]).toContain(await post(atBen.at, changed))
    }
    expect(await post(atBen.at, envelope.subarray(0, 2000))).toBe(400)
  })

  test('is refused once it has expired', async () => {
    const { ann, ben } = await pair()
    const { at, seen } = await taking(ben)
    await advertise(ben, ann, at)
    await sent(ann, ben, 'in time')
    lab.hub.clock.advance(15 * 24 * 3_600_000)
    expect(await post(at, seen.came[0] as Uint8Array)).toBe(403)
    expect(seen.came).toHaveLength(1)
  })
})

const posted = (at: string, envelope: Uint8Array) =>
  fetch(`http://${at}/p2p/envelope`, { method: 'POST', body: Buffer.from(envelope) })
const post = async (at: string, envelope: Uint8Array) => (await posted(at, envelope)).status
