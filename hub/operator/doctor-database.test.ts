// project: programs
/** What an operator sees of a hub over a database: the doctor, figures and readiness, on real servers. */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Bouncer, withoutBouncer } from '../testing/bouncer.ts'
import { type ClusterProcess, TestCluster } from '../testing/cluster.ts'
import { runHub } from '../testing/process.ts'

const BEAT_MS = 2500

type Shown = { check: string; state: string; found: string; mend?: string }

describe.skipIf(withoutBouncer !== undefined)(
  withoutBouncer ?? 'what is seen of a hub over a database',
  { timeout: 60_000 },
  () => {
    let cluster: TestCluster
    const folder = mkdtempSync(join(tmpdir(), 'svc-hub-seen-'))
    beforeAll(async () => {
      cluster = await TestCluster.start(2, { listens: ['--operator-listen', '127.0.0.1:0'] })
    }, 120_000)
    afterAll(async () => {
      await cluster.close()
      rmSync(folder, { recursive: true, force: true })
    })
    const both = () => cluster.processes as [ClusterProcess, ClusterProcess]
    const look = async (args: string[]) => {
      const { stdout } = await runHub(['doctor', '--json', ...args])
      const { findings } = JSON.parse(stdout) as { findings: Shown[] }
      return new Map(findings.map(finding => [finding.check, finding]))
    }
    const ready = async (url: string) => (await (await fetch(url)).text()).trim()
    const operatorUrl = async ({ directory }: ClusterProcess) => {
      const operator = (await look(['--data-dir', directory, ...cluster.args])).get('operator listener')
      return String(/http:\S+/.exec(operator?.found ?? '')?.[0])
    }

    test('the doctor looks at the database, and finds nothing wrong', async () => {
      const seen = await look(['--data-dir', both()[0].directory, ...cluster.args])
      expect([...seen.values()].filter(({ state }) => state === 'wrong')).toEqual([])
      expect(seen.get('database')?.found).toMatch(/^PostgreSQL 15\S* .*answers/)
      expect(seen.get('hub of the database')?.state).toBe('ok')
      expect(seen.get('processes')?.found).toMatch(/^2 serve this database/)
      expect(seen.get('word')?.state).toBe('ok')
      expect(seen.get('standby')).toMatchObject({ state: 'note', found: expect.stringContaining('none') })
    })

    test('so it does for a directory that lacks the copies of this hub', async () => {
      const seen = await look(['--data-dir', join(folder, 'empty'), ...cluster.args])
      expect(seen.get('data directory')).toMatchObject({
        state: 'wrong',
        found: expect.stringContaining('lacks identity.kel, identity.next, secret'),
      })
      expect(seen.get('hub of the database')).toMatchObject({
        state: 'note',
        found: expect.stringContaining(`is ${both()[0].aid}`),
      })
    })

    test('a secret that is missing or damaged is called so, and the hub no other one', async () => {
      const [one] = both()
      const directory = join(folder, 'spoiled')
      mkdirSync(directory, { mode: 0o700 })
      for (const name of ['identity.kel', 'identity.next'])
        copyFileSync(join(one.directory, name), join(directory, name))
      const at = ['--data-dir', directory, ...cluster.args]
      const missing = await look(at)
      expect(missing.get('data directory')).toMatchObject({
        found: `${directory} lacks secret`,
        mend: expect.stringMatching(
          /^copy them there from a machine that serves this hub; .* svc-hub init --data-dir \S+ --store <URL> --files \S+$/,
        ),
      })
      writeFileSync(join(directory, 'secret'), 'x\n', { mode: 0o600 })
      const damaged = await look(at)
      expect(damaged.get('data directory')).toMatchObject({
        found: `${join(directory, 'secret')} holds no secret of a hub`,
        mend: 'copy it from a machine that serves this hub',
      })
      for (const seen of [missing, damaged]) expect(seen.get('hub of the database')?.state).toBe('note')
    })

    test('the folder of long mail is looked at: whether it is there, the right one, and has room', async () => {
      const [one] = both()
      const at = ['--data-dir', one.directory, '--store', cluster.server.url]
      const seen = await look(['--data-dir', one.directory, ...cluster.args])
      expect(seen.get('long mail')).toMatchObject({
        state: 'ok',
        found: `lies in ${join(cluster.folder, 'files')}, which this user may write`,
      })
      expect(seen.get('room of long mail')?.found).toMatch(/^\d+ MiB free on the file system mounted at \S+$/)
      const absent = (await look([...at, '--files', join(folder, 'absent')])).get('long mail')
      expect(absent).toMatchObject({ state: 'wrong', mend: expect.stringContaining('mount what belongs') })
      expect((await look(at)).get('long mail')).toMatchObject({
        state: 'note',
        found: expect.stringContaining('--files names no place'),
      })
    })

    test('a pooler without a way beside it is found', async () => {
      const bouncer = await Bouncer.start(cluster.server)
      const at = ['--data-dir', both()[0].directory, '--store', bouncer.url]
      const [alone, beside] = [await look(at), await look([...at, '--store-listen', cluster.server.url])]
      await bouncer.stop()
      expect([alone.get('word')?.state, beside.get('word')?.state]).toEqual(['wrong', 'ok'])
    })

    test('an address at which no server answers is told without the address', async () => {
      const url = 'postgres://svc:never-told@127.0.0.1:9/svc'
      const { stdout } = await runHub(['doctor', '--data-dir', both()[0].directory, '--store', url])
      expect(stdout).toMatch(/WRONG database: the database is away: /)
      expect(stdout).not.toMatch(/never-told|@127/)
    })

    test('stats and figures count the processes, and a command is none of them', async () => {
      const { directory } = both()[0]
      expect(JSON.parse((await runHub(['stats', '--data-dir', directory])).stdout)).toMatchObject({
        database: { processes: 2, standbys: [] },
      })
      const text = await (await fetch(`${await operatorUrl(both()[0])}/metrics`)).text()
      expect(text).toMatch(/^svc_hub_processes 2$/m)
      expect(text).toMatch(/^svc_hub_standbys 0$/m)
    })

    test('what is a file of each machine is compared: the list of peers, and the key of the hub', async () => {
      const [one, other] = both()
      const at = ['--data-dir', one.directory, ...cluster.args]
      writeFileSync(join(one.directory, 'federation.json'), '{"peers":[]}')
      const asked = [`${await operatorUrl(one)}/readyz`, `${await operatorUrl(other)}/readyz`] as const
      await pause(BEAT_MS)
      expect((await look(at)).get('list of peers')).toBeUndefined()
      const peer = { aid: other.aid, url: 'https://hub.example', kel: 'x' }
      writeFileSync(join(one.directory, 'federation.json'), JSON.stringify({ peers: [peer] }))
      expect((await runHub(['rotate', '--data-dir', one.directory])).code).toBe(0)
      await pause(BEAT_MS)
      const seen = await look(at)
      expect(seen.get('identity')).toMatchObject({
        state: 'wrong',
        found: '1 of 2 processes sign with a key from before a rotation',
      })
      expect(seen.get('list of peers')?.state).toBe('wrong')
      expect([await ready(asked[0]), await ready(asked[1])]).toEqual([
        'ready',
        expect.stringContaining('was rotated at another machine; copy identity.kel and identity.next'),
      ])
      expect(other.said()).toMatch(
        /"the key history here is not that of the hub; this process is not ready".*was rotated at another machine/,
      )
      // a second history under one AID would lose the hub whoever sees both
      const rotate = () => runHub(['rotate', '--data-dir', other.directory, ...cluster.args])
      const refused = { code: 1, stderr: expect.stringContaining('nothing was rotated: the key of this hub') }
      expect(await rotate()).toMatchObject(refused)
      await cluster.end(other)
      expect(await rotate()).toMatchObject(refused)
      for (const name of ['identity.kel', 'identity.next'])
        copyFileSync(join(one.directory, name), join(other.directory, name))
      rmSync(join(one.directory, 'federation.json'))
      await cluster.add(other.directory)
      await pause(BEAT_MS)
      const mended = await look(at)
      expect([mended.get('identity')?.state, mended.get('list of peers')]).toEqual(['ok', undefined])
    })

    test('a machine whose process stopped knows how that one was started, and not another one', async () => {
      const [, other] = both()
      await cluster.end(other)
      const { mend } = (await look(['--data-dir', other.directory, ...cluster.args])).get('process') ?? {}
      const again = `svc-hub serve --data-dir ${other.directory} --store <URL> --files ${join(cluster.folder, 'files')}`
      expect(mend).toBe(`${again} – with --listen, --operator-listen, as at its last start`)
      writeFileSync(join(other.directory, 'process.json'), '{}')
      const unknown = (await look(['--data-dir', other.directory, ...cluster.args])).get('process')
      expect(unknown?.mend).toBe(again)
      await cluster.add(other.directory)
    })

    test('beside a process that was killed, the doctor knows of those that serve', async () => {
      const [, other] = both()
      await cluster.end(other, 'SIGKILL')
      const killed = (await look(['--data-dir', other.directory, ...cluster.args])).get('process')
      expect(killed).toMatchObject({
        state: 'wrong',
        found: expect.stringMatching(
          /^no process runs on this directory, and .*\d processes did serve this hub$/,
        ),
      })
      expect(killed?.found).not.toMatch(/no hub is running|on the disk/)
      await cluster.add(other.directory)
    })

    test('without its database, a directory is no hub that lost its rows', async () => {
      const seen = await look(['--data-dir', both()[0].directory])
      expect(seen.get('data directory')).toMatchObject({
        found: expect.stringContaining('whose rows lie in a database'),
        mend: expect.stringContaining('--store'),
      })
    })

    test('a server that may lose pages in a crash is a note', async () => {
      cluster.server.order('ALTER SYSTEM SET full_page_writes = off')
      cluster.server.order('SELECT pg_reload_conf()')
      await expect
        .poll(async () => (await look(['--data-dir', both()[0].directory, ...cluster.args])).get('pages'))
        .toMatchObject({ state: 'note', found: expect.stringContaining('full_page_writes is off') })
      cluster.server.order('ALTER SYSTEM RESET full_page_writes')
      cluster.server.order('SELECT pg_reload_conf()')
    })

    test('while the database is away, readiness says so and the figures that are left are shown', async () => {
      const url = await operatorUrl(both()[0])
      await cluster.server.halt()
      await pause(3000)
      const [ready, figures] = [await fetch(`${url}/readyz`), await fetch(`${url}/metrics`)]
      expect([ready.status, await ready.text()]).toEqual([503, expect.stringContaining('the database')])
      expect([figures.status, await figures.text()]).toEqual([
        200,
        expect.stringMatching(/^svc_hub_store_away 1$/m),
      ])
      const listener = (await look(['--data-dir', both()[0].directory, ...cluster.args])).get(
        'operator listener',
      )
      expect(listener?.mend).toMatch(/database/)
      expect(listener?.mend).not.toMatch(/restart the hub/)
      await cluster.server.resume()
      for (let n = 0; n < 100 && !(await fetch(`${url}/readyz`)).ok; n++) await pause(100)
      expect((await fetch(`${url}/readyz`)).status).toBe(200)
    })
  },
)
