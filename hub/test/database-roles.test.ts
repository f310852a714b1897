// project: programs
/** One role owns the schema of a hub, and another serves it: who serves needs no right to change what tables are. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connectTo } from '../store/postgres/connections.ts'
import { callRoute, TestAgent } from '../testing/hub.ts'
import { sealedUnderCapability, sendEnvelope } from '../testing/mail.ts'
import { payment } from '../testing/payments.ts'
import { PostgresServer, withoutPostgres } from '../testing/postgres-server.ts'
import { runHub, startHubChild } from '../testing/process.ts'

describe.skipIf(withoutPostgres !== undefined)(
  withoutPostgres ?? 'roles of the database',
  { timeout: 60_000 },
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-hub-roles-'))
    const at = ['--data-dir', join(folder, 'data')]
    let server: PostgresServer
    const as = (role: string) => ['--store', server.url.replace('postgres@', `${role}@`)]
    beforeAll(async () => {
      server = await PostgresServer.start()
      for (const role of ['owner', 'server', 'other']) server.order(`CREATE ROLE ${role} LOGIN`)
      server.order('GRANT CREATE ON SCHEMA public TO owner')
    }, 60_000)
    afterAll(async () => {
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    })

    test('the role that serves makes no schema, and the refusal has the command', async () => {
      const { code, stderr } = await runHub(['serve', '--listen', '127.0.0.1:0', ...as('server'), ...at])
      expect([code, stderr]).toEqual([
        78,
        expect.stringMatching(
          /may not change the schema of its database, which has 0 and needs \d+; .*: svc-hub init --store <URL> --grant <ROLE>\n$/,
        ),
      ])
    })

    test('what the owner grants lets another role serve', async () => {
      const made = await runHub(['init', '--grant', 'server', ...as('owner'), ...at])
      expect([made.code, made.stderr]).toEqual([0, ''])
      expect(JSON.parse(made.stdout)).toMatchObject({ created: true, granted: 'server' })
      const hub = await startHubChild(join(folder, 'data'), { args: as('server') })
      const agents = [new TestAgent(hub), new TestAgent(hub)] as const
      for (const agent of agents) {
        expect((await runHub(['admit', agent.aid, ...at])).code).toBe(0)
        expect((await agent.register()).status).toBe(200)
        expect((await runHub(['grant', agent.aid, '10', '--reason', 'x', ...at])).code).toBe(0)
      }
      const [one, other] = agents
      await sendEnvelope(hub, sealedUnderCapability(one, one.capability()))
      expect((await one.poll()).messages.length).toBe(1)
      const { request } = payment(one, other, 5, { notBefore: Date.now() - 1000 })
      expect((await callRoute(hub, 'x402Settle', request)).json['success']).toBe(true)
      hub.kill('SIGTERM')
      expect(await hub.exited).toEqual({ code: 0, signal: null })
    })

    test('a role without its rights is told who gives them', async () => {
      const { code, stderr } = await runHub(['serve', '--listen', '127.0.0.1:0', ...as('other'), ...at])
      expect([code, stderr]).toEqual([
        78,
        expect.stringMatching(/permission denied .*: svc-hub init --store <URL> --grant <ROLE>/),
      ])
    })

    test('orders go through that role while no process runs', async () => {
      const asked = await runHub(['stats', ...as('server'), ...at])
      expect([asked.code, JSON.parse(asked.stdout)]).toEqual([0, expect.objectContaining({ agents: 2 })])
    })

    test('that role changes no table, nor which schema the database is said to have', async () => {
      const connections = connectTo(as('server')[1] as string)
      for (const sql of [
        'DROP TABLE agent',
        'ALTER TABLE agent ADD x bigint',
        'TRUNCATE agent',
        'CREATE TABLE x (y bigint)',
        'DELETE FROM schema_held',
      ])
        await expect(connections.run(sql)).rejects.toThrow(/permission denied|must be owner/)
      await connections.close()
    })

    test('an older schema is told to that role and to orders', async () => {
      server.order('CREATE TABLE kept AS SELECT * FROM schema_held')
      server.order('DELETE FROM schema_held WHERE number = (SELECT max(number) FROM schema_held)')
      for (const command of [['serve', '--listen', '127.0.0.1:0'], ['stats']]) {
        const { code, stderr } = await runHub([...command, ...as('server'), ...at])
        expect([command, code, stderr]).toEqual([
          command,
          78,
          expect.stringContaining('svc-hub init --store <URL>'),
        ])
      }
      server.order('INSERT INTO schema_held SELECT * FROM kept ON CONFLICT DO NOTHING')
    })

    test('a role that is not there is granted nothing', async () => {
      const { code, stderr } = await runHub(['init', '--grant', 'nobody', ...as('owner'), ...at])
      expect([code, stderr]).toEqual([1, expect.stringContaining('has no role nobody')])
      expect((await runHub(['init', '--grant', 'server', ...at])).stderr).toContain('--grant names a role')
    })
  },
)
