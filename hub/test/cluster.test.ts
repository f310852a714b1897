// project: programs
/** Several processes of one hub over one database: what one remembers, the others know. */
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { xwingPublicKey } from '../../protocol/crypto/xwing.ts'
import { toBase64url, utf8 } from '../../protocol/encoding/bytes.ts'
import { wire3Routes } from '../../protocol/wire3/routes.ts'
import { defaultLimits } from '../core/limits.ts'
import { orderRunningHub } from '../operator/socket.ts'
import { type ClusterProcess, TestCluster } from '../testing/cluster.ts'
import { callRoute, random, request, type TestAgent } from '../testing/hub.ts'
import { sealedForStranger, sealedUnderCapability, sendEnvelope } from '../testing/mail.ts'
import { withoutPostgres } from '../testing/postgres-server.ts'
import { runHub } from '../testing/process.ts'
import { withinAMinute } from '../testing/within-a-minute.ts'

/** So long what one process did may be unknown to another. */
const BACK_MS = 20_000
const KNOWN_MS = 1000

describe.skipIf(withoutPostgres !== undefined)(
  withoutPostgres ?? 'processes of one hub',
  {
    timeout: 30_000,
  },
  () => {
    let cluster: TestCluster
    beforeAll(async () => {
      cluster = await TestCluster.start(2)
    }, 120_000)
    afterAll(() => cluster.close())
    afterEach(async () => {
      while (cluster.processes.length < 2) await cluster.add()
    })
    const both = () => cluster.processes as [ClusterProcess, ClusterProcess]

    const at = (agent: TestAgent, process: ClusterProcess): TestAgent => {
      agent.target = process
      return agent
    }

    test('they are one hub', () => {
      const [one, other] = both()
      expect(other.aid).toBe(one.aid)
    })

    test('an agent that registers at one is known at the other', async () => {
      const [one, other] = both()
      const agent = await cluster.agent(one)
      const sent = await sendEnvelope(other, sealedUnderCapability(agent, agent.capability()))
      expect(sent.json['status']).toBe('queued')
      const { messages } = await at(agent, other).poll()
      expect(messages.length).toBe(1)
      expect((await at(agent, one).poll()).messages).toEqual(messages)
    })

    test('a request that one took is a replay at the other', async () => {
      const [one, other] = both()
      const agent = await cluster.agent(one)
      const { path, action = '', method } = wire3Routes.relayPoll
      const body = utf8('{}')
      const signed = agent.sign(action, method, path, body)
      const given = { headers: { 'Content-Type': 'application/json', ...signed }, body }
      const [first, second] = [
        await request(one.url + path, 'POST', given),
        await request(other.url + path, 'POST', given),
      ]
      expect([first.status, second.json['reason']]).toEqual([200, 'replayed'])
    })

    test('a session that was opened at one is used at the other', async () => {
      const [one, other] = both()
      const [sender, recipient] = [await cluster.agent(one), await cluster.agent(other)]
      const session = await sender.openSession()
      const sent = await sendEnvelope(other, sealedForStranger(recipient), session)
      expect(sent.json['status']).toBe('queued')
    })

    test("a stranger's share of a mailbox is spent over both", async () => {
      const [one, other] = both()
      const [sender, recipient] = [await cluster.agent(one), await cluster.agent(other)]
      const session = await sender.openSession()
      const outcomes: string[] = []
      await withinAMinute()
      for (let n = 0; n < 2 * defaultLimits.senderPerMinuteMax; n++) {
        const sent = await sendEnvelope(n % 2 ? one : other, sealedForStranger(recipient), session)
        outcomes.push(String(sent.json['status'] ?? sent.json['reason']))
      }
      const isOne = (outcome: string) => outcome === 'queued'
      expect(outcomes.filter(isOne).length).toBe(defaultLimits.senderPerMinuteMax)
      expect(new Set(outcomes)).toEqual(new Set(['queued', 'strangers_busy']))
    })

    test('a poll that one holds is answered by mail that the other queues', async () => {
      const [one, other] = both()
      const agent = await cluster.agent(one)
      const held = agent.poll({}, { headers: { Prefer: 'wait=20' } })
      await pause(300)
      const startedMs = performance.now()
      await sendEnvelope(other, sealedUnderCapability(agent, agent.capability()))
      expect((await held).messages.length).toBe(1)
      expect(performance.now() - startedMs).toBeLessThan(KNOWN_MS)
    })

    test('a poll at one ends that which the other holds, and both say so', async () => {
      const [one, other] = both()
      const agent = await cluster.agent(one)
      const older = agent.call('relayPoll', {}, { headers: { Prefer: 'wait=20' } })
      await pause(300)
      const newer = at(agent, other).call('relayPoll', {}, { headers: { Prefer: 'wait=20' } })
      expect((await older).headers.get('X-Svc-Other-Poll')).toBe('newer')
      await pause(300)
      await sendEnvelope(one, sealedUnderCapability(agent, agent.capability()))
      expect((await newer).headers.get('X-Svc-Other-Poll')).toBe('older')
    })

    test('an agent that is blocked at one is refused at the other', async () => {
      const [one, other] = both()
      const agent = await cluster.agent(one)
      expect((await at(agent, other).call('relayPoll', {})).status).toBe(200)
      await orderRunningHub(one.directory, { command: 'block', aid: agent.aid })
      await pause(KNOWN_MS)
      const reply = await agent.call('relayPoll', {})
      expect([reply.status, reply.json['reason']]).toEqual([401, 'unauthorized'])
    })

    test('a key that was rotated at one signs at the other, and the one before it no more', async () => {
      const [one, other] = both()
      const agent = await cluster.agent(one)
      expect((await at(agent, other).call('relayPoll', {})).status).toBe(200)
      const before = { seed: agent.seed, log: agent.log }
      at(agent, one).rotate()
      expect((await agent.register()).status).toBe(200)
      const { seed, log } = agent
      await pause(KNOWN_MS)
      expect((await at(agent, other).call('relayPoll', {})).status).toBe(200)
      Object.assign(agent, before)
      expect((await agent.call('relayPoll', {})).status).toBeGreaterThanOrEqual(400)
      Object.assign(agent, { seed, log })
    })

    test('from its answer on a rotation holds at every process, whatever the key before it tries', async () => {
      const [one, other] = both()
      for (let n = 0; n < 5; n++) {
        const agent = await cluster.agent(one)
        expect((await at(agent, other).call('relayPoll', {})).status).toBe(200)
        const before = { seed: agent.seed, log: agent.log }
        at(agent, one).rotate()
        expect((await agent.register()).status).toBe(200)
        const after = { seed: agent.seed, log: agent.log }
        at(Object.assign(agent, before), other)
        const tried = [
          agent.call('relaySession', { epk: toBase64url(xwingPublicKey(random(32))) }),
          agent.call('setVisibility', { visibility: 'public' }, { params: { aid: agent.aid } }),
          agent.call('relayPoll', {}),
          agent.call('deregister', {}, { params: { aid: agent.aid } }),
        ]
        for (const { json } of await Promise.all(tried))
          expect(json['reason']).toMatch(/^(key_retired|ts_stale)$/)
        Object.assign(agent, after)
        expect((await agent.call('relayPoll', {})).status).toBe(200)
      }
    })

    test('a key that was rotated at one signs at the other at once', async () => {
      const [one, other] = both()
      for (let n = 0; n < 5; n++) {
        const agent = await cluster.agent(one)
        expect((await at(agent, other).call('relayPoll', {})).status).toBe(200)
        at(agent, one).rotate()
        expect((await agent.register()).status).toBe(200)
        expect((await at(agent, other).call('relayPoll', {})).status).toBe(200)
      }
    })

    test('a process with the identity of another hub does not start', async () => {
      const [one] = both()
      const directory = join(cluster.folder, 'stranger')
      const started = await runHub([
        'serve',
        '--listen',
        '127.0.0.1:0',
        '--data-dir',
        directory,
        ...cluster.args,
      ])
      expect([started.code, started.stderr]).toEqual([
        78,
        expect.stringContaining(`the database belongs to hub ${one.aid}`),
      ])
      await runHub(['init', '--data-dir', directory])
      const other = await runHub([
        'serve',
        '--listen',
        '127.0.0.1:0',
        '--data-dir',
        directory,
        ...cluster.args,
      ])
      expect([other.code, other.stderr]).toEqual([78, expect.stringContaining('svc-hub migrate')])
    })

    test('a first start that was cut short goes on, where no process serves the database yet', async () => {
      const [one] = both()
      const directory = join(cluster.folder, 'cut-short')
      mkdirSync(directory)
      for (const name of ['identity.kel', 'identity.next'])
        copyFileSync(join(one.directory, name), join(directory, name))
      cluster.server.order('CREATE DATABASE empty')
      const store = ['--store', cluster.server.url.replace('/postgres?', '/empty?')]
      const made = await runHub(['init', '--data-dir', directory, ...store])
      expect([made.code, JSON.parse(made.stdout)]).toEqual([0, expect.objectContaining({ aid: one.aid })])
      expect(readFileSync(join(directory, 'secret'), 'utf8')).toMatch(/^[0-9a-f]{64}\n$/)
    })

    test('a process that keeps long mail in another place does not start', async () => {
      const [one] = both()
      const directory = join(cluster.folder, 'apart')
      mkdirSync(directory)
      for (const name of ['identity.kel', 'identity.next', 'secret'])
        copyFileSync(join(one.directory, name), join(directory, name))
      const store = ['--store', cluster.server.url]
      const started = await runHub(['serve', '--listen', '127.0.0.1:0', '--data-dir', directory, ...store])
      expect([started.code, started.stderr]).toEqual([78, expect.stringContaining('the same --files')])
      expect((await runHub(['stats', '--data-dir', directory, ...store])).code).toBe(0)
    })

    test('a crash of the database ends sessions, and a day of first contacts counts as half used', async () => {
      const [one] = both()
      const [sender, recipient] = [await cluster.agent(one), await cluster.agent(one)]
      const session = await sender.openSession()
      expect(session.quota).toBe(defaultLimits.sessionQuota)
      await cluster.server.halt('SIGQUIT')
      await cluster.server.resume()
      const reopened = () =>
        sender.openSession().then(
          ({ quota }) => quota,
          () => undefined,
        )
      await expect.poll(reopened, { timeout: BACK_MS, interval: 500 }).toBe(defaultLimits.sessionQuota / 2)
      const sent = await sendEnvelope(one, sealedForStranger(recipient), session)
      expect(sent.json['reason']).toBe('session_invalid')
    })

    test('nothing is lost where a process dies, and what it held goes on at the other', async () => {
      const [one, other] = both()
      const agent = await cluster.agent(one)
      const rids: unknown[] = []
      for (let n = 0; n < 20; n++)
        rids.push((await sendEnvelope(one, sealedUnderCapability(agent, agent.capability()))).json['rid'])
      await cluster.end(one, 'SIGKILL')
      const { messages } = await at(agent, other).poll()
      expect(messages.length).toBe(20)
      const status = await callRoute(other, 'relayStatus', { rids, handle: toBase64url(random(16)) })
      expect(status.status).toBeLessThan(500)
    })
  },
)
