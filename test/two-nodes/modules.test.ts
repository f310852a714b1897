/** Capabilities that a node serves itself, called by another node over a hub: statuses, evidence, receipts, who may call. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readConfig, writeConfig } from '../../daemon/home/config.ts'
import { type Node, startNode } from '../../daemon/node.ts'
import { buildInfo } from '../../protocol/build-info.ts'
import { cidText, contentId } from '../../protocol/crypto/hash.ts'
import { toBase64, utf8 } from '../../protocol/encoding/bytes.ts'
import { MODULES } from '../../scripts/build-modules.ts'
import { type Lab, never, openLab, stateOf, until } from './world.ts'

const HEADER = 'Bearer of-the-service-1234'
let lab: Lab
let alice: Node
let bob: Node
let thermometer: ChildProcess
let odd: Server
let runs = 0
let asked = ''

type Effect = {
  status: string
  message: string
  verifiable: boolean
  metrics?: Record<string, number>
  evidence: Record<string, unknown>
}

const answers: Record<string, (respond: (status: number, body: string) => void) => void> = {
  claims: respond =>
    respond(
      200,
      JSON.stringify({
        verify_trust: 4,
        auth_trust: 4,
        native_ack: 'yes',
        nested: { a: 1 },
        value: 2,
        quirk: 'q1',
      }),
    ),
  own: respond => respond(200, JSON.stringify({ observed_state: 'seen', protocol: 'modbus', other: 'left' })),
  words: respond => respond(200, 'just words'),
  priced: respond => respond(200, '{"value":1}'),
  broken: respond => respond(500, '{"value": 1}'),
  moved: respond => respond(302, ''),
  large: respond => respond(200, 'x'.repeat(600 * 1024)),
  silent: () => {},
  slow: respond => setTimeout(() => respond(200, '{"value":1}'), 300),
}

beforeAll(async () => {
  lab = await openLab()
  odd = createServer((request, response) => {
    runs += 1
    expect(request.headers.authorization).toBe(HEADER)
    asked = `${request.method} ${request.headers['content-length'] ?? 'nothing'}`
    const name = (request.url ?? '').slice(1)
    answers[name]?.((status, body) =>
      response.writeHead(status, { Location: 'http://127.0.0.1:1/' }).end(body),
    )
  }).listen(0, '127.0.0.1')
  await once(odd, 'listening')
  const { port } = odd.address() as AddressInfo
  const root = new URL('../..', import.meta.url).pathname
  thermometer = spawn(process.execPath, [join(root, 'examples/thermometer/thermometer.mjs')])
  const [line] = (await once(thermometer.stdout as NodeJS.ReadableStream, 'data')) as [Buffer]
  alice = await lab.member('alice')
  const dir = join(lab.folder, 'bob')
  const service = (id: string, url: string, more = {}) => ({ id, url, ...more })
  writeConfig(dir, {
    ...readConfig(dir),
    modules: {
      service: [
        service('sensor.temperature', line.toString().trim()) as never,
        service('nobody.there', `http://127.0.0.1:${await closedPort()}/`) as never,
        ...Object.keys(answers).map(
          name =>
            service(`odd.${name}`, `http://127.0.0.1:${port}/${name}`, {
              headers: { Authorization: HEADER },
              timeout_seconds: 1,
              method: name === 'own' ? 'GET' : 'POST',
              published: false,
              ...(name === 'priced' ? { price: 3 } : {}),
            }) as never,
        ),
      ],
      cas: { bytes_per_caller: 1000, bytes: 1500 },
      blackboard: { allow: [alice.aid], notes: 2, note_bytes: 100 },
      org: { members: [], values: { motto: 'only for colleagues' } },
    },
  })
  bob = await lab.member('bob')
  alice.ctx.contacts.add(bob.aid, 'bob')
  bob.ctx.contacts.add(alice.aid, 'alice')
})
afterAll(async () => {
  thermometer.kill()
  odd.closeAllConnections()
  odd.close()
  await lab.close()
})

/** A port at which nobody listens. */
async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Calls as alice does, and waits for the effect. */
async function call(
  capability: string,
  args: Record<string, unknown> = {},
): Promise<Effect & { id: string }> {
  const given = { to: 'bob', capability, args: args as never, wait_s: 20 }
  const { interaction_id: id, effect } = await alice.handlers.delegate(given, never)
  return { ...(effect as Effect), id }
}
const tried = async (capability: string, args: Record<string, unknown> = {}) =>
  (await bob.handlers.capabilityTest({ capability, args: args as never }, never)) as unknown as Effect
const recordOf = (id: string) =>
  bob.ctx.chain.read({ eventType: 'svc.capability.effect', interactionId: id })[0]?.['payload']

test('the modules that the sources have are those of the build', async () => {
  expect(buildInfo.modules).toEqual([...MODULES])
  const served = MODULES.filter(name => !['mcp', 'x402', 'p2p'].includes(name))
  expect((await bob.handlers.capabilityList(undefined, never)).modules).toEqual(served)
})

describe('a local service', () => {
  test('answers a call from afar: metrics, evidence, the record of the chain and a receipt', async () => {
    const { id, ...effect } = await call('sensor.temperature', { room: 'cellar' })
    expect(effect).toEqual({
      status: 'UNVERIFIED',
      message: 'executed, but below the trust that OK needs',
      verifiable: false,
      metrics: { celsius: 11.5 },
      evidence: {
        verify_trust: 1,
        auth_trust: 0,
        requested: 'sensor.temperature',
        protocol: 'onewire',
        native_ack: true,
        observed_state: '{"room":"cellar"}',
        latency_ms: expect.any(Number),
      },
    })
    expect(recordOf(id)).toEqual({
      interaction_id: id,
      capability: 'sensor.temperature',
      caller_aid: alice.aid,
      status: 'UNVERIFIED',
      verifiable: false,
      metrics: { celsius: 11.5 },
      result_cid: expect.stringMatching(/^bafkrei/),
      evidence: effect.evidence,
    })
    expect(
      alice.ctx.chain.read({ eventType: 'svc.delegation.sent', interactionId: id })[0]?.['payload'],
    ).toEqual({
      interaction_id: id,
      provider_aid: bob.aid,
      request_cid: expect.stringMatching(/^bafkrei/),
      capability: 'sensor.temperature',
    })
    await until('the end is proposed', async () => (await stateOf(alice, id)) !== 'open')
    if ((await stateOf(alice, id)) === 'end_proposed')
      await alice.handlers.end({ interaction_id: id, mode: 'accept' }, never)
    await until('the receipt', async () => (await stateOf(alice, id)) === 'ended')
    await until('both signatures', async () => {
      const verdict = await alice.handlers.verify({ interaction_id: id }, never).catch(() => undefined)
      return verdict?.verdict === 'valid' && verdict.status === 'UNVERIFIED' && verdict.content_checked
    })
  })

  test('says what it may of itself and no more: its tiers are V1 and A0', async () => {
    expect(await tried('odd.claims')).toMatchObject({
      status: 'UNVERIFIED',
      metrics: { value: 2 },
      evidence: { verify_trust: 1, auth_trust: 0, quirk: 'q1', observed_state: '{"nested":{"a":1}}' },
    })
    expect((await tried('odd.own')).evidence).toMatchObject({ observed_state: 'seen', protocol: 'modbus' })
    expect(asked).toBe('GET nothing')
    expect((await tried('odd.claims')).evidence).not.toHaveProperty('native_ack')
    expect(asked).toMatch(/^POST \d+$/)
    expect(await tried('odd.words')).toMatchObject({
      evidence: { observed_state: 'just words', protocol: 'http' },
    })
  })

  test.each([
    ['sensor.temperature', 'FAILED', 'the service answered HTTP 404'],
    ['odd.broken', 'FAILED', 'the service answered HTTP 500'],
    ['odd.moved', 'FAILED', 'the service answered HTTP 302'],
    ['odd.large', 'FAILED', 'the service answered with more than 524288 bytes'],
    ['odd.silent', 'FAILED', 'it took longer than 1 s'],
    ['nobody.there', 'UNAVAILABLE', 'the service cannot be reached (ECONNREFUSED)'],
  ])('%s: %s, %s', async (capability, status, message) => {
    expect(await tried(capability, { room: 'roof' })).toMatchObject({ status, message, verifiable: false })
  })

  test('with a price in its configuration is listed with it, and free once its owner takes it away', async () => {
    const priced = async () =>
      (await bob.handlers.prices(undefined, never)).prices.map(({ capability }) => capability)
    expect(await priced()).toEqual(['odd.priced'])
    await bob.handlers.priceSet({ capability: 'odd.priced', amount: 0 }, never)
    expect(await call('odd.priced')).toMatchObject({ status: 'UNVERIFIED' })
    expect(await priced()).toEqual([])
    await expect(bob.handlers.priceSet({ capability: 'odd.priced', amount: 0 }, never)).rejects.toThrow(
      'has no price',
    )
    await bob.handlers.priceSet({ capability: 'odd.priced', amount: 3 }, never)
  })

  test('with a price in its configuration is not run before it is paid', async () => {
    const before = runs
    expect(await call('odd.priced')).toMatchObject({
      status: 'PAYMENT_REQUIRED',
      message: `odd.priced costs 3 credits on hub:${lab.hub.aid}`,
      verifiable: false,
    })
    expect(runs).toBe(before)
  })

  test('has its header in nothing that is published', async () => {
    await expect(bob.handlers.profileSet({ summary: `call ${HEADER}` }, never)).rejects.toMatchObject({
      message: 'summary would publish a header of a service; nothing was published',
    })
  })

  test('is named in the directory, with what modules offer, and not where it is not to be', async () => {
    const { agents } = await alice.handlers.find({ capability: 'sensor.temperature' }, never)
    expect(agents[0]?.caps).toEqual(['sensor.temperature', 'nobody.there', 'cas.put', 'cas.get', 'cas.has'])
  })
})

describe('a call', () => {
  test('of what nobody serves is unavailable, and says what', async () => {
    expect(await call('no.such')).toMatchObject({
      status: 'UNAVAILABLE',
      message: 'this node does not serve no.such',
      evidence: { verify_trust: 0, auth_trust: 0 },
    })
  })

  test('of a stranger waits for approval, and runs then', async () => {
    const carol = await lab.member('carol')
    carol.ctx.contacts.add(bob.aid, 'bob')
    const before = runs
    const { interaction_id: id } = await carol.handlers.delegate(
      { to: 'bob', capability: 'odd.words' },
      never,
    )
    await until('it waits', () => bob.ctx.threads.findById(id)?.state === 'pending')
    expect(runs).toBe(before)
    await bob.handlers.approve({ interaction_id: id }, never)
    await until('it ran', () => bob.ctx.threads.findById(id)?.state === 'end_proposed')
    expect(runs).toBe(before + 1)
  })

  test('is run once: what a stop cut short is told, and not run again', async () => {
    const before = runs
    const sent = alice.handlers.delegate({ to: 'bob', capability: 'odd.silent', wait_s: 20 }, never)
    await until('it runs', () => runs === before + 1)
    await bob.stop()
    bob = await startNode({
      dir: join(lab.folder, 'bob'),
      env: { SVC_RUNTIME_DIR: join(lab.folder, 'run'), PATH: process.env['PATH'] },
    })
    expect((await sent).effect).toMatchObject({
      status: 'FAILED',
      message: 'the node stopped while this ran; whether it took effect is not known',
    })
    expect(runs).toBe(before + 1)
  })

  test('that is withdrawn while it runs is not answered', async () => {
    const { interaction_id: id } = await alice.handlers.delegate({ to: 'bob', capability: 'odd.slow' }, never)
    const before = runs
    await until('it runs', () => runs > before || bob.ctx.threads.findById(id) !== undefined)
    await alice.handlers.cancel({ interaction_id: id }, never)
    await until('it is withdrawn', () => bob.ctx.threads.findById(id)?.state !== 'open')
    expect(['cancelled', 'end_proposed']).toContain(bob.ctx.threads.findById(id)?.state)
  })

  test('that is ended before it is answered is ended on both sides, with no result', async () => {
    const given = { to: 'bob', capability: 'odd.slow' }
    const { interaction_id: id } = await alice.handlers.delegate(given, never)
    await alice.handlers.end({ interaction_id: id }, never)
    await until('it is over', async () => (await stateOf(alice, id)) === 'ended')
    const { status } = await alice.handlers
      .verify({ interaction_id: id }, never)
      .catch(() => ({ status: '' }))
    expect(['FAILED', 'UNVERIFIED', '']).toContain(status)
  })

  test('is answered by its provider also where an agent answers tasks', async () => {
    await bob.handlers.autoReplySet({ command: 'cat' }, never)
    expect(await call('sensor.temperature', { room: 'attic' })).toMatchObject({ metrics: { celsius: 27.25 } })
    await bob.handlers.autoReplyOff({}, never)
  })
})

describe('content by its id', () => {
  const content = utf8('some content')
  const cid = cidText(contentId(content))

  test('is stored, read back and given out, as OK with an artifact', async () => {
    const put = await call('cas.put', { content: toBase64(content), media_type: 'text/plain' })
    expect(put).toMatchObject({
      status: 'OK',
      verifiable: true,
      metrics: { size_bytes: 12 },
      artifacts: [{ content_cid: cid, media_type: 'text/plain', size_bytes: 12, path: 'content' }],
      evidence: { verify_trust: 2, observed_state: cid },
    })
    expect(await call('cas.has', { cid })).toMatchObject({ status: 'OK', metrics: { has: 1 } })
    expect((await call('cas.get', { cid })).evidence['observed_state']).toBe(toBase64(content))
    expect(existsSync(join(bob.ctx.dir, 'cas', alice.aid, cid))).toBe(true)
  })

  test.each([
    ['cas.put', { content: '!' }, 'expected content as base64'],
    ['cas.put', { content: 5 }, 'expected content as base64'],
    ['cas.put', { content: '', media_type: 'nonsense' }, 'expected a media type such as text/plain'],
    ['cas.put', { content: '', path: '../x' }, 'unexpected argument: path; accepted: content, media_type'],
    ['cas.get', { cid: '../../identity.kel' }, 'expected a content id, such as bafkrei…'],
    ['cas.get', { cid: cidText(contentId(utf8('x'))) }, 'there is no such content here'],
    ['cas.put', { content: toBase64(new Uint8Array(1001)) }, 'your quota is 1000 bytes, of which 0 are used'],
  ])('%s of %j is refused: %s', async (capability, args, message) => {
    expect(await tried(capability, args)).toMatchObject({ status: 'FAILED', message })
  })

  test('an empty one is stored and not attached', async () => {
    const effect = await tried('cas.put', { content: '' })
    expect(effect).toMatchObject({ status: 'OK', metrics: { size_bytes: 0 } })
    expect(effect).not.toHaveProperty('artifacts')
  })

  test('has room for all callers together, and a changed file is no longer that content', async () => {
    expect((await call('cas.put', { content: toBase64(new Uint8Array(900)) })).status).toBe('OK')
    expect(await tried('cas.put', { content: toBase64(new Uint8Array(700).fill(1)) })).toMatchObject({
      status: 'FAILED',
      message: 'there is no room for more',
    })
    writeFileSync(join(bob.ctx.dir, 'cas', alice.aid, cid), 'other content')
    expect(await tried('cas.has', { cid })).toMatchObject({ metrics: { has: 0 } })
  })
})

describe('the blackboard', () => {
  test('holds notes that change only from the version that was read', async () => {
    const write = (args: Record<string, unknown>) => call('blackboard.write', { name: 'plan', ...args })
    expect(await write({ text: 'one' })).toMatchObject({ status: 'OK', metrics: { version: 1 } })
    expect(await write({ text: 'two' })).toMatchObject({
      status: 'FAILED',
      message: 'the note is of version 1, not 0; read it again',
    })
    const { id, ...second } = await write({ text: 'two', if_version: 1 })
    expect(second).toMatchObject({ metrics: { version: 2 }, evidence: { observed_state: 'two' } })
    expect(JSON.stringify(recordOf(id))).not.toContain('two')
    expect(await call('blackboard.read', { name: 'plan' })).toMatchObject({
      evidence: { observed_state: 'two' },
    })
    expect(await call('blackboard.list')).toMatchObject({ evidence: { observed_state: '{"plan":2}' } })
  })

  test('tells who waits for a note as soon as it is written', async () => {
    const watched = tried('blackboard.watch', { name: 'news', after_version: 0, wait_s: 20 })
    await tried('blackboard.write', { name: 'news', text: 'here' })
    expect(await watched).toMatchObject({ metrics: { version: 1 }, evidence: { observed_state: 'here' } })
    expect(await tried('blackboard.watch', { name: 'news', after_version: 1, wait_s: 0 })).toMatchObject({
      metrics: { version: 1 },
    })
  })

  test.each([
    ['blackboard.write', { name: 'third', text: 'x' }, 'there is room for 2 notes'],
    [
      'blackboard.write',
      { name: 'news', text: 'x'.repeat(101), if_version: 1 },
      'a note holds at most 100 bytes',
    ],
    ['blackboard.write', { name: '__proto__', text: 'x' }, /expected a name of letters/],
    ['blackboard.write', { name: 'a', text: '\u0007' }, 'expected text'],
    ['blackboard.watch', { name: 'news', wait_s: 31 }, 'expected wait_s of 0 to 30'],
    ['blackboard.read', { name: 'news', more: 1 }, 'unexpected argument: more; accepted: name'],
  ])('%s of %j is refused: %s', async (capability, args, message) => {
    const effect = await tried(capability, args)
    expect(effect.status).toBe('FAILED')
    expect(effect.message).toMatch(message)
  })

  test('outlives a restart, and refuses who is not allowed', async () => {
    await bob.stop()
    bob = await startNode({
      dir: join(lab.folder, 'bob'),
      env: { SVC_RUNTIME_DIR: join(lab.folder, 'run'), PATH: process.env['PATH'] },
    })
    expect(await tried('blackboard.read', { name: 'plan' })).toMatchObject({
      metrics: { version: 2 },
      evidence: { observed_state: 'two' },
    })
    const dave = await lab.member('dave')
    dave.ctx.contacts.add(bob.aid, 'bob')
    bob.ctx.contacts.add(dave.aid, 'dave')
    const { effect } = await dave.handlers.delegate(
      { to: 'bob', capability: 'blackboard.list', wait_s: 20 },
      never,
    )
    expect(effect).toMatchObject({ status: 'UNAVAILABLE', message: 'this caller is not allowed' })
  })
})

describe('org-scoped values', () => {
  test('are told members only, stand in no record, and in nothing that is published', async () => {
    expect(await tried('org.get', { name: 'motto' })).toMatchObject({
      status: 'OK',
      evidence: { observed_state: 'only for colleagues' },
    })
    expect(await call('org.get', { name: 'motto' })).toMatchObject({
      status: 'UNAVAILABLE',
      message: 'this caller is not allowed',
    })
    await expect(
      bob.handlers.profileSet({ readme: 'our motto: only for colleagues' }, never),
    ).rejects.toMatchObject({ message: 'readme would publish an org-scoped value; nothing was published' })
  })
})
