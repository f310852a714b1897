// project: programs

/** docs/host/many-processes.md: every command, in order, as it is written, on machines of their own. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { withoutPostgres } from '../../hub/testing/postgres-server.ts'
import { Clients } from './clients.ts'
import { type Machine, withoutMachines } from './machines.ts'
import { ToldPage, unshown } from './told.ts'
import { World, withCertificate } from './world.ts'

const root = new URL('../..', import.meta.url).pathname
const read = (...path: string[]) => readFileSync(join(root, ...path), 'utf8')
const hasCaddy = spawnSync('caddy', ['version']).status === 0
const missing =
  withoutPostgres ?? (hasCaddy ? withoutMachines() : 'no Caddy here; on Debian: apt-get install caddy')

const PASSWORDS = { svc_owner: 'of the owner', svc: 'of who serves', standby: 'of the standby' }
const PORTS = ['8088', '8089', '8090']
const UNITS = PORTS.map(port => `svc-hub@${port}`).join(' ')
const CONFIG = '/etc/postgresql/15/main'
const HOME = '/var/lib/postgresql'
const DATA = `${HOME}/15/main`
const WORK_MS = 1500
/** What the hub or its proxy says of a while that passes. */
const FOR_NOW = ['429 rate_limited', '502']
const postgres = { as: 'postgres' }
const twice = (...words: string[]) => words.flatMap(word => [word, word])

/** Blocks of which other tests know that they hold. */
const ELSEWHERE = [
  // hub/test/cluster-bucket.test.ts
  ['Long mail', 'text'],
  // hub/store/postgres/bouncer.test.ts
  ['A pooler', 'text'],
]

type Typing = { as?: string; answers?: readonly string[] }

describe.skipIf(missing !== undefined)(missing ?? 'several processes, as their page tells', () => {
  const page = new ToldPage(read('docs', 'host', 'many-processes.md'))
  let world: World
  let [db1, db2, hub] = [] as unknown as [Machine, Machine, Machine]

  /** Types commands, which must go well; what they printed. */
  async function types(at: Machine, text: string, options: Typing = {}): Promise<string> {
    const { code, stdout, stderr } = await at.type(text, options)
    expect([text, code, code === 0 ? '' : stdout + stderr]).toEqual([text, 0, ''])
    return stdout
  }
  /** The next block of commands of a section. */
  const next = (at: Machine, section: string, options: Typing = {}) => types(at, page.take(section), options)

  beforeAll(async () => {
    world = await World.make()
    ;({ db1, db2, hub } = world)
    const host = new ToldPage(read('docs', 'host', 'README.md'))
    await types(hub, 'cd "$(npm root --global)/svc-hub/deploy"')
    await types(hub, host.take('2. Make the hub'))
    await types(hub, host.take('3. Start the service').replace(/^journalctl.*$/m, ''))
    await hub.leave()
  }, 120_000)
  afterAll(async () => {
    await world?.close()
  })

  const configured: string[] = []
  /** A server takes the settings of the page, and lets in whom it names. */
  async function configure(machine: Machine): Promise<void> {
    const [settings = '', access = ''] = configured
    await machine.append(`${CONFIG}/postgresql.conf`, settings)
    await machine.append(`${CONFIG}/pg_hba.conf`, access)
  }

  test('1. Make the database', async () => {
    const section = '1. Make the database'
    configured.push(page.take(section, 'text'), page.take(section, 'text'))
    for (const machine of [db1, db2]) await configure(machine)
    const { svc_owner, svc, standby } = PASSWORDS
    await next(db1, section, { ...postgres, answers: twice(svc_owner, svc, standby) })
  })

  test('2. Move the hub', async () => {
    const [prepared = '', moved = ''] = page.take('2. Move the hub').split(/^(?=export)/m)
    await types(hub, prepared)
    await hub.must(`echo '${PASSWORDS.svc_owner}' >/etc/svc-db-owner\necho '${PASSWORDS.svc}' >/etc/svc-db`)
    expect(await types(hub, moved)).toContain('"to": "database"')
    expect(await hub.must('ls /var/lib/svc-hub')).toContain('hub.db.moved')
    await hub.leave()
  })

  const standby: string[] = []
  /** A second server follows the first one, which waits for it; their names may be swapped. */
  async function addStandby(
    { primary, follower }: { primary: Machine; follower: Machine },
    swapped = (text: string) => text,
  ): Promise<void> {
    const [password = '', copied = '', told = '', shown = ''] = standby.map(swapped)
    const kept = password.replace('the password', PASSWORDS.standby)
    await follower.write(`${HOME}/.pgpass`, kept, '-m 0600 -o postgres')
    await follower.must(`pg_ctlcluster 15 main stop || true\nfind ${DATA} -mindepth 1 -delete`, postgres)
    await types(follower, copied, postgres)
    await expect.poll(async () => unshown(shown, await types(primary, told, postgres))).toEqual([])
  }

  test('3. Add the standby', async () => {
    const section = '3. Add the standby'
    standby.push(...['text', 'sh', 'sh', 'text'].map(language => page.take(section, language)))
    await addStandby({ primary: db1, follower: db2 })
  })

  test('4. Start three processes', async () => {
    const section = '4. Start three processes'
    const copies = page.take(section)
    for (const port of PORTS) await types(hub, copies.replaceAll('8088', port))
    await hub.write('/etc/svc-hub.env', page.take(section, 'text'), '-m 0600')
    await hub.write('/etc/systemd/system/svc-hub@.service.d/reach.conf', page.take(section, 'text'))
    await next(hub, section)
    await hub.leave()
  })

  test('5. Put Caddy in front', async () => {
    const shipped = read('hub', 'deploy', 'Caddyfile')
    const block = page.take('5. Put Caddy in front', 'text')
    const named = shipped.replace(/\treverse_proxy[\s\S]*?^\t}\n/m, block)
    await hub.write('/etc/caddy/Caddyfile', withCertificate(named))
    await types(hub, 'systemctl enable --now caddy')
  })

  let doctor = ''
  test('6. Ask the doctor', async () => {
    const section = '6. Ask the doctor'
    doctor = page.take(section)
    const printed = await types(hub, doctor)
    expect([unshown(page.take(section, 'text'), printed), printed]).toEqual([[], printed])
    expect(printed).toContain('no problems found')
    const figures = await hub.must('curl -fsS http://127.0.0.1:18088/metrics')
    for (const name of [
      'processes',
      'standbys',
      'synchronous_standbys',
      'standby_lag_bytes',
      'standby_lag_seconds',
      'clock_ahead_seconds',
      'store_away',
    ])
      expect(figures).toMatch(new RegExp(`^svc_hub_${name}\\b`, 'm'))
    await hub.leave()
  })

  test('a rolling restart under load refuses nothing', async () => {
    const section = 'Restart or upgrade'
    const [restart, upgrade] = [page.take(section), page.take(section)]
    const clients = await Clients.start(hub)
    for (const port of PORTS) {
      await pause(WORK_MS)
      expect(await types(hub, restart.replaceAll('8088', port))).toBe('ready\n')
    }
    await pause(WORK_MS)
    await types(hub, upgrade)
    await hub.leave()
    const { faults, again } = await clients.end()
    expect(faults).toEqual([])
    expect(Object.keys(again).filter(said => !FOR_NOW.includes(said))).toEqual([])
  })

  test('processes that are killed lose nothing, and give nothing twice', async () => {
    const clients = await Clients.start(hub)
    for (const port of PORTS) {
      await pause(WORK_MS)
      await hub.must(`kill -9 $(cat /run/units/svc-hub@${port}/pid)`)
      await pause(WORK_MS)
      await expect
        .poll(async () => (await hub.run(`curl -fsS http://127.0.0.1:1${port}/readyz`)).stdout)
        .toBe('ready\n')
    }
    expect((await clients.end()).faults).toEqual([])
  })

  const order = (...words: string[]) =>
    hub.must(`runuser -u svc-hub -- svc-hub ${words.join(' ')} --data-dir /var/lib/svc-hub-8088`)
  const agents = async () => (JSON.parse(await order('stats')) as { agents: number }).agents
  /** The data directory of a server goes, and comes back from its backup. */
  const restored = async (text: string) => {
    await db1.must(`pg_ctlcluster 15 main stop\nfind ${DATA} -mindepth 1 -delete`, postgres)
    await types(db1, text, postgres)
  }
  let [stop, restore, grants, witness] = ['', '', '', '']

  test('Back up, and restore to the end of the log', async () => {
    const section = 'Back up'
    await db1.append(`${CONFIG}/postgresql.conf`, page.take(section, 'text'))
    await next(db1, section)
    await next(db1, section, postgres)
    const clients = await Clients.start(hub)
    ;[grants = ''] = clients.agents
    expect((await clients.end()).faults).toEqual([])
    const before = await agents()
    ;[stop, restore] = [page.take(section), page.take(section)]
    await types(hub, stop)
    await restored(restore)
    await hub.must(`systemctl start ${UNITS}`)
    expect(await agents()).toBe(before)
  })

  test('restore to an earlier time, and take back what a witness has seen', async () => {
    const section = 'Back up'
    const keeping = 'runuser -u svc-hub -- svc-hub'
    await hub.must('install -d -o svc-hub /srv/witness')
    ;({ aid: witness } = JSON.parse(await hub.must(`${keeping} init --data-dir /srv/witness`)))
    await order('witness', 'add', witness, 'https://witness.example')
    const look = () => hub.must(`${keeping} witness run https://hub.example --once --data-dir /srv/witness`)
    await look()
    const time = (await db1.must("psql -Atc 'SELECT now()'", postgres)).trim()
    await order('grant', grants, '5', '--reason', 'test')
    await look()
    hub.spawn(
      'runuser',
      `-u svc-hub -- svc-hub serve --listen 127.0.0.1:8099 --base-url https://witness.example --data-dir /srv/witness`.split(
        ' ',
      ),
    )
    await types(hub, stop)
    await restored(restore.replace(' start', ` start -o "-c recovery_target_time='${time}'"`))
    await next(db1, section, postgres)
    await next(hub, section)
    await next(hub, section)
    await hub.leave()
    await hub.must(`systemctl start ${UNITS}`)
    await look()
    await order('grant', grants, '5', '--reason', 'test')
  })

  test('When the primary is lost', async () => {
    const section = 'When the primary is lost'
    await addStandby({ primary: db1, follower: db2 })
    const clients = await Clients.start(hub)
    await pause(WORK_MS)
    await db1.stop()
    await pause(WORK_MS)
    await next(db2, section, postgres)
    await next(hub, section)
    await pause(WORK_MS)
    expect((await clients.end()).faults).toEqual([])
    const asked = doctor.replaceAll('db1.example', 'db2.example')
    await expect.poll(() => hub.run(asked)).toMatchObject({ code: 0 })
    db1 = await world.again()
    await configure(db1)
    const swapped = (text: string) => text.replaceAll(/db[12]/g, name => (name === 'db1' ? 'db2' : 'db1'))
    await addStandby({ primary: db2, follower: db1 }, swapped)
    expect(await types(hub, asked)).toContain('ok    standby: db1 is synchronous')
  })

  test('every block of the page was typed, or is known to hold', () => {
    expect(page.left.map(({ section, language }) => [section, language])).toEqual(ELSEWHERE)
  })
})
