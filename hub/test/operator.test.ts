// project: programs

import { spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { bindServer } from '../bind.ts'
import { main } from '../cli/main.ts'
import { parseFault } from '../faults.ts'
import { bundledProgram } from '../testing/bundle.ts'
import { TestAgent } from '../testing/hub.ts'
import { runHub, startHubChild } from '../testing/process.ts'

const folders: string[] = []
function folder(name = 'svc-hub-operator-'): string {
  const made = mkdtempSync(join(tmpdir(), name))
  folders.push(made)
  return made
}
afterEach(() => {
  for (const path of folders.splice(0)) rmSync(path, { recursive: true, force: true })
})

/** Runs a command line that only speaks, in this process. */
async function say(argv: string[]): Promise<{ code: number; out: string; err: string }> {
  const said = { out: '', err: '' }
  const code = await main(argv, {
    out: text => {
      said.out += text
    },
    err: text => {
      said.err += text
    },
  })
  return { code, ...said }
}

const json = (text: string): unknown => JSON.parse(text)

describe('a running hub', () => {
  test('takes orders at once, is private to its user, and ends in order', async () => {
    const directory = join(folder(), 'new', 'data')
    const hub = await startHubChild(directory)
    const at = ['--data-dir', directory]
    for (const name of ['hub.db', 'identity.kel', 'identity.next', 'operator.sock'])
      expect([name, statSync(join(directory, name)).mode & 0o077]).toEqual([name, 0])
    expect(statSync(directory).mode & 0o077).toBe(0)

    const agent = new TestAgent(hub)
    expect((await agent.register()).json['reason']).toBe('admission_required')
    const admit = await runHub(['admit', agent.aid, ...at])
    expect(json(admit.stdout)).toMatchObject({ aid: agent.aid, admitted: true, registered: false })
    expect((await agent.register()).status).toBe(200)

    const quota = await runHub(['quota', agent.aid, '--envelopes', '7', ...at])
    expect(json(quota.stdout)).toMatchObject({ envelopes: 7, stranger_per_minute: 30 })
    const opened = await runHub(['admission', 'open', ...at])
    expect(json(opened.stdout)).toEqual({ admission: 'open' })
    expect((await new TestAgent(hub).register()).json['reason']).toBe('pow_required')
    expect(json((await runHub(['stats', ...at])).stdout)).toMatchObject({ agents: 1, admission: 'open' })

    const blocked = await runHub(['block', agent.aid, ...at])
    expect(json(blocked.stdout)).toMatchObject({ aid: agent.aid, blocked: true, registered: true })
    expect(json((await runHub(['admit', agent.aid, ...at])).stdout)).toMatchObject({
      next: expect.stringMatching(`: svc-hub unblock ${agent.aid} --data-dir ${directory}$`),
    })
    expect(json((await runHub(['unblock', agent.aid, ...at])).stdout)).toMatchObject({ registered: true })
    const listed = json((await runHub(['agents', ...at])).stdout) as { agents: { aid: string }[] }
    expect(listed).toMatchObject({ agents: [{ aid: agent.aid, registered: true, blocked: false }] })
    const shown = json((await runHub(['agents', 'show', agent.aid, ...at])).stdout)
    expect(shown).toMatchObject({ limits: { envelopes: 7 }, waiting_envelopes: 0 })
    const refusing = await runHub(['ranges', 'refuse', '192.0.2.9/24', ...at])
    expect(json(refusing.stdout)).toEqual({ refused: ['192.0.2.0/24'] })

    const saved = join(folder(), 'saved')
    expect(json((await runHub(['backup', saved, ...at])).stdout)).toMatchObject({ hub: hub.aid, faults: [] })
    const doctor = await runHub(['doctor', '--json', ...at])
    expect([doctor.code, json(doctor.stdout)]).toEqual([0, expect.objectContaining({ ok: true, wrong: 0 })])

    const second = await runHub(['serve', '--listen', '127.0.0.1:0', ...at])
    const named = process.platform === 'linux' ? ` (process ${hub.pid})` : ''
    const taken = `another svc-hub${named} is using ${directory}`
    expect([second.code, second.stderr]).toEqual([1, expect.stringContaining(taken)])
    await agent.poll()
    expect(json((await runHub(['stats', ...at])).stdout)).toMatchObject({ online_nodes: 1 })

    // A terminal signals a launcher and what it launched, so the second may come twice.
    hub.kill('SIGTERM')
    hub.kill('SIGINT')
    expect(await hub.exited).toEqual({ code: 0, signal: null })
    expect(existsSync(join(directory, 'hub.db-wal'))).toBe(false)
    const stopped = await runHub(['quota', agent.aid, '--reset', ...at])
    expect(json(stopped.stdout)).toMatchObject({ envelopes: 5000 })
    expect(json((await runHub(['admission', ...at])).stdout)).toEqual({ admission: 'open' })
    const counted = json((await runHub(['stats', '--json', ...at])).stdout)
    expect(counted).toMatchObject({ agents: 1, online_nodes: 0 })
    expect(json((await runHub(['ranges', ...at])).stdout)).toEqual({ refused: ['192.0.2.0/24'] })
    expect(json((await runHub(['block', agent.aid, ...at])).stdout)).toMatchObject({ registered: true })
    const alone = json((await runHub(['agents', ...at])).stdout)
    expect(alone).toEqual({ agents: [expect.objectContaining({ aid: agent.aid, blocked: true })] })
    expect(json((await runHub(['unblock', agent.aid, ...at])).stdout)).toMatchObject({ registered: true })
    expect((await runHub(['doctor', ...at])).stdout).toMatch(/no hub is running on this directory/)
    const again = await runHub(['backup', saved, ...at])
    expect([again.code, again.stderr]).toEqual([
      1,
      expect.stringContaining('already exists; choose a new folder'),
    ])
    const later = join(folder(), 'later')
    expect((await runHub(['backup', later, ...at])).code).toBe(0)
    expect(json((await runHub(['restore', '--check', later])).stdout)).toMatchObject({ faults: [] })

    const fresh = join(folder(), 'fresh')
    const restored = await runHub(['restore', later, '--data-dir', fresh])
    expect(json(restored.stdout)).toMatchObject({ hub: hub.aid, next: `svc-hub serve --data-dir ${fresh}` })
    expect(statSync(join(fresh, 'hub.db')).mode & 0o077).toBe(0)
    expect(json((await runHub(['stats', '--data-dir', fresh])).stdout)).toMatchObject({ agents: 1 })
    writeFileSync(join(later, 'identity.next'), '')
    const spoiled = await runHub(['restore', '--check', later])
    expect([spoiled.code, spoiled.stderr]).toEqual([
      1,
      expect.stringContaining('identity.next differs from what'),
    ])
  })
})

test('orders reach a hub that runs while its configuration file is wrong; without a hub they are refused', async () => {
  const directory = folder()
  const hub = await startHubChild(directory)
  const at = ['--data-dir', directory]
  writeFileSync(join(directory, 'config.json'), '{"lisen": "127.0.0.1:1"}', { mode: 0o600 })
  const wrong = `svc-hub: ${join(directory, 'config.json')}: unknown setting: lisen; `
  const going = await runHub(['admission', 'open', ...at])
  expect([going.code, json(going.stdout), going.stderr]).toEqual([
    0,
    { admission: 'open' },
    `${wrong}the hub that runs takes the order all the same, and does not start again until you remove it or correct its name\n`,
  ])
  expect((await runHub(['backup', join(folder(), 'saved'), ...at])).code).toBe(0)
  const doctor = await runHub(['doctor', ...at])
  expect([doctor.code, doctor.stdout]).toEqual([1, expect.stringContaining(`process ${hub.pid} serves`)])
  expect(doctor.stdout).toMatch(/\n1 of \d+ checks found a problem\n/)
  hub.kill('SIGTERM')
  await hub.exited
  const alone = await runHub(['admission', ...at])
  expect([alone.code, alone.stderr]).toEqual([78, `${wrong}remove it or correct its name\n`])
})

const COMMANDS = {
  serve: '--operator-listen host:port',
  init: '--data-dir DIR',
  admission: '--config FILE',
  admit: '--data-dir DIR',
  unadmit: '--data-dir DIR',
  agents: '--json',
  block: '--data-dir DIR',
  unblock: '--data-dir DIR',
  remove: '--data-dir DIR',
  archive: '--reason TEXT',
  unarchive: '--data-dir DIR',
  listed: '--data-dir DIR',
  ranges: '--config FILE',
  quota: '--stranger-per-minute N',
  grant: '--reason',
  redemptions: '--since DATE',
  witness: '--once',
  peers: '--yes',
  invite: '--days N',
  clock: '--data-dir DIR',
  rotate: '--json',
  stats: '--json',
  backup: '--data-dir DIR',
  restore: '--check',
  migrate: '--to URL|file',
  doctor: '--json',
  version: '--json',
  completion: 'bash',
}

describe('the command line', () => {
  test('init creates an identity once, in a folder that was empty', async () => {
    const cwd = folder()
    const first = json((await runHub(['init'], { cwd })).stdout) as { aid: string }
    expect(first).toMatchObject({ created: true, data_dir: join(cwd, 'svc-hub-data') })
    expect(existsSync(join(cwd, 'svc-hub-data', 'identity.kel'))).toBe(true)
    const second = json((await runHub(['init'], { cwd })).stdout)
    expect(second).toMatchObject({ created: false, aid: first.aid })
  })

  test('commands at once on a stopped hub wait for each other', async () => {
    const at = ['--data-dir', join(folder(), 'data')]
    await runHub(['init', ...at])
    const ranges = ['192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24']
    const ran = await Promise.all([
      ...ranges.map(range => runHub(['ranges', 'refuse', range, ...at])),
      runHub(['backup', join(folder(), 'meanwhile'), ...at]),
    ])
    for (const { code, stderr } of ran)
      expect([code, stderr]).toEqual([0, expect.not.stringMatching(/^svc-hub/)])
    expect(json((await runHub(['ranges', ...at])).stdout)).toEqual({ refused: ranges })
  })

  test.each([
    [['nonsense'], /unknown command: nonsense/],
    [['serve', '--nonsense'], /unknown option: --nonsense\nusage: svc-hub serve \[--data-dir DIR\]/],
    [['admit'], /expected an AID: 44 characters/],
    [['admit', 'nobody'], /expected an AID: 44 characters starting with A/],
    [['admission', 'ajar'], /open or closed/],
    [['admission', 'open', 'closed'], /unexpected argument: closed/],
    [['backup'], /expected a folder/],
    [['backup', 'folder', '--keep', '0'], /--keep expects a whole number from 1/],
    [['agents', 'all'], /expected ls or show, got all/],
    [['agents', 'ls', 'all'], /unexpected argument: all/],
    [['agents', 'show'], /expected an AID: 44 characters/],
    [['ranges', 'refuse'], /expected an address range such as/],
    [['ranges', 'drop', '::/0'], /expected ls, refuse or allow, got drop/],
    [['help', 'nonsense'], /unknown command: nonsense; commands: serve/],
    [['quota', `AQ${'A'.repeat(42)}`, '--envelopes', 'many'], /whole number/],
    [
      ['quota', `AQ${'A'.repeat(42)}`, '--envelopes', '0'],
      /--envelopes expects a whole number from 1 to 10000000/,
    ],
    [['quota', `AQ${'A'.repeat(42)}`, '--bytes', '5'], /--bytes expects a whole number from 1048576 to/],
  ])('%j ends with exit code 2 and says why', async (args, why) => {
    const { code, err } = await say(args)
    expect(code).toBe(2)
    expect(err).toMatch(why)
  })

  test('an unknown setting refuses the start, and another wire does', async () => {
    const config = join(folder(), 'hub.json')
    writeFileSync(config, '{"listen": "127.0.0.1:0", "lisTen": 1}')
    const file = await say(['serve', '--config', config])
    expect([file.code, file.err]).toEqual([78, expect.stringMatching(/unknown setting: lisTen/)])
    const environment = await runHub(['stats'], { env: { SVC_HUB_LISTTEN: 'x' } })
    expect([environment.code, environment.stderr]).toEqual([78, expect.stringMatching(/SVC_HUB_LISTTEN/)])
    const wire = await say(['serve', '--wire', '2'])
    expect([wire.code, wire.err]).toEqual([78, expect.stringMatching(/wire 3 or 1/)])
  })

  test('the page of the operator needs a token to start, and nothing is written without one', async () => {
    const dataDir = join(folder(), 'data')
    const line = ['serve', '--wire', '1', '--admin-listen', '127.0.0.1:0', '--data-dir', dataDir]
    const refused = await runHub(line, { env: { ADMIN_TOKEN: '' } })
    expect([refused.code, refused.stderr]).toEqual([
      78,
      expect.stringMatching(/ADMIN_TOKEN is not set.*openssl/),
    ])
    expect(existsSync(dataDir)).toBe(false)
    const orders = await runHub(['init', '--data-dir', dataDir], {
      env: { SVC_HUB_ADMIN_LISTEN: '127.0.0.1:0' },
    })
    expect(orders.code).toBe(0)
  })

  test('backups side by side are named by their time, and only the newest of this hub are kept', async () => {
    const at = ['--data-dir', join(folder(), 'data')]
    await runHub(['init', ...at])
    const others = join(folder(), 'collection')
    const elsewhere = ['--data-dir', join(folder(), 'other')]
    await runHub(['init', ...elsewhere])
    mkdirSync(join(others, 'notes'), { recursive: true })
    const torn = join(others, '.2020-01-01T00-00-00Z.0123456789ab')
    mkdirSync(torn)
    utimesSync(torn, 0, 0)
    expect((await runHub(['backup', join(others, '2019-01-01T00-00-00Z'), ...elsewhere])).code).toBe(0)
    for (const day of ['2020-01-01', '2020-01-02', '2020-01-03'])
      expect((await runHub(['backup', join(others, `${day}T00-00-00Z`), ...at])).code).toBe(0)
    const saved = json((await runHub(['backup', others, '--keep', '2', ...at])).stdout) as { backup: string }
    expect(readdirSync(others).sort()).toEqual([
      '2019-01-01T00-00-00Z',
      '2020-01-03T00-00-00Z',
      saved.backup.slice(others.length + 1),
      'notes',
    ])
    expect((await runHub(['restore', '--check', saved.backup])).code).toBe(0)
  })

  test('a backup is never removed for others that a clock which ran ahead has dated later', async () => {
    const at = ['--data-dir', join(folder(), 'data')]
    await runHub(['init', ...at])
    const others = join(folder(), 'collection')
    mkdirSync(others)
    const named = ['2020-01-01', '2020-01-02', '2097-01-01', '2098-01-01'].map(day => `${day}T00-00-00Z`)
    for (const name of named) expect((await runHub(['backup', join(others, name), ...at])).code).toBe(0)
    const made = await runHub(['backup', others, '--keep', '2', ...at])
    const saved = json(made.stdout) as { backup: string; notes: string[] }
    expect(saved.notes).toContainEqual(
      expect.stringMatching(/^future: 2097-01-01T00-00-00Z, 2098-01-01T00-00-00Z beside it are dated later/),
    )
    expect(readdirSync(others).sort()).toEqual([named[1], basename(saved.backup), named[2], named[3]])
    expect((await runHub(['restore', '--check', saved.backup])).code).toBe(0)
  })

  test('a port that is taken is refused before anything is written, and may be tried again', async () => {
    const taken = createServer()
    const { port } = new URL(await bindServer(taken, { host: '127.0.0.1', port: 0 }))
    const directory = join(folder(), 'data')
    const { code, stderr } = await runHub(['serve', '--listen', `127.0.0.1:${port}`, '--data-dir', directory])
    taken.close()
    expect([code, stderr]).toEqual([1, expect.stringContaining(`127.0.0.1:${port} is in use; stop the`)])
    expect(existsSync(directory)).toBe(false)
  })

  test('a reader that goes away ends no command with a trace', async () => {
    const program = await bundledProgram()
    const script = `"${process.execPath}" "${program}" help | true; exit "\${PIPESTATUS[0]}"`
    const ran = spawnSync('bash', ['-c', script], { encoding: 'utf8' })
    expect([ran.status, ran.stderr]).toEqual([0, ''])
  })

  test('version and help answer, help with every command', async () => {
    expect(json((await runHub(['version'])).stdout)).toMatchObject({ version: '0.3.0' })
    const { out } = await say(['--help'])
    const listed = [...out.matchAll(/^ {2}svc-hub (\S+)/gm)].map(([, name]) => name)
    expect(listed).toEqual([...Object.keys(COMMANDS), 'help'])
  })

  test('every command has help with its flags, and refuses another flag with the list of its own', async () => {
    for (const [name, flag] of Object.entries(COMMANDS)) {
      const help = await say(['help', name])
      expect([name, help.code, help.out]).toEqual([name, 0, expect.stringContaining(flag)])
      expect((await say([name, '--help'])).out).toBe(help.out)
      const own = flag.split(' ')[0] as string
      const refused = await say([name, '--nonsense'])
      expect([name, refused.code, refused.err]).toEqual([
        name,
        2,
        expect.stringMatching(new RegExp(`unknown option: --nonsense\\nusage: .*${own}`)),
      ])
    }
  })
})

test('a fault point is a name with a count', () => {
  expect(parseFault(undefined)).toBeUndefined()
  expect(parseFault('hub.x')).toEqual({ name: 'hub.x', count: 1 })
  expect(parseFault('hub.x:3')).toEqual({ name: 'hub.x', count: 3 })
  expect(() => parseFault('hub.x:no')).toThrow(/count/)
})
