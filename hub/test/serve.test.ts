import { expect, test } from 'vitest'
import { registeredAgent, startTestHub } from '../testing/hub.ts'

/** After so long something is wrong. */
const HELD_WITHIN_MS = 10_000

test('a hub that ends lets go of its clients: held polls end, their answers are the last on their connections', async () => {
  const hub = await startTestHub()
  const agent = await registeredAgent(hub)
  const { polls } = hub.running.hub
  const held = agent.call('relayPoll', {}, { headers: { Prefer: 'wait=50' } })
  await expect.poll(() => polls.size, { timeout: HELD_WITHIN_MS }).toBe(1)
  const closing = hub.close()
  const reply = await held
  expect([reply.status, reply.json['messages']]).toEqual([200, []])
  expect(reply.headers.get('Connection')).toBe('close')
  // A poll that came in meanwhile would be answered at once.
  expect(polls.free).toBe(false)
  await closing
})
