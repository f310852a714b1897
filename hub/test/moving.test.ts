// project: programs

/** A hub on another machine or under another release: settings that no backup holds, schemas, a missing disk, a wrong clock. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openWriter } from '../store/sqlite/database.ts'
import { migrate, readMigrations } from '../store/sqlite/migrate.ts'
import { runHub, startHubChild } from '../testing/process.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-hub-moving-'))
const directory = join(folder, 'data')
const at = ['--data-dir', directory]
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const json = (text: string): Record<string, unknown> => JSON.parse(text) as Record<string, unknown>

beforeAll(async () => {
  expect((await runHub(['init', ...at])).code).toBe(0)
})

describe('settings outside the data directory', () => {
  const file = join(folder, 'elsewhere.json')
  const env = { SVC_HUB_CONFIG: file, SVC_HUB_CONTACT: 'private@hub.example', SVC_HUB_LIMITS: '{}' }
  const outside = [file, 'SVC_HUB_CONTACT', 'SVC_HUB_LIMITS']
  const note = expect.stringMatching(
    /^outside: these settings stood outside .* give them to the restored hub$/,
  )
  beforeAll(() => writeFileSync(file, '{"name": "Private Name"}'))

  test('are named, and never shown, by backup, check and restore', async () => {
    const saved = join(folder, 'of-stopped')
    const made = await runHub(['backup', saved, ...at], { env })
    const checked = await runHub(['restore', '--check', saved])
    const restored = await runHub(['restore', saved, '--data-dir', join(folder, 'restored')])
    for (const { code, stdout } of [made, checked, restored]) {
      expect([code, json(stdout)]).toEqual([0, expect.objectContaining({ outside })])
      expect(json(stdout)['notes']).toContainEqual(note)
    }
    const shown = [made, checked, restored].map(({ stdout }) => stdout).join('')
    expect(shown + readFileSync(join(saved, 'manifest.json'), 'utf8')).not.toMatch(/private@|Private Name/)
  })

  test('are those of the hub that runs, whatever the command was given', async () => {
    const hub = await startHubChild(directory, { env })
    const made = await runHub(['backup', join(folder, 'of-running'), ...at], {
      env: { SVC_HUB_NAME: 'another' },
    })
    hub.kill('SIGTERM')
    await hub.exited
    expect(json(made.stdout)['outside']).toEqual([...outside, '--listen'])
  })

  test('are none where the configuration lies in the data directory, and nothing is noted then', async () => {
    writeFileSync(join(directory, 'config.json'), '{"name": "Inside"}')
    const made = json((await runHub(['backup', join(folder, 'inside'), ...at])).stdout)
    expect([made['outside'], made['notes'], made['missing']]).toEqual([undefined, undefined, 0])
  })

  test('peers stand in the directory, and a hub that is put back has them', async () => {
    const peers = '{"peers":[]}\n'
    writeFileSync(join(directory, 'federation.json'), peers)
    const [saved, back] = [join(folder, 'with-peers'), join(folder, 'back-with-peers')]
    await runHub(['backup', saved, ...at])
    expect((await runHub(['restore', saved, '--data-dir', back])).code).toBe(0)
    expect(readFileSync(join(back, 'federation.json'), 'utf8')).toBe(peers)
    expect(json((await runHub(['peers', '--data-dir', back])).stdout)).toMatchObject({ peers: [] })
  })

  test('a list of peers that cannot be used holds up the orders about peers alone', async () => {
    const list = join(directory, 'federation.json')
    writeFileSync(list, '{')
    const asked = await runHub(['peers', ...at])
    expect([asked.code, asked.stderr]).toEqual([1, expect.stringContaining(`${list} cannot be used`)])
    expect((await runHub(['stats', ...at])).code).toBe(0)
    rmSync(list)
  })
})

describe('a store of an older schema', () => {
  const older = join(folder, 'older')
  const path = join(older, 'hub.db')
  const newest = readMigrations().length
  beforeAll(async () => {
    await runHub(['init', '--data-dir', older])
    rmSync(path)
    const db = openWriter(path)
    migrate(db, path, { release: '0.2.0', migrations: readMigrations().slice(0, newest - 1) })
    db.close()
  })

  test('is left as it is by orders and init, whose refusal names serve', async () => {
    const before = readFileSync(path)
    for (const command of ['agents ls', 'stats', 'admission open', 'init']) {
      const { code, stderr } = await runHub([...command.split(' '), '--data-dir', older])
      expect([command, code, stderr]).toEqual([
        command,
        1,
        `svc-hub: ${path} has schema ${newest - 1}, and svc-hub 0.3.0 works with ${newest}; start the hub, which migrates it: svc-hub serve --data-dir ${older}\n`,
      ])
    }
    expect(readFileSync(path).equals(before)).toBe(true)
    expect(existsSync(`${path}.before-schema-${newest}`)).toBe(false)
  })

  test('is saved as it is, so that there is a way back from an upgrade', async () => {
    const saved = join(folder, 'before-upgrade')
    const before = readFileSync(path)
    const made = await runHub(['backup', saved, '--data-dir', older])
    expect([made.code, json(made.stdout)]).toEqual([
      0,
      expect.objectContaining({ schema: newest - 1, faults: [] }),
    ])
    expect((await runHub(['restore', '--check', saved])).code).toBe(0)
    expect(readFileSync(path).equals(before)).toBe(true)
  })

  test('is migrated by serve, with a line in the log that names the copy', async () => {
    const hub = await startHubChild(older)
    hub.kill('SIGTERM')
    await hub.exited
    expect(json(hub.said().split('\n')[0] ?? '')).toMatchObject({
      level: 'info',
      event: 'the store was migrated',
      from_schema: newest - 1,
      to_schema: newest,
      copy: `${path}.before-schema-${newest}`,
    })
    expect(existsSync(`${path}.before-schema-${newest}`)).toBe(true)
    expect((await runHub(['stats', '--data-dir', older])).code).toBe(0)
  })
})

test('a restore under a clock behind the backup says so, and what to do', async () => {
  const saved = join(folder, 'of-tomorrow')
  expect((await runHub(['backup', saved, ...at])).code).toBe(0)
  const path = join(saved, 'manifest.json')
  const madeMs = Date.now() + 86_400_000
  writeFileSync(path, JSON.stringify({ ...json(readFileSync(path, 'utf8')), made_ms: madeMs }))
  const restored = await runHub(['restore', saved, '--data-dir', join(folder, 'behind')])
  expect(restored.code).toBe(0)
  expect(json(restored.stdout)['notes']).toContainEqual(
    expect.stringMatching(
      `^nothing signed before ${new Date(madeMs).toISOString()}, the time of the backup, .* is behind it at .*; set the clock`,
    ),
  )
})

test('a running hub whose clock is behind is told to set the clock, not to start anew', async () => {
  const behind = join(folder, 'clock')
  await runHub(['init', '--data-dir', behind])
  const db = openWriter(join(behind, 'hub.db'))
  db.run(
    'INSERT OR REPLACE INTO setting (name, value) VALUES (?, ?)',
    'clock',
    String(Date.now() + 3_600_000),
  )
  db.close()
  const hub = await startHubChild(behind, { args: ['--operator-listen', '127.0.0.1:0'], env: {} })
  const asked = await runHub(['doctor', '--json', '--data-dir', behind])
  hub.kill('SIGTERM')
  await hub.exited
  const { findings } = JSON.parse(asked.stdout) as { findings: Record<string, string>[] }
  expect(findings.filter(({ state }) => state === 'wrong').map(({ check }) => check)).toEqual(['clock'])
  expect(findings.find(({ check }) => check === 'operator listener')).toMatchObject({
    state: 'note',
    mend: 'set the clock first, as said above',
  })
})

describe('serve --existing', () => {
  test('makes no hub in a directory that is empty or is not there, as where a disk is missing', async () => {
    for (const place of [mkdtempSync(join(folder, 'unmounted-')), join(folder, 'nowhere')]) {
      const { code, stderr } = await runHub(['serve', '--existing', '--data-dir', place])
      expect([code, stderr]).toEqual([
        1,
        `svc-hub: there is no hub in ${place}, and --existing makes none; mount the disk that holds it, or make a new hub with: svc-hub init --data-dir ${place}\n`,
      ])
      expect(existsSync(join(place, 'lock'))).toBe(false)
    }
    expect(existsSync(join(folder, 'nowhere'))).toBe(false)
  })

  test('serves the hub that is there', async () => {
    const hub = await startHubChild(directory, { args: ['--existing'] })
    hub.kill('SIGTERM')
    expect(await hub.exited).toEqual({ code: 0, signal: null })
  })
})
