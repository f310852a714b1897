/** No answer of a hub is taken for another type than it names: a stranger's bytes may look like a page or a script. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { headers } from '../../protocol/wire3/headers.ts'
import { registeredAgent, startTestHub, type TestHub } from '../testing/hub.ts'
import { pathOf, rows, sendRow } from '../testing/routes.ts'

let hub: TestHub
beforeAll(async () => {
  hub = await startTestHub({ open: true })
})
afterAll(() => hub.close())

test.each(rows)('%s says so when it answers, when it refuses, and to HEAD', async (name, row) => {
  const agent = await registeredAgent(hub)
  const replies = [
    await sendRow(name, agent),
    await sendRow(name, agent, { headers: { [headers.wire]: '99' } }),
    await sendRow(name, agent, { headers: { 'Content-Encoding': 'gzip' } }),
    await fetch(hub.url + pathOf(row, agent), { method: 'HEAD' }),
    await fetch(hub.url + pathOf(row, agent), { method: 'DELETE' }),
  ]
  for (const { status, headers: given } of replies)
    expect([status, given.get('X-Content-Type-Options')]).toEqual([status, 'nosniff'])
  expect(new Set(replies.map(({ status }) => status)).size).toBeGreaterThan(1)
})
