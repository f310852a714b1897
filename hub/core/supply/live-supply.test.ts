import { describe, expect, test } from 'vitest'
import { GENESIS, signRecord } from '../../../protocol/proof/evidence.ts'
import { type CreditChange, creditPayload } from '../../../protocol/proof/supply.ts'
import { agent, NOW_MS } from '../../../protocol/testing/agents.ts'
import type { SupplyHead, Totals } from '../../store/ledger-port.ts'
import { LiveSupply } from './live-supply.ts'

const hub = agent('hub')
const NOTHING: Totals = { agents: 0, holds: 0, issued: 0, retired: 0, owedByPeers: 0, dueToPeers: 0 }

type Kind = 'credit.issued' | 'credit.retired' | 'credit.opening'
/** A chain with the books of another moment, so far as the supply asks for them. */
class Books {
  readonly rows: { seq: number; id: Uint8Array; record: Uint8Array }[] = []
  totals = NOTHING
  looks = 0
  /** Called at each look at the totals. */
  meanwhile: () => void = () => undefined

  add(eventType: Kind, amount: number, reason: CreditChange['reason'] = 'grant'): void {
    const last = this.rows.at(-1)
    const { record, bytes } = signRecord(hub.identitySeed, {
      ...{ signer: hub.aid, keyStateSeq: 0, seq: (last?.seq ?? -1) + 1, previous: last?.id ?? GENESIS },
      ...{ eventType, payload: creditPayload({ aid: hub.aid, amount, reason }), ts: NOW_MS },
    })
    this.rows.push({ seq: record.seq, id: record.id, record: bytes })
  }

  supply(stopped = false): LiveSupply {
    const store = {
      supplyHead: async (): Promise<SupplyHead | undefined> => this.rows.at(-1),
      supplyRecords: async (from: number, limit: number) => this.rows.slice(from, from + limit),
      creditTotals: async () => {
        this.looks += 1
        const { totals } = this
        this.meanwhile()
        return totals
      },
    }
    const timers = { after: (_: number, go: () => void) => void go() }
    return new LiveSupply({ store, timers } as never, { stopped })
  }
}

describe('the supply of this moment', () => {
  test('sums up what was issued, retired, and there before the chain', async () => {
    const books = new Books()
    books.add('credit.opening', 1000)
    books.add('credit.issued', 30)
    books.add('credit.retired', 7, 'redemption')
    books.totals = { ...NOTHING, agents: 1015, holds: 8, issued: 1030, retired: 7 }
    const { balances, chain, agrees, head } = await books.supply().now()
    expect(chain).toEqual({ opening: 1000, issued: 30, retired: 7, outstanding: 1023 })
    expect([balances, agrees, head.seq]).toEqual([1023, true, 2])
  })

  test('counts what other hubs owe, and are owed', async () => {
    const books = new Books()
    books.add('credit.issued', 100)
    books.totals = { ...NOTHING, agents: 110, issued: 100, owedByPeers: 15, dueToPeers: 5 }
    const { chain, agrees } = await books.supply().now()
    expect([chain.outstanding, agrees]).toEqual([110, true])
  })

  test.each([
    ['more was issued than has a record', { agents: 101, issued: 101 }],
    ['less was retired than has a record', { agents: 100, issued: 100 }],
    ['accounts have more than the records allow', { agents: 101, issued: 100, retired: 1 }],
  ])('does not agree where %s', async (_, totals) => {
    const books = new Books()
    books.add('credit.issued', 100)
    books.add('credit.retired', 1, 'redemption')
    books.totals = { ...NOTHING, ...totals }
    expect((await books.supply().now()).agrees).toBe(false)
  })

  test('does not agree while the books are found not to', async () => {
    const books = new Books()
    books.add('credit.issued', 100)
    books.totals = { ...NOTHING, agents: 100, issued: 100 }
    expect((await books.supply().now()).agrees).toBe(true)
    expect((await books.supply(true).now()).agrees).toBe(false)
  })

  test('reads every record once, however many there are, and looks again after one came meanwhile', async () => {
    const books = new Books()
    for (let n = 0; n < 401; n++) books.add('credit.issued', 1)
    books.totals = { ...NOTHING, agents: 401, issued: 401 }
    const supply = books.supply()
    expect((await supply.now()).chain.issued).toBe(401)
    let left = 2
    books.meanwhile = () => {
      if (left-- <= 0) return
      books.add('credit.issued', 1)
      books.totals = { ...NOTHING, agents: books.totals.agents + 1, issued: books.totals.issued + 1 }
    }
    const [one, two] = await Promise.all([supply.now(), supply.now()])
    for (const { agrees, head } of [one, two]) expect([agrees, head.seq >= 401]).toEqual([true, true])
    expect((await supply.now()).chain.issued).toBe(403)
  })

  test('is not told where a record comes at every look', async () => {
    const books = new Books()
    books.add('credit.issued', 1)
    books.meanwhile = () => books.add('credit.issued', 1)
    await expect(books.supply().now()).rejects.toMatchObject({ code: 'overloaded' })
    expect(books.looks).toBe(20)
  })
})
