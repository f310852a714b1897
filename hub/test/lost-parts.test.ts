/** A data directory that lost a part of its hub: nothing makes another hub of it, and every command names what is missing. */
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemTimers } from '../../protocol/timers.ts'
import { main } from '../cli/main.ts'
import { announcement } from '../cli/serving.ts'
import { readConfig } from '../config.ts'
import { systemRandom } from '../core/random.ts'
import { openDataDirectory } from '../data-dir.ts'
import { examine } from '../operator/doctor.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-hub-parts-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const whole = join(folder, 'whole')

const open = (directory: string) =>
  openDataDirectory({
    directory,
    now: Date.now,
    timers: systemTimers,
    random: systemRandom,
    onBroken: () => undefined,
  })
const configOf = (dataDir: string) => readConfig({ dataDir, listen: '127.0.0.1:0' }, {})

async function say(argv: string[]): Promise<{ code: number; err: string }> {
  let err = ''
  const code = await main(argv, {
    out: () => undefined,
    err: text => {
      err += text
    },
  })
  return { code, err }
}

beforeAll(async () => (await open(whole)).close())

const losses: [string, string[], RegExp][] = [
  [
    'the identity',
    ['identity.kel'],
    /identity\.kel is missing from .*; copy identity\.kel there from a backup/,
  ],
  [
    'both keys',
    ['identity.kel', 'identity.next'],
    /identity\.kel is missing .* without it this would be another/,
  ],
  [
    'the store',
    ['hub.db', 'hub.db-wal', 'hub.db-shm'],
    /hub\.db is missing .*; restore a backup, .*: svc-hub restore/,
  ],
  [
    'all but its files',
    ['identity.kel', 'identity.next', 'hub.db', 'hub.db-wal', 'hub.db-shm'],
    /identity\.kel and hub\.db are missing/,
  ],
]

test.each(losses)('a directory that lost %s is refused by all and stays as it is', async (_, lost, why) => {
  const directory = mkdtempSync(join(folder, 'lost-'))
  cpSync(whole, directory, { recursive: true })
  for (const name of lost) rmSync(join(directory, name), { force: true })
  const before = readdirSync(directory).sort()
  const at = ['--data-dir', directory]
  for (const argv of [
    ['serve', '--listen', '127.0.0.1:0'],
    ['init'],
    ['agents'],
    ['stats'],
    ['rotate'],
    ['backup', join(folder, 'backup')],
  ]) {
    const { code, err } = await say([...argv, ...at])
    expect([argv[0], code]).toEqual([argv[0], 1])
    expect(err).toMatch(why)
    expect(err.trim().split('\n')).toHaveLength(1)
  }
  const found = (await examine(() => configOf(directory))).find(({ state }) => state === 'wrong')
  expect(`${found?.found}; ${found?.mend}`).toMatch(why)
  expect(readdirSync(directory).sort()).toEqual(before)
})

test('a store that was emptied is a lost one', async () => {
  const directory = mkdtempSync(join(folder, 'emptied-'))
  cpSync(whole, directory, { recursive: true })
  truncateSync(join(directory, 'hub.db'))
  await expect(open(directory)).rejects.toThrow(/hub\.db is missing/)
})

test('a first start that was cut off is taken up again; a configuration alone is no hub yet', async () => {
  const directory = mkdtempSync(join(folder, 'cut-'))
  writeFileSync(join(directory, 'config.json'), '{}')
  const first = await open(directory)
  await first.close()
  expect(existsSync(join(directory, 'creating'))).toBe(false)
  writeFileSync(join(directory, 'creating'), '')
  rmSync(join(directory, 'hub.db'))
  const second = await open(directory)
  expect([second.created, second.identity.aid]).toEqual([false, first.identity.aid])
  await second.close()
  expect(existsSync(join(directory, 'creating'))).toBe(false)
})

test('a start that made a new hub says so', () => {
  const config = configOf(folder)
  const told = {
    url: 'http://127.0.0.1:1',
    baseUrl: 'http://127.0.0.1:1',
    aid: 'A',
    admission: 'closed' as const,
    operatorUrl: undefined,
  }
  expect(announcement(config, { ...told, created: true }).join('\n')).toMatch(/a new identity was made/)
  expect(announcement(config, { ...told, created: false }).join('\n')).not.toMatch(/new/)
})

test.runIf(process.platform === 'linux')(
  'a place where no folder can be made is refused, not tried for ever',
  { timeout: 10_000 },
  async () => {
    const { code, err } = await say(['init', '--data-dir', '/proc/nope/data'])
    expect([code, err]).toEqual([
      78,
      expect.stringMatching(/cannot write to \/proc\/nope\/data; run svc-hub as/),
    ])
  },
)
