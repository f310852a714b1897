/** What a start forgets of senders, because nothing of them may be stored, counts as half used (hub API §8). */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { DAY_MS } from '../core/limits.ts'
import { type Reply, registeredAgent, startTestHub, type TestAgent, type TestHub } from '../testing/hub.ts'
import { sealedForStranger, sendEnvelope } from '../testing/mail.ts'

const MINUTE_MS = 60_000

let hub: TestHub
beforeEach(async () => {
  hub = await startTestHub({ limits: { sessionQuota: 4, senderWaitingMax: 4, senderPerMinuteMax: 100 } })
  hub.clock.advance(DAY_MS - (hub.clock.now() % DAY_MS) + 1000)
})
afterEach(() => hub.close())

/** First contacts of one sender, one to each of these recipients. */
async function contacts(sender: TestAgent, recipients: TestAgent[]): Promise<unknown[]> {
  const session = await sender.openSession()
  const told: Reply[] = []
  for (const recipient of recipients)
    told.push(await sendEnvelope(hub, sealedForStranger(recipient), session))
  return told.map(({ json }) => json['reason'] ?? json['status'])
}
const agents = (count: number) => Promise.all(Array.from({ length: count }, () => registeredAgent(hub)))

test('the day of a sender is half used after a start, and new on the next day', async () => {
  const [sender, ...recipients] = (await agents(8)) as [TestAgent, ...TestAgent[]]
  const five = recipients.slice(0, 5)
  expect(await contacts(sender, five)).toEqual([...Array(4).fill('queued'), 'rate_limited'])
  await hub.restart()
  for (const agent of [sender, ...recipients]) agent.target = hub
  expect((await sender.openSession()).quota).toBe(2)
  expect(await contacts(sender, recipients.slice(4))).toEqual(['queued', 'queued', 'rate_limited'])
  await hub.restart()
  hub.clock.advance(DAY_MS)
  expect((await sender.openSession()).quota).toBe(4)
})

test('first contacts that wait from before a start take half of the share of every sender, until they are collected', async () => {
  const [recipient, ...senders] = (await agents(3)) as [TestAgent, TestAgent, TestAgent]
  const three = Array<TestAgent>(3).fill(recipient)
  expect(await contacts(senders[0], three)).toEqual(Array(3).fill('queued'))
  await hub.restart()
  hub.running.hub.context.limits.sessionQuota = 100
  hub.clock.advance(DAY_MS)
  expect(await contacts(senders[1], three)).toEqual(['queued', 'queued', 'strangers_busy'])
  const { messages } = await recipient.poll()
  await recipient.call('relayAck', { items: messages.slice(0, 3).map(({ id }) => ({ id })) })
  hub.clock.advance(MINUTE_MS)
  expect(await contacts(senders[1], three)).toEqual(['queued', 'queued', 'strangers_busy'])
})
