/** Files of a hub that are damaged or belong to another user: one sentence names the file and says what to do. */
import { cpSync, mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { main } from '../cli/main.ts'
import { readConfig } from '../config.ts'
import { systemRandom } from '../core/random.ts'
import { openDataDirectory } from '../data-dir.ts'
import { examine } from '../operator/doctor.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-hub-broken-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const whole = join(folder, 'whole')
beforeAll(async () => {
  const opened = { directory: whole, now: Date.now, random: systemRandom, onBroken: () => undefined }
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

const damages: [string, (directory: string) => void, RegExp][] = [
  [
    'a truncated identity.kel',
    directory => truncateSync(join(directory, 'identity.kel'), 20),
    /^svc-hub: \S+identity\.kel cannot be read: .*; restore identity\.kel and identity\.next from a backup/,
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

test('the doctor makes no lock where none lies', async () => {
  const directory = copy()
  rmSync(join(directory, 'lock'))
  const before = readdirSync(directory).sort()
  const findings = await look(directory)
  expect(findings.find(({ check }) => check === 'process')?.found).toMatch(/no hub is running/)
  expect(readdirSync(directory).sort()).toEqual(before)
})
