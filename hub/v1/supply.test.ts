/** The supply over wire 1 (the earlier line, §4.6, §6): figures of this moment, the whole chain, and its witnesses. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseCid } from '../../protocol/crypto/hash.ts'
import { fromBase64, fromBase64url, toBase64 } from '../../protocol/encoding/bytes.ts'
import { chainDid, readRecord, recordSignatureHolds } from '../../protocol/proof/evidence.ts'
import { WitnessStatement } from '../../protocol/proof/witness.ts'
import { DAY_MS, HOUR_MS } from '../core/limits.ts'
import { openWriter } from '../store/sqlite/database.ts'
import { startTestHub, type TestAgent, type TestHub } from '../testing/hub.ts'
import { grant, payment, redemption } from '../testing/payments.ts'
import { expectReply, inBase64, type OpenAgent, Wire1Client } from '../testing/wire1.ts'
import { namedWitness, statementAt } from '../testing/witnesses.ts'

let hub: TestHub
let client: Wire1Client
let alice: OpenAgent
let bob: OpenAgent
beforeAll(async () => {
  hub = await startTestHub({ wires: [1] })
  hub.clock.advance(DAY_MS - (hub.clock.now() % DAY_MS) + HOUR_MS)
  client = new Wire1Client(hub)
  alice = await client.registered({ name: 'alice' })
  bob = await client.registered({ name: 'bob' })
})
afterAll(() => hub.close())

type Supply = Record<string, number | boolean | string>
const supply = async (): Promise<Supply> => (await client.get('/x402/supply')).json['supply'] as Supply
type Listed = { seq: number; id: string; prev_id: string; kind: string; at: number; record: string }
async function issuance(query = '') {
  const reply = await client.get(`/x402/issuance${query}`)
  expectReply('issuance', reply)
  return reply.json
}
const entries = async (query = '') => (await issuance(query))['entries'] as Listed[]

describe('the supply', () => {
  test('is what the books say now, beside what all records of the chain sum up to', async () => {
    await client.post('/x402/redeem', inBase64(redemption(alice, 40, 'invoice 1')))
    await client.post('/x402/settle', inBase64(payment(bob, alice, 10)))
    const { head_id, seq } = (await client.get('/x402/issuance/head')).json
    const reply = await client.get('/x402/supply')
    expectReply('supply', reply)
    expect(reply.json).toEqual({
      hub: hub.aid,
      supply: {
        ...{ issued: 200, redeemed: 40, outstanding: 160, balances: 160 },
        ...{ owed_by_peers: 0, due_to_peers: 0 },
        ...{ chain_issued: 200, chain_retired: 40, chain_opening: 0, chain_outstanding: 160 },
        ...{ chain_agrees: true, chain_head: head_id, chain_head_seq: seq },
      },
      note: expect.any(String),
    })
  })

  test('counts on with every grant, also of many at once, and agrees all the while', async () => {
    const before = Number((await supply())['issued'])
    const grants = Array.from({ length: 30 }, () => grant(hub, bob.aid, 1))
    const seen = await Promise.all(grants.map(() => supply()))
    await Promise.all(grants)
    for (const one of seen)
      expect([one['chain_agrees'], one['outstanding']]).toEqual([true, one['chain_outstanding']])
    const last = await supply()
    expect([last['issued'], last['chain_issued']]).toEqual([before + 30, before + 30])
  })

  test('does not agree once credits moved without a record', async () => {
    const altered = await startTestHub({ wires: [1] })
    const other = new Wire1Client(altered)
    const rich = await other.registered()
    await altered.restart(() => {
      const db = openWriter(join(altered.directory, 'hub.db'))
      db.exec(`UPDATE ledger_account SET balance = balance + 50 WHERE name = '${rich.aid}'`)
      db.exec("UPDATE ledger_account SET balance = balance - 50 WHERE kind = 'issue'")
      db.exec('UPDATE ledger_totals SET agents = agents + 50, issued = issued + 50')
      db.close()
    })
    expect((await other.get('/x402/supply')).json['supply']).toMatchObject({
      ...{ issued: 150, balances: 150, outstanding: 150 },
      ...{ chain_issued: 100, chain_outstanding: 100, chain_agrees: false },
    })
    await altered.close()
  })

  test('does not agree where the recount of all accounts differs from the totals', async () => {
    const altered = await startTestHub({ wires: [1] })
    const other = new Wire1Client(altered)
    const rich = await other.registered()
    await altered.restart(() => {
      const db = openWriter(join(altered.directory, 'hub.db'))
      db.exec(`UPDATE ledger_account SET balance = balance + 50 WHERE name = '${rich.aid}'`)
      db.close()
    })
    await altered.running.hub.credits.recounted
    expect((await other.get('/x402/supply')).json['supply']).toMatchObject({ chain_agrees: false })
    await altered.close()
  })
})

describe('the chain', () => {
  test('is told from a record on, this one included, each signed and linked to the one before', async () => {
    const all = await entries()
    expect(all.map(({ seq }) => seq)).toEqual(all.map((_, at) => at))
    expect((await entries('?from=2'))[0]?.seq).toBe(2)
    expect(await entries(`?from=${all.length}`)).toEqual([])
    for (const query of ['?from=-1', '?from=x', '?from=1.5'])
      expect((await client.get(`/x402/issuance${query}`)).status).toBe(400)
    const { publicKey } = hub.running.hub.context.identity.kel
    for (const [at, { id, prev_id, kind, record }] of all.entries()) {
      const read = readRecord(fromBase64(record), {
        seq: at,
        previous: parseCid(prev_id),
        chainDid: chainDid(hub.aid),
      })
      expect([read.record.eventType, recordSignatureHolds(publicKey, read)]).toEqual([kind, true])
      if (at > 0) expect(prev_id).toBe(all[at - 1]?.id)
      expect(id).not.toBe(prev_id)
    }
  })

  test('names its head with every answer', async () => {
    const last = (await entries()).at(-1)
    const { head_id, head_seq, chain_did } = await issuance('?from=1')
    expect([chain_did, head_seq, head_id]).toEqual([chainDid(hub.aid), last?.seq, last?.id])
    const reply = await client.get('/x402/issuance/head')
    expectReply('issuanceHead', reply)
    expect(reply.json).toEqual({
      ...{ chain_did: chainDid(hub.aid), seq: last?.seq, head_id: last?.id },
    })
  })

  test('has grants and redemptions with their agents, and epochs with the hub and an amount of nothing', async () => {
    hub.clock.advance(DAY_MS)
    await hub.running.hub.books.turn()
    const all = await entries()
    const kinds = new Map(all.map(entry => [entry.kind, entry]))
    expect(kinds.get('credit.issued')).toMatchObject({ reason: 'grant', aid: bob.aid, amount: 1 })
    expect(kinds.get('credit.retired')).toMatchObject({ reason: 'redemption', aid: alice.aid, amount: 40 })
    expect(kinds.get('svc.supply.epoch')).toMatchObject({
      ...{ aid: hub.aid, amount: 0, at: expect.any(Number) },
    })
    expect(all.filter(({ kind }) => kind === 'svc.supply.epoch').map(({ seq }) => seq)).toEqual([
      0,
      all.length - 1,
    ])
  })

  test('is told 200 records at a time, and on from there up to the head', async () => {
    for (let n = 0; n < 200; n++) await grant(hub, bob.aid, 1)
    const all: Listed[] = []
    const head = Number((await issuance())['head_seq'])
    while (all.length <= head) {
      const page = await entries(`?from=${all.length}`)
      expect(page.length).toBeLessThanOrEqual(200)
      all.push(...page)
    }
    expect(all.map(({ seq }) => seq)).toEqual(Array.from({ length: head + 1 }, (_, seq) => seq))
    expect((await supply())['chain_agrees']).toBe(true)
  })
})

describe('a witness', () => {
  let witness: TestAgent
  beforeAll(async () => {
    witness = await namedWitness(hub, 'https://witness.example')
  })
  const send = (change: Parameters<typeof statementAt>[2] = {}, by = witness) => {
    const { attestation, kel } = statementAt(hub, by, change)
    const again = (text: string) => toBase64(fromBase64url(text))
    return client.post('/x402/witness', { attestation: again(attestation), kel: again(kel) })
  }

  test('has its statements kept and listed with the health of all', async () => {
    const sent = await send()
    expectReply('witness', sent)
    expect(sent.json).toEqual({ status: 'stored' })
    expect((await send({ observedAt: hub.clock.now() - HOUR_MS })).json).toEqual({ status: 'unchanged' })
    const reply = await client.get('/x402/witnesses')
    expectReply('witnesses', reply)
    const { json } = reply
    const { seq } = hub.running.hub.supply.head
    expect(json).toEqual({
      chain_did: chainDid(hub.aid),
      attestations: [
        {
          ...{ witness: witness.aid, seq, head_id: expect.any(String), observed_at: expect.any(Number) },
          ...{ attestation: expect.any(String), kel: toBase64(fromBase64url(witness.kel)) },
        },
      ],
      health: {
        ...{ witnesses: 1, attestations: 1, latest_seq: seq, stale_seconds: expect.any(Number) },
        ...{ unwitnessed_records: 0, witness_aids: [witness.aid] },
      },
      witness_endpoints: [{ aid: witness.aid, url: 'https://witness.example' }],
      verify: expect.stringContaining(hub.url),
      note: expect.any(String),
    })
    const [kept] = json['attestations'] as { attestation: string }[]
    expect(WitnessStatement.decode(fromBase64(kept?.attestation ?? '')).body.witness).toBe(witness.aid)
  })

  test('that speaks of another chain is 400, one that nobody named 404, another record at a place 409', async () => {
    expect((await send({ chainDid: chainDid(bob.aid) })).status).toBe(400)
    const stranger = await namedWitness(hub)
    await hub.running.order({ command: 'witness', remove: stranger.aid })
    expect((await send({}, stranger)).status).toBe(404)
    const { seq } = hub.running.hub.supply.head
    const headId = (await hub.running.hub.context.store.supplyRecords(0, 1))[0]?.id ?? new Uint8Array(36)
    expect((await send({ seq, headId })).status).toBe(409)
    expect((await client.post('/x402/witness', { attestation: 'AAAA' })).status).toBe(400)
  })
})
