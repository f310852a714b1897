// project: programs

/** Answers that their reader does not take: they fill no memory and hold no place. */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { registeredAgent, startTestHub, type TestAgent, type TestHub } from '../testing/hub.ts'
import { sealedUnderCapability, sendEnvelope } from '../testing/mail.ts'
import { openSocket, requestHead } from '../testing/sockets.ts'

const KIB = 1024
const MIB = 1024 * KIB

async function withMail(hub: TestHub, envelopes: number): Promise<TestAgent> {
  const agent = await registeredAgent(hub)
  const capability = agent.capability({ usesPerDay: 1000 })
  for (let i = 0; i < envelopes; i++)
    await sendEnvelope(hub, sealedUnderCapability(agent, capability, { contentBytes: 60 * KIB }))
  return agent
}

/** A poll whose answer is left lying; resolves with the socket once the hub has begun to answer. */
async function unreadPoll(hub: TestHub, agent: TestAgent): Promise<Socket> {
  const socket = await openSocket(hub.url)
  socket.pause()
  const body = Buffer.from('{"limit":256}')
  const headers = { 'Content-Type': 'application/json', 'Content-Length': String(body.length) }
  const signed = agent.sign('poll', 'POST', '/relay/poll', body)
  socket.write(
    Buffer.concat([Buffer.from(requestHead('POST', '/relay/poll', { ...headers, ...signed })), body]),
  )
  return socket
}

const closed = async (socket: Socket): Promise<void> => {
  socket.resume()
  if (!socket.closed) await new Promise(resolve => socket.once('close', resolve))
}

test('an agent has one answer under way: a newer poll ends the one that is not taken', async () => {
  const hub = await startTestHub()
  const agent = await withMail(hub, 80)
  const sockets: Socket[] = []
  const before = process.memoryUsage().arrayBuffers
  for (let i = 0; i < 30; i++) {
    sockets.push(await unreadPoll(hub, agent))
    await new Promise(resolve => setTimeout(resolve, 5))
  }
  const { messages } = await agent.poll({ limit: 3 })
  expect(messages.length).toBe(3)
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(32 * MIB)
  await Promise.all(sockets.map(closed))
  await hub.close()
})

test('an answer that is not taken at the minimum rate is cut', async () => {
  const hub = await startTestHub({ limits: { bodyGraceMs: 50, bodyBytesPerSecondMin: 64 * MIB } })
  const agent = await withMail(hub, 80)
  const arrived = once(hub.running.listener.server, 'connection')
  const socket = await unreadPoll(hub, agent)
  const [accepted] = (await arrived) as [Socket]
  // Nobody reads: only the hub can end this connection.
  if (!accepted.destroyed) await once(accepted, 'close')
  socket.destroy()
  await hub.close()
})
