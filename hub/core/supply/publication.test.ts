/** What is read of the supply where an epoch has its record alone, as after a restore. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { agent } from '../../../protocol/testing/agents.ts'
import { openCore, type TestCore } from '../../testing/core.ts'
import { DAY_MS } from '../limits.ts'
import { SupplyChain } from './chain.ts'
import { epochOfNothing } from './epochs.ts'
import { Publication } from './publication.ts'

const DAY = 20_000
const { aid } = agent('one')

let core: TestCore
let supply: SupplyChain
let publication: Publication
beforeEach(async () => {
  core = await openCore(DAY * DAY_MS + 1)
  supply = await SupplyChain.open(core.context)
  publication = new Publication(core.context.store, async () => new Uint8Array(32))
})
afterEach(() => core.close())

test('such an epoch proves nothing to anybody, and is told as the newest one all the same', async () => {
  const { epoch } = epochOfNothing(DAY)
  await supply.appendEpoch(async () => ({ epoch: { ...epoch, accounts: 3 }, pieces: [] }))
  expect(await publication.proof(aid, DAY)).toBeUndefined()
  expect((await publication.newestEpoch()).epoch.day).toBe(DAY)
})

test('neither does one of nothing, nor a day that has none', async () => {
  expect(await publication.proof(aid, undefined)).toBeUndefined()
  expect(await publication.proof(aid, DAY + 9)).toBeUndefined()
})

test('records are told page by page, and a full last page names no next one', async () => {
  for (const day of [DAY, DAY + 1]) await supply.appendEpoch(async () => epochOfNothing(day))
  const page = async (from: number, asked: number) => {
    const { entries, next } = await publication.records(from, asked)
    return [entries.map(({ seq }) => seq), next]
  }
  expect(await page(0, 2)).toEqual([[0, 1], 2])
  expect(await page(2, 2)).toEqual([[2], undefined])
  expect(await page(0, 3)).toEqual([[0, 1, 2], undefined])
})
