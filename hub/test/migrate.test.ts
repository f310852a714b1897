// project: programs
/** A hub moves from a file to a database and back: nothing is lost, and an interruption at any step loses nothing either. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { orderRunningHub } from '../operator/socket.ts'
import { connectTo } from '../store/postgres/connections.ts'
import { callRoute, random, TestAgent } from '../testing/hub.ts'
import { sealedUnderCapability, sendEnvelope } from '../testing/mail.ts'
import { payment } from '../testing/payments.ts'
import { PostgresServer, withoutPostgres } from '../testing/postgres-server.ts'
import { type HubChild, runHub, startHubChild } from '../testing/process.ts'

const CREDITS = 1000
const LONG_BYTES = 300_000

describe.skipIf(withoutPostgres !== undefined)(withoutPostgres ?? 'moving a hub', { timeout: 60_000 }, () => {
  let server: PostgresServer
  let folder: string
  let agents: TestAgent[]
  let seen: unknown
  const hubs = new Set<HubChild>()
  beforeAll(async () => {
    server = await PostgresServer.start()
  }, 60_000)
  afterAll(() => server.stop())
  const directory = () => join(folder, 'data')
  const over = () => ['--store', server.url]

  async function serve(args: string[] = []): Promise<HubChild> {
    const hub = await startHubChild(directory(), { args })
    hubs.add(hub)
    for (const agent of agents) agent.target = hub
    return hub
  }

  async function stop(hub: HubChild): Promise<void> {
    hub.kill('SIGTERM')
    await hub.exited
    hubs.delete(hub)
  }

  /** What each agent has, as the hub that runs tells it. */
  async function look(): Promise<unknown> {
    const of = async (agent: TestAgent) => {
      const { messages } = await agent.poll()
      const { json } = await agent.call('balance', {}, { params: { aid: agent.aid } })
      return { messages, credits: json }
    }
    return await Promise.all(agents.map(of))
  }

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'svc-hub-migrate-'))
    agents = []
    const hub = await serve()
    for (let n = 0; n < 3; n++) {
      const agent = new TestAgent(hub)
      await orderRunningHub(directory(), { command: 'admit', aid: agent.aid })
      expect((await agent.register()).status).toBe(200)
      await orderRunningHub(directory(), {
        ...{ command: 'grant', aid: agent.aid, amount: CREDITS, reason: 'test' },
        id: toBase64url(random(16)),
      })
      agents.push(agent)
      for (const contentBytes of [100, 5000, LONG_BYTES])
        await sendEnvelope(hub, sealedUnderCapability(agent, agent.capability(), { contentBytes }))
    }
    const [payer, payee] = agents as [TestAgent, TestAgent]
    const { request } = payment(payer, payee, 7, { notBefore: Date.now() - 1000 })
    const paid = await callRoute(hub, 'x402Settle', request)
    expect(paid.json['success']).toBe(true)
    seen = await look()
    await stop(hub)
  })
  afterEach(async () => {
    for (const hub of hubs) await stop(hub)
    rmSync(folder, { recursive: true, force: true })
    const connections = connectTo(server.url)
    await connections.run('DROP SCHEMA public CASCADE')
    await connections.run('CREATE SCHEMA public')
    await connections.close()
  })

  const toDatabase = (env: Record<string, string> = {}) =>
    runHub(['migrate', '--to', server.url, '--data-dir', directory()], { env })
  const toFile = (env: Record<string, string> = {}) =>
    runHub(['migrate', '--to', 'file', ...over(), '--data-dir', directory()], { env })

  test('takes everything to a database and back', async () => {
    const there = await toDatabase()
    expect([there.stderr, there.code]).toEqual(['', 0])
    const one = await serve(over())
    expect(await look()).toEqual(seen)
    await sendEnvelope(
      one,
      sealedUnderCapability(agents[0] as TestAgent, (agents[0] as TestAgent).capability()),
    )
    seen = await look()
    await stop(one)
    const back = await toFile()
    expect([back.stderr, back.code]).toEqual(['', 0])
    await serve()
    expect(await look()).toEqual(seen)
  })

  test.each(['before-commit', 'after-commit'])(
    'interrupted %s on the way to a database, goes on when it is run again',
    async fault => {
      await toDatabase({ SVC_FAULT: `hub.moving.${fault}` })
      for (const args of [[], over()]) {
        const started = await runHub(['serve', '--listen', '127.0.0.1:0', '--data-dir', directory(), ...args])
        expect([started.code, started.stderr]).toEqual([78, expect.stringContaining('svc-hub migrate')])
      }
      expect((await toDatabase()).code).toBe(0)
      await serve(over())
      expect(await look()).toEqual(seen)
    },
  )

  test.each(['before-rename', 'after-rename'])(
    'interrupted %s on the way back, goes on when it is run again',
    async fault => {
      expect((await toDatabase()).code).toBe(0)
      await toFile({ SVC_FAULT: `hub.moving.${fault}` })
      const started = await runHub(['serve', '--listen', '127.0.0.1:0', '--data-dir', directory(), ...over()])
      expect([started.code, started.stderr]).toEqual([78, expect.stringContaining('svc-hub migrate')])
      expect((await toFile()).code).toBe(0)
      await serve()
      expect(await look()).toEqual(seen)
    },
  )

  test('moves nothing while a process serves, and no rows over those of another hub', async () => {
    const hub = await serve()
    expect((await toDatabase()).stderr).toContain('another svc-hub')
    await stop(hub)
    expect((await toDatabase()).code).toBe(0)
    const other = join(folder, 'other')
    await runHub(['init', '--data-dir', other])
    const refused = await runHub(['migrate', '--to', server.url, '--data-dir', other])
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('belongs to hub')])
    const served = await serve(over())
    const busy = await toFile()
    expect([busy.code, existsSync(join(directory(), 'hub.db'))]).toEqual([1, false])
    await stop(served)
  })

  test('names each place that it was given in the command that comes next, also where it was interrupted', async () => {
    const password = join(folder, 'password file')
    const files = join(folder, 'files')
    writeFileSync(password, 'none is asked for')
    const given = ['--store-password-file', password, '--files', files]
    const places = `--store-password-file '${password}' --files ${files}`
    const move = (to: string[], env = {}) =>
      runHub(['migrate', ...to, ...given, '--data-dir', directory()], { env })
    await move(['--to', server.url], { SVC_FAULT: 'hub.moving.before-commit' })
    const marked = () => readFileSync(join(directory(), 'moving'), 'utf8')
    expect(marked()).toBe(`svc-hub migrate --to <URL> --data-dir ${directory()} ${places}\n`)
    const there = JSON.parse((await move(['--to', server.url])).stdout)
    expect(there.next).toBe(`svc-hub serve --data-dir ${directory()} --store <URL> ${places}`)
    await move(['--to', 'file', ...over()], { SVC_FAULT: 'hub.moving.before-rename' })
    expect(marked()).toBe(`svc-hub migrate --to file --data-dir ${directory()} --store <URL> ${places}\n`)
    expect(JSON.parse((await move(['--to', 'file', ...over()])).stdout).next).toBe(
      `svc-hub serve --data-dir ${directory()}`,
    )
  })

  test('says that what a witness keeps in a file stays there', async () => {
    writeFileSync(join(directory(), 'witness.db'), '')
    const { notes } = JSON.parse((await toDatabase()).stdout) as { notes: string[] }
    expect(notes).toEqual([expect.stringMatching(/witness\.db stays .*svc-hub witness run .* --store/)])
  })

  test('says that what a witness keeps in a database stays there', async () => {
    expect((await toDatabase()).code).toBe(0)
    server.order("INSERT INTO watched_chain VALUES ('other', '', 3, '', '')")
    const { notes } = JSON.parse((await toFile()).stdout) as { notes: string[] }
    server.order('DELETE FROM watched_chain')
    expect(notes).toEqual([
      expect.stringMatching(/records of 1 watched hub stay .*svc-hub witness run <url> without --store/),
    ])
  })

  test('says what it needs', async () => {
    const cases = [
      [['migrate'], '--to expects'],
      [['migrate', '--to', 'mysql://x/y'], 'expected the URL of a PostgreSQL database'],
      [['migrate', '--to', 'file'], 'name it with --store'],
      [['migrate', '--to', server.url, '--data-dir', join(folder, 'none')], 'there is no hub in'],
    ] as const
    for (const [args, words] of cases) expect((await runHub([...args])).stderr).toContain(words)
  })
})
