/** For tests: so many random operations, and after each what must hold of the ledger. */
import { join } from 'node:path'
import { expect } from 'vitest'
import { CREDITS_MAX } from '../../protocol/contract/limits.ts'
import { seed } from '../../protocol/testing/slow.ts'
import { openReader } from '../store/sqlite/database.ts'
import { readLedgerHw, readTotals } from '../store/sqlite/ledger-reads.ts'
import { closeModel, type Model, openModel, step } from './ledger-model.ts'

const RECOUNT_EVERY = 500

/** The totals and the number of transfers after each step; the recount from the rows, which is slower, now and then. */
export async function keepsTheLaw(steps: number, crashEvery: number): Promise<void> {
  const model: Model = await openModel(seed, crashEvery)
  const reader = openReader(join(model.core.directory, 'hub.db'))
  try {
    for (let at = 1; at <= steps; at++) {
      const done = await step(model)
      const totals = readTotals(reader)
      const law = totals.agents + totals.holds === totals.issued - totals.retired
      const found = [done, law, totals.agents, readLedgerHw(reader)]
      expect(found, `SEED=${seed}, step ${at}`).toEqual([done, true, model.total(), model.posted])
      if (at % RECOUNT_EVERY === 0) await recount(model, `SEED=${seed}, step ${at}`)
    }
    expect([...model.counts.keys()].sort()).toEqual([...model.kinds].sort())
    expect(model.total()).toBeLessThanOrEqual(CREDITS_MAX)
  } finally {
    reader.close()
    await closeModel(model)
  }
}

async function recount(model: Model, where: string): Promise<void> {
  expect(await model.core.context.store.booksAgree(), where).toBe(true)
  for (const [aid, balance] of model.balances)
    expect([aid, await model.balanceOf(aid)], where).toEqual([aid, balance])
}
