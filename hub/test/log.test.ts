// project: programs

/** What the built program writes to stderr, and what its commands refuse. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CLOCK_SETTING } from '../core/clocks.ts'
import { unwritable } from '../directory-access.ts'
import { orderRunningHub } from '../operator/socket.ts'
import { openWriter } from '../store/sqlite/database.ts'
import { bundledProgram } from '../testing/bundle.ts'

const NOBODY = 65_534
const AID = 'AWsi2Pqf59Kzi3iYZVthg8j0vdQ2GBhgkrg_hcEG5Mkg'
let folder: string
let program: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'svc-hub-log-'))
  program = await bundledProgram()
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

type Line = { time: string; level: string; event: string; [fact: string]: unknown }

/** What a function says whose hub needs no signal: one that is about to end may have given up its handlers. */
const ENDS_ALONE = 'ends alone'

/** A hub that serves until it is told to end or ends by itself. */
async function served(
  env: Record<string, string>,
  whileServing: (directory: string, url: string) => Promise<unknown>,
  before: (directory: string) => void = () => undefined,
) {
  const directory = mkdtempSync(join(folder, 'hub-'))
  before(directory)
  const args = [program, 'serve', '--listen', '127.0.0.1:0', '--data-dir', directory]
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const errors = text(child.stderr)
  const first = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next()
  child.stdout.resume()
  let endsAlone = false
  try {
    endsAlone =
      (await whileServing(directory, /http:\S+/.exec(String(first.value))?.[0] ?? '')) === ENDS_ALONE
  } finally {
    if (!endsAlone) child.kill('SIGTERM')
  }
  const [code] = (await once(child, 'exit')) as [number]
  const lines = (await errors)
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as Line)
  return { code, lines, directory }
}

/** A hub with a registry row that cannot be read, and a clock that was an hour ahead. */
function spoiled(directory: string): void {
  run('init', '--data-dir', directory)
  const db = openWriter(join(directory, 'hub.db'))
  db.run(
    'INSERT INTO agent (aid, version, registered, name, caps, summary, readme, visibility, kel, before_until_ms,' +
      " registered_day_ms, probation_until_ms, seen_hour_ms) VALUES (?, 1, 1, '', 'no JSON', '', '', 'public', x'', 0, 0, 0, 0)",
    AID,
  )
  db.run(
    'INSERT OR REPLACE INTO setting (name, value) VALUES (?, ?)',
    CLOCK_SETTING,
    String(Date.now() + 3_600_000),
  )
  db.close()
}

function run(...args: string[]) {
  const ran = spawnSync(process.execPath, [program, ...args], { cwd: folder, encoding: 'utf8' })
  return { code: ran.status, out: ran.stdout, err: ran.stderr }
}

describe('the log of the built hub', () => {
  test('has a start and an end, with their times and the reason', async () => {
    const { code, lines, directory } = await served({}, async () => undefined)
    expect(code).toBe(0)
    expect(lines.map(({ level, event }) => `${level} ${event}`)).toEqual([
      'info started',
      'info stopping',
      'info stopped',
    ])
    expect(lines[0]).toMatchObject({ wire: 3, data_dir: directory, aid: expect.stringMatching(/^A/) })
    expect(lines[1]).toMatchObject({ why: 'SIGTERM' })
    for (const { time } of lines) expect(Math.abs(Date.parse(time) - Date.now())).toBeLessThan(60_000)
  })

  test('has a line for each order that changed something, also where no hub runs', async () => {
    const { lines, directory } = await served({}, async directory => {
      for (const command of ['admit', 'block'] as const)
        expect(await orderRunningHub(directory, { command, aid: AID })).toMatchObject({ ok: true })
    })
    const orders = lines.filter(({ event }) => event === 'order')
    expect(orders.map(({ command, aid }) => [command, aid])).toEqual([
      ['admit', AID],
      ['block', AID],
    ])
    const ran = run('unblock', AID, '--data-dir', directory)
    expect(JSON.parse(ran.out)).toEqual({ aid: AID, admitted: true, blocked: false, registered: false })
    expect(JSON.parse(ran.err)).toMatchObject({ event: 'order', command: 'unblock', aid: AID })
    expect(run('agents', '--data-dir', directory).err).toBe('')
  })

  test('has each internal error with the id of its line and no word of the request, and a clock that was set back', async () => {
    const { lines } = await served(
      {},
      async (directory, url) => {
        const answer = await fetch(`${url}/agents`)
        expect([answer.status, ((await answer.json()) as { reason: string }).reason]).toEqual([
          500,
          'internal',
        ])
        expect(directory).not.toBe('')
      },
      spoiled,
    )
    const failed = lines.find(({ event }) => event === 'request failed')
    expect(failed).toMatchObject({ level: 'error', id: expect.stringMatching(/^[0-9a-f]{12}$/) })
    expect(Object.keys(failed ?? {}).sort()).toEqual(['error', 'event', 'id', 'level', 'time'])
    const set = lines.find(({ event }) => event === 'the clock was set back')
    expect(set).toMatchObject({ level: 'warn', behind_ms: expect.any(Number) })
  })

  test.runIf(existsSync('/dev/full'))('that finds no room ends no hub', async () => {
    const directory = mkdtempSync(join(folder, 'full-'))
    const full = openSync('/dev/full', 'w')
    const args = [program, 'serve', '--listen', '127.0.0.1:0', '--data-dir', directory]
    const child = spawn(process.execPath, args, { stdio: ['ignore', full, full] })
    closeSync(full)
    const exited = once(child, 'exit')
    try {
      const admitted = () => orderRunningHub(directory, { command: 'admit', aid: AID }).catch(() => undefined)
      await expect.poll(admitted, { timeout: 60_000 }).toMatchObject({ ok: true })
      expect(await orderRunningHub(directory, { command: 'stats' })).toMatchObject({ ok: true })
    } finally {
      child.kill('SIGTERM')
    }
    expect(await exited).toEqual([0, null])
  })

  test('says why a hub ends by itself', async () => {
    const env = { SVC_FAULT_FLUSH: 'hub.group.commit:8' }
    const { code, lines } = await served(env, async directory => {
      const admit = () => orderRunningHub(directory, { command: 'admit', aid: AID })
      for (let i = 0; i < 10; i++) if ((await admit().catch(() => undefined))?.ok !== true) return ENDS_ALONE
      return 'goes on'
    })
    expect(code).toBe(1)
    expect(lines.map(({ event }) => event)).toContain('the store failed; no more writes')
    expect(lines.find(({ event }) => event === 'stopping')).toMatchObject({ why: 'the store failed' })
  })
})

describe('a folder without a hub', () => {
  test.each([
    ['admit', AID],
    ['unadmit', AID],
    ['agents'],
    ['agents', 'show', AID],
    ['block', AID],
    ['unblock', AID],
    ['remove', AID],
    ['ranges'],
    ['ranges', 'refuse', '192.0.2.0/24'],
    ['quota', AID],
    ['rotate'],
    ['stats'],
    ['admission'],
    ['admission', 'open'],
  ])('is refused by %s %s, and nothing is created there', (...args) => {
    const ran = run(...args)
    expect(ran.err).toMatch(/there is no hub in .*svc-hub-data; name its data directory with --data-dir/)
    expect(ran.err).toMatch(/svc-hub init --data-dir/)
    expect(ran.code).not.toBe(0)
    expect(existsSync(join(folder, 'svc-hub-data'))).toBe(false)
  })
})

describe('a directory that cannot be written', () => {
  const asNobody = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {}

  test.each(['serve', 'init'])('is named as that by %s', command => {
    const closed = mkdtempSync(join(folder, 'closed-'))
    chmodSync(closed, 0o500)
    chmodSync(folder, 0o755)
    const args = [program, command, '--data-dir', join(closed, 'data')]
    const listen = command === 'serve' ? ['--listen', '127.0.0.1:0'] : []
    const ran = spawnSync(process.execPath, [...args, ...listen], { encoding: 'utf8', ...asNobody })
    expect(ran.stderr).toMatch(/this user cannot write to .*; run svc-hub as the owner/)
    expect(ran.stderr).not.toMatch(/at \w+ \(|EACCES/)
    expect(ran.status).toBe(78)
  })

  test('is named as that by the doctor', () => {
    // Where another user can look in, but not write.
    const outside = mkdtempSync('/tmp/svc-doctored-')
    const data = join(outside, 'data')
    expect(run('init', '--data-dir', data).code).toBe(0)
    chmodSync(outside, 0o755)
    chmodSync(data, 0o755)
    const ran = spawnSync(process.execPath, [program, 'doctor', '--data-dir', data], {
      encoding: 'utf8',
      ...asNobody,
    })
    rmSync(outside, { recursive: true })
    if (process.getuid?.() !== 0) return
    expect(ran.stdout).toMatch(/this user cannot write to .*doctored/)
    expect(ran.stdout).not.toMatch(/from a backup/)
    expect(ran.status).toBe(1)
  })

  test.runIf(process.platform === 'linux')('because it is mounted read-only is told as that', () => {
    // what no user may write
    const place = '/sys/fs'
    expect(unwritable(place, 'EROFS')).toEqual({
      found: `the file system of ${place} is read-only`,
      next: expect.stringContaining('mount it for writing again'),
    })
  })

  test('that is a file is refused in words', () => {
    const file = join(folder, 'file')
    writeFileSync(file, '')
    mkdirSync(join(folder, 'other'), { recursive: true })
    expect(run('init', '--data-dir', file).err).toMatch(/file is no folder; give another --data-dir/)
  })
})
