/** A second client of wire 1, from docs/wire-1.md and docs/objects.md alone, walks every route of a built hub. */
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { base64, base64url, cidOf, cidText, hash, ofBase64, readCbor, utf8 } from './wire1/bytes.ts'
import { type Answer, Client } from './wire1/client.ts'
import { card, forward, Identity, payment, review, settlement, statement, words } from './wire1/objects.ts'
import { type MadeUpPeer, openPeer } from './wire1/peer.ts'
import { type Program, startProgram } from './wire1/program.ts'
import { routesOfTable } from './wire1/table.ts'

const SOLD = { capability: 'text.count', amount: 5, redeemAt: 'https://bob.example/redeem' }
const walked = new Set<string>()
const [alice, bob, carol] = [new Identity(), new Identity(), new Identity()]
let [program, other] = [] as unknown as [Program, Program]
let hub: Client
let peer: MadeUpPeer
beforeAll(async () => {
  program = await startProgram('--guests')
  hub = new Client(program.url, walked)
  other = await startProgram('--wire1-federation', '--wire1-discovery')
  peer = await openPeer()
})
afterAll(async () => {
  peer.close()
  await program.close()
  await other.close()
})

const named = ({ aid }: { aid: string }) => ({ params: { aid } })
const body = (members: object) => ({ body: members })

async function join(by: Identity, at: Program, more: object): Promise<Answer> {
  const { code: invite } = await at.command('invite', 'new')
  const members = { ...by.challenge('register'), kel: by.kel, invite, ...more }
  return await new Client(at.url, walked).ask('POST /register', body(members))
}

describe('joining', () => {
  test('the hub names itself, and its health', async () => {
    const { json } = await hub.ask('GET /hub/identity')
    expect(json).toEqual({ aid: program.aid, kel: expect.any(String) })
    expect((await hub.ask('GET /healthz')).json).toMatchObject({ status: 'ok' })
  })

  test('an invitation lets one agent in, and no second one', async () => {
    const { code: invite } = await program.command('invite', 'new')
    const request = (by: Identity, more: object) =>
      body({ ...by.challenge('register'), kel: by.kel, name: 'alice', ...more })
    await hub.ask('POST /register', request(alice, {}), 403)
    const { json } = await hub.ask('POST /register', request(alice, { invite }))
    expect(json).toEqual({ aid: alice.aid, status: 'registered' })
    expect((await hub.ask('POST /register', request(bob, { invite }), 403)).json['error']).toMatch(
      /invitation/,
    )
  })

  test('a challenge of another action, or of ten minutes ago, holds for nothing', async () => {
    const wrong = await hub.ask('POST /relay/poll', body(alice.challenge('ack')), 401)
    expect(wrong.json['error']).toMatch(/^INVALID_SIGNATURE/)
    const stale = { ...alice.challenge('poll'), ts: Date.now() - 600_000 }
    expect((await hub.ask('POST /relay/poll', body(stale), 400)).json['error']).toMatch(/^stale/)
    const stranger = await hub.ask('POST /relay/poll', body(carol.challenge('poll')), 401)
    expect(stranger.json['error']).toMatch(/^UNKNOWN_AID/)
  })

  test('a request of a higher wire is refused, a page of another origin is not', async () => {
    await hub.ask('GET /stats', { headers: { 'X-Svc-Wire': '2' } }, 400)
    const { headers } = await hub.ask('OPTIONS /register', {}, 204)
    expect(headers.get('Access-Control-Allow-Origin')).toBe('*')
  })

  test('a card comes along, and is served byte for byte', async () => {
    const text = card(bob, SOLD)
    await join(bob, program, { name: 'bob', caps: [SOLD.capability], guest_messages: 2, card: text })
    expect((await hub.ask('GET /agents/{aid}/card', named(bob))).text).toBe(text)
  })
})

describe('the directory', () => {
  test('finds an agent by capability and by words, and shows its history', async () => {
    for (const query of [`?cap=${SOLD.capability}`, '?q=bob'])
      expect((await hub.ask('GET /agents', { query })).json['agents']).toMatchObject([
        { aid: bob.aid, guest_quota: 2, registered: true },
      ])
    expect((await hub.ask('GET /agents/{aid}', named(bob))).json).toMatchObject({ agent: { name: 'bob' } })
    const { json } = await hub.ask('GET /agents/{aid}/kel', named(bob))
    expect(json).toEqual({ aid: bob.aid, kel: bob.kel, source: 'local' })
    await hub.ask('GET /agents/{aid}', named(carol), 404)
  })

  test('changes as its agent says', async () => {
    const profile = await hub.ask('POST /profile', body({ ...bob.challenge('profile'), summary: 'counts' }))
    expect(profile.json).toEqual({ aid: bob.aid, status: 'profile_updated' })
    expect((await hub.ask('GET /agents/{aid}', named(bob))).json['agent']).toMatchObject({
      summary: 'counts',
    })
    const visible = { ...named(bob), ...body({ ...bob.challenge('profile'), visibility: 'public' }) }
    const { json } = await hub.ask('POST /agents/{aid}/visibility', visible)
    expect(json).toEqual({ aid: bob.aid, status: 'visibility_set', visibility: 'public' })
  })

  test('keeps a direct address until it is withdrawn', async () => {
    const say = async (addr: string) => {
      const given = { ...named(bob), ...body({ ...bob.challenge('profile'), addr }) }
      return (await hub.ask('POST /agents/{aid}/p2p', given)).json['status']
    }
    expect(await say('tcp://192.0.2.1:7')).toBe('published')
    const shown = { aid: bob.aid, addr: 'tcp://192.0.2.1:7' }
    expect((await hub.ask('GET /agents/{aid}/p2p', named(bob))).json).toEqual(shown)
    expect((await hub.ask('GET /p2p/peers')).json).toEqual({ peers: [shown] })
    expect(await say('')).toBe('withdrawn')
    await hub.ask('GET /agents/{aid}/p2p', named(bob), 404)
  })

  test('has pages for people and a manual for agents', async () => {
    for (const page of ['GET /', 'GET /research', 'GET /guest'])
      expect((await hub.ask(page)).headers.get('content-type')).toMatch(/^text\/html/)
    expect((await hub.ask('GET /llms.txt')).headers.get('content-type')).toMatch(/^text\/plain/)
  })
})

describe('mail', () => {
  const poll = async (by: Identity, more = {}) =>
    (await hub.ask('POST /relay/poll', body({ ...by.challenge('poll'), ...more }))).json['messages'] as {
      id: string
      from_aid: string
      interaction_id: string
      payload: string
    }[]
  const ack = (by: Identity, ids: string[]) =>
    hub.ask('POST /relay/ack', body({ ...by.challenge('ack'), ids }))

  test('goes, waits and is acked once', async () => {
    const interaction = randomBytes(16)
    const payload = words(alice, bob.aid, 'hello', interaction, 1)
    const letter = { to_aid: bob.aid, from_aid: alice.aid, interaction_id: base64url(interaction), payload }
    const sent = await hub.ask('POST /relay/send', body({ ...letter, kind: 'result' }))
    expect(sent.json).toEqual({ id: expect.any(String), status: 'queued' })
    await hub.ask('POST /relay/send', body({ ...letter, kind: 'shout' }), 400)
    await hub.ask('POST /relay/send', body({ ...letter, kind: 'message', to_aid: carol.aid }), 404)
    const [waiting] = await poll(bob)
    expect(waiting).toMatchObject({ id: sent.json['id'], from_aid: alice.aid, payload })
    expect((await ack(bob, [])).json).toEqual({ acked: 0 })
    expect((await ack(alice, [String(waiting?.id)])).json).toEqual({ acked: 0 })
    expect((await ack(bob, [String(waiting?.id)])).json).toEqual({ acked: 1 })
    expect(await poll(bob)).toEqual([])
    const figures = async () => (await hub.ask('GET /stats')).json
    // they are ten seconds old at most
    await expect.poll(figures, { timeout: 30_000 }).toMatchObject({ agents: 2, tasks_completed: 1 })
  })

  test('of a guest comes from the hub, and is answered to the hub', async () => {
    const { json } = await hub.ask('POST /guest/start', body({ aid: bob.aid }))
    expect(json).toMatchObject({ enabled: true, handler: 'bob', handler_aid: bob.aid, remaining: 2 })
    const { session } = json
    await hub.ask('POST /guest/send', body({ session }), 400)
    const sent = await hub.ask('POST /guest/send', body({ session, body: 'how many words?' }))
    expect(sent.json).toEqual({ remaining: 1 })
    const [asked] = await poll(bob)
    expect(asked?.from_aid).toBe(program.aid)
    const [head] = readCbor(ofBase64(asked?.payload)) as [Buffer]
    const { 11: delegation } = readCbor(head) as { 11: Buffer }
    const { 1: request } = readCbor(delegation) as { 1: Buffer }
    expect(JSON.parse(request.toString())).toMatchObject({ task: 'how many words?' })
    const interaction = Buffer.from(String(asked?.interaction_id), 'base64url')
    const answer = { to_aid: program.aid, from_aid: bob.aid, interaction_id: asked?.interaction_id }
    const payload = words(bob, program.aid, 'three', interaction, 1)
    await hub.ask('POST /relay/send', body({ ...answer, kind: 'message', payload }))
    const heard = await hub.ask('POST /guest/poll', body({ session }))
    expect(heard.json).toEqual({ messages: [{ body: 'three', system: false, end: '' }] })
    const ended = await hub.ask('POST /guest/end', body({ session }))
    expect(ended.json).toEqual({ ended: true, accepted: expect.any(Boolean) })
  })
})

describe('reviews', () => {
  test('are taken once, and count', async () => {
    const given = review(alice, bob, 4)
    expect((await hub.ask('POST /reviews', body(given))).json).toMatchObject({ status: 'accepted' })
    await hub.ask('POST /reviews', body(given), 400)
    const { json } = await hub.ask('GET /agents/{aid}/reputation', named(bob))
    expect(json['reputation']).toMatchObject({ local: { reviews: 1, avg_rating: 4 }, concentration: 1 })
    const edges = [{ from: alice.aid, to: bob.aid, rating: 4 }]
    expect((await hub.ask('GET /graph')).json).toMatchObject({ edges })
    const told = await hub.ask('GET /federation/reviews', { query: '?since=0' })
    expect(told.json['reviews']).toMatchObject([{ ...given, provider_kel: bob.kel, reviewer_kel: alice.kel }])
  })
})

describe('money', () => {
  const balance = async (by: Identity) =>
    (await hub.ask('GET /agents/{aid}/balance', named(by))).json['balance']
  const asked = ({ paymentPayload }: ReturnType<typeof payment>) => body({ x402Version: 2, paymentPayload })

  test('is paid once, whoever shows the payment again', async () => {
    const network = `hub:${program.aid}`
    const kinds = [{ x402Version: 2, scheme: 'svc-credit', network }]
    expect((await hub.ask('GET /x402/supported')).json).toEqual({ kinds })
    const paid = payment(alice, { payTo: bob.aid, amount: 30, hub: program.aid })
    const verified = await hub.ask('POST /x402/verify', asked(paid))
    expect(verified.json).toMatchObject({ isValid: true, payer: alice.aid })
    for (const _ of ['first', 'again']) {
      const { json } = await hub.ask('POST /x402/settle', asked(paid))
      expect(json).toMatchObject({ success: true, transaction: paid.transaction, amount: '30', network })
      const extensions = json['extensions'] as Record<string, string>
      const [signedBody] = readCbor(ofBase64(extensions['svc.settlement.receipt'])) as [Buffer]
      expect(readCbor(signedBody)).toMatchObject({ 3: 0, 6: 30, 7: network })
    }
    expect([await balance(alice), await balance(bob)]).toEqual([70, 130])
    const ledger = await hub.ask('GET /agents/{aid}/ledger', { ...named(bob), query: '?limit=1' })
    expect(ledger.json).toMatchObject({ returned: 1, total: 2, sum: 130, truncated: true })
  })

  test('that is not there is no payment, and the answer says why', async () => {
    const paid = payment(alice, { payTo: bob.aid, amount: 1000, hub: program.aid })
    const { json } = await hub.ask('POST /x402/settle', asked(paid))
    expect(json).toMatchObject({ success: false, errorReason: 'insufficient_funds' })
  })

  test('goes back to the hub against a reference', async () => {
    const reference = 'invoice 7'
    const paid = payment(bob, { payTo: program.aid, amount: 20, hub: program.aid, reference })
    const { paymentPayload } = paid
    const { json } = await hub.ask('POST /x402/redeem', body({ x402Version: 2, paymentPayload, reference }))
    expect(json).toMatchObject({ success: true, auth_id: paid.transaction, amount: 20, reference })
    const listed = await hub.ask('GET /agents/{aid}/redemptions', named(bob))
    expect(listed.json['redemptions']).toMatchObject([{ auth_id: paid.transaction, amount: 20 }])
  })

  test('buys a voucher at the gateway, the same one for the same payment', async () => {
    const at = { params: { aid: bob.aid, capability: SOLD.capability } }
    const price = await hub.ask('GET /x402/resource/{aid}/{capability}', at, 402)
    const [terms] = price.json['accepts'] as { amount: string; payTo: string }[]
    expect(terms).toMatchObject({ amount: '5', payTo: bob.aid, maxTimeoutSeconds: 600 })
    const required = JSON.parse(ofBase64(price.headers.get('PAYMENT-REQUIRED')).toString())
    expect(required['accepts']).toEqual(price.json['accepts'])
    const { paymentPayload } = payment(alice, { payTo: bob.aid, amount: 5, hub: program.aid })
    const headers = { 'PAYMENT-SIGNATURE': base64(utf8(JSON.stringify(paymentPayload))) }
    const bought = await hub.ask('GET /x402/resource/{aid}/{capability}', { ...at, headers })
    expect(bought.json).toMatchObject({ capability: SOLD.capability, redeem_at: SOLD.redeemAt })
    expect(bought.headers.get('PAYMENT-RESPONSE')).not.toBeNull()
    const [signedBody] = readCbor(ofBase64(bought.json['voucher'])) as [Buffer]
    expect(readCbor(signedBody)).toMatchObject({ 4: alice.bytes, 5: bob.bytes, 6: SOLD.capability, 8: 5 })
    const again = await hub.ask('GET /x402/resource/{aid}/{capability}', { ...at, headers })
    expect(again.json).toEqual(bought.json)
    expect(await balance(alice)).toBe(65)
    const unsold = { params: { aid: bob.aid, capability: 'text.other' } }
    await hub.ask('GET /x402/resource/{aid}/{capability}', unsold, 404)
  })

  test('is counted in a chain, whose records and head a witness can sign', async () => {
    const { json } = await hub.ask('GET /x402/supply')
    const figures = { issued: 200, redeemed: 20, outstanding: 180, balances: 180, chain_agrees: true }
    expect(json['supply']).toMatchObject(figures)
    const { entries, chain_did: chain } = (await hub.ask('GET /x402/issuance', { query: '?from=0' })).json
    let before: string | undefined
    for (const { id, prev_id, record } of entries as Record<string, string>[]) {
      const { 3: previous, 11: own } = readCbor(ofBase64(record)) as { 3: Buffer; 11: Buffer }
      expect([cidText(own), cidText(previous)]).toEqual([id, prev_id])
      if (before !== undefined) expect(prev_id).toBe(before)
      before = id
    }
    const head = (await hub.ask('GET /x402/issuance/head')).json
    expect(head).toMatchObject({ chain_did: `did:svc:${program.aid}`, head_id: before })
    await program.command('witness', 'add', carol.aid)
    const seen = { chain: String(chain), seq: Number(head['seq']), id: cidOf(String(head['head_id'])) }
    const given = { attestation: statement(carol, seen), kel: carol.kel }
    expect((await hub.ask('POST /x402/witness', body(given))).json).toEqual({ status: 'stored' })
    expect((await hub.ask('GET /x402/witnesses')).json).toMatchObject({
      attestations: [{ witness: carol.aid, seq: head['seq'], head_id: head['head_id'] }],
      health: { witnesses: 1, unwitnessed_records: 0 },
    })
  })
})

describe('the board', () => {
  const act = async (by: Identity, action: string, members: object, status?: number) =>
    (await hub.ask(`POST /tasks/${action}`, body({ ...by.challenge(`task.${action}`), ...members }), status))
      .json['card'] as { id: string; column: string; state: string } | undefined

  test('takes a card through every action of its life', async () => {
    const order = { ...alice.challenge('task.create'), title: 'Count the "words"' }
    const { card: made } = (await hub.ask('POST /tasks/create', body(order))).json
    expect(made).toMatchObject({ column: 'draft', state: 'open' })
    const named = Buffer.concat([ofBase64(order.sig), utf8(JSON.stringify([order.title, '', 'draft']))])
    const card_id = base64url(hash('svc-board-card/v1', named).subarray(0, 16))
    expect(made).toMatchObject({ id: card_id })
    await act(bob, 'claim', { card_id }, 409)
    await act(bob, 'move', { card_id, column: 'ready' }, 403)
    const steps: [Identity, string, object, string, string][] = [
      [alice, 'move', { column: 'ready' }, 'ready', 'open'],
      [bob, 'claim', {}, 'in_progress', 'claimed'],
      [bob, 'block', { note: 'waiting' }, 'blocked', 'claimed'],
      [alice, 'unblock', {}, 'in_progress', 'claimed'],
      [bob, 'submit', { note: 'there' }, 'in_review', 'submitted'],
      [alice, 'reject', { note: 'again' }, 'in_progress', 'claimed'],
      [bob, 'submit', {}, 'in_review', 'submitted'],
      [alice, 'accept', {}, 'done', 'accepted'],
    ]
    for (const [by, action, more, column, state] of steps)
      expect(await act(by, action, { card_id, ...more })).toMatchObject({ column, state })
    await act(alice, 'block', { card_id }, 409)
    const { json } = await hub.ask('GET /tasks/cards/{id}', { params: { id: card_id } })
    const events = json['events'] as { action: string }[]
    expect(events.map(({ action }) => action)).toEqual(['create', ...steps.map(([, action]) => action)])
    const board = (await hub.ask('GET /tasks/board')).json['columns'] as { key: string; cards: object[] }[]
    expect(board.filter(({ cards }) => cards.length > 0).map(({ key }) => key)).toEqual(['done'])
  })

  test('lets nobody have four cards in progress', async () => {
    for (const status of [200, 200, 200, 409]) {
      const made = await act(alice, 'create', { title: 'One of four', column: 'ready' })
      await act(bob, 'claim', { card_id: made?.id }, status)
    }
  })
})

describe('hubs among each other', () => {
  let there: Client
  const dora = new Identity()
  beforeAll(async () => {
    there = new Client(other.url, walked)
    await join(dora, other, { name: 'dora', card: card(dora, SOLD) })
    await other.command('peers', 'add', '--wire1-url', peer.url, '--yes', peer.identity.aid)
  })

  test('are refused where they are off', async () => {
    for (const route of ['GET /fed/v1/cards', 'GET /fed/v1/reviews'])
      expect((await hub.ask(route, {}, 403)).json['error']).toBe('POLICY_REFUSED')
  })

  test('hand mail on, once', async () => {
    const record = forward(peer.identity, dora.aid, 'from afar')
    expect((await there.ask('POST /fed/v1/forward', body(record), 202)).json).toEqual({ status: 'queued' })
    expect((await there.ask('POST /fed/v1/forward', body(record))).json).toEqual({ status: 'DUPLICATE' })
    const { json } = await there.ask('POST /relay/poll', body(dora.challenge('poll')))
    expect(json['messages']).toMatchObject([{ from_aid: 'somebody', payload: record.payload }])
  })

  test('hand on nothing that is not as it was signed', async () => {
    const record = forward(peer.identity, dora.aid, 'altered')
    const wrong: [object, number, string][] = [
      [{ v: 2 }, 400, 'VERSION_UNSUPPORTED'],
      [{ origin_hub_aid: carol.aid }, 403, 'POLICY_REFUSED'],
      [{ hop: 4 }, 400, 'HOP_EXCEEDED'],
      [{ seen_hubs: [other.aid] }, 400, 'HOP_EXCEEDED'],
      [{ payload: base64(utf8('another')) }, 400, 'MALFORMED'],
      [{ from_aid: 'another' }, 401, 'INVALID_SIGNATURE'],
    ]
    for (const [change, status, label] of wrong) {
      const { json } = await there.ask('POST /fed/v1/forward', body({ ...record, ...change }), status)
      expect(json).toEqual({ error: label, detail: expect.any(String) })
    }
    const nobody = forward(peer.identity, carol.aid, 'altered')
    const { json } = await there.ask('POST /fed/v1/forward', body(nobody), 404)
    expect(json['error']).toBe('UNKNOWN_DESTINATION')
  })

  test('tell of agents that chose it, and of reviews', async () => {
    expect((await there.ask('GET /fed/v1/cards')).json['cards']).toEqual([])
    const chosen = { ...named(dora), ...body({ ...dora.challenge('profile'), visibility: 'federated' }) }
    await there.ask('POST /agents/{aid}/visibility', chosen)
    const { json } = await there.ask('GET /fed/v1/cards', { query: '?cursor=0' })
    expect(json['cards']).toMatchObject([{ card: card(dora, SOLD), kel: dora.kel, home: other.aid }])
    expect((await there.ask('GET /fed/v1/reviews')).json).toEqual({ cursor: 0, reviews: [] })
  })

  test('show each other what they signed of a debt', async () => {
    const receipt = settlement(peer.identity, { payer: carol.aid, payee: dora.aid, at: other.aid })
    const shown = { peer_aid: peer.identity.aid, receipt }
    const { json } = await there.ask('POST /federation/clear', body(shown))
    expect(json).toEqual({ peer: peer.identity.aid, owed: 0 })
    await there.ask('POST /federation/clear', body({ ...shown, peer_aid: carol.aid }), 403)
    const parties = { payer: carol.aid, payee: dora.aid, at: other.aid }
    const ofAnother = settlement(carol, parties)
    await there.ask('POST /federation/clear', body({ ...shown, receipt: ofAnother }), 400)
    const forged = settlement(peer.identity, parties, carol.seed)
    await there.ask('POST /federation/clear', body({ ...shown, receipt: forged }), 401)
  })
})

test('an agent leaves, and its history, account and mail stay', async () => {
  const { json } = await hub.ask('POST /agents/{aid}/deregister', {
    ...named(bob),
    ...body(bob.challenge('profile')),
  })
  // of the guest: its question and its end
  const left = { undelivered: 2, warning: expect.any(String) }
  expect(json).toEqual({ aid: bob.aid, status: 'deregistered', ...left })
  await hub.ask('GET /agents/{aid}', named(bob), 404)
  await hub.ask('GET /agents/{aid}/kel', named(bob))
  await hub.ask('GET /agents/{aid}/balance', named(bob))
})

test('every route of the table was walked', () => {
  expect([...walked].sort()).toEqual(routesOfTable())
})
