import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { callRoute, startTestHub, type TestHub } from '../../hub/testing/hub.ts'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { encodeKel } from '../../protocol/identity/kel.ts'
import { KEY_RENEWAL_MS } from '../../protocol/identity/keyset.ts'
import {
  delegated,
  finished,
  inboxIds,
  type Lab,
  Line,
  never,
  openLab,
  texts,
  thread,
  until,
} from './world.ts'

const DAY_MS = 86_400_000
let lab: Lab
let second: TestHub

beforeAll(async () => {
  lab = await openLab()
  second = await startTestHub()
})

afterAll(async () => {
  await lab.close()
  await second.close()
})

/** A server that answers every request in one way. */
async function stub(status: number, headers: Record<string, string>, body: string) {
  const server = createServer((_request, response) => response.writeHead(status, headers).end(body))
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() }
}

describe('hubs that this node cannot talk to', () => {
  test.each([
    ['426', 426, { 'X-Svc-Wire': '4' }],
    ['a foreign X-Svc-Wire', 200, { 'X-Svc-Wire': '9' }],
  ])('%s ends the conversation and says why', async (_what, status, headers) => {
    const node = await lab.start(`stopped-${status}`)
    const hub = await stub(
      status,
      headers,
      '{"reason":"wire_too_old","error":"x","required_wire":4,"required_svc":"0.4"}',
    )
    await expect(node.handlers.hubRegister({ url: hub.url }, never)).rejects.toMatchObject({
      code: 'hub_incompatible',
    })
    expect(node.ctx.identity.log.seq).toBe(0)
    hub.close()
  })

  test('a page of a proxy without the header does not, and nothing is rotated for it', async () => {
    const node = await lab.start('proxied')
    const hub = await stub(502, { 'Content-Type': 'text/html' }, '<h1>bad gateway</h1>')
    const asked = { url: hub.url, name: 'prox', caps: ['text.count'], guest_messages: 2 }
    await expect(node.handlers.hubRegister(asked, never)).rejects.toMatchObject({ code: 'hub_unreachable' })
    const { name, caps, guest_messages } = node.ctx.settings.current
    expect([name, caps, guest_messages]).toEqual(['', [], 5])
    expect((await node.handlers.status(undefined, never)).hub).toBeNull()
    hub.close()
  })
})

test('the command to try again holds all that the registration was given', async () => {
  const node = await lab.start('again')
  const url = 'http://127.0.0.1:9'
  const asked = { url, name: 'the node', caps: ['text.count', 'text.sum'], guest_messages: 2 }
  const all = { ...asked, accept_delegations: false }
  await expect(node.handlers.hubRegister(all, never)).rejects.toMatchObject({
    code: 'hub_unreachable',
    next: `once the hub answers:\nsvc hub-register ${url} --name 'the node' --caps text.count,text.sum --guest-messages 2 --accept-delegations false`,
  })
})

describe('an address at which no hub answers', () => {
  const page = { 'Content-Type': 'text/html; charset=utf-8' }
  test.each([
    ['a page that is not there', 404, page, '<h1>nothing here</h1>', 'HTTP 404 with text/html'],
    ['a page', 200, page, '<h1>welcome</h1>', 'HTTP 200 with text/html'],
    ['another interface', 200, { 'Content-Type': 'application/json' }, '{"ok":true}', 'application/json'],
    ['its refusal', 401, {}, '{"reason":"login","error":"who are you"}', 'words that no hub uses'],
    ['a redirection', 301, { Location: 'https://hub.example' }, '', 'sends to another address (HTTP 301)'],
  ])('%s is said to be none, with what came', async (name, status, headers, body, what) => {
    const node = await lab.start(`no-hub-${name}`)
    const hub = await stub(status, headers, body)
    const refused = await node.handlers.hubRegister({ url: hub.url }, never).catch(error => error)
    expect(refused).toMatchObject({ code: 'hub_unreachable', next: 'check the address of the hub' })
    expect(refused.message).toMatch(/^this is no svc hub: http:\/\/127\.0\.0\.1:\d+ /)
    expect(refused.message).toContain(what)
    hub.close()
  })

  test('the control interface of a node is told to be one', async () => {
    const node = await lab.start('to-a-node')
    const url = `http://${node.controlAddress}`
    await expect(node.handlers.hubRegister({ url }, never)).rejects.toMatchObject({
      code: 'hub_unreachable',
      message: `this is no svc hub: ${url} asks for a token, as the control interface of a svc node does; give the address of a hub`,
    })
  })

  test('https where plain HTTP is spoken, and http where it is not, are told apart', async () => {
    const node = await lab.start('no-tls')
    const plain = await stub(200, {}, 'hello')
    const other = createTcpServer(socket => socket.end(Buffer.from([21, 3, 1, 0, 2, 2, 10])))
    const closing = createTcpServer(socket => socket.destroy())
    const portOf = async (server: typeof other) => {
      await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
      return (server.address() as AddressInfo).port
    }
    const ask = (url: string) => node.handlers.hubRegister({ url }, never).catch(error => error.message)
    expect(await ask(plain.url.replace('http:', 'https:'))).toMatch(/does not answer in TLS; .* http:/)
    expect(await ask(`http://127.0.0.1:${await portOf(other)}`)).toMatch(/does not answer in HTTP; .* https:/)
    expect(await ask(`http://127.0.0.1:${await portOf(closing)}`)).toMatch(/cut the connection .* https:/)
    for (const server of [plain, other, closing]) server.close()
  })
})

describe('a task that cannot go', () => {
  const nobody = 'AWsi2Pqf59Kzi3iYZVthg8j0vdQ2GBhgkrg_hcEG5Mkg'

  test('to an AID that no hub lists is queued, with a warning that says so', async () => {
    const node = await lab.member('mistyped')
    const reply = await node.handlers.delegate({ to: nobody, task: 'x' }, never)
    expect(reply).toMatchObject({
      state: 'queued',
      warning: expect.stringMatching(
        /has this AID, and the directory of http:\S+ does not list it; check it/,
      ),
    })
  })

  test('to a contact that no hub lists says so as well: the AID may have been mistyped when it was added', async () => {
    const node = await lab.member('mistyped-contact')
    await node.handlers.contactAdd({ aid: nobody, petname: 'bob' }, never)
    const { warning } = await node.handlers.delegate({ to: 'bob', task: 'x' }, never)
    expect(warning).toMatch(/no correspondent of yours had this AID so far.*does not list it; check it/)
  })

  test('while the hub cannot be reached is taken, with a warning that says why it waits', async () => {
    const own = await startTestHub()
    const node = await lab.start('unreached')
    await own.running.hub.context.store.admit(node.aid, true)
    await node.handlers.hubRegister({ url: own.url }, never)
    await own.close()
    await until('the hub is lost', async () => {
      return (await node.handlers.status(undefined, never)).hub?.state === 'offline'
    })
    const { warning } = await node.handlers.delegate({ to: nobody, task: 'x' }, never)
    expect(warning).toMatch(
      /no mail can be fetched from the hub now \(.*\); this waits here until the hub takes it/,
    )
  })

  test('after leaving its hub a node says what to do, for a search and for a task that waits', async () => {
    const node = await lab.member('left')
    await node.handlers.hubLeave({}, never)
    await expect(node.handlers.find({ query: 'x' }, never)).rejects.toMatchObject({ code: 'no_hub' })
    const reply = await node.handlers.delegate({ to: nobody, task: 'x' }, never)
    expect(reply).toMatchObject({
      state: 'queued',
      warning: expect.stringContaining('svc hub-register <url> --name <name>'),
    })
  })
})

describe('a hub that holds no poll', () => {
  test('is asked again after a pause, and is not taken for another machine', async () => {
    const busy = await startTestHub({ limits: { heldPollsMax: 0 } })
    const node = await lab.start('unheld')
    await busy.running.hub.context.store.admit(node.aid, true)
    await node.handlers.hubRegister({ url: busy.url }, never)
    const { mailboxes } = busy.running.hub
    const poll = mailboxes.poll.bind(mailboxes)
    let polls = 0
    mailboxes.poll = (...given) => {
      polls += 1
      return poll(...given)
    }
    const startedMs = performance.now()
    await new Promise(resolve => setTimeout(resolve, 300))
    expect((polls * 300) / (performance.now() - startedMs)).toBeLessThan(5)
    expect((await node.handlers.status(undefined, never)).hub?.state).toBe('online')
    await node.stop()
    await busy.close()
  })
})

describe('an open hub', () => {
  test('the search for its proof of work shows in the status, and ends with the node', async () => {
    const open = await startTestHub({ open: true, limits: { powBits: 31 } })
    const node = await lab.start('searching')
    const joining = node.handlers.hubRegister({ url: open.url }, never).catch(error => error)
    await until('progress shows', async () => {
      const { hub } = await node.handlers.status(undefined, never)
      return hub?.state === 'registering' && (hub.pow_progress ?? 0) > 0
    })
    await node.stop()
    expect(await joining).toBeInstanceOf(Error)
    await open.close()
  })
})

describe('profile, visibility, leaving', () => {
  test('a profile that the hub cannot be given is kept here, and the refusal says so', async () => {
    const node = await lab.member('pauline')
    await lab.line.down()
    try {
      await expect(node.handlers.profileSet({ summary: 'kept' }, never)).rejects.toMatchObject({
        code: 'hub_unreachable',
        message: expect.stringContaining('the new profile is kept here'),
        next: 'the same command again, once the hub answers',
      })
    } finally {
      await lab.line.up()
    }
    expect(node.ctx.settings.current.summary).toBe('kept')
  })

  test('what is set is found in the directory, and a hub that was left is forgotten', async () => {
    const node = await lab.member('paula')
    const set = await node.handlers.profileSet({ summary: 'counts words', pricing: '{"x":1}' }, never)
    expect(set).toMatchObject({
      summary: 'counts words',
      note: 'hubs of wire 3 publish no prices; pricing is kept here and shown by profile show',
    })
    await node.handlers.visibility({ visibility: 'public' }, never)
    const found = await node.handlers.find({ query: 'counts words' }, never)
    expect(found.agents.map(agent => agent.aid)).toEqual([node.aid])
    const left = await node.handlers.hubLeave({}, never)
    expect(left).toMatchObject({ current: true })
    expect(await node.handlers.status(undefined, never)).toMatchObject({ hub: null, hub_url: null })
    expect(
      (await (await lab.member('quentin')).handlers.find({ query: 'counts words' }, never)).agents,
    ).toEqual([])
  })
})

describe('a hub that spoke a newer wire before', () => {
  test('is not joined under an older one', async () => {
    const node = await lab.member('ruth')
    node.ctx.store.run('UPDATE wires_seen SET wire = wire + 1 WHERE hub = ?', lab.hub.aid)
    await expect(node.handlers.hubRegister({ url: lab.line.url }, never)).rejects.toMatchObject({
      code: 'hub_incompatible',
      message: expect.stringContaining('this hub spoke wire 4 with this node before'),
    })
  })
})

describe('moving to another hub', () => {
  test('a move is one rotation that names the new hub, the old one learns of it, and its mailbox is still emptied', async () => {
    const anna = await lab.member('anna')
    const ben = await lab.member('ben')
    await ben.handlers.contactAdd({ aid: anna.aid, petname: 'anna' }, never)
    const epoch = ben.ctx.keys.epoch
    await lab.line.down()
    const { interaction_id } = await anna.handlers.delegate({ to: ben.aid, task: 'on its way' }, never)
    await ben.stop()
    await lab.line.up()
    anna.ctx.store.run('UPDATE outbox SET next_at = 0')
    anna.wake()
    await until(
      'it lies at the old hub',
      async () => (await thread(anna, interaction_id)).turns[0]?.delivery?.state === 'at_hub',
    )
    const moved = await lab.start('ben')
    await moved.handlers.accept({ on: true }, never)
    await second.running.hub.context.store.admit(ben.aid, true)
    expect(await moved.handlers.hubRegister({ url: second.url }, never)).toMatchObject({
      note: 'with anna, at another hub, tasks wait both ways unless the two hubs list each other; meet at one, or ask their operators',
    })
    const cut = await moved.handlers.delegate({ to: 'anna', task: 'from elsewhere' }, never)
    await until('it says why it fails', async () =>
      /is at another hub than this node.*meet at one hub/.test(
        (await thread(moved, cut.interaction_id)).turns[0]?.delivery?.reason ?? '',
      ),
    )
    expect(moved.ctx.identity.log.home).toBe(second.aid)
    expect(Buffer.from(moved.ctx.keys.epoch).equals(Buffer.from(epoch))).toBe(false)
    await until('the mail came over', async () => (await inboxIds(moved)).includes(interaction_id))
    await until('the old hub knows', async () => {
      const answer = await fetch(`${lab.line.url}/agents/${ben.aid}/kel`, { headers: { 'X-Svc-Wire': '3' } })
      return ((await answer.json()) as { kel: string }).kel.length > 900
    })
    expect(await moved.handlers.hubLeave({ url: lab.line.url }, never)).toEqual({
      status: 'left',
      hub_url: lab.line.url,
      current: false,
      note: '100 credits remain there; they can still be paid with, redeemed or taken along',
      next: `svc redeem 100 --hub ${lab.line.url}`,
    })
    expect(await moved.handlers.status(undefined, never)).toMatchObject({
      hub_url: second.url,
      hub: { state: 'online' },
    })
  })
})

describe('a hub that comes back from an old backup', () => {
  test('is told everything again, by itself: the registration, the rotation since, the newest key set', async () => {
    let hub = await startTestHub()
    const { directory } = hub
    const backup = mkdtempSync(join(tmpdir(), 'svc-backup-'))
    const line = new Line(() => Number(new URL(hub.url).port))
    const copied = async (from: string, to: string) => {
      await hub.running.close()
      rmSync(to, { recursive: true })
      cpSync(from, to, { recursive: true })
      hub = await startTestHub({ directory })
    }
    const node = await lab.start('remembers')
    const peer = await lab.start('remembers-peer')
    for (const { aid } of [node, peer]) await hub.running.hub.context.store.admit(aid, true)
    await copied(directory, backup)
    await line.up()
    await node.handlers.hubRegister({ url: line.url, caps: ['remembers'] }, never)
    await peer.handlers.hubRegister({ url: line.url }, never)
    await delegated(peer, node, 'before')
    await node.handlers.idRotate({}, never)
    await line.down()
    await copied(backup, directory)
    await line.up()
    expect(await hub.running.hub.agents.find(node.aid)).toBeUndefined()
    // They would look again within a minute.
    for (const one of [node, peer]) one.wake()
    await until('both are back', async () => {
      const held = await Promise.all([node, peer].map(({ aid }) => hub.running.hub.agents.find(aid)))
      return held.every(agent => agent?.keys !== undefined)
    })
    expect((await hub.running.hub.agents.find(node.aid))?.log.seq).toBe(node.ctx.identity.log.seq)
    await delegated(peer, node, 'after')
    await Promise.all([node.stop(), peer.stop()])
    await line.down()
    await hub.close()
  })
})

describe('a hub that forgot the newest key set', () => {
  test('is given one again, above what it holds', async () => {
    const node = await lab.member('weekly')
    const { agents } = lab.hub.running.hub
    const before = await agents.find(node.aid)
    lab.hub.clock.advance(KEY_RENEWAL_MS + DAY_MS)
    const seqAtHub = async () => (await agents.find(node.aid))?.keys?.body.setSeq
    await until('renewed', async () => {
      node.wake()
      return (await seqAtHub()) === 2 && node.ctx.keys.isConfirmed
    })
    const { keys, row } = before as NonNullable<typeof before>
    await agents.update(node.aid, held => {
      const agent = held as NonNullable<typeof held>
      return { ...agent, keys, row: { ...agent.row, keys: row.keys } }
    })
    expect(await seqAtHub()).toBe(1)
    await until('it has one again', async () => {
      node.wake()
      return (await seqAtHub()) === node.ctx.keys.set?.body.setSeq && node.ctx.keys.isConfirmed
    })
  })
})

describe('time', () => {
  test('a new encryption key is published weekly, and correspondents follow', async () => {
    const carl = await lab.member('carl')
    const dora = await lab.member('dora')
    await dora.handlers.contactAdd({ aid: carl.aid, petname: 'carl' }, never)
    const id = await delegated(carl, dora, 'week one')
    const first = dora.ctx.keys.set?.body
    lab.hub.clock.advance(KEY_RENEWAL_MS + DAY_MS)
    carl.wake()
    dora.wake()
    await until(
      'renewed',
      () => dora.ctx.keys.isConfirmed && dora.ctx.keys.set?.body.setSeq === (first?.setSeq ?? 0) + 1,
    )
    lab.hub.clock.advance(2 * DAY_MS)
    await carl.handlers.message({ interaction_id: id, text: 'week two' }, never)
    await until('sealed anew after kid_stale', async () => (await texts(dora, id)).includes('week two'))
    await dora.handlers.message({ interaction_id: id, text: 'indeed' }, never)
    await until('and back', async () => (await texts(carl, id)).includes('indeed'))
    await finished(carl, dora, id)
  })

  test('a node made a month ago registers', async () => {
    const old = await lab.start('old')
    lab.hub.clock.advance(30 * DAY_MS)
    await lab.hub.running.hub.context.store.admit(old.aid, true)
    expect(await old.handlers.hubRegister({ url: lab.line.url }, never)).toMatchObject({
      status: 'registered',
    })
  })

  test('a year-old log moves to another hub', async () => {
    const old = await lab.member('veteran')
    lab.hub.clock.advance(365 * DAY_MS)
    second.clock.advance(lab.hub.clock.now() - second.clock.now())
    await second.running.hub.context.store.admit(old.aid, true)
    expect(await old.handlers.hubRegister({ url: second.url }, never)).toMatchObject({ status: 'registered' })
  })

  test('a rotation made while the hub was down for a day gets through', async () => {
    const node = await lab.member('patient')
    await lab.line.down()
    await node.handlers.idRotate({}, never)
    lab.hub.clock.advance(DAY_MS)
    await lab.line.up()
    node.wake()
    await until('in sync', async () => {
      const held = await lab.hub.running.hub.agents.find(node.aid)
      return held?.log.seq === node.ctx.identity.log.seq && node.ctx.keys.isConfirmed
    })
    expect(node.ctx.identity.log.seq).toBeGreaterThanOrEqual(2)
  })

  test('a pushed rotation 30 days old is taken', async () => {
    const node = await lab.member('pushed')
    await node.stop()
    const { log } = node.ctx.identity
    const rotated = node.ctx.identity.rotate(log.home, lab.hub.clock.now())
    lab.hub.clock.advance(30 * DAY_MS)
    const pushed = await callRoute(lab.hub, 'pushKel', {
      aid: node.aid,
      kel: toBase64url(encodeKel(rotated.events)),
    })
    expect(pushed.status).toBe(200)
    expect((await lab.hub.running.hub.agents.find(node.aid))?.log.seq).toBe(rotated.seq)
  })

  test('a rotation that waited 30 days for its hub is shown to it, and no further one is made', async () => {
    const late = await lab.member('late')
    await lab.line.down()
    await late.handlers.idRotate({}, never)
    expect(late.ctx.identity.log.seq).toBe(2)
    lab.hub.clock.advance(30 * DAY_MS)
    await lab.line.up()
    late.wake()
    await until('in sync', () => late.ctx.keys.isConfirmed && late.ctx.hub.state.state === 'online')
    expect(late.ctx.identity.log.seq).toBe(2)
    expect((await late.handlers.balance({}, never)).hub).toBe(lab.hub.aid)
  })
})
