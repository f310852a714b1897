/** Witnesses of the supply chain (hub API §6, objects: supply): who may be one, what is taken of it, and what is kept. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { contentId, parseCid } from '../../protocol/crypto/hash.ts'
import { fromBase64url, toBase64url } from '../../protocol/encoding/bytes.ts'
import { decodeKel, verifyKel } from '../../protocol/identity/kel.ts'
import { chainDid } from '../../protocol/proof/evidence.ts'
import { statementHolds, WitnessStatement } from '../../protocol/proof/witness.ts'
import { DAY_MS, HOUR_MS } from '../core/limits.ts'
import {
  callRoute,
  type Reply,
  random,
  registeredAgent,
  startTestHub,
  TestAgent,
  type TestHub,
} from '../testing/hub.ts'
import { ask, grant, redemption } from '../testing/payments.ts'
import { namedWitness, sendStatement, statementAt } from '../testing/witnesses.ts'

let hub: TestHub
let alice: TestAgent
let witness: TestAgent
beforeAll(async () => {
  hub = await startTestHub({ limits: { trialCredits: 0 } })
  hub.clock.advance(DAY_MS - (hub.clock.now() % DAY_MS) + HOUR_MS)
  alice = await registeredAgent(hub)
  witness = await namedWitness(hub, 'https://witness.example')
})
afterAll(() => hub.close())

type Listed = {
  witness: string
  seq: number
  head_id: string
  observed_at: number
  attestation: string
  kel?: string
}
const listed = async (): Promise<Record<string, unknown> & { attestations: Listed[] }> =>
  (await callRoute(hub, 'witnesses', undefined)).json as never
const statusOf = ({ json }: Reply): unknown => json['status'] ?? json['reason']
const goOn = (): Promise<unknown> => grant(hub, alice.aid, 1)

/** How many signatures are checked while something is done. */
async function checks(work: () => Promise<unknown>): Promise<number> {
  const spy = vi.spyOn(hub.running.hub.context.verifier, 'verify')
  try {
    await work()
    return spy.mock.calls.length
  } finally {
    spy.mockRestore()
  }
}

describe('a statement', () => {
  test('is kept with the key history of its witness, and can be verified by anybody', async () => {
    await goOn()
    expect(statusOf(await sendStatement(hub, witness))).toBe('stored')
    const { attestations, chain_did, health, witness_endpoints, verify } = await listed()
    expect([chain_did, witness_endpoints]).toEqual([
      chainDid(hub.aid),
      [{ aid: witness.aid, url: 'https://witness.example' }],
    ])
    const [own] = attestations
    const statement = WitnessStatement.decode(fromBase64url(own?.attestation ?? ''))
    const log = verifyKel(decodeKel(fromBase64url(own?.kel ?? '')))
    expect(statementHolds(log, statement)).toBe(true)
    const { seq, id } = hub.running.hub.supply.head
    expect([own?.seq, parseCid(own?.head_id ?? ''), own?.witness]).toEqual([seq, id, witness.aid])
    expect(health).toEqual({
      witnesses: 1,
      attestations: 1,
      latest_seq: seq,
      stale_seconds: expect.any(Number),
      unwitnessed_records: 0,
      witness_aids: [witness.aid],
    })
    expect(verify).toBe(`svc verify --attestation <attestation> --hub ${hub.url}`)
    await goOn()
    expect((await listed())['health']).toMatchObject({ latest_seq: seq, unwitnessed_records: 1 })
  })

  test('that is sent again, or is older than one that is kept, changes nothing and costs no signature', async () => {
    const old = statementAt(hub, witness)
    hub.clock.advance(1000)
    await goOn()
    const body = statementAt(hub, witness)
    expect(statusOf(await callRoute(hub, 'witness', body))).toBe('stored')
    const before = await listed()
    const again = async () => {
      for (const given of [body, old])
        expect(statusOf(await callRoute(hub, 'witness', given))).toBe('unchanged')
    }
    expect(await checks(again)).toBe(0)
    expect((await listed()).attestations).toEqual(before.attestations)
  })

  test('counts under the newest key of its witness alone, whose history goes on', async () => {
    const moved = await namedWitness(hub)
    expect(statusOf(await sendStatement(hub, moved))).toBe('stored')
    const previous = moved.seed
    moved.rotate()
    hub.clock.advance(1000)
    expect(statusOf(await sendStatement(hub, moved, { witnessKelSeq: 0 }, previous))).toBe('bad_request')
    expect(statusOf(await sendStatement(hub, moved))).toBe('stored')
    hub.clock.advance(1000)
    const { attestation } = statementAt(hub, moved)
    expect(statusOf(await callRoute(hub, 'witness', { attestation }))).toBe('stored')
  })

  test('by anybody else is unknown before a signature is looked at', async () => {
    const strangers = async () => {
      expect(statusOf(await sendStatement(hub, new TestAgent(hub)))).toBe('unknown_aid')
      expect(statusOf(await sendStatement(hub, alice))).toBe('unknown_aid')
    }
    expect(await checks(strangers)).toBe(0)
  })

  test('by a witness that became an agent of the hub counts no more', async () => {
    const agent = await namedWitness(hub)
    expect(statusOf(await sendStatement(hub, agent))).toBe('stored')
    await hub.running.order({ command: 'admit', aid: agent.aid })
    await agent.register()
    expect(statusOf(await sendStatement(hub, agent))).toBe('unknown_aid')
    await hub.running.order({ command: 'witness', remove: agent.aid })
  })

  test('of a wrong form, about another chain or from the future is refused unread', async () => {
    const wrong = async () => {
      const other = chainDid(new TestAgent(hub).aid)
      const ahead = hub.clock.now() + 6 * 60_000
      expect(statusOf(await sendStatement(hub, witness, { chainDid: other }))).toBe('bad_request')
      expect(statusOf(await sendStatement(hub, witness, { observedAt: ahead }))).toBe('bad_request')
      const noise = { attestation: toBase64url(random(120)) }
      expect(statusOf(await callRoute(hub, 'witness', noise))).toBe('bad_request')
    }
    expect(await checks(wrong)).toBe(0)
  })

  test('needs the key history of its witness the first time', async () => {
    const fresh = await namedWitness(hub)
    const { attestation } = statementAt(hub, fresh)
    const { json } = await callRoute(hub, 'witness', { attestation })
    expect(json['error']).toMatch(/kel is missing/)
  })
})

describe('a statement that names another record', () => {
  test('is answered with both, the operator is told, and the chain stands still', async () => {
    const headId = contentId(random(8))
    const other = await namedWitness(hub)
    const { seq, id } = hub.running.hub.supply.head
    const reply = await sendStatement(hub, other, { headId })
    expect(reply.status).toBe(409)
    const { reason, seq: own, head_id, witnessed_seq, witnessed_id } = reply.json
    expect([reason, own, witnessed_seq]).toEqual(['head_conflict', seq, seq])
    expect([parseCid(String(head_id)), parseCid(String(witnessed_id))]).toEqual([id, headId])
    expect(hub.alerts.map(({ event }) => event)).toContain('a witness has seen another supply chain')
    await hub.restart()
    const why = /has signed another record [0-9]+ than the one here.*; .*svc-hub restore/
    await expect(goOn()).rejects.toThrow(why)
    expect((await hub.running.order({ command: 'witness' }))['note']).toMatch(why)
    const refused = await ask(hub, 'x402Redeem', redemption(alice, 1, 'x').request)
    expect([refused.status, refused.json]).toMatchObject([503, { reason: 'supply_halted', success: false }])
    hub.clock.advance(DAY_MS)
    await hub.running.hub.books.turn()
    expect(hub.running.hub.supply.head.seq).toBe(seq)
    // a longer chain than the one here is no answer to another one
    await sendStatement(hub, other, { seq: seq + 5, observedAt: hub.clock.now() })
    await expect(goOn()).rejects.toThrow(why)
    await hub.running.order({ command: 'witness', remove: other.aid })
    await goOn()
  })

  test('outweighs one of a record that is only missing here', async () => {
    const other = await namedWitness(hub)
    const { seq } = hub.running.hub.supply.head
    await sendStatement(hub, other, { seq: seq + 5 })
    await expect(goOn()).rejects.toThrow(/has seen record/)
    await sendStatement(hub, other, { headId: contentId(random(8)) })
    await expect(goOn()).rejects.toThrow(/has signed another record/)
    await hub.running.order({ command: 'witness', remove: other.aid })
  })

  test('that is missing here counts for the furthest one that its witness has seen', async () => {
    const other = await namedWitness(hub)
    const { seq } = hub.running.hub.supply.head
    for (const ahead of [5, 9, 7]) await sendStatement(hub, other, { seq: seq + ahead })
    await expect(goOn()).rejects.toThrow(`has seen record ${seq + 9} of it`)
    await hub.running.order({ command: 'witness', remove: other.aid })
  })

  test('is no evidence without the signature of its witness', async () => {
    const before = hub.alerts.length
    const forged = await sendStatement(hub, witness, { headId: contentId(random(8)) }, random(32))
    expect(statusOf(forged)).toBe('bad_request')
    expect(hub.alerts.length).toBe(before)
  })

  test('after the end of the chain stops it, until the chain has come so far or the witness is no more', async () => {
    const liar = await namedWitness(hub, 'https://liar.example')
    const { seq } = hub.running.hub.supply.head
    const ahead = await sendStatement(hub, liar, { seq: seq + 5 })
    expect(ahead.json).toMatchObject({ reason: 'head_conflict', seq, witnessed_seq: seq + 5 })
    await expect(goOn()).rejects.toThrow(
      /has seen record .* svc-hub restore --from-witness https:\/\/liar\.example$/,
    )
    await hub.restart()
    await expect(goOn()).rejects.toThrow(/stands still/)
    hub.clock.advance(DAY_MS)
    await hub.running.hub.books.turn()
    expect(hub.running.hub.supply.head.seq).toBe(seq)
    expect(hub.alerts.some(({ event }) => event.includes('stands still'))).toBe(true)
    await hub.running.order({ command: 'witness', remove: liar.aid })
    await goOn()
    expect(hub.running.hub.supply.head.seq).toBe(seq + 1)
  })
})

test('after a restore the chain waits for each witness that was named before, and for no later one', async () => {
  const { store } = hub.running.hub.context
  const [previous, other] = [await namedWitness(hub), await namedWitness(hub)]
  await sendStatement(hub, previous)
  hub.clock.advance(1000)
  await store.putSetting('restored_ms', String(hub.clock.now()))
  await store.putSetting('restored_witnesses', JSON.stringify([previous.aid, other.aid]))
  await namedWitness(hub)
  hub.clock.advance(1000)
  const stale = { observedAt: hub.clock.now() - 1500 }
  for (const [one, change] of [
    [previous, stale],
    [previous, {}],
    [other, stale],
  ] as const) {
    await expect(goOn()).rejects.toThrow(/stands still since the restore/)
    await sendStatement(hub, one, change)
  }
  await expect(goOn()).rejects.toThrow(other.aid)
  hub.clock.advance(1000)
  await sendStatement(hub, other)
  await goOn()
})

test('of each witness the newest statement is kept, and one for each epoch of 14 days', async () => {
  const steady = await namedWitness(hub)
  const own = async () => (await listed()).attestations.filter(one => one.witness === steady.aid)
  for (let day = 0; day < 20; day++) {
    await goOn()
    await sendStatement(hub, steady)
    hub.clock.advance(DAY_MS)
    await hub.running.hub.books.turn()
    await sendStatement(hub, steady)
  }
  const kept = await own()
  expect(kept.length).toBeGreaterThanOrEqual(14)
  expect(kept.length).toBeLessThanOrEqual(15)
  expect(kept.map(({ seq }) => seq)).toEqual(kept.map(({ seq }) => seq).sort((a, b) => b - a))
  expect(kept.filter(({ kel }) => kel !== undefined)).toHaveLength(1)
  expect(kept[0]?.seq).toBe(hub.running.hub.supply.head.seq)
})

describe('the operator', () => {
  const order = (given: Record<string, unknown>) =>
    hub.running.order({ command: 'witness', ...given } as { command: 'witness' })

  test('names witnesses and takes them off', async () => {
    const { aid } = await namedWitness(hub)
    const shown = async () => (await order({}))['witnesses'] as { aid: string; url: string | null }[]
    expect((await shown()).find(one => one.aid === aid)).toEqual({
      aid,
      url: null,
      seq: null,
      observed_at: null,
    })
    await order({ add: aid, url: 'https://other.example' })
    expect((await shown()).find(one => one.aid === aid)?.url).toBe('https://other.example')
    await order({ remove: aid })
    expect((await shown()).some(one => one.aid === aid)).toBe(false)
    await expect(order({ remove: aid })).rejects.toThrow(/is no witness of this hub/)
  })

  test('can name neither the hub nor an agent of it, nor more than 64', async () => {
    await expect(order({ add: hub.aid })).rejects.toThrow(/cannot watch itself/)
    await expect(order({ add: alice.aid })).rejects.toThrow(/is an agent of this hub/)
    await expect(order({ add: new TestAgent(hub).aid, url: 'x' })).rejects.toThrow(/expected the URL/)
    const { store } = hub.running.hub.context
    for (let named = (await store.witnesses()).length; named < 64; named++) await namedWitness(hub)
    await expect(namedWitness(hub)).rejects.toThrow(/64 witnesses are named already/)
    await order({ add: witness.aid, url: 'https://again.example' })
  })
})
