// project: programs

import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, expect, test } from 'vitest'
/** Files of a hub that are damaged or belong to another user: one sentence names the file and says what to do. */
import { systemTimers } from '../../protocol/timers.ts'
import { main } from '../cli/main.ts'
import { readConfig } from '../config.ts'
import { systemRandom } from '../core/random.ts'
import { openDataDirectory } from '../data-dir.ts'
import { examine } from '../operator/doctor.ts'
import { backupFaults } from '../operator/restore.ts'
import { bundledProgram } from '../testing/bundle.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-hub-broken-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const whole = join(folder, 'whole')
beforeAll(async () => {
  const outside = { now: Date.now, timers: systemTimers, random: systemRandom }
  const opened = { directory: whole, ...outside, onBroken: () => undefined }
  await (await openDataDirectory(opened)).close()
})

function copy(): string {
  const directory = mkdtempSync(join(folder, 'copy-'))
  cpSync(whole, directory, { recursive: true })
  return directory
}

async function say(...argv: string[]): Promise<{ code: number; err: string }> {
  let err = ''
  const code = await main(argv, {
    out: () => undefined,
    err: text => {
      err += text
    },
  })
  return { code, err }
}

const look = (dataDir: string) => examine(() => readConfig({ dataDir }, {}))

/** Where the private key stands in identity.kel. */
const [SEED_FIRST, SEED_LAST] = [6, 37]
const NOT_ITS_KEY =
  'its private key is not the one that its key history names; restore identity.kel and identity.next from a backup'

/** Overwrites the page at which a table or an index begins. */
function smashRoot(directory: string, name: string): void {
  const path = join(directory, 'hub.db')
  const db = new DatabaseSync(path, { readOnly: true })
  const { page } = db.prepare('SELECT rootpage AS page FROM sqlite_schema WHERE name = ?').get(name) as {
    page: number
  }
  db.close()
  const bytes = readFileSync(path)
  bytes.fill(0xa5, (page - 1) * 4096, page * 4096)
  writeFileSync(path, bytes)
}

test.each(['agent_listed', 'ledger_hold_open', 'setting'])(
  'a store that is damaged at %s is refused at the start, with what to do, and is not said to be served',
  async name => {
    const directory = copy()
    smashRoot(directory, name)
    const { code, err, out } = await startOn(directory)
    expect([code, out]).toEqual([1, ''])
    expect(err).toMatch(
      new RegExp(
        `^svc-hub: ${directory}/hub.db cannot be used: .* is malformed; keep this directory aside`,
        'm',
      ),
    )
  },
)

/** What a hub says that ends by itself. */
async function startOn(directory: string): Promise<{ code: number | null; out: string; err: string }> {
  const argv = [await bundledProgram(), 'serve', '--listen', '127.0.0.1:0', '--data-dir', directory]
  const { status, stdout, stderr } = spawnSync(process.execPath, argv, { encoding: 'utf8', timeout: 20_000 })
  return { code: status, out: stdout, err: stderr }
}

function flipBit(path: string, offset: number): void {
  const bytes = readFileSync(path)
  bytes[offset] = (bytes[offset] ?? 0) ^ 1
  writeFileSync(path, bytes)
}

const damages: [string, (directory: string) => void, RegExp][] = [
  [
    'a truncated identity.kel',
    directory => truncateSync(join(directory, 'identity.kel'), 20),
    /^svc-hub: \S+identity\.kel cannot be used: .*; restore identity\.kel and identity\.next from a backup/,
  ],
  [
    'one bit in the private key',
    directory => flipBit(join(directory, 'identity.kel'), SEED_LAST),
    new RegExp(`^svc-hub: \\S+identity\\.kel cannot be used: ${NOT_ITS_KEY}`),
  ],
  [
    'garbage for a store',
    directory => writeFileSync(join(directory, 'hub.db'), 'garbage'.repeat(1000)),
    /^svc-hub: \S+hub\.db cannot be used: file is not a database; keep this directory aside, and restore/,
  ],
  [
    'a store whose tables are gone',
    directory => {
      const db = new DatabaseSync(join(directory, 'hub.db'))
      db.exec('DROP TABLE setting')
      db.close()
    },
    /^svc-hub: \S+hub\.db cannot be used: no such table.*; keep this directory aside/,
  ],
  [
    'a database of something else',
    directory => {
      rmSync(join(directory, 'hub.db'))
      const db = new DatabaseSync(join(directory, 'hub.db'))
      db.exec('CREATE TABLE other (a)')
      db.close()
    },
    /^svc-hub: \S+hub\.db holds no store of a hub; restore a backup/,
  ],
  [
    'garbage for a lock',
    directory => writeFileSync(join(directory, 'lock'), 'garbage'.repeat(1000)),
    /^svc-hub: \S+lock is damaged; remove it while no svc-hub uses/,
  ],
]

test.each(damages)('%s is named, with what to do', async (_, damage, why) => {
  const directory = copy()
  damage(directory)
  for (const argv of [['serve', '--listen', '127.0.0.1:0'], ['stats']]) {
    const { code, err } = await say(...argv, '--data-dir', directory)
    expect([argv[0], code, err]).toEqual([argv[0], 1, expect.stringMatching(why)])
    expect(err.trim().split('\n')).toHaveLength(1)
  }
  expect((await look(directory)).filter(({ state }) => state === 'wrong')).not.toEqual([])
})

test.each([SEED_FIRST, SEED_LAST])('one bit of byte %i of identity.kel makes no backup', async offset => {
  const directory = copy()
  const [before, after] = [join(folder, `before-${offset}`), join(folder, `after-${offset}`)]
  expect(await say('backup', before, '--data-dir', directory)).toEqual({ code: 0, err: '' })
  flipBit(join(directory, 'identity.kel'), offset)
  const { code, err } = await say('backup', after, '--data-dir', directory)
  expect([code, err, existsSync(after)]).toEqual([1, expect.stringContaining(NOT_ITS_KEY), false])
  const identity = (await look(directory)).find(({ check }) => check === 'identity')
  expect([identity?.state, `${identity?.found}; ${identity?.mend}`]).toEqual([
    'wrong',
    expect.stringContaining(NOT_ITS_KEY),
  ])
  expect(await say('restore', '--check', before)).toEqual({ code: 0, err: '' })
  // One that was made of the damaged file, by a release that did not look.
  cpSync(join(directory, 'identity.kel'), join(before, 'identity.kel'))
  listAnew(before, 'identity.kel')
  expect((await say('restore', '--check', before)).code).toBe(1)
  expect((await backupFaults(before)).faults).toEqual([
    'identity.kel cannot be used: its private key is not the one that its key history names',
  ])
})

test('a next key to which the hub did not commit makes no backup', async () => {
  const directory = copy()
  flipBit(join(directory, 'identity.next'), SEED_LAST)
  const { code, err } = await say('backup', join(folder, 'next'), '--data-dir', directory)
  expect([code, err]).toEqual([
    1,
    expect.stringMatching(/could not be restored: identity\.next does not hold the key to which the history/),
  ])
})

/** Makes a manifest name a file as it is now. */
function listAnew(backup: string, path: string): void {
  const at = join(backup, 'manifest.json')
  const manifest = JSON.parse(readFileSync(at, 'utf8')) as { files: { path: string; sha256: string }[] }
  const sha256 = createHash('sha256')
    .update(readFileSync(join(backup, path)))
    .digest('hex')
  const files = manifest.files.map(file => (file.path === path ? { ...file, sha256 } : file))
  writeFileSync(at, JSON.stringify({ ...manifest, files }))
}

test('the doctor makes no lock where none lies', async () => {
  const directory = copy()
  rmSync(join(directory, 'lock'))
  const before = readdirSync(directory).sort()
  const findings = await look(directory)
  expect(findings.find(({ check }) => check === 'process')?.found).toMatch(/no hub is running/)
  expect(readdirSync(directory).sort()).toEqual(before)
})
