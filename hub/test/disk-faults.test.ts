// project: programs

/** The disk at its limits: no more room, and a flush that fails. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterEach, describe, expect, test } from 'vitest'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { fillUp as fillDisk, hasSmallDisks, withSmallDisk } from '../../protocol/testing/small-disk.ts'
import type { Order } from '../operator/order-shapes.ts'
import { orderRunningHub } from '../operator/socket.ts'
import { faultyDisk, hasCompiler } from '../testing/disk.ts'
import { callRoute, random, registeredAgent, startTestHub, TestAgent, type TestHub } from '../testing/hub.ts'
import { sealedUnderCapability, sendEnvelope, sendHeaders, type TestEnvelope } from '../testing/mail.ts'
import { runHub, startHubChild } from '../testing/process.ts'

const NO_ROOM = /^the hub has no room for mail; retry in 3\d seconds$/
const KIB = 1024
const MIB = 1024 * KIB

const folders: string[] = []
afterEach(() => {
  for (const path of folders.splice(0)) rmSync(path, { recursive: true, force: true })
})

/** Sends until the hub has no more room; tells what it acknowledged. */
async function fillUp(hub: TestHub, agent: TestAgent): Promise<string[]> {
  const acknowledged: string[] = []
  for (;;) {
    const envelope = sealedUnderCapability(agent, agent.capability(), { contentBytes: 60 * KIB })
    const reply = await sendEnvelope(hub, envelope)
    if (reply.status !== 200) {
      expect([reply.status, reply.json['reason']]).toEqual([503, 'unavailable'])
      expect(reply.json['error']).toMatch(NO_ROOM)
      expect(Number(reply.headers.get('Retry-After'))).toBeGreaterThanOrEqual(30)
      return acknowledged
    }
    acknowledged.push(toBase64url(envelope.bytes))
  }
}

test('a full disk refuses sends; polls and acks go on and make room for the next send', async () => {
  const hub = await startTestHub({ limits: { storeBytesMax: 2 * MIB } })
  const agent = await registeredAgent(hub)
  const acknowledged = await fillUp(hub, agent)
  expect(acknowledged.length).toBeGreaterThan(5)
  const { messages } = await agent.poll({ limit: 256 })
  expect(messages.map(message => message.envelope)).toEqual(acknowledged)
  const items = messages
    .slice(0, 5)
    .map(({ id }) => ({ id, handle: toBase64url(random(16)), dack: toBase64url(random(540)) }))
  expect((await agent.call('relayAck', { items })).json).toEqual({ acked: 5, stored: 5 })
  const envelope = sealedUnderCapability(agent, agent.capability())
  expect((await sendEnvelope(hub, envelope)).json['status']).toBe('queued')
  await hub.restart()
  agent.target = hub
  expect((await agent.poll({ limit: 256 })).messages.length).toBe(acknowledged.length - 5 + 1)
  await hub.close()
})

test('the operator is told once when mail begins to be refused for want of room, and once when that has ended', async () => {
  const hub = await startTestHub({ limits: { storeBytesMax: 2 * MIB } })
  const agent = await registeredAgent(hub)
  await fillUp(hub, agent)
  await fillUp(hub, agent)
  const told = () => hub.alerts.filter(({ event }) => /refused|room/.test(event))
  expect(told()).toEqual([
    {
      event: 'mail is refused: no room on the disk or in the store',
      facts: {
        path: hub.directory,
        free_bytes: expect.any(Number),
        free_bytes_of_store: expect.any(Number),
        mend: 'raise limits.store_bytes and restart the hub, or wait until agents have collected mail; the hub takes mail again at once',
      },
    },
  ])
  const { sends, context } = hub.running.hub
  // a small write succeeds all the same
  await context.store.putSetting('small', '1')
  expect([(await context.store.health()).full, sends.isShortOfRoom]).toEqual([false, true])
  const { messages } = await agent.poll({ limit: 256 })
  const items = messages.map(({ id }) => ({
    id,
    handle: toBase64url(random(16)),
    dack: toBase64url(random(540)),
  }))
  await agent.call('relayAck', { items })
  hub.clock.advance(60_000)
  for (let sent = 0; sent < 2; sent++) {
    const envelope = sealedUnderCapability(agent, agent.capability())
    expect((await sendEnvelope(hub, envelope)).status).toBe(200)
  }
  expect(told().map(({ event }) => event)).toEqual([
    'mail is refused: no room on the disk or in the store',
    'there is room for mail again',
  ])
  expect(sends.isShortOfRoom).toBe(false)
  await hub.close()
})

test('that there is room again is told without further mail, and not before there is', async () => {
  const hub = await startTestHub({ limits: { storeBytesMax: 2 * MIB } })
  const agent = await registeredAgent(hub)
  await fillUp(hub, agent)
  const { sends, context } = hub.running.hub
  const told = () => hub.alerts.filter(({ event }) => /room for mail again/.test(event)).length
  hub.clock.advance(60_000)
  await sends.lookForRoom()
  expect(told()).toBe(0)
  const { messages } = await agent.poll({ limit: 256 })
  await agent.call('relayAck', { items: messages.map(({ id }) => ({ id })) })
  await sends.lookForRoom()
  expect(told()).toBe(1)
  expect((await context.store.health()).full).toBe(false)
  await sends.lookForRoom()
  expect(told()).toBe(1)
  await hub.close()
})

test.skipIf(!hasSmallDisks)('a start that finds no room for the reserve says so, and serves', () =>
  withSmallDisk(12 * MIB, async folder => {
    const directory = join(folder, 'data')
    const made = await runHub(['init', '--data-dir', directory])
    expect(JSON.parse(made.stdout)).toMatchObject({
      created: true,
      note: expect.stringContaining(`no room for the reserve of ${16 * MIB} bytes`),
    })
    const told = async () => {
      const hub = await startHubChild(directory, { env: {} })
      const agent = new TestAgent(hub)
      await orderRunningHub(directory, { command: 'admit', aid: agent.aid })
      expect((await agent.register()).status).toBe(200)
      hub.kill('SIGTERM')
      await hub.exited
      const lines = hub.said().split('\n')
      return lines.filter(line => line.includes('reserve')).map(line => JSON.parse(line))
    }
    const without = {
      event: 'the disk has no room for the reserve, which lets mail be collected once it is full',
      level: 'warn',
      bytes: 16 * MIB,
      mend: expect.stringContaining('restart the hub'),
    }
    expect(await told()).toEqual([expect.objectContaining(without)])
    expect(existsSync(join(directory, 'reserve'))).toBe(false)
    spawnSync('mount', ['-o', `remount,size=${128 * MIB}`, folder])
    expect(await told()).toEqual([])
    expect(existsSync(join(directory, 'reserve'))).toBe(true)
  }),
)

test.skipIf(!hasSmallDisks)(
  'a hub whose disk somebody else filled names path, room and step, and takes mail again as soon as there is some',
  () =>
    withSmallDisk(64 * MIB, async folder => {
      const directory = join(folder, 'data')
      const hub = await startHubChild(directory, { env: {} })
      const agent = new TestAgent(hub)
      await orderRunningHub(directory, { command: 'admit', aid: agent.aid })
      expect((await agent.register()).status).toBe(200)
      const send = async () => {
        const envelope = sealedUnderCapability(agent, agent.capability(), { contentBytes: MIB })
        return (await sendEnvelope(hub, envelope)).json
      }
      const filled = join(folder, 'filled')
      fillDisk(filled)
      expect(await send()).toEqual({
        reason: 'unavailable',
        error: expect.stringMatching(NO_ROOM),
      })
      rmSync(filled)
      expect(await send()).toMatchObject({ status: 'queued' })
      hub.kill('SIGTERM')
      await hub.exited
      const line = hub
        .said()
        .split('\n')
        .find(said => said.includes('mail is refused'))
      expect(JSON.parse(line ?? '')).toMatchObject({
        path: directory,
        free_bytes: expect.any(Number),
        mend: expect.stringContaining(`free some room on the disk of ${directory}`),
      })
    }),
)

describe.runIf(hasCompiler)('on a full disk', () => {
  /** A place whose disk is full while `mark` exists; the library takes the place's own file for a reserve nobody gives up. */
  function fullPlace(): { directory: string; mark: string; env: Record<string, string> } {
    const place = mkdtempSync(join(tmpdir(), 'svc-hub-full-'))
    folders.push(place)
    writeFileSync(join(place, 'reserve'), '')
    const mark = join(place, 'full')
    return { directory: join(place, 'data'), mark, env: faultyDisk(place, { fullWhile: mark }) }
  }

  test.each(['init', 'serve'])('%s of a new hub says so in a sentence and ends with 1', async command => {
    const { directory, mark, env } = fullPlace()
    writeFileSync(mark, '')
    const { code, stderr } = await runHub([command, '--data-dir', directory], { env })
    expect([code, stderr]).toEqual([
      1,
      `svc-hub: the disk of ${directory} is full; free some room, then try again\n`,
    ])
    rmSync(mark)
    expect((await runHub(['init', '--data-dir', directory], { env })).code).toBe(0)
  })

  test('the orders of the operator take what is kept in reserve, and say so where there is none', async () => {
    const home = mkdtempSync(join(tmpdir(), 'svc-hub-full-'))
    folders.push(home)
    const mark = join(tmpdir(), `svc-hub-mark-${process.pid}`)
    folders.push(mark)
    const hub = await startHubChild(home, { env: faultyDisk(home, { fullWhile: mark }) })
    const agent = new TestAgent(hub)
    const order = (given: Order) => orderRunningHub(home, given)
    await order({ command: 'admit', aid: agent.aid })
    expect((await agent.register()).status).toBe(200)
    writeFileSync(mark, '')
    const { aid } = agent
    const orders: Order[] = [
      { command: 'block', aid },
      { command: 'unblock', aid },
      { command: 'admission', mode: 'open' },
      { command: 'remove', aid },
      { command: 'rotate' },
    ]
    for (const given of orders) {
      writeFileSync(join(home, 'reserve'), 'room')
      expect([given.command, await order(given)]).toMatchObject([given.command, { ok: true }])
      expect(existsSync(join(home, 'reserve'))).toBe(false)
    }
    hub.kill('SIGTERM')
    expect(await hub.exited).toMatchObject({ code: 0 })
  })

  test('orders without a reserve say so and leave nothing; the end is in order', async () => {
    const { directory, mark, env } = fullPlace()
    const hub = await startHubChild(directory, { env })
    const { aid } = new TestAgent(hub)
    await orderRunningHub(directory, { command: 'admit', aid })
    rmSync(join(directory, 'reserve'))
    writeFileSync(mark, '')
    for (const given of [{ command: 'block', aid }, { command: 'rotate' }] as Order[])
      expect(await orderRunningHub(directory, given)).toEqual({
        ok: false,
        error: expect.stringMatching(/the disk is full.*; free some room, then repeat the command/),
      })
    expect(readdirSync(directory).filter(name => name.endsWith('.new'))).toEqual([])
    hub.kill('SIGTERM')
    expect(await hub.exited).toMatchObject({ code: 0 })
    expect(hub.said()).toContain('"stopped"')
    expect(hub.said()).not.toContain('the store failed')
  })
})

test('a failed flush ends all writing with 503 and the process with 1; what was acknowledged is kept', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'svc-hub-flush-'))
  folders.push(directory)
  const first = await startHubChild(directory, { failingFlush: 'hub.group.commit:12' })
  const agent = new TestAgent(first)
  await orderRunningHub(directory, { command: 'admit', aid: agent.aid })
  expect((await agent.register()).status).toBe(200)
  const acknowledged: string[] = []
  let unanswered: TestEnvelope | undefined
  while (unanswered === undefined) {
    const envelope = sealedUnderCapability(agent, agent.capability())
    const reply = await sendEnvelope(first, envelope)
    if (reply.status === 200) acknowledged.push(toBase64url(envelope.bytes))
    else {
      expect([reply.status, reply.json['reason']]).toEqual([503, 'unavailable'])
      unanswered = envelope
    }
  }
  expect(await first.exited).toEqual({ code: 1, signal: null })
  expect(acknowledged.length).toBeGreaterThan(0)

  const second = await startHubChild(directory)
  agent.target = second
  expect((await sendEnvelope(second, unanswered)).json['status']).toMatch(/^(queued|duplicate)$/)
  const { messages } = await agent.poll({ limit: 256 })
  expect(messages.map(message => message.envelope)).toEqual([...acknowledged, toBase64url(unanswered.bytes)])
  second.kill('SIGTERM')
  expect((await second.exited).code).toBe(0)
})

test('a body that comes more slowly than the minimum rate is cut, and nothing of it stays', async () => {
  const hub = await startTestHub({ limits: { bodyGraceMs: 50, bodyBytesPerSecondMin: MIB } })
  const agent = await registeredAgent(hub)
  const envelope = sealedUnderCapability(agent, agent.capability(), { contentBytes: MIB })
  const head = Object.entries({ Host: 'localhost', 'X-Svc-Wire': '3', ...sendHeaders(envelope) })
  const lines = head.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  const { hostname, port } = new URL(hub.url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => undefined)
  let told = ''
  socket.on('data', chunk => {
    told += chunk
  })
  const cut = new Promise(resolve => socket.once('close', resolve))
  socket.write(`POST /relay/send HTTP/1.1\r\n${lines}Content-Length: ${envelope.bytes.length}\r\n\r\n`)
  socket.write(envelope.bytes.subarray(0, 100 * KIB))
  await cut
  expect(told).toMatch(/^HTTP\/1\.1 400 .*its body came too slowly/s)
  expect((await agent.poll()).messages).toEqual([])
  expect((await callRoute(hub, 'healthz', undefined)).status).toBe(200)
  await hub.close()
})

test('a body that keeps to the minimum rate is taken, however long past the grace it takes', async () => {
  const hub = await startTestHub({ limits: { bodyGraceMs: 50, bodyBytesPerSecondMin: KIB } })
  const agent = await registeredAgent(hub)
  const envelope = sealedUnderCapability(agent, agent.capability(), { contentBytes: 8 * KIB })
  const parts = [0, 1, 2, 3].map(part => envelope.bytes.subarray(part * 3 * KIB, (part + 1) * 3 * KIB))
  async function* slowly(): AsyncGenerator<Uint8Array> {
    for (const part of parts) {
      yield part
      await new Promise(resolve => setTimeout(resolve, 100))
    }
  }
  const headers = { 'X-Svc-Wire': '3', ...sendHeaders(envelope) }
  const body = Readable.from(slowly()) as unknown as RequestInit['body']
  const sent = { method: 'POST', headers, body, duplex: 'half' } as RequestInit
  expect((await fetch(`${hub.url}/relay/send`, sent)).status).toBe(200)
  expect((await agent.poll()).messages).toHaveLength(1)
  await hub.close()
})
