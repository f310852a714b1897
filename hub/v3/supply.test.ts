/**
 * What a hub says of its credits (hub API §4.4, §6): an account's own statement, the signed chain of what was issued and
 * retired, the epoch of each day, and the proof that an account is counted in it.
 */
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { publicKey, verify } from '../../protocol/crypto/engine.node.ts'
import { parseCid } from '../../protocol/crypto/hash.ts'
import { fromBase64url } from '../../protocol/encoding/bytes.ts'
import { keyAt } from '../../protocol/identity/kel.ts'
import {
  ChainRecord,
  chainDid,
  GENESIS,
  readRecord,
  recordSignatureHolds,
} from '../../protocol/proof/evidence.ts'
import { leafOf, liabilityKey, type PathStep, pathFault } from '../../protocol/proof/liability.ts'
import { type Epoch, epochFault, supplyEventOf } from '../../protocol/proof/supply.ts'
import { DAY_MS, HOUR_MS } from '../core/limits.ts'
import {
  callRoute,
  type Reply,
  registeredAgent,
  startTestHub,
  type TestAgent,
  type TestHub,
} from '../testing/hub.ts'
import { ask, balanceOf, grant, order, payment, redemption } from '../testing/payments.ts'

let hub: TestHub
let alice: TestAgent
let bob: TestAgent
beforeAll(async () => {
  hub = await startTestHub({ limits: { trialCredits: 100, pollWaitSecondsMax: 0 } })
  hub.clock.advance(DAY_MS - (hub.clock.now() % DAY_MS) + HOUR_MS)
  alice = await registeredAgent(hub)
  bob = await registeredAgent(hub)
})
afterAll(() => hub.close())

const own = (agent: TestAgent, name: 'balance' | 'ledger' | 'redemptions' | 'liabilityProof', query = {}) =>
  agent.call(name, undefined, { params: { aid: agent.aid }, query })
const publicly = (name: 'supply' | 'issuance' | 'issuanceHead', query = {}): Promise<Reply> =>
  callRoute(hub, name, undefined, { query })

type Listed = { seq: number; id: string; prev_id: string; kind: string; at: number; record: string }
async function chain(): Promise<{ entries: Listed[]; records: ChainRecord[] }> {
  const entries: Listed[] = []
  for (let from: string | undefined = '0'; from !== undefined; ) {
    const { json } = await publicly('issuance', { from, limit: '3' })
    entries.push(...(json['entries'] as Listed[]))
    from = json['next'] as string | undefined
  }
  return { entries, records: entries.map(({ record }) => ChainRecord.decode(fromBase64url(record))) }
}

/** The day after, with its books written. */
async function nextDay(): Promise<void> {
  hub.clock.advance(DAY_MS)
  await hub.running.hub.books.turn()
}

async function newestEpoch(): Promise<Epoch & { seq: number }> {
  const { json } = await publicly('supply')
  const event = supplyEventOf(ChainRecord.decode(fromBase64url(json['record'] as string)))
  if (event.kind !== 'epoch') throw new Error('no epoch')
  const { seq, id: _, record: __, root, ...shown } = json
  expect(event.epoch).toMatchObject(shown)
  expect(event.epoch.root).toEqual(fromBase64url(root as string))
  return { ...event.epoch, seq: seq as number }
}

type Proof = { balance: number; salt: string; path: { h: string; sum: number; side: 'left' | 'right' }[] }
async function provenFor(
  agent: TestAgent,
  day?: number,
): Promise<{ fault: string | undefined; balance: number }> {
  const { json } = await own(agent, 'liabilityProof', day === undefined ? {} : { day: String(day) })
  const { balance, salt, path } = json as unknown as Proof
  const event = supplyEventOf(ChainRecord.decode(fromBase64url(json['record'] as string)))
  if (event.kind !== 'epoch') throw new Error('no epoch')
  const { root, root_sum, depth, accounts } = event.epoch
  const leaf = leafOf(liabilityKey(agent.aid, fromBase64url(salt)), balance)
  const steps: PathStep[] = path.map(({ h, sum, side }) => ({ h: fromBase64url(h), sum, side }))
  const fault = pathFault(leaf, steps, { root, rootSum: root_sum, depth, accounts })
  return { fault, balance }
}

describe('an account', () => {
  test('has its trial credits at once where the operator let it in', async () => {
    const { json } = await own(alice, 'balance')
    expect(json).toEqual({
      aid: alice.aid,
      network: `hub:${hub.aid}`,
      balance: 100,
      held: 0,
      probation_until: expect.any(Number),
      trial: 'granted',
    })
  })

  test('lists what moved, newest first, page by page, from its own side', async () => {
    const carol = await registeredAgent(hub)
    const dave = await registeredAgent(hub)
    await grant(hub, carol.aid, 50)
    const paid = payment(carol, dave, 30)
    await ask(hub, 'x402Settle', paid.request)
    const held = payment(carol, dave, 20, { holdSeconds: 600 })
    await ask(hub, 'x402Settle', held.request)
    await ask(hub, 'x402Capture', order(dave, held, 15))
    const back = payment(dave, carol, 5, { refundOf: parseCid(paid.transaction) })
    await ask(hub, 'x402Settle', back.request)
    const taken = redemption(carol, 1, 'x')
    await ask(hub, 'x402Redeem', taken.request)
    const rows = async (agent: TestAgent) => {
      const { json } = await own(agent, 'ledger')
      return (json['entries'] as Record<string, unknown>[]).map(entry => [
        entry['reason'],
        entry['delta'],
        entry['transaction'],
        entry['counterparty'],
      ])
    }
    expect(await rows(carol)).toEqual([
      ['redemption', -1, taken.transaction, undefined],
      ['refund', 5, back.transaction, dave.aid],
      ['captured', 5, held.transaction, dave.aid],
      ['held', -20, held.transaction, dave.aid],
      ['paid', -30, paid.transaction, dave.aid],
      ['grant', 50, undefined, undefined],
      ['trial', 100, undefined, undefined],
    ])
    expect(await rows(dave)).toEqual([
      ['refund', -5, back.transaction, carol.aid],
      ['captured', 15, held.transaction, carol.aid],
      ['received', 30, paid.transaction, carol.aid],
      ['trial', 100, undefined, undefined],
    ])
    const first = await own(carol, 'ledger', { limit: '4' })
    expect(first.json['entries']).toHaveLength(4)
    const second = await own(carol, 'ledger', { limit: '4', before: first.json['next'] as string })
    expect(second.json['entries']).toHaveLength(3)
    expect(second.json).not.toHaveProperty('next')
    expect(second.json['oldest_seq']).toBe((second.json['entries'] as { seq: number }[]).at(-1)?.seq)
  })

  test('is its own: nobody else is told', async () => {
    const signed = (name: 'balance' | 'ledger' | 'redemptions' | 'liabilityProof') =>
      bob.call(name, undefined, { params: { aid: alice.aid } })
    for (const name of ['balance', 'ledger', 'redemptions', 'liabilityProof'] as const)
      expect((await signed(name)).json['reason']).toBe('unauthorized')
  })
})

describe('the supply chain', () => {
  test('begins with an epoch of nothing, links each record, and is signed by the hub', async () => {
    const { entries, records } = await chain()
    const { kel } = hub.running.hub.context.identity
    let previous = GENESIS
    for (const [seq, { record, id, prev_id }] of entries.entries()) {
      const read = readRecord(fromBase64url(record), { seq, previous, chainDid: chainDid(hub.aid) })
      const key = keyAt(kel, read.record.keyStateSeq) as Uint8Array
      expect(recordSignatureHolds(key, read)).toBe(true)
      expect([parseCid(id), parseCid(prev_id)]).toEqual([read.record.id, previous])
      previous = read.record.id
    }
    const [first] = records.map(supplyEventOf)
    expect(first).toMatchObject({ kind: 'epoch', epoch: { issued: 0, outstanding: 0, accounts: 0 } })
    const head = await publicly('issuanceHead')
    expect(head.json).toEqual({
      chain_did: chainDid(hub.aid),
      seq: entries.length - 1,
      head_id: entries.at(-1)?.id,
    })
  })

  test('has each grant and redemption, to the hour and without the words of the operator', async () => {
    const { entries, records } = await chain()
    const changes = records.map(supplyEventOf).flatMap(event => ('change' in event ? [event.change] : []))
    expect(changes.filter(({ aid }) => aid === alice.aid)).toEqual([
      { aid: alice.aid, amount: 100, reason: 'trial' },
    ])
    expect(new Set(changes.map(({ reason }) => reason))).toEqual(new Set(['trial', 'grant', 'redemption']))
    expect(entries.every(({ at }) => at % HOUR_MS === 0)).toBe(true)
    const retired = entries.filter(({ kind }) => kind === 'credit.retired')
    expect(retired).toHaveLength(1)
    expect(retired[0]).toMatchObject({ amount: 1, reason: 'redemption' })
  })

  test('is shown as a transparency log, in a note that others can read', async () => {
    const { entries } = await chain()
    const note = (await callRoute(hub, 'checkpoint', undefined)).json['text'] as string
    const [origin, size, root, blank, line, end] = note.split('\n')
    expect([origin, size, blank, end]).toEqual([`svc-supply/${hub.aid}`, String(entries.length), '', ''])
    const hash = (...parts: Uint8Array[]) => createHash('sha256').update(Buffer.concat(parts)).digest()
    const rootOf = (leaves: Uint8Array[]): Buffer => {
      if (leaves.length === 1) return hash(Uint8Array.of(0), leaves[0] as Uint8Array)
      const half = 2 ** Math.floor(Math.log2(leaves.length - 1))
      return hash(Uint8Array.of(1), rootOf(leaves.slice(0, half)), rootOf(leaves.slice(half)))
    }
    expect(root).toBe(rootOf(entries.map(({ id }) => parseCid(id))).toString('base64'))
    const [dash, name, signed = ''] = (line as string).split(' ')
    const bytes = Buffer.from(signed, 'base64')
    const key = publicKey(hub.running.hub.context.identity.seed)
    expect([dash, name, bytes.length]).toEqual(['—', origin, 68])
    expect(bytes.subarray(0, 4)).toEqual(
      hash(Buffer.from(`${origin}\n`), Uint8Array.of(1), key).subarray(0, 4),
    )
    expect(verify(key, Buffer.from(`${origin}\n${size}\n${root}\n`), bytes.subarray(4))).toBe(true)
  })
})

describe('an epoch', () => {
  test('says what the hub owes in all, and what it says fits together', async () => {
    await nextDay()
    const epoch = await newestEpoch()
    expect(epochFault(epoch, epoch.seq)).toBeUndefined()
    const agents = [alice, bob]
    for (const agent of agents) expect(await provenFor(agent)).toEqual({ fault: undefined, balance: 100 })
    expect(epoch.issued).toBe(450)
    expect([epoch.retired, epoch.outstanding]).toEqual([1, 449])
    expect(epoch.accounts).toBe(4)
  })

  test("counts a hold as its payer's own until it ends", async () => {
    const held = payment(alice, bob, 40, { holdSeconds: 20 * 24 * 3600 })
    await ask(hub, 'x402Settle', held.request)
    await nextDay()
    expect((await newestEpoch()).held).toBe(40)
    expect(await provenFor(alice)).toEqual({ fault: undefined, balance: 100 })
    const late = { ...held, request: order(bob, held, 40) }
    await ask(hub, 'x402Capture', late.request)
    await nextDay()
    expect(await provenFor(alice)).toEqual({ fault: undefined, balance: 60 })
    expect(await provenFor(bob)).toEqual({ fault: undefined, balance: 140 })
  })

  test('is written only where something was posted, and covers the days since the last', async () => {
    const before = await newestEpoch()
    await nextDay()
    expect(await newestEpoch()).toEqual(before)
    hub.clock.advance(2 * DAY_MS)
    await ask(hub, 'x402Settle', payment(alice, bob, 1).request)
    await nextDay()
    const next = await newestEpoch()
    expect([next.from_day, next.day]).toEqual([before.day + 1, before.day + 4])
  })

  test('comes after an outage, too', async () => {
    await ask(hub, 'x402Settle', payment(alice, bob, 1).request)
    const { day } = await newestEpoch()
    hub.clock.advance(3 * DAY_MS)
    await hub.restart()
    await hub.running.hub.books.turn()
    expect((await newestEpoch()).day).toBeGreaterThan(day)
  })

  test('is proven to an account for 14 days, and not to one that was owed nothing', async () => {
    const { day } = await newestEpoch()
    expect((await provenFor(alice, day)).fault).toBeUndefined()
    const poor = await registeredAgent(hub)
    expect((await own(poor, 'liabilityProof', { day: String(day) })).json['reason']).toBe('proof_unavailable')
    hub.clock.advance(14 * DAY_MS)
    await ask(hub, 'x402Settle', payment(alice, bob, 1).request)
    await nextDay()
    expect((await own(alice, 'liabilityProof', { day: String(day) })).json['reason']).toBe(
      'proof_unavailable',
    )
  })

  test('waits while the books do not agree, and so does every payment', async () => {
    const { store } = hub.running.hub.context
    const { balance } = await balanceOf(alice)
    const { DatabaseSync } = await import('node:sqlite')
    const change = (by: number): void => {
      const db = new DatabaseSync(`${hub.directory}/hub.db`)
      db.exec(`UPDATE ledger_account SET balance = balance + ${by} WHERE name = '${alice.aid}'`)
      db.close()
    }
    await ask(hub, 'x402Settle', payment(alice, bob, 1).request)
    const before = await newestEpoch()
    change(5)
    expect(await store.booksAgree()).toBe(false)
    await nextDay()
    expect(await newestEpoch()).toEqual(before)
    const refused = await ask(hub, 'x402Settle', payment(alice, bob, 1).request)
    expect(refused.json).toMatchObject({ reason: 'unavailable', success: false })
    expect(hub.alerts.map(({ event }) => event)).toContain('the books do not agree; nothing is paid')
    change(-5)
    await nextDay()
    expect((await ask(hub, 'x402Settle', payment(alice, bob, 1).request)).json['success']).toBe(true)
    expect((await balanceOf(alice)).balance).toBe(balance - 2)
  })
})
