/** A store whose database is away: callers are told to come back, and served once it is. */
import { expect, test } from 'vitest'
import { StoreAway } from '../store/port.ts'
import { registeredAgent, startTestHub } from '../testing/hub.ts'
import { sealedUnderCapability, sendEnvelope } from '../testing/mail.ts'

test('sends and polls are refused for some seconds, and nothing fails for good', async () => {
  const hub = await startTestHub()
  const agent = await registeredAgent(hub)
  const { store } = hub.running.hub.context
  const { enqueue, poll } = store
  const away = async () => {
    throw new StoreAway('the database is away: nothing listens there')
  }
  Object.assign(store, { enqueue: away, poll: away })
  const envelope = sealedUnderCapability(agent, agent.capability())
  for (const { status, json, headers } of [
    await sendEnvelope(hub, envelope),
    await agent.call('relayPoll', {}),
  ]) {
    expect([status, json['reason']]).toEqual([503, 'unavailable'])
    expect(Number(headers.get('Retry-After'))).toBeGreaterThanOrEqual(5)
    expect(JSON.stringify(json)).not.toMatch(/database/)
  }
  Object.assign(store, { enqueue, poll })
  expect((await sendEnvelope(hub, envelope)).json['status']).toBe('queued')
  expect((await agent.poll()).messages).toHaveLength(1)
  await hub.close()
})
