// project: programs

/** Backup, restore, export and import as commands. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readConfig, writeConfig } from '../../daemon/home/config.ts'
import { startNode } from '../../daemon/node.ts'
import { runIn } from '../testing.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-archives-'))
const elsewhere = mkdtempSync(join(tmpdir(), 'svc-archives-'))
const secret = join(folder, 'secret.txt')
const passphrase = ['--passphrase-file', secret]
const archive = join(folder, 'a.svc')
const said = (text: string) => ({ stdin: Readable.from([text]) as never })
let aid: string

beforeAll(async () => {
  writeFileSync(secret, 'correct horse battery\n')
  const node = await startNode({
    dir: folder,
    env: { SVC_RUNTIME_DIR: join(folder, 'run') },
    name: 'default',
  })
  aid = node.aid
  await node.stop()
})
afterAll(() => {
  for (const path of [folder, elsewhere]) rmSync(path, { recursive: true })
})

test('the passphrase comes from a file or from standard input, and is never empty or short', async () => {
  const none = await runIn(folder, ['backup', 'x.svc'])
  expect([none.code, none.err]).toEqual([
    2,
    'svc: expected the passphrase on standard input, in a terminal or with --passphrase-file\ntry: svc help backup\n',
  ])
  const missing = await runIn(folder, ['backup', 'x.svc', '--passphrase-file', 'gone'])
  expect(missing.err).toMatch(/^svc: --passphrase-file: cannot read \S+gone: there is no such file\n/)
  const short = await runIn(folder, ['backup', 'x.svc'], {}, said('short\nmore'))
  expect([short.code, short.err]).toEqual([
    1,
    'svc: the passphrase is too short; give at least 12 characters\n',
  ])
  expect(existsSync(join(folder, 'x.svc'))).toBe(false)
})

test('a backup is restored where the identity is not, under the name that is given', async () => {
  const saved = await runIn(folder, ['backup', archive, ...passphrase])
  expect([saved.code, JSON.parse(saved.out)]).toMatchObject([0, { aid, archive, attachments: 0 }])
  const here = await runIn(folder, ['restore', archive, 'copy', ...passphrase])
  expect([here.code, here.err]).toEqual([
    1,
    `svc: ${aid} is here already, as "default"; a second copy would contradict it\ntry: svc --id default status\n`,
  ])
  const kind = await runIn(elsewhere, ['id', 'import', archive, ...passphrase])
  expect(kind.err).toContain(
    `is a backup, of a node that may still run; put it back with: svc restore ${archive}`,
  )
  const wrong = await runIn(elsewhere, ['restore', archive, 'back'], {}, said('another passphrase'))
  expect([wrong.code, wrong.err]).toEqual([
    1,
    expect.stringMatching(
      /the passphrase is another one, or the file is damaged; try another passphrase, or another copy of the file\n$/,
    ),
  ])
  const back = await runIn(elsewhere, ['restore', archive, 'back'], {}, said('correct horse battery\n'))
  expect([back.code, JSON.parse(back.out)]).toMatchObject([
    0,
    { aid, data_dir: join(elsewhere, 'ids', 'back') },
  ])
  expect(JSON.parse((await runIn(elsewhere, ['id', 'ls'])).out)).toMatchObject({
    identities: [{ name: 'back', aid }],
  })
  expect((await runIn(elsewhere, ['restore', 'gone.svc'])).err).toMatch(
    /^svc: there is no file \S+gone\.svc\nnext: check the path\n$/,
  )
})

test('what settings of an archive start, call and listen on is named, and off until it is asked for', async () => {
  const config = {
    control_addr: '0.0.0.0:39811',
    auto_reply: { backend: 'exec' as const, command: '/tmp/of/somebody' },
    modules: { service: [{ id: 'weather.now', url: 'http://127.0.0.1:9/' }], cas: {} },
    a2a: { enabled: true, addr: '127.0.0.1:39999', push_hosts: ['push.example'] },
    console_hosts: ['tunnel.example'],
    console_ticket: false,
    spend: { auto_max: 5, agent_max: 0, day_max: 5, payee_day_max: 5 },
    summary: 'kept',
  }
  const source = mkdtempSync(join(tmpdir(), 'svc-archives-'))
  const target = mkdtempSync(join(tmpdir(), 'svc-archives-'))
  const node = await startNode({ dir: source, env: { SVC_RUNTIME_DIR: join(source, 'run') } })
  node.ctx.store.run(
    "INSERT INTO a2a_tasks (key, id, agent, context, state, state_at, status) VALUES (1, 't', 'a', 'c', 's', 0, '{}')",
  )
  node.ctx.store.run("INSERT INTO a2a_pushes (task, id, config, told, next_at) VALUES (1, 'p', '{}', 0, 0)")
  await node.stop()
  writeConfig(source, { ...readConfig(source), ...config } as never)
  const file = join(source, 'armed.svc')
  expect((await runIn(source, ['backup', file, ...passphrase])).code).toBe(0)
  const starts = [
    'auto-reply runs /tmp/of/somebody',
    'the capability weather.now calls http://127.0.0.1:9/',
    'the module cas serves callers',
    'the A2A interface listens on 127.0.0.1:39999',
    'the A2A interface calls push.example',
    'the control interface listens on 0.0.0.0:39811',
    'the console answers as tunnel.example',
    'the console opens without a link of its owner',
    'the A2A interface calls a client',
    'the node pays by rule, without asking',
  ]
  const off = await runIn(target, ['restore', file, 'off', ...passphrase])
  expect([off.code, JSON.parse(off.out).kept_off]).toEqual([0, starts])
  expect(off.err).toContain('config.arrived.json')
  const quiet = join(target, 'ids', 'off')
  const { control_addr, summary, ...kept } = readConfig(quiet)
  const doors = ['auto_reply', 'modules', 'a2a', 'console_hosts', 'console_ticket', 'spend']
  expect(Object.keys(kept).filter(name => doors.includes(name))).toEqual([])
  expect([control_addr, summary]).toEqual([expect.stringMatching(/^127\.0\.0\.1:/), 'kept'])
  expect(JSON.parse(readFileSync(join(quiet, 'config.arrived.json'), 'utf8'))).toMatchObject(config)

  rmSync(target, { recursive: true })
  const on = await runIn(target, ['restore', file, 'on', '--with-settings', ...passphrase])
  expect([on.code, JSON.parse(on.out).starts, on.err]).toEqual([
    0,
    starts,
    expect.not.stringContaining('arrived'),
  ])
  expect(readConfig(join(target, 'ids', 'on'))).toMatchObject(config)
  for (const path of [source, target]) rmSync(path, { recursive: true })
})

test('an export is undone where it was made, or brought in where it was not', async () => {
  const moved = join(folder, 'moved.svc')
  expect((await runIn(folder, ['id', 'export', ...passphrase])).code).toBe(2)
  expect((await runIn(folder, ['id', 'export', moved, '--undo'])).code).toBe(2)
  const out = await runIn(folder, ['id', 'export', moved, ...passphrase])
  expect([out.code, JSON.parse(out.out)]).toMatchObject([0, { aid, exported: true }])
  const again = await runIn(folder, ['backup', join(folder, 'b.svc'), ...passphrase])
  expect([again.code, again.err]).toEqual([
    1,
    expect.stringContaining('only if it never was: svc id export --undo\n'),
  ])
  const seen = await runIn(folder, ['doctor'])
  expect([seen.code, seen.out]).toEqual([1, expect.stringContaining('lives where that is imported')])
  for (const command of ['up', 'status']) {
    const refused = await runIn(folder, [command], {}, { program: 'npx svc' })
    expect([refused.code, refused.err]).toEqual([
      1,
      expect.stringMatching(
        /^svc: the identity in \S+ was exported at \S+ to \S+moved\.svc and lives where that is imported.*\nnext: only if that file was never imported:\ntry: npx svc id export --undo\n$/,
      ),
    ])
  }
  const twice = await runIn(folder, ['restore', archive, 'twice', ...passphrase])
  expect([twice.code, twice.err]).toEqual([1, expect.stringContaining('is here already, as "default"')])
  expect((await runIn(folder, ['id', 'export', '--undo'])).code).toBe(0)
  expect((await runIn(folder, ['id', 'export', '--undo'])).err).toContain('was not exported')
})
