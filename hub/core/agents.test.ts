/** Agents as they are read, remembered and written back. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { encodeKel } from '../../protocol/identity/kel.ts'
import { KeySet } from '../../protocol/identity/keyset.ts'
import { agentOf, openCore, type TestCore } from '../testing/core.ts'
import type { TestAgent } from '../testing/hub.ts'
import { agentRow } from '../testing/store-contract.ts'
import { type Agent, Agents, readAgent, withKeys, withLog, withoutAccount } from './agents.ts'
import { HOUR_MS, QUIET_AFTER_MS } from './limits.ts'

// The start of an hour.
const NOW_MS = 1_800_000_000_000
const NOTICE_LIFE_MS = 600_000

let core: TestCore
let agents: Agents
let one: TestAgent
beforeEach(async () => {
  core = await openCore(NOW_MS)
  agents = new Agents(core.context)
  one = agentOf(core)
})
afterEach(() => core.close())

const fresh = (of: TestAgent): Agent =>
  readAgent(agentRow(of.aid, { kel: encodeKel(of.log.events), card: undefined }))
const put = async (of = one): Promise<Agent> => (await agents.update(of.aid, held => held ?? fresh(of))).agent
const named = (agent: Agent, name: string): Agent => ({ ...agent, row: { ...agent.row, name } })
const keysOf = (of: TestAgent): KeySet => {
  of.makeKeys()
  return of.keySet as KeySet
}

describe('an update', () => {
  test('works on the newest row, also when somebody else writes meanwhile', async () => {
    await put()
    const others = new Agents(core.context)
    const seen: string[] = []
    const { agent } = await agents.update(one.aid, async held => {
      seen.push(held?.row.name ?? '')
      if (seen.length === 1) await others.update(one.aid, theirs => named(theirs as Agent, 'theirs'))
      return { ...(held as Agent), row: { ...(held as Agent).row, summary: 'ours' } }
    })
    expect(seen).toEqual(['name', 'theirs'])
    expect(agent.row).toMatchObject({ name: 'theirs', summary: 'ours' })
    expect((await agents.find(one.aid))?.row.version).toBe(agent.row.version)
  })

  test('works on the newest row after memory was freed in its midst', async () => {
    await put()
    const { agent } = await agents.update(one.aid, held => {
      agents.freeMemory()
      return named(held as Agent, 'ours')
    })
    agents.freeMemory()
    expect((await agents.find(one.aid))?.row).toMatchObject({ name: 'ours', version: agent.row.version })
    expect(await agents.account(one.aid)).toEqual(await core.context.store.account(one.aid))
  })

  test('gives up after five tries', async () => {
    await put()
    const others = new Agents(core.context)
    const change = vi.fn(async (held: Agent | undefined) => {
      await others.update(one.aid, theirs => named(theirs as Agent, `${change.mock.calls.length}`))
      return held as Agent
    })
    await expect(agents.update(one.aid, change)).rejects.toMatchObject({ code: 'overloaded' })
    expect(change).toHaveBeenCalledTimes(5)
  })

  test('keeps a registered agent with keys in its bucket, and nobody else', async () => {
    const { store } = core.context
    await put()
    const stored = vi.spyOn(store, 'putAgent')
    await agents.update(one.aid, held => withKeys(held as Agent, keysOf(one), 0))
    await agents.update(one.aid, held => ({
      ...(held as Agent),
      row: { ...(held as Agent).row, registered: false },
    }))
    expect(stored.mock.calls.map(([change]) => change.entry !== undefined)).toEqual([true, false])
  })
})

describe('what is remembered', () => {
  test('is read once; of the operator until it is told that something changed', async () => {
    await put()
    const { store } = core.context
    const found = vi.spyOn(store, 'findAgent')
    const asked = vi.spyOn(store, 'account')
    for (let n = 0; n < 2; n++) await agents.find(one.aid)
    for (let n = 0; n < 2; n++) await agents.account(one.aid)
    expect([found.mock.calls.length, asked.mock.calls.length]).toEqual([0, 1])
    agents.forgetAccount(one.aid)
    await agents.account(one.aid)
    expect(asked).toHaveBeenCalledTimes(2)
  })

  test('of one that is not registered is found, and not as registered', async () => {
    expect(await agents.findRegistered(one.aid)).toBeUndefined()
    await put()
    expect((await agents.findRegistered(one.aid))?.row.aid).toBe(one.aid)
    await agents.update(one.aid, held => withoutAccount(held as Agent))
    expect(await agents.findRegistered(one.aid)).toBeUndefined()
    expect((await agents.find(one.aid))?.row.aid).toBe(one.aid)
  })
})

describe('the time when mail was collected', () => {
  test('is written once an hour', async () => {
    const agent = await put()
    const written = vi.spyOn(core.context.store, 'markSeen')
    agents.noteSeen(agent)
    core.clock.ms += HOUR_MS - 1
    agents.noteSeen(agent)
    expect(written.mock.calls).toEqual([[agent.row.number, NOW_MS]])
    core.clock.ms += 1
    agents.noteSeen(agent)
    expect(written).toHaveBeenLastCalledWith(agent.row.number, NOW_MS + HOUR_MS)
  })

  test('makes an agent quiet after an hour, after a restart one later', async () => {
    const agent = await put()
    agents.noteSeen(agent)
    const later = new Agents(core.context)
    const quiet = (afterMs: number, of: Agents): boolean => {
      core.clock.ms = NOW_MS + afterMs
      return of.isQuiet(agent)
    }
    expect([quiet(QUIET_AFTER_MS, agents), quiet(QUIET_AFTER_MS + 1, agents)]).toEqual([false, true])
    const lastMs = QUIET_AFTER_MS + HOUR_MS
    expect([quiet(lastMs, later), quiet(lastMs + 1, later)]).toEqual([false, true])
  })
})

describe('a notice of a key state', () => {
  test('is signed anew after its life, for another head, and under another key of the hub', async () => {
    const agent = await put()
    const first = agents.notice(agent)
    core.clock.ms += NOTICE_LIFE_MS - 1
    expect(agents.notice(agent)).toBe(first)
    core.clock.ms += 1
    const second = agents.notice(agent)
    expect(second.body.hubTs).toBe(NOW_MS + NOTICE_LIFE_MS)
    one.rotate()
    const third = agents.notice({ log: one.log })
    expect([third.body.seq, second.body.seq]).toEqual([1, 0])
    agents.forgetNotices()
    expect(agents.notice({ log: one.log })).not.toBe(third)
  })

  test('of a stored row holds for one version of it', async () => {
    const { row } = await put()
    const first = agents.noticeOf(row)
    expect(agents.noticeOf(row)).toBe(first)
    const { agent } = await agents.update(one.aid, held => {
      one.rotate()
      return withLog(held as Agent, one.log)
    })
    expect(agents.noticeOf(agent.row).body.seq).toBe(1)
    core.clock.ms += NOTICE_LIFE_MS
    expect(agents.noticeOf(agent.row).body.hubTs).toBe(core.clock.ms)
  })
})

describe('an agent with', () => {
  test('a log under the same key state keeps key sets and card, under a newer one none', () => {
    const keys = keysOf(one)
    const before = withKeys(fresh(one), keys, 0)
    const agent = { ...before, row: { ...before.row, card: '{}' } }
    const same = withLog(agent, one.log)
    expect([same.keys, same.row.card, same.row.keys]).toEqual([keys, '{}', KeySet.encode(keys)])
    one.rotate()
    const newer = withLog(agent, one.log)
    expect([newer.keys, newer.row.card, newer.row.keys]).toEqual([undefined, undefined, undefined])
    expect(newer.row.kel).toEqual(encodeKel(one.log.events))
  })

  test('another key set remembers the one before, where it is of the same key state', () => {
    const first = keysOf(one)
    const second = keysOf(one)
    const replaced = withKeys(withKeys(fresh(one), first, 7), second, 9)
    expect([replaced.keysBefore, replaced.row.keysBeforeUntilMs]).toEqual([first, 9])
    expect(replaced.row.keysBefore).toEqual(KeySet.encode(first))
    expect(withKeys(fresh(one), first, 7).row).toMatchObject({ keysBefore: undefined, keysBeforeUntilMs: 0 })
    one.rotate()
    expect(withKeys(replaced, keysOf(one), 9).keysBefore).toBeUndefined()
  })
})
