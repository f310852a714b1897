// project: programs
/** How an operator names the database of a hub, and what the hub says of it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bundledProgram } from '../testing/bundle.ts'
import { CuttingProxy } from '../testing/cutting-proxy.ts'
import { Impostor, impostures } from '../testing/impostor.ts'
import { PostgresServer, withoutPostgres } from '../testing/postgres-server.ts'
import { type HubChild, runHub, startHubChild } from '../testing/process.ts'

const PASSWORD = 'p:w/ @%&'
const AGENT = 'AZ1TKdnxgSCV0Pa0-gDVGcAjao43L6znPxTs_CTv3-5y'
const EVENT_WAIT_MS = 15_000
const LOOK_MS = 100
/** Longer than a process waits before it tries again. */
const SOME_MORE_MS = 3000

describe.skipIf(withoutPostgres !== undefined)(
  withoutPostgres ?? 'the database of a hub',
  { timeout: 60_000 },
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-hub-database-'))
    const directory = join(folder, 'data')
    const passwordFile = join(folder, 'password')
    let server: PostgresServer
    let proxy: CuttingProxy
    let env: Record<string, string>
    beforeAll(async () => {
      server = await PostgresServer.start({ password: PASSWORD })
      proxy = await CuttingProxy.start(server.socket)
      writeFileSync(passwordFile, `${PASSWORD}\n`, { mode: 0o600 })
      env = {
        SVC_HUB_STORE: `postgres://postgres@127.0.0.1:${proxy.port}/postgres`,
        SVC_HUB_STORE_PASSWORD_FILE: passwordFile,
        SVC_HUB_DATA_DIR: directory,
      }
    }, 60_000)
    afterAll(async () => {
      await proxy.stop()
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    })

    const events = (hub: HubChild) =>
      hub
        .said()
        .split('\n')
        .filter(line => line.startsWith('{'))
        .map(line => String((JSON.parse(line) as { event: string }).event))
        .filter(event => event.startsWith('the database'))
    async function untilSaid(hub: HubChild, count: number): Promise<string[]> {
      for (let waited = 0; events(hub).length < count && waited < EVENT_WAIT_MS; waited += LOOK_MS)
        await pause(LOOK_MS)
      return events(hub)
    }

    /** What a start prints for its operator. */
    async function printedByStart(more: string[] = []): Promise<string> {
      const args = [await bundledProgram(), 'serve', '--listen', '127.0.0.1:0', ...more]
      const child = spawn(process.execPath, args, {
        stdio: ['ignore', 'pipe', 'ignore'],
        env: { ...process.env, ...env },
      })
      const [printed] = (await once(child.stdout, 'data')) as [Buffer]
      child.kill('SIGTERM')
      await once(child, 'exit')
      return String(printed)
    }

    test('an order makes no hub in a database that has none', async () => {
      const asked = await runHub(['stats'], { env })
      expect([asked.code, asked.stderr]).toEqual([
        78,
        'svc-hub: there is no hub in this database; make one there: svc-hub init --store <URL>\n',
      ])
    })

    test('settings of the environment lead every command there, while no process runs', async () => {
      const made = await runHub(['init'], { env })
      expect([made.code, made.stderr]).toEqual([0, ''])
      for (const args of [['admit', AGENT], ['agents'], ['stats'], ['admission', 'open']]) {
        const { code, stderr } = await runHub(args, { env })
        expect([args, code, stderr.includes('svc-hub:')]).toEqual([args, 0, false])
      }
      expect((await runHub(['agents'], { env })).stdout).toContain(AGENT)
    })

    test('so do a configuration file and flags', async () => {
      const config = join(folder, 'hub.json')
      const content = {
        store: env['SVC_HUB_STORE'],
        store_password_file: passwordFile,
        data_dir: directory,
      }
      writeFileSync(config, JSON.stringify(content))
      expect((await runHub(['agents', '--config', config])).stdout).toContain(AGENT)
      const flags = ['--store', String(env['SVC_HUB_STORE']), '--store-password-file', passwordFile]
      expect((await runHub(['agents', '--data-dir', directory, ...flags])).stdout).toContain(AGENT)
    })

    test('a database that is lost is told of once, and once when it is back', async () => {
      const hub = await startHubChild(directory, { env })
      await server.halt('SIGQUIT')
      expect(await untilSaid(hub, 1)).toEqual(['the database is away; requests are refused until it is back'])
      await server.resume()
      expect((await untilSaid(hub, 2)).slice(1)).toEqual(['the database is back'])
      hub.kill('SIGTERM')
      expect(await hub.exited).toEqual({ code: 0, signal: null })
      expect(events(hub), hub.said()).toHaveLength(2)
    })

    test('a password file that turns wrong while the database is lost is told of once, also by readiness', async () => {
      const hub = await startHubChild(directory, { env, args: ['--operator-listen', '127.0.0.1:0'] })
      const asked = JSON.parse((await runHub(['doctor', '--json'], { env })).stdout) as {
        findings: { check: string; found: string }[]
      }
      const shown = asked.findings.find(({ check }) => check === 'operator listener')?.found
      const ready = `${/http:[^\s,]+/.exec(shown ?? '')?.[0]}/readyz`
      const whys = () =>
        hub
          .said()
          .split('\n')
          .filter(line => line.includes('the database is away; requests'))
          .map(line => String((JSON.parse(line) as { why: string }).why))
      await server.halt('SIGQUIT')
      await untilSaid(hub, 1)
      writeFileSync(passwordFile, 'another')
      await server.resume()
      await expect.poll(whys, { timeout: EVENT_WAIT_MS }).toHaveLength(2)
      expect(whys()[1]).toContain('it refuses the role or its password; look whether')
      const response = await fetch(ready)
      expect([response.status, await response.text()]).toEqual([
        503,
        expect.stringContaining('it refuses the role or its password; look whether'),
      ])
      writeFileSync(passwordFile, PASSWORD)
      await expect.poll(async () => (await fetch(ready)).status, { timeout: EVENT_WAIT_MS }).toBe(200)
      expect(whys()).toHaveLength(2)
      hub.kill('SIGTERM')
      await hub.exited
    })

    test('a program that takes the place of a lost database is told nothing, and told of once', async () => {
      const hub = await startHubChild(directory, { env })
      const impostor = await Impostor.start(impostures['the password itself'])
      await server.halt('SIGQUIT')
      await untilSaid(hub, 1)
      proxy.leadTo(impostor.socket)
      await expect.poll(() => events(hub).length, { timeout: EVENT_WAIT_MS }).toBe(2)
      expect(hub.said()).toContain('it asks for the password itself')
      await pause(SOME_MORE_MS)
      expect(events(hub)).toHaveLength(2)
      expect(impostor.said).toContain('postgres')
      expect(impostor.said).not.toContain(PASSWORD)
      await server.resume()
      proxy.leadTo(server.socket)
      expect((await untilSaid(hub, 3)).slice(2)).toEqual(['the database is back'])
      hub.kill('SIGTERM')
      await hub.exited
      await impostor.stop()
    })

    test('nothing that is printed has the address or a password', async () => {
      const inAddress = `postgres://postgres:${encodeURIComponent(PASSWORD)}@127.0.0.1:${proxy.port}/postgres`
      const secret = { ...env, SVC_HUB_STORE: inAddress, SVC_HUB_STORE_PASSWORD_FILE: passwordFile }
      const hub = await startHubChild(directory, { env: secret })
      const printed = [
        await runHub(['stats'], { env: secret }),
        await runHub(['doctor'], { env: secret }),
        await runHub(['backup', join(folder, 'saved')], { env: secret }),
      ].map(({ stdout, stderr }) => stdout + stderr)
      hub.kill('SIGTERM')
      await hub.exited
      const wrong = ['postgresql:x:hushed@h/db', 'mysql://x:hushed@h/db', 'mysql://h/db?password=hushed']
      for (const store of wrong) {
        const { stdout, stderr } = await runHub(['stats'], { env: { ...env, SVC_HUB_STORE: store } })
        printed.push(stdout + stderr)
      }
      for (const text of [...printed, hub.said()]) {
        expect(text).not.toContain('@127.0.0.1')
        expect(text).not.toContain(encodeURIComponent(PASSWORD))
        expect(text).not.toContain(PASSWORD)
        expect(text).not.toContain('hushed')
      }
    })

    test('a password that others may read is warned of with what closes it, as a start and the doctor say', async () => {
      chmodSync(passwordFile, 0o644)
      const mend = `chmod go= ${passwordFile}`
      const found = `other users of this machine may read ${passwordFile}`
      const asked = await runHub(['doctor'], { env })
      expect(asked.stdout).toContain(`WRONG secret files: ${found}\n        fix: ${mend}\n`)
      const warned = await printedByStart()
      expect(warned).toContain(`${found}; close it with: ${mend}\n`)
      chmodSync(passwordFile, 0o600)
      expect((await runHub(['doctor'], { env })).stdout).toContain('ok    secret files: nobody else may read')
      expect(await printedByStart()).not.toContain('other users')
    })

    test('a password in a flag is warned of, since other users see it in the list of processes', async () => {
      const flags = [
        '--store',
        `postgres://postgres:${encodeURIComponent(PASSWORD)}@127.0.0.1:${proxy.port}/postgres`,
      ]
      const found = 'other users of this machine see the password in --store, as ps shows it'
      const mend = 'write it into a file that this user alone reads, and name that with --store-password-file'
      const warned = await printedByStart(flags)
      expect(warned.split(`${found}; ${mend}\n`)).toHaveLength(2)
      expect(warned).not.toContain(encodeURIComponent(PASSWORD))
      const asked = await runHub(['doctor', ...flags], { env })
      expect(asked.stdout).toContain(`WRONG secret flags: ${found}\n        fix: ${mend}\n`)
      const listening = await printedByStart(['--store-listen', String(flags[1])])
      expect(listening).toContain('see the password in --store-listen, as ps shows it')
      expect(await printedByStart(['--store', String(env['SVC_HUB_STORE'])])).not.toContain('other users')
      const inEnvironment = await runHub(['doctor'], { env: { ...env, SVC_HUB_STORE: String(flags[1]) } })
      expect(inEnvironment.stdout).not.toContain('secret flags')
    })

    test('a password in the file of settings is warned of where others may read that file', async () => {
      const config = join(folder, 'with-password.json')
      const store = `postgres://postgres:${encodeURIComponent(PASSWORD)}@127.0.0.1:${proxy.port}/postgres`
      writeFileSync(config, JSON.stringify({ data_dir: directory, store }))
      chmodSync(config, 0o644)
      const found = `other users of this machine may read ${config}`
      const mend = `chmod go= ${config}`
      const asked = await runHub(['doctor', '--config', config])
      expect(asked.stdout).toContain(`WRONG secret files: ${found}\n        fix: ${mend}\n`)
      chmodSync(config, 0o600)
      const closed = await runHub(['doctor', '--config', config])
      expect(closed.stdout).toContain(`ok    secret files: nobody else may read ${config}`)
      writeFileSync(config, JSON.stringify({ data_dir: directory, store: env['SVC_HUB_STORE'] }))
      chmodSync(config, 0o644)
      const flags = ['--config', config, '--store-password-file', passwordFile]
      expect((await runHub(['doctor', ...flags])).stdout).toContain(
        `ok    secret files: nobody else may read ${passwordFile}\n`,
      )
    })

    test('a backup of files is refused, since the rows are elsewhere', async () => {
      const { code, stderr } = await runHub(['backup', join(folder, 'saved')], { env })
      expect([code, stderr]).toEqual([1, expect.stringContaining('pg_basebackup')])
    })
  },
)
