/**
 * The law of the ledger (objects: payment): no operation, repeated, refused or interrupted, makes or loses a credit, and
 * no id is posted twice. Random operations run beside a model of what they should do.
 */
import { expect, test } from 'vitest'
import { CREDITS_MAX } from '../../../protocol/contract/limits.ts'
import { closeModel, type Model, openModel, step } from '../../testing/ledger-model.ts'

const STEPS = 2000
const RECOUNT_EVERY = 500

test(`${STEPS} random operations keep the law, and every balance is that of the model`, async () => {
  const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000)
  const model: Model = await openModel(seed)
  try {
    for (let at = 1; at <= STEPS; at++) {
      const done = await step(model)
      const { totals } = await model.core.context.store.snapshot()
      const law = totals.agents + totals.holds === totals.issued - totals.retired
      expect([done, law, totals.agents], `SEED=${seed}, step ${at}`).toEqual([done, true, model.total()])
      if (at % RECOUNT_EVERY === 0) {
        expect(await model.core.context.store.booksAgree(), `SEED=${seed}, step ${at}`).toBe(true)
        for (const [aid, balance] of model.balances)
          expect([aid, await model.balanceOf(aid)], `SEED=${seed}, step ${at}`).toEqual([aid, balance])
      }
    }
    expect([...model.counts.keys()].sort()).toEqual([...model.kinds].sort())
    expect(model.total()).toBeLessThanOrEqual(CREDITS_MAX)
  } finally {
    await closeModel(model)
  }
})
