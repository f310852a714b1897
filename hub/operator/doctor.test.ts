/** The doctor: each thing that can be wrong with a hub is found and comes with what mends it. */
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { createServer as createSecureServer } from 'node:https'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { contentId } from '../../protocol/crypto/hash.ts'
import type { Finding } from '../../protocol/encoding/finding.ts'
import { type Config, usualConfig } from '../config.ts'
import { ConfigRefused } from '../config-refused.ts'
import { CLOCK_SETTING } from '../core/clocks.ts'
import { defaultLimits } from '../core/limits.ts'
import { lockDirectory } from '../directory-lock.ts'
import { openWriter } from '../store/sqlite/database.ts'
import { registeredAgent, startTestHub, type TestHub } from '../testing/hub.ts'
import { sealedUnderCapability, sendEnvelope } from '../testing/mail.ts'
import { namedWitness, sendStatement } from '../testing/witnesses.ts'
import { examine } from './doctor.ts'
import { checkRuntime } from './doctor-machine.ts'
import { unitOf } from './last-start.ts'

const LARGE_BYTES = 70_000
const HOURS_AGO_2_S = Date.now() / 1000 - 7200
const LOCAL = { host: '127.0.0.1', port: 8088 }

/** A stopped hub with one envelope in a file. */
let healthy: string
const folders: string[] = []
const hubs: TestHub[] = []
function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'svc-hub-doctor-'))
  folders.push(made)
  return made
}
beforeAll(async () => {
  healthy = mkdtempSync(join(tmpdir(), 'svc-hub-doctor-'))
  const hub = await startTestHub({ directory: healthy })
  const agent = await registeredAgent(hub)
  const envelope = sealedUnderCapability(agent, agent.capability(), { contentBytes: LARGE_BYTES })
  expect((await sendEnvelope(hub, envelope)).status).toBe(200)
  await hub.running.close()
  // The tests' clock ran ahead.
  set(healthy, CLOCK_SETTING, String(Date.now()))
  rmSync(join(healthy, 'reserve'))
  writeFileSync(join(healthy, 'reserve'), 'small', { mode: 0o600 })
})
afterEach(async () => {
  for (const hub of hubs.splice(0)) await hub.close()
  for (const path of folders.splice(0)) rmSync(path, { recursive: true, force: true })
})
afterAll(() => rmSync(healthy, { recursive: true, force: true }))

function copy(): string {
  const directory = folder()
  cpSync(healthy, directory, { recursive: true })
  makePrivate(directory)
  return directory
}

/** The program does so by its umask, which these tests can't set. */
function makePrivate(directory: string): void {
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true }))
    chmodSync(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o700 : 0o600)
  chmodSync(directory, 0o700)
}

function set(directory: string, name: string, value: string): void {
  const db = openWriter(join(directory, 'hub.db'))
  db.run('INSERT OR REPLACE INTO setting (name, value) VALUES (?, ?)', name, value)
  db.close()
}

const configOf = (dataDir: string, more: Partial<Config> = {}): Config => ({
  wires: [3],
  listen: LOCAL,
  baseUrl: undefined,
  dataDir,
  limits: defaultLimits,
  ...more,
})
const look = (directory: string, more: Partial<Config> = {}): Promise<Finding[]> =>
  examine(() => configOf(directory, more))
const wrongOnes = (findings: Finding[]): string[] =>
  findings.filter(({ state }) => state === 'wrong').map(({ check }) => check)
const named = (findings: Finding[], check: string): Finding => {
  const finding = findings.find(one => one.check === check)
  if (finding === undefined) throw new Error(`no finding about ${check}`)
  return finding
}

function blobOf(directory: string): string {
  const files = readdirSync(join(directory, 'blobs'), { recursive: true, withFileTypes: true })
  const [file] = files.filter(entry => entry.isFile())
  return file === undefined ? '' : join(file.parentPath, file.name)
}

describe('a stopped hub', () => {
  test('that is healthy has nothing wrong, and stays as it was', async () => {
    const directory = copy()
    const before = readdirSync(directory, { recursive: true }).sort()
    const findings = await look(directory)
    expect(wrongOnes(findings)).toEqual([])
    expect(named(findings, 'process')).toMatchObject({
      state: 'note',
      mend: expect.stringContaining('serve'),
    })
    expect(named(findings, 'envelopes').found).toMatch(/^1 envelopes/)
    expect(readdirSync(directory, { recursive: true }).sort()).toEqual(before)
  })

  const spoiled: [string, (directory: string) => void, string, RegExp, RegExp][] = [
    [
      'a file that other users may read',
      d => chmodSync(join(d, 'hub.db'), 0o640),
      'modes',
      /hub\.db/,
      /^chmod -R go= /,
    ],
    ['an open directory', d => chmodSync(d, 0o755), 'modes', /other users may read/, /^chmod -R go= /],
    ['a missing next key', d => rmSync(join(d, 'identity.next')), 'identity', /identity\.next/, /backup/],
    [
      'a torn identity',
      d => truncateSync(join(d, 'identity.kel'), 40),
      'identity',
      /cannot be used/,
      /backup/,
    ],
    [
      'a lost file of an envelope',
      d => rmSync(blobOf(d)),
      'envelopes',
      /files of 1 waiting/,
      /from a backup/,
    ],
    ['a damaged store', d => smash(join(d, 'hub.db')), 'store', /damaged|cannot be read/, /svc-hub restore/],
    [
      'a store of a newer release',
      newer,
      'schema',
      /99 is newer than svc-hub 0\.3\.0, which/,
      /install svc-hub 9\.9\.9/,
    ],
    [
      'a clock that went back',
      d => set(d, CLOCK_SETTING, String(Date.now() + 3_600_000)),
      'clock',
      /36\d\d s behind/,
      /timedatectl/,
    ],
    [
      'a restore that did not finish',
      d => writeFileSync(join(d, 'restoring'), '', { mode: 0o600 }),
      'restore',
      /did not finish/,
      /svc-hub restore/,
    ],
  ]
  test.each(spoiled)('with %s', async (_, spoil, check, found, mend) => {
    const directory = copy()
    spoil(directory)
    const findings = await look(directory)
    expect(wrongOnes(findings)).toEqual([check])
    expect(named(findings, check).found).toMatch(found)
    expect(named(findings, check).mend).toMatch(mend)
  })

  test('with left-overs has them noted: orphans, torn bodies, copies from before an upgrade, no reserve', async () => {
    const directory = copy()
    const orphan = join(directory, 'blobs', 'ff', 'f'.repeat(32))
    mkdirSync(join(directory, 'blobs', 'ff'), { recursive: true, mode: 0o700 })
    for (const path of [orphan, join(directory, 'tmp', 'torn'), join(directory, 'hub.db.before-schema-3')])
      writeFileSync(path, 'x', { mode: 0o600 })
    utimesSync(orphan, HOURS_AGO_2_S, HOURS_AGO_2_S)
    rmSync(join(directory, 'reserve'))
    const findings = await look(directory)
    expect(wrongOnes(findings)).toEqual([])
    const notes = findings.filter(({ state }) => state === 'note').map(({ check }) => check)
    expect(notes).toEqual(['process', 'unfinished files', 'copies', 'files', 'reserve', 'base_url'])
    expect(named(findings, 'reserve').mend).toBe('the next start with enough room reserves it')
  })

  test('whose lock a command holds', async () => {
    const directory = copy()
    const lock = lockDirectory(directory)
    const looking = look(directory)
    const late = setTimeout(() => lock.release(), 300)
    expect(named(await looking, 'process')).toMatchObject({
      state: 'note',
      found: 'no hub is running on this directory',
    })
    clearTimeout(late)
  })

  test('whose lock a hub holds that does not answer', async () => {
    const directory = copy()
    const lock = lockDirectory(directory)
    const socket = createServer(peer => peer.destroy())
    await new Promise<void>(done => socket.listen(join(directory, 'operator.sock'), done))
    const findings = await look(directory)
    socket.close()
    lock.release()
    expect(named(findings, 'process')).toMatchObject({
      state: 'wrong',
      found: expect.stringContaining('holds the directory but does not answer'),
      mend: expect.stringMatching(/stop it and restart the hub/),
    })
  })

  test('behind an address without TLS', async () => {
    const findings = await look(copy(), {
      baseUrl: 'http://hub.example',
      wires: [3],
      listen: { host: '0.0.0.0', port: 8088 },
    })
    expect(wrongOnes(findings)).toEqual(['base_url'])
    expect(named(findings, 'listen address').found).toMatch(/reached from other machines without TLS/)
  })
})

describe('a running hub', () => {
  async function start(): Promise<TestHub> {
    const hub = await startTestHub()
    hubs.push(hub)
    set(hub.directory, CLOCK_SETTING, String(Date.now()))
    makePrivate(hub.directory)
    return hub
  }

  test('is asked at the address that others use, and is found there', async () => {
    const hub = await start()
    const findings = await look(hub.directory, { baseUrl: hub.url })
    expect(wrongOnes(findings)).toEqual([])
    expect(named(findings, 'base_url').found).toBe(`${hub.url} is this hub`)
    expect(named(findings, 'process').found).toContain(hub.url)
    // started with another port than the configuration names
    expect(named(findings, 'listen address').found).toBe(new URL(hub.url).host)
  })

  test('is told when another hub, something else or nobody answers at its base_url', async () => {
    const hub = await start()
    const other = await start()
    const at = async (baseUrl: string): Promise<Finding> =>
      named(await look(hub.directory, { baseUrl }), 'base_url')
    expect((await at(other.url)).found).toContain(`another hub answers: ${other.aid}`)
    expect((await at(`${other.url}/elsewhere`)).found).toMatch(/healthz does not answer like a hub/)
    const gone = other.url
    await hubs.pop()?.close()
    expect((await at(gone)).found).toMatch(/does not answer/)
  })

  test('is not called silent where the certificate of its base_url is not good', async () => {
    const read = (name: string) => readFileSync(new URL(`../../fixtures/tls/${name}`, import.meta.url))
    const proxy = createSecureServer({ key: read('hub.key.pem'), cert: read('hub.pem') })
    await new Promise<void>(done => proxy.listen(0, '127.0.0.1', done))
    const baseUrl = `https://127.0.0.1:${(proxy.address() as AddressInfo).port}`
    expect(named(await look((await start()).directory, { baseUrl }), 'base_url')).toMatchObject({
      found: expect.stringMatching(
        `^there is no secure connection to ${baseUrl}: its certificate is of nobody`,
      ),
      mend: expect.stringContaining('certificate of the proxy'),
    })
    proxy.close()
  })

  test('is asked at the address that it was started with, whatever configuration the doctor finds', async () => {
    const other = await start()
    const hub = await startTestHub({ baseUrl: other.url })
    hubs.push(hub)
    expect(named(await look(hub.directory), 'base_url')).toMatchObject({
      state: 'wrong',
      found: expect.stringContaining(`at ${other.url} another hub answers`),
    })
    hubs.splice(hubs.indexOf(other), 1)
    await other.close()
    expect(named(await look(hub.directory), 'base_url').found).toBe(
      `${other.url} does not answer: nothing listens there`,
    )
  })

  test('whose disk failed or is full says so', async () => {
    const hub = await start()
    const { store } = hub.running.hub.context
    store.health = async () => ({ full: true, locked: false, away: false, broken: false })
    expect(named(await look(hub.directory), 'disk')).toMatchObject({ state: 'wrong' })
    store.health = async () => ({ full: false, locked: false, away: false, broken: true })
    expect(named(await look(hub.directory), 'disk').found).toBe('the store failed')
    store.health = async () => ({ full: false, locked: true, away: false, broken: false })
    expect(named(await look(hub.directory), 'disk').found).toMatch(/another program has locked the store/)
  })

  test('is not asked at an address given as a flag, and the doctor says so', async () => {
    const hub = await start()
    const given = {
      listen: '127.0.0.1:1',
      'base-url': 'https://else.example/',
      'operator-listen': '127.0.0.1:2',
    }
    const findings = await examine(() => configOf(hub.directory), given)
    const said = findings.filter(({ check }) => check === 'flags').map(({ state, found }) => [state, found])
    const { host } = new URL(hub.url)
    expect(said).toEqual([
      ['note', `--listen 127.0.0.1:1 was not looked at, because the hub runs with ${host}`],
      ['note', `--base-url https://else.example/ was not looked at, because the hub runs with ${hub.url}`],
      ['note', '--operator-listen 127.0.0.1:2 was not looked at, because the hub runs with none'],
    ])
    const same = { listen: host, 'base-url': `${hub.url}/` }
    const none = await examine(() => configOf(hub.directory), same)
    expect(none.filter(({ check }) => check === 'flags')).toEqual([])
  })

  test('whose clock went back is told so once, also where it wrote no time, and is not to be restarted', async () => {
    const hub = await startTestHub({ operatorListen: { host: '127.0.0.1', port: 0 } })
    hubs.push(hub)
    set(hub.directory, CLOCK_SETTING, String(Date.now()))
    makePrivate(hub.directory)
    hub.clock.advance(-3_600_000)
    const findings = await look(hub.directory)
    expect(named(findings, 'clock')).toMatchObject({
      state: 'wrong',
      found: expect.stringMatching(/^is \d+ s behind the latest time that the hub knew/),
    })
    expect(named(findings, 'operator listener')).toMatchObject({
      state: 'note',
      mend: 'set the clock first, as said above',
    })
  })

  test('with the page of the operator is asked for it there, and without one that is configured is to be started again', async () => {
    const page = 'operator page'
    const hub = await startTestHub({ wires: [1], admin: { tokens: { admin: 'a', monitor: 'a' } } })
    hubs.push(hub)
    expect(named(await look(hub.directory), page)).toMatchObject({
      state: 'ok',
      found: `answers at ${hub.running.adminUrl}`,
    })
    const other = await start()
    expect((await look(other.directory)).some(({ check }) => check === page)).toBe(false)
    const admin = { listen: { host: '127.0.0.1', port: 8078 }, base: '/admin' }
    expect(named(await look(other.directory, { admin }), page)).toMatchObject({
      state: 'note',
      found: expect.stringMatching(/the running hub has none/),
    })
  })

  test('without the operator listener that is configured is to be started again', async () => {
    const hub = await start()
    const findings = await look(hub.directory, { operatorListen: { host: '127.0.0.1', port: 8079 } })
    expect(named(findings, 'operator listener')).toMatchObject({
      state: 'note',
      found: expect.stringMatching(/the running hub has none/),
    })
  })
})

test('a supply chain that stands still is a problem, of a hub that runs and of one that was stopped', async () => {
  const hub = await startTestHub({ directory: folder() })
  const witness = await namedWitness(hub)
  expect((await look(hub.directory)).some(({ check }) => check === 'supply chain')).toBe(false)
  await sendStatement(hub, witness, { headId: contentId(new Uint8Array(8)) })
  const running = named(await look(hub.directory), 'supply chain')
  expect(running).toMatchObject({
    state: 'wrong',
    found: expect.stringContaining(`witness ${witness.aid} has signed another record 0`),
    mend: expect.stringContaining('svc-hub restore --from-witness'),
  })
  await hub.running.close()
  expect(named(await look(hub.directory), 'supply chain')).toEqual(running)
})

test('an empty directory and a configuration that is not accepted are found first', async () => {
  const findings = await look(join(folder(), 'none'))
  expect(wrongOnes(findings)).toEqual(['data directory'])
  const refused = await examine(() => {
    throw new ConfigRefused('config.json: wire is not accepted', 'correct it')
  })
  expect(refused).toEqual([
    {
      check: 'configuration',
      state: 'wrong',
      found: 'config.json: wire is not accepted',
      mend: 'correct it',
    },
  ])
})

test("a configuration file that others could read is nobody else's matter in a private directory", async () => {
  const directory = copy()
  writeFileSync(join(directory, 'config.json'), '{}', { mode: 0o644 })
  expect(named(await look(directory), 'modes').state).toBe('ok')
  chmodSync(directory, 0o755)
  expect(named(await look(directory), 'modes').found).toMatch(/config\.json/)
})

test('a configuration that is not accepted keeps nothing else from being looked at', async () => {
  const hub = await startTestHub()
  hubs.push(hub)
  makePrivate(hub.directory)
  const read = () => {
    throw new ConfigRefused('config.json: unknown setting: lisen', 'remove it')
  }
  const findings = await examine(read, {}, usualConfig(hub.directory))
  expect(wrongOnes(findings)).toEqual(['configuration'])
  expect(named(findings, 'process').found).toContain(hub.url)
  expect(named(findings, 'listener').state).toBe('ok')
  const stopped = await examine(read, {}, usualConfig(copy()))
  expect(wrongOnes(stopped)).toEqual(['configuration'])
  expect(named(stopped, 'store').state).toBe('ok')
  expect(stopped.map(({ check }) => check)).not.toContain('base_url')
})

test('a folder that is no site of the documents is found, as the start would find it', async () => {
  const docs = folder()
  expect(named(await look(copy(), { docs }), 'documents')).toEqual({
    check: 'documents',
    state: 'wrong',
    found: `no site of the documents in ${docs}`,
    mend: expect.stringContaining('npm run docs:site'),
  })
})

test('a stopped hub is started again as it was started, and asked for under the address that it had', async () => {
  const directory = copy()
  const started = async (start: object) => {
    set(directory, 'last start', JSON.stringify(start))
    const findings = await look(directory)
    return [
      named(findings, 'process').mend,
      named(findings, 'base_url').found,
      named(findings, 'base_url').mend,
    ]
  }
  const base_url = 'https://hub.example'
  const unasked = `${base_url} was not checked, because no hub is running`
  expect(await started({ unit: 'svc-hub', base_url, outside: ['SVC_HUB_BASE_URL'] })).toEqual([
    'systemctl start svc-hub',
    unasked,
    'systemctl start svc-hub',
  ])
  const again = `svc-hub serve --data-dir ${directory} – with SVC_HUB_BASE_URL, as at its last start`
  expect(await started({ base_url, outside: ['SVC_HUB_BASE_URL'] })).toEqual([again, unasked, again])
  const plain = `svc-hub serve --data-dir ${directory}`
  expect(await started({ outside: [] })).toMatchObject([
    plain,
    'is not set, so links use the listen address',
    'set base_url to the URL that others use',
  ])
  set(directory, 'last start', 'no JSON')
  expect(named(await look(directory), 'process').mend).toBe(plain)
})

test('a hub keeps what it was started with', async () => {
  const hub = await startTestHub({ baseUrl: 'https://hub.example' })
  hubs.push(hub)
  const stored = await hub.running.hub.context.store.setting('last start')
  expect(JSON.parse(stored ?? '')).toEqual({ base_url: 'https://hub.example', outside: [] })
})

test.each([
  ['0::/system.slice/svc-hub.service\n', '/run/notify', 'svc-hub'],
  ['1:name=systemd:/system.slice/hub-2.service\n0::/\n', '/run/notify', 'hub-2'],
  ['0::/user.slice/session.scope\n', '/run/notify', undefined],
  ['0::/system.slice/cron.service\n', undefined, undefined],
])('the unit of a service is read from its groups %j', (groups, NOTIFY_SOCKET, unit) => {
  expect(unitOf({ NOTIFY_SOCKET }, () => groups)).toBe(unit)
})

test('a runtime below the one that is needed is found', () => {
  expect(checkRuntime('24.15.0').state).toBe('ok')
  expect(checkRuntime('24.14.9')).toMatchObject({ state: 'wrong', mend: 'install Node 24.15 or newer' })
})

/** Overwrites the middle of a database. */
function smash(path: string): void {
  const bytes = readFileSync(path)
  bytes.fill(0xa5, Math.floor(bytes.length / 2), Math.floor(bytes.length / 2) + 8192)
  writeFileSync(path, bytes, { mode: 0o600 })
}

function newer(directory: string): void {
  set(directory, 'release', '9.9.9')
  const db = openWriter(join(directory, 'hub.db'))
  db.exec('PRAGMA user_version = 99')
  db.close()
}
