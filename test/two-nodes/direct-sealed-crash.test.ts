/** Direct delivery of sealed mail whose processes die: an envelope arrives once, by the address or by the hub. */

import { afterAll, beforeAll, expect, test } from 'vitest'
import { sealedDirectPoints } from './crash-points.ts'
import { CrashLab, readNode } from './crash-world.ts'

const lab = new CrashLab(['alice', 'bob'], {}, 3, true)
const ids: string[] = []
beforeAll(async () => {
  await lab.open()
  ids.push(await lab.runTask(1))
  await lab.tellAddresses()
})
afterAll(() => lab.close())

for (const who of ['alice', 'bob', 'bob serve'] as const)
  for (const point of sealedDirectPoints[who])
    test(`${who} dies at ${point}: the task is done by itself`, async () => {
      const before = lab.kills
      // on a busy machine the first call may come too early, and goes by the hub
      for (let tries = 0; tries < 3 && lab.kills === before; tries++) {
        await lab.startAnew()
        await lab.arm(who, point)
        if (who !== 'bob serve') await lab.serving()
        ids.push(await lab.runTask(ids.length + 1))
      }
      expect(lab.kills).toBe(before + 1)
    })

test('afterwards both nodes hold each message once', async () => {
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
})
