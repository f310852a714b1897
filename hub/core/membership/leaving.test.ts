/** Off the registry and back on it: what stays, what goes, and who has to come by itself. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { encodeKel } from '../../../protocol/identity/kel.ts'
import { KeySet } from '../../../protocol/identity/keyset.ts'
import { agentOf, openCore, type TestCore } from '../../testing/core.ts'
import type { TestAgent } from '../../testing/hub.ts'
import { agentRow } from '../../testing/store-contract.ts'
import { Agents, readAgent } from '../agents.ts'
import { leave, putBack, required, setAside } from './leaving.ts'

let core: TestCore
let agents: Agents
let one: TestAgent
beforeEach(async () => {
  core = await openCore(1_800_000_000_000)
  agents = new Agents(core.context)
  one = agentOf(core)
})
afterEach(() => core.close())

async function put(keys = true): Promise<void> {
  one.makeKeys()
  const row = agentRow(one.aid, {
    kel: encodeKel(one.log.events),
    card: undefined,
    keys: keys ? KeySet.encode(one.keySet as KeySet) : undefined,
  })
  await agents.update(one.aid, held => {
    const { number, version } = held?.row ?? row
    return readAgent({ ...row, number, version })
  })
}
const registered = async () => (await agents.find(one.aid))?.row.registered

describe('an agent that is set aside', () => {
  test('keeps what it published, and is put back with it', async () => {
    await put()
    const { row } = await setAside(agents, one.aid)
    expect(row).toMatchObject({ registered: false, name: 'name' })
    expect(row.keys).toBeDefined()
    expect(await putBack(agents, one.aid)).toBe(true)
    expect(await registered()).toBe(true)
  })

  test('is not put back without keys, or after the end of its identity', async () => {
    await put(false)
    await setAside(agents, one.aid)
    expect(await putBack(agents, one.aid)).toBe(false)
    one.end()
    await put()
    await setAside(agents, one.aid)
    expect(await putBack(agents, one.aid)).toBe(false)
    expect(await registered()).toBe(false)
  })
})

test('nobody is put back who is there, who left, or whom nobody knows', async () => {
  expect(await putBack(agents, one.aid)).toBe(false)
  await put()
  expect(await putBack(agents, one.aid)).toBe(false)
  const { agent, dropped } = await leave(agents, one.aid)
  expect([agent.row.registered, agent.row.name, agent.keys, dropped]).toEqual([false, '', undefined, 0])
  expect(await putBack(agents, one.aid)).toBe(false)
  expect(() => required(undefined)).toThrow('is gone')
})
