/** Records of the supply chain that a witness kept, and what a hub of an older state makes of them. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { CborValue } from '../../../protocol/encoding/cbor.ts'
import { type ChainRecord, signRecord } from '../../../protocol/proof/evidence.ts'
import {
  creditIssued,
  creditPayload,
  creditRetired,
  epochPayload,
  type SupplyReason,
  supplyEpoch,
  supplyEventOf,
} from '../../../protocol/proof/supply.ts'
import { agent } from '../../../protocol/testing/agents.ts'
import type { SupplyHead } from '../../store/ledger-port.ts'
import { openCore, type TestCore } from '../../testing/core.ts'
import { Issuance } from '../ledger/issuance.ts'
import { DAY_MS } from '../limits.ts'
import { SupplyChain } from './chain.ts'
import { epochOfNothing } from './epochs.ts'
import { returnSupply } from './returned.ts'

const DAY = 20_000
const NOW_MS = DAY * DAY_MS + 1
const [ONE, TWO, HUB] = ['one', 'two', 'another hub'].map(name => agent(name).aid) as [string, string, string]

let core: TestCore
let head: SupplyHead
let returned: { record: ChainRecord; bytes: Uint8Array }[]
beforeEach(async () => {
  core = await openCore(NOW_MS)
  ;({ head } = await SupplyChain.open(core.context))
  returned = []
})
afterEach(() => core.close())

/** One more record, as this hub signed it before it was put back. */
function record(eventType: string, payload: CborValue): void {
  const { identity } = core.context
  const last = returned.at(-1)?.record ?? head
  returned.push(
    signRecord(identity.seed, {
      signer: identity.aid,
      keyStateSeq: identity.seq,
      seq: last.seq + 1,
      previous: last.id,
      eventType,
      payload,
      ts: NOW_MS,
    }),
  )
}
const issued = (aid: string, amount: number, reason: SupplyReason) =>
  record(creditIssued, creditPayload({ aid, amount, reason }))
const retired = (aid: string, amount: number, reason: SupplyReason) =>
  record(creditRetired, creditPayload({ aid, amount, reason }))

const take = () => returnSupply(core.context, head, returned)
const balance = async (aid: string) => (await core.context.store.holdings(aid, NOW_MS)).balance

test('what was issued and given back stands in the accounts again, once', async () => {
  issued(ONE, 100, 'trial')
  issued(ONE, 50, 'grant')
  issued(TWO, 7, 'grant')
  retired(ONE, 30, 'redemption')
  expect(await take()).toBe(0)
  const { store } = core.context
  expect([await balance(ONE), await balance(TWO)]).toEqual([120, 7])
  expect(await store.supplyHead()).toMatchObject({ seq: head.seq + 4, id: returned.at(-1)?.record.id })
  expect(await store.creditTotals()).toMatchObject({ agents: 127, issued: 157, retired: 30 })
  expect(await store.booksAgree()).toBe(true)
  await expect(take()).rejects.toThrow(/does not go on/)
  expect(await balance(ONE)).toBe(120)
})

test('what an account cannot give any more is issued to it in a record after all that came back', async () => {
  issued(ONE, 10, 'grant')
  retired(ONE, 25, 'redemption')
  retired(TWO, 4, 'redemption')
  expect(await take()).toBe(19)
  const { store } = core.context
  expect([await balance(ONE), await balance(TWO)]).toEqual([0, 0])
  const own = await store.supplyRecords(head.seq + 4, 9)
  expect(own.map(({ seq }) => seq)).toEqual([head.seq + 4, head.seq + 5])
  expect((await store.supplyHead())?.id).toEqual(own[1]?.id)
  expect(await store.booksAgree()).toBe(true)
})

test('debts of other hubs that were cleared touch no account of an agent', async () => {
  issued(HUB, 40, 'cleared')
  retired(HUB, 40, 'cleared')
  expect(await take()).toBe(0)
  expect(await balance(HUB)).toBe(0)
  expect(await core.context.store.creditTotals()).toMatchObject({ agents: 0, issued: 40, retired: 40 })
})

test('epochs come back with their records, and make the days before them forgotten', async () => {
  const { store } = core.context
  expect((await store.keptEpoch(undefined))?.day).toBe(DAY - 1)
  const { epoch } = epochOfNothing(DAY + 13)
  record(supplyEpoch, epochPayload(epoch))
  record('svc.something', new Map())
  await take()
  expect(await store.keptEpoch(undefined)).toEqual({ day: DAY + 13, seq: head.seq + 1, accounts: 0 })
  expect(await store.keptEpoch(DAY - 1)).toBeUndefined()
  expect(supplyEventOf(returned[1]?.record as ChainRecord)).toEqual({ kind: 'other' })
})

test('a trial that came back is not given once more', async () => {
  issued(ONE, 100, 'trial')
  await take()
  returned = []
  head = (await core.context.store.supplyHead()) as SupplyHead
  issued(ONE, 100, 'trial')
  await expect(take()).rejects.toThrow(/not posted: held/)
})

test('a grant that came back is not given again under the name of its order, once for each', async () => {
  issued(ONE, 41, 'grant')
  issued(ONE, 41, 'grant')
  await take()
  await take().catch(() => undefined)
  const issuance = new Issuance(core.context, await SupplyChain.open(core.context))
  const order = (n: number) => new Uint8Array(16).fill(n)
  const grant = (n: number, amount = 41) => issuance.grant(ONE, amount, order(n), true)
  for (const n of [1, 2, 1, 2]) expect(await grant(n)).toBe('returned')
  expect(await balance(ONE)).toBe(82)
  expect(await grant(3)).toBe('given')
  expect(await grant(3)).toBe('repeated')
  expect(await grant(4, 40)).toBe('given')
  expect(await issuance.grant(TWO, 41, order(5), true)).toBe('given')
  expect(await balance(ONE)).toBe(82 + 41 + 40)
})

test('a new order of the same amount is no repetition', async () => {
  issued(ONE, 41, 'grant')
  await take()
  const issuance = new Issuance(core.context, await SupplyChain.open(core.context))
  expect(await issuance.grant(ONE, 41, new Uint8Array(16))).toBe('given')
})
