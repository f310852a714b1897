/** The end of a hub: in order, also when a client would keep it for ever. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { orderRunningHub } from '../operator/socket.ts'
import { TestAgent } from '../testing/hub.ts'
import { sealedUnderCapability, sendEnvelope, sendHeaders } from '../testing/mail.ts'
import { startHubChild } from '../testing/process.ts'

const STOPS_WITHIN_MS = 10_000
/** After so long something is wrong. */
const HELD_WITHIN_MS = 10_000
const CONTENT_BYTES = 1024 * 1024

test('SIGTERM ends a hub within ten seconds: held polls at once, a client that never finishes at last, rows all in one file', {
  timeout: 60_000,
}, async () => {
  const directory = mkdtempSync(join(tmpdir(), 'svc-hub-stop-'))
  const hub = await startHubChild(directory, { env: { SVC_HUB_OPERATOR_LISTEN: '127.0.0.1:0' } })
  const agent = new TestAgent(hub)
  await orderRunningHub(directory, { command: 'admit', aid: agent.aid })
  expect((await agent.register()).status).toBe(200)
  const held = agent.poll({}, { headers: { Prefer: 'wait=50' } })

  const envelope = sealedUnderCapability(agent, agent.capability(), { contentBytes: CONTENT_BYTES })
  const head = Object.entries({ Host: 'localhost', 'X-Svc-Wire': '3', ...sendHeaders(envelope) })
  const { hostname, port } = new URL(hub.url)
  const socket = connect(Number(port), hostname)
  const cut = new Promise(resolve => socket.once('close', resolve))
  socket.on('error', () => undefined)
  const lines = head.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  socket.write(`POST /relay/send HTTP/1.1\r\n${lines}Content-Length: ${envelope.bytes.length}\r\n\r\n`)
  socket.write(envelope.bytes.subarray(0, 1000))
  // Answered after the half request has arrived.
  expect((await sendEnvelope(hub, sealedUnderCapability(agent, agent.capability()))).status).toBe(200)
  expect((await held).messages.length).toBe(1)
  const again = agent.poll({ after_id: 1 }, { headers: { Prefer: 'wait=50' } })

  await untilHeld(directory)

  const late = setTimeout(() => hub.kill('SIGKILL'), STOPS_WITHIN_MS)
  hub.kill('SIGTERM')
  expect((await again).messages).toEqual([])
  expect(await hub.exited).toEqual({ code: 0, signal: null })
  clearTimeout(late)
  await cut
  expect(existsSync(join(directory, 'hub.db-wal'))).toBe(false)
  expect(existsSync(join(directory, 'operator.sock'))).toBe(false)
  rmSync(directory, { recursive: true })
})

/** Waits until the hub says that it holds a poll. */
async function untilHeld(directory: string): Promise<void> {
  const running = await orderRunningHub(directory, { command: 'running' })
  if (running?.ok !== true) throw new Error('the hub does not answer')
  const figures = `${String(running.result['operatorUrl'])}/metrics`
  await expect
    .poll(async () => (await fetch(figures)).text(), { timeout: HELD_WITHIN_MS })
    .toContain('svc_hub_held_polls 1\n')
}
