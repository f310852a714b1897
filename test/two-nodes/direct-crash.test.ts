/** Direct delivery whose processes die: a letter arrives once, by the address or by the hub, and its sender says which. */

import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { directPoints } from './crash-points.ts'
import { CrashLab, readNode } from './crash-world.ts'

const lab = new CrashLab(['alice', 'bob'], {}, 1, true)
const ids: string[] = []
beforeAll(() => lab.open())
afterAll(() => lab.close())

type Turn = { mine: boolean; delivery?: { state: string; direct?: boolean } }

/** How the request for a task went, once alice knows that bob has it. */
async function delivery(id: string): Promise<Turn['delivery']> {
  let first: Turn | undefined
  await lab.until('alice knows that bob has it', async () => {
    const { turns } = await lab.ask('alice', 'POST', '/thread', { interaction_id: id })
    first = (turns as Turn[]).find(({ mine }) => mine)
    return first?.delivery?.state === 'delivered'
  })
  return first?.delivery
}

test('where nobody dies every letter goes directly', async () => {
  const id = await lab.runTask(1)
  ids.push(id)
  expect(await delivery(id)).toMatchObject({ direct: true })
})

/** Where the call ended without a confirmation, and its sender lives, the letter goes by the hub at once. */
const byHub = ['bob', 'bob serve']

for (const who of ['alice', 'bob', 'bob serve'] as const)
  for (const point of directPoints[who])
    test(`${who} dies at ${point}: the task is done by itself`, async () => {
      await lab.startAnew()
      const before = lab.kills
      await lab.arm(who, point)
      if (who !== 'bob serve') await lab.serving()
      const id = await lab.runTask(ids.length + 1)
      ids.push(id)
      expect(lab.kills).toBe(before + 1)
      const { direct } = (await delivery(id)) ?? {}
      if (byHub.includes(who) && !point.endsWith('after-answer')) expect(direct).toBeUndefined()
    })

/** What a stopped node says of the messages that it wrote. */
function said(dir: string): unknown[] {
  const database = new DatabaseSync(join(dir, 'interactions', 'store.db'), { readOnly: true })
  const rows = database.prepare("SELECT DISTINCT delivery FROM messages WHERE direction = 'out'").all()
  database.close()
  return rows.map(({ delivery }) => delivery)
}

test('afterwards both nodes hold each message once, and none is said to be on its way or lost', async () => {
  await lab.stop()
  const [alice, bob] = [await readNode(lab.dir('alice')), await readNode(lab.dir('bob'))]
  expect(new Set(ids).size).toBe(ids.length)
  for (const [n, id] of ids.entries()) {
    expect([...(alice.stories.get(id)?.texts ?? [])].sort()).toEqual([
      `answer to task ${n + 1}`,
      `task ${n + 1}`,
    ])
    expect(alice.stories.get(id)?.messages).toBe(4)
    expect(bob.stories.get(id)?.digests).toEqual(alice.stories.get(id)?.digests)
  }
  expect([alice.chainLength, bob.chainLength]).toEqual([2 * ids.length, ids.length])
  // a hub tells nobody that the last word of a task was read
  for (const name of ['alice', 'bob'] as const)
    expect(['delivered', 'at_hub']).toEqual(expect.arrayContaining(said(lab.dir(name))))
})
