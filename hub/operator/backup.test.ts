/** Saving a hub and making it again: what was waiting still waits, and nothing of the time between can be used twice. */
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { toBase64, toBase64url } from '../../protocol/encoding/bytes.ts'
import { systemTimers } from '../../protocol/timers.ts'
import { signRequest } from '../../protocol/wire3/signed-request.ts'
import { CLOCK_SETTING } from '../core/clocks.ts'
import { openDataDirectory } from '../data-dir.ts'
import { StoreRefused } from '../store/port.ts'
import { openReader, openWriter } from '../store/sqlite/database.ts'
import { inspectDatabase } from '../store/sqlite/inspect.ts'
import { migrate, readMigrations } from '../store/sqlite/migrate.ts'
import {
  random,
  registeredAgent,
  request,
  startTestHub,
  type TestAgent,
  type TestHub,
} from '../testing/hub.ts'
import { sealedUnderCapability, sendEnvelope } from '../testing/mail.ts'
import { ask, payment } from '../testing/payments.ts'
import { Wire1Client } from '../testing/wire1.ts'
import { writeBackup } from './backup.ts'
import { checkClock } from './doctor-machine.ts'
import { FileLeases } from './leases.ts'
import { MANIFEST_FILE, type Manifest } from './manifest.ts'
import { backupFaults, restoreBackup } from './restore.ts'

const IDS_SKIPPED = 2 ** 32
const DAY_MS = 86_400_000
const LARGE_BYTES = 70_000

const folders: string[] = []
const hubs: TestHub[] = []
function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'svc-hub-backup-'))
  folders.push(made)
  return made
}
afterEach(async () => {
  for (const hub of hubs.splice(0)) await hub.close()
  for (const path of folders.splice(0)) rmSync(path, { recursive: true, force: true })
})

async function startHub(directory?: string): Promise<TestHub> {
  const hub = await startTestHub(directory === undefined ? {} : { directory })
  hubs.push(hub)
  // The clock of a restored hub begins anew, below the time that its store knows.
  if (directory !== undefined) hub.clock.advance(10_000)
  return hub
}

async function send(hub: TestHub, agent: TestAgent, contentBytes = 64): Promise<string> {
  const envelope = sealedUnderCapability(agent, agent.capability(), { contentBytes })
  expect((await sendEnvelope(hub, envelope)).json['status']).toBe('queued')
  return toBase64url(envelope.bytes)
}

function save(hub: TestHub, target: string, alone = false): Promise<Manifest> {
  return writeBackup({ directory: hub.directory, target, hub: hub.aid, now: hub.clock.now, random, alone })
}

const restoreTo = (backup: string, directory: string, now = Date.now) =>
  restoreBackup({ backup, directory, now, release: '0.3.0' })

/** A hub with one small and one large envelope waiting, and its backup. */
let hub: TestHub
let agent: TestAgent
let target: string
let envelopes: string[]
let empty: string
beforeAll(async () => {
  const base = mkdtempSync(join(tmpdir(), 'svc-hub-backup-'))
  const directory = join(base, 'data')
  const data = await openDataDirectory({
    directory,
    now: Date.now,
    timers: systemTimers,
    random,
    onBroken: () => undefined,
  })
  await data.close()
  empty = join(base, 'saved')
  await writeBackup({ directory, target: empty, hub: data.identity.aid, now: Date.now, random, alone: true })
  hub = await startTestHub()
  agent = await registeredAgent(hub)
  envelopes = [await send(hub, agent), await send(hub, agent, LARGE_BYTES)]
  target = join(base, 'of-running')
  await save(hub, target)
})
beforeEach(() => {
  agent.target = hub
})
afterAll(async () => {
  await hub.close()
  rmSync(join(empty, '..'), { recursive: true, force: true })
})

/** A backup of an empty store, for what goes wrong with files. */
function savedEmpty(): string {
  const target = join(folder(), 'saved')
  cpSync(empty, target, { recursive: true })
  return target
}

describe('a backup', () => {
  test('has the files of letters that the hub can read, and is faulty without one', async () => {
    const open = await startTestHub({ wires: [1] })
    hubs.push(open)
    const client = new Wire1Client(open)
    const { aid } = await client.registered()
    const payload = toBase64(random(LARGE_BYTES))
    const letter = { to_aid: aid, from_aid: 'whoever', kind: 'message', payload }
    expect((await client.post('/relay/send', letter)).status).toBe(200)
    const saved = join(folder(), 'open')
    const { files } = await save(open, saved)
    const [file] = files.filter(({ path }) => path.startsWith('open-blobs/'))
    expect(file?.bytes).toBe(LARGE_BYTES)
    const directory = join(folder(), 'new')
    await restoreTo(saved, directory)
    expect(statSync(join(directory, file?.path ?? '')).size).toBe(LARGE_BYTES)
    rmSync(join(saved, file?.path ?? ''))
    expect((await backupFaults(saved)).faults).not.toEqual([])
  })

  test('of a running hub is whole, private to its user, and restores to the same hub with the same mail', async () => {
    const { faults, manifest } = await backupFaults(target)
    expect(faults).toEqual([])
    expect(manifest.hub).toBe(hub.aid)
    const paths = readdirSync(target, { recursive: true }).map(path => join(target, String(path)))
    for (const path of [target, ...paths]) expect([path, statSync(path).mode & 0o077]).toEqual([path, 0])
    expect(readdirSync(join(target, '..')).sort()).toEqual(['data', 'of-running', 'saved'])

    const directory = join(folder(), 'new')
    await restoreTo(target, directory)
    const restored = await startHub(directory)
    expect(restored.aid).toBe(hub.aid)
    agent.target = restored
    const { messages } = await agent.poll()
    expect(messages.map(message => message.envelope)).toEqual(envelopes)
  })

  test('taken while mail is collected holds the file of every envelope that it holds', async () => {
    const hub = await startHub()
    const agent = await registeredAgent(hub)
    for (let i = 0; i < 3; i++) await send(hub, agent, LARGE_BYTES)
    const leases = new FileLeases([hub.running.hub.context.blobs], hub.running.hub.context)
    const lease = await leases.take()
    const writing = save(hub, join(folder(), 'saved'))
    const { messages } = await agent.poll()
    await agent.call('relayAck', { items: messages.map(({ id }) => ({ id })) })
    const manifest = await writing
    expect(manifest.missing).toBe(0)
    const stored = (): number =>
      readdirSync(join(hub.directory, 'blobs'), { recursive: true, withFileTypes: true }).filter(entry =>
        entry.isFile(),
      ).length
    expect(stored()).toBe(3)
    expect(await leases.end(lease)).toBe(true)
    expect([stored(), await leases.end(lease)]).toEqual([0, false])
  })

  test('that could not be restored is none: its folder goes', async () => {
    const place = folder()
    rmSync(join(hub.directory, 'identity.next'))
    await expect(save(hub, join(place, 'saved'))).rejects.toThrow(
      /no backup was made, because it could not be restored: .*identity\.next/,
    )
    expect(readdirSync(place)).toEqual([])
  })

  test('never overwrites, and does not go into the directory that it saves', async () => {
    const place = folder()
    await expect(save(hub, place)).rejects.toThrow(/already exists; choose a new folder/)
    await expect(save(hub, join(place, 'a', 'b'))).rejects.toThrow(/does not exist; create it/)
    const way = join(place, 'way')
    symlinkSync(hub.directory, way)
    for (const inside of [join(hub.directory, 'saved'), join(hub.directory, '..saved'), join(way, 'saved')])
      await expect(save(hub, inside)).rejects.toThrow(/choose a place outside/)
    rmSync(way)
    expect(readdirSync(place)).toEqual([])
  })
})

describe('what can not be saved is told of with its path', () => {
  test('a store of a newer release', async () => {
    const directory = join(folder(), 'newer')
    cpSync(join(empty, '..', 'data'), directory, { recursive: true })
    const db = openWriter(join(directory, 'hub.db'))
    db.exec('PRAGMA user_version = 99')
    db.close()
    const place = folder()
    const saving = writeBackup({
      directory,
      target: join(place, 'saved'),
      hub: hub.aid,
      now: Date.now,
      random,
      alone: true,
    })
    await expect(saving).rejects.toThrow(
      /newer\/hub\.db was written by a newer svc-hub: it has schema 99, and svc-hub \S+ knows up to \d+; install/,
    )
    expect(readdirSync(place)).toEqual([])
  })

  test.runIf(process.platform === 'linux')('a place where no folder can be made', async () => {
    await expect(save(hub, '/proc/x')).rejects.toThrow(/^\/proc\/x cannot be made: .*; choose another place$/)
  })
})

describe('a restored hub', () => {
  test('gives no message id twice: ids go on 2^32 above those of the backup', async () => {
    const before = (await agent.poll()).messages.map(({ id }) => id)
    // Lost with the hub: ids that were given out after the backup.
    await send(hub, agent)
    const lost = (await agent.poll()).messages.map(({ id }) => id).filter(id => !before.includes(id))
    const directory = join(folder(), 'new')
    await restoreTo(target, directory)
    const restored = await startHub(directory)
    agent.target = restored
    await send(restored, agent)
    const after = (await agent.poll()).messages.map(({ id }) => id)
    expect(after.slice(0, 2)).toEqual(before)
    expect(after[2]).toBe(IDS_SKIPPED + (lost[0] as number))
    const items = after.map(id => ({ id }))
    expect((await agent.call('relayAck', { items })).json['acked']).toBe(3)
    expect((await agent.poll({ after_id: after[2] as number })).messages).toEqual([])
  })

  test('takes no request that its lost self may have taken: every floor lies at the restore', async () => {
    const taken = agent.nextTs()
    const directory = join(folder(), 'new')
    // The machine that restores has a clock that is an hour ahead of the backup, and then loses that hour.
    await restoreTo(target, directory, () => hub.clock.now() + 3_600_000)
    const restored = await startHub(directory)
    const body = Buffer.from('{}')
    const given = {
      action: 'poll',
      aid: agent.aid,
      hub: restored.aid,
      ts: taken,
      method: 'POST',
      path: '/relay/poll',
      body,
    }
    const headers = signRequest(given, { seed: agent.seed, seq: agent.log.seq })
    const reply = await request(`${restored.url}/relay/poll`, 'POST', { headers: { ...headers }, body })
    expect([reply.status, reply.json['reason']]).toEqual([401, 'ts_stale'])
    expect(Number(reply.json['floor'])).toBeGreaterThanOrEqual(hub.clock.now() + 3_500_000)
  })

  test('settles no payment from before it: its lost self may have', async () => {
    const first = await startHub()
    const [alice, bob] = [await registeredAgent(first), await registeredAgent(first)]
    const saved = join(folder(), 'saved')
    await save(first, saved)
    const lost = payment(alice, bob, 5)
    expect((await ask(first, 'x402Settle', lost.request)).json['success']).toBe(true)
    const directory = join(folder(), 'new')
    first.clock.advance(1000)
    await restoreTo(saved, directory, first.clock.now)
    const restored = await startHub(directory)
    expect((await ask(restored, 'x402Settle', lost.request)).json['errorReason']).toBe('expired')
    alice.target = restored
    expect((await ask(restored, 'x402Settle', payment(alice, bob, 5).request)).json['success']).toBe(true)
  })

  test('is not made of books that do not agree, which cannot be saved', async () => {
    const directory = join(folder(), 'new')
    await restoreTo(target, directory)
    const db = openWriter(join(directory, 'hub.db'))
    db.run('UPDATE ledger_totals SET agents = agents + 1, issued = issued + 1')
    db.close()
    const saved = join(folder(), 'saved')
    await expect(
      writeBackup({ directory, target: saved, hub: hub.aid, now: Date.now, random, alone: true }),
    ).rejects.toThrow('hub.db: the accounts of the ledger do not sum up to its totals')
  })

  test('is made in an empty directory only', async () => {
    const target = savedEmpty()
    const directory = folder()
    writeFileSync(join(directory, 'mine'), 'kept')
    await expect(restoreTo(target, directory)).rejects.toThrow(/is not empty; give an empty or a new one/)
    expect(readdirSync(directory)).toEqual(['mine'])
  })

  test('is repeated where one that was killed left its files, and not where one was done', async () => {
    const target = savedEmpty()
    const directory = folder()
    mkdirSync(join(directory, 'blobs', 'ab'), { recursive: true })
    writeFileSync(join(directory, 'blobs', 'ab', 'half'), 'half of it')
    writeFileSync(join(directory, 'hub.db'), 'torn')
    writeFileSync(join(directory, 'restoring'), '')
    await restoreTo(target, directory)
    expect(readdirSync(directory)).not.toContain('restoring')
    expect(existsSync(join(directory, 'blobs', 'ab', 'half'))).toBe(false)
    await expect(restoreTo(target, directory)).rejects.toThrow(/is not empty/)
  })

  test('takes nothing away that no restore writes, although a mark says that one was killed there', async () => {
    const directory = folder()
    writeFileSync(join(directory, 'restoring'), '')
    writeFileSync(join(directory, 'hub.db'), 'torn')
    writeFileSync(join(directory, 'mine'), 'kept')
    await expect(restoreTo(savedEmpty(), directory)).rejects.toThrow(/is not empty/)
    expect(readdirSync(directory).toSorted()).toEqual(['hub.db', 'mine', 'restoring'])
  })

  test('does not start from a restore that did not finish', async () => {
    const directory = folder()
    writeFileSync(join(directory, 'restoring'), '')
    const opening = openDataDirectory({
      directory,
      now: Date.now,
      timers: systemTimers,
      random,
      onBroken: () => undefined,
    })
    await expect(opening).rejects.toThrow(/unfinished restore; run it again: svc-hub restore/)
  })
})

describe('restore --check', () => {
  const damage: [string, (backup: string) => void, RegExp][] = [
    ['a flipped byte', backup => flip(join(backup, 'hub.db')), /hub\.db differs from what was saved/],
    ['a missing file', backup => rmSync(join(backup, 'identity.next')), /identity\.next is missing/],
    [
      'a shortened file',
      backup => writeFileSync(join(backup, 'identity.kel'), ''),
      /identity\.kel differs from what/,
    ],
  ]
  test.each(damage)('finds %s, and nothing is restored', async (_, spoil, why) => {
    const target = savedEmpty()
    spoil(target)
    expect((await backupFaults(target)).faults.join()).toMatch(why)
    const directory = join(folder(), 'new')
    await expect(restoreTo(target, directory)).rejects.toThrow(why)
    expect(existsSync(directory)).toBe(false)
  })

  test('tells what can not be read from what is not there', async () => {
    const nowhere = join(folder(), 'nowhere')
    await expect(backupFaults(nowhere)).rejects.toThrow(`${nowhere} does not exist; give a folder`)
    const target = savedEmpty()
    rmSync(join(target, 'identity.next'))
    mkdirSync(join(target, 'identity.next'))
    expect((await backupFaults(target)).faults).toEqual(['identity.next cannot be read: it is a folder'])
    rmSync(join(target, MANIFEST_FILE))
    mkdirSync(join(target, MANIFEST_FILE))
    await expect(backupFaults(target)).rejects.toThrow(/manifest\.json cannot be read: it is a folder; run/)
  })

  test.each([
    ['no manifest', undefined, /contains no manifest/],
    ['a torn manifest', '{"format": "svc-hub', /not a manifest of this release/],
    ['a path outside', { path: '../identity.kel' }, /not a manifest of this release/],
    ['a path of another kind', { path: 'blobs/00/../../identity.kel' }, /not a manifest of this release/],
  ])('refuses a folder with %s', async (_, content, why) => {
    const backup = folder()
    const file = { path: 'hub.db', bytes: 1, sha256: '0'.repeat(64) }
    const whole = { format: 'svc-hub-backup/1', release: '0.3.0', schema: 1, hub: '', made_ms: 0, missing: 0 }
    const text =
      typeof content === 'object' ? JSON.stringify({ ...whole, files: [{ ...file, ...content }] }) : content
    if (text !== undefined) writeFileSync(join(backup, MANIFEST_FILE), text)
    await expect(backupFaults(backup)).rejects.toThrow(why)
  })

  test('refuses a backup of a newer schema, naming the release that it needs', async () => {
    const target = savedEmpty()
    editManifest(target, manifest => ({ ...manifest, schema: 99, release: '9.9.9' }))
    await expect(backupFaults(target)).rejects.toThrow(StoreRefused)
    await expect(restoreTo(target, join(folder(), 'new'))).rejects.toThrow(
      /newer svc-hub: it has schema 99, and svc-hub \S+ knows up to \d+; install svc-hub 9\.9\.9 or newer$/,
    )
  })

  test('sees a manifest that names another hub, and rows whose files were never saved', async () => {
    const spoiled = join(folder(), 'saved')
    cpSync(target, spoiled, { recursive: true })
    const other = JSON.parse(readFileSync(join(empty, MANIFEST_FILE), 'utf8')) as Manifest
    editManifest(spoiled, manifest => ({
      ...manifest,
      hub: other.hub,
      files: manifest.files.filter(({ path }) => !path.startsWith('blobs/')),
    }))
    expect((await backupFaults(spoiled)).faults).toEqual([
      'the identity is not that of the hub that was saved',
      '1 envelopes lack their files',
    ])
  })
})

test('a hub that was restored under a clock that ran ahead is restored once more under the right one', async () => {
  const [ahead, again] = [join(folder(), 'ahead'), join(folder(), 'again')]
  await restoreTo(target, ahead, () => Date.now() + DAY_MS)
  const nowMs = hub.clock.now() + 1
  await restoreTo(target, again, () => nowMs)
  const known = (directory: string) =>
    Number(
      inspectDatabase(join(directory, 'hub.db'), { deep: false, alone: true }).settings.get(CLOCK_SETTING),
    )
  expect(checkClock(known(ahead), nowMs)).toMatchObject({
    state: 'wrong',
    found: expect.stringMatching(/docs\/host\/problems\.md has the way out/),
    mend: 'set the clock: timedatectl set-ntp true',
  })
  expect(checkClock(known(again), nowMs).state).toBe('ok')
})

test('a restore under a clock behind the backup sets no floor in the past: it lies at the backup', async () => {
  const { made_ms: madeMs } = (await backupFaults(target)).manifest
  const directory = join(folder(), 'behind')
  await restoreTo(target, directory, () => madeMs - DAY_MS)
  const db = openReader(join(directory, 'hub.db'))
  const { lowest } = db.one<{ lowest: number }>('SELECT min(floor_ms) AS lowest FROM account') ?? {}
  db.close()
  expect(lowest).toBe(madeMs)
  const { settings } = inspectDatabase(join(directory, 'hub.db'), { deep: false, alone: true })
  expect(Number(settings.get(CLOCK_SETTING))).toBeGreaterThanOrEqual(madeMs)
})

test('a backup of an older schema is migrated when it is restored', async () => {
  const target = savedEmpty()
  const path = join(target, 'hub.db')
  const before = openReader(path)
  const newest = before.one<{ user_version: number }>('PRAGMA user_version')
  before.close()
  rmSync(path)
  const db = openWriter(path)
  migrate(db, path, { release: '0.3.0', migrations: readMigrations().slice(0, 2) })
  db.exec('PRAGMA journal_mode = DELETE')
  db.close()
  const bytes = readFileSync(path)
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  editManifest(target, manifest => ({
    ...manifest,
    schema: 2,
    files: manifest.files.map(file =>
      file.path === 'hub.db' ? { ...file, bytes: bytes.length, sha256 } : file,
    ),
  }))
  const directory = join(folder(), 'new')
  mkdirSync(directory)
  await restoreTo(target, directory)
  const after = openReader(join(directory, 'hub.db'))
  expect(after.one('PRAGMA user_version')).toEqual(newest)
  after.close()
})

function flip(path: string): void {
  const bytes = readFileSync(path)
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1
  writeFileSync(path, bytes)
}

function editManifest(backup: string, change: (manifest: Manifest) => Manifest): void {
  const path = join(backup, MANIFEST_FILE)
  writeFileSync(path, JSON.stringify(change(JSON.parse(readFileSync(path, 'utf8')) as Manifest)))
}
