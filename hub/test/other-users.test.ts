// project: programs

/** A hub and users who do not own its directory; only root can make files of others, so these are tests for root. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { present } from '../../protocol/encoding/present.ts'
import { bundledProgram } from '../testing/bundle.ts'

const OWNER = 54_321
const OTHER = 54_322
const isRoot = process.getuid?.() === 0

const inside = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).map(name => join(folder, name))

describe.skipIf(!isRoot)(isRoot ? 'as root' : 'left out: only root can make files of other users', () => {
  // Where another user can look in, which neither the checkout nor the folder for temporary files need allow.
  const outside = mkdtempSync('/tmp/svc-hub-users-')
  const directory = join(outside, 'data')
  let program: string
  const run = (argv: string[], uid?: number, place = directory) =>
    spawnSync(process.execPath, [program, ...argv, '--data-dir', place], {
      encoding: 'utf8',
      ...present({ uid, gid: uid }),
    })
  const paths = (): string[] => [directory, ...inside(directory)]
  const owners = (): number[] => [...new Set(paths().map(path => statSync(path).uid))]

  beforeAll(async () => {
    const built = await bundledProgram()
    program = join(outside, 'program', basename(built))
    cpSync(dirname(built), dirname(program), { recursive: true })
    for (const path of [dirname(program), ...inside(dirname(program))])
      chmodSync(path, statSync(path).isDirectory() ? 0o755 : 0o644)
    chownSync(outside, OWNER, OWNER)
    chmodSync(outside, 0o755)
    expect(run(['init'], OWNER)).toMatchObject({ status: 0 })
  })
  afterAll(() => rmSync(outside, { recursive: true, force: true }))

  test.each([['serve', '--listen', '127.0.0.1:0'], ['init'], ['stats'], ['rotate'], ['admission', 'open']])(
    '%s leaves no file of root in the directory of another user, but says who shall run it',
    (...argv) => {
      const { status, stderr } = run(argv)
      expect([argv[0], status, stderr]).toEqual([
        argv[0],
        78,
        `svc-hub: ${directory} belongs to user ${OWNER}, whom files written by root would shut out; run svc-hub as that user\n`,
      ])
      expect(owners()).toEqual([OWNER])
      expect(run(['stats'], OWNER)).toMatchObject({ status: 0, stderr: '' })
    },
  )

  test('restore fills no directory of another user with files of root, and works for that user', () => {
    const saved = join(outside, 'saved-by-owner')
    const place = join(outside, 'for-its-owner')
    expect(run(['backup', saved], OWNER)).toMatchObject({ status: 0 })
    mkdirSync(place)
    chownSync(place, OWNER, OWNER)
    const { status, stderr } = run(['restore', saved], undefined, place)
    expect([status, stderr]).toEqual([
      78,
      `svc-hub: ${place} belongs to user ${OWNER}, whom files written by root would shut out; run svc-hub as that user\n`,
    ])
    expect(readdirSync(place)).toEqual([])
    expect(run(['restore', saved], OWNER, place)).toMatchObject({ status: 0, stderr: '' })
    expect(run(['stats'], OWNER, place)).toMatchObject({ status: 0, stderr: '' })
  })

  test.each([
    ['a directory', directory],
    ['a folder in one', join(directory, 'below')],
  ])('%s that others can not enter is called so, not one without a hub', (_, place) => {
    const found = `this user cannot enter ${place}: permission denied`
    const refused = `${found}; run svc-hub as the owner of that directory, or give another --data-dir`
    for (const argv of [['serve', '--existing'], ['stats'], ['backup', join(outside, 'saved')]]) {
      const { status, stderr } = run(argv, OTHER, place)
      expect([argv[0], status, stderr]).toEqual([argv[0], 78, `svc-hub: ${refused}\n`])
    }
    const { status, stdout } = run(['doctor'], OTHER, place)
    expect([status, stdout]).toEqual([1, expect.stringContaining(`WRONG data directory: ${found}\n`)])
    expect(stdout).toContain(`note  configuration: was not read: this user cannot look into ${place}`)
  })

  test.each<[string, number, string, (place: string) => string]>([
    ['a directory without leave to write', 0o500, '', place => `chmod u+rwx ${place}`],
    ['a directory without leave to enter', 0o600, '', place => `chmod u+rwx ${place}`],
    ['a store that is read-only', 0o400, 'hub.db', place => `chmod -R u+rwX ${place}`],
    [
      'a configuration without leave to read',
      0o200,
      'config.json',
      place => `chmod u+r ${place}/config.json`,
    ],
  ])('of its own user %s is mended by that user, and every command names how', (what, mode, file, mend) => {
    const place = join(outside, what.replaceAll(' ', '-'))
    expect(run(['init'], OWNER, place)).toMatchObject({ status: 0 })
    writeFileSync(join(place, 'config.json'), '{}')
    chownSync(join(place, 'config.json'), OWNER, OWNER)
    chmodSync(join(place, file), mode)
    for (const argv of [['serve', '--listen', '127.0.0.1:0'], ['stats'], ['backup', join(outside, 'b')]])
      expect([argv[0], run(argv, OWNER, place).stderr]).toEqual([
        argv[0],
        expect.stringContaining(mend(place)),
      ])
    expect(run(['doctor'], OWNER, place).stdout).toMatch(
      new RegExp(`WRONG .*\n {8}fix: .*${mend(place).replaceAll('+', '\\+')}\n`),
    )
    expect(spawnSync('sh', ['-c', mend(place)], { uid: OWNER, gid: OWNER })).toMatchObject({ status: 0 })
    expect(run(['stats'], OWNER, place)).toMatchObject({ status: 0, stderr: '' })
  })

  test('orders to a hub that runs are taken from root, who leaves nothing there, and from no third user', async () => {
    const hub = spawn(
      process.execPath,
      [program, 'serve', '--listen', '127.0.0.1:0', '--data-dir', directory],
      { uid: OWNER, gid: OWNER, stdio: ['ignore', 'pipe', 'ignore'] },
    )
    const ended = once(hub, 'exit')
    await once(hub.stdout, 'data')
    expect(run(['admission', 'open'])).toMatchObject({ status: 0, stderr: '' })
    expect(owners()).toEqual([OWNER])
    chmodSync(directory, 0o755)
    const { status, stderr } = run(['stats'], OTHER)
    chmodSync(directory, 0o700)
    expect([status, stderr]).toEqual([
      1,
      'svc-hub: this user may not give orders to the hub that runs there: permission denied; run svc-hub as the user that it runs as\n',
    ])
    hub.kill('SIGTERM')
    expect(await ended).toEqual([0, null])
    expect(owners()).toEqual([OWNER])
  })

  test('a config.json that root put there names its owner, and the command that mends it', () => {
    const [saved, restored] = [join(outside, 'of-config'), join(outside, 'restored')]
    writeFileSync(join(directory, 'config.json'), '{"name": "Hub"}', { mode: 0o600 })
    chownSync(join(directory, 'config.json'), OWNER, OWNER)
    expect(run(['backup', saved], OWNER)).toMatchObject({ status: 0 })
    mkdirSync(restored, { mode: 0o700 })
    chownSync(restored, OWNER, OWNER)
    expect(run(['restore', '--check', saved], OTHER)).toMatchObject({
      status: 1,
      stderr: expect.stringContaining(
        `${join(saved, 'manifest.json')} cannot be read: permission denied; run`,
      ),
    })
    expect(run(['restore', saved], OWNER, restored)).toMatchObject({ status: 0 })
    chownSync(join(restored, 'config.json'), 0, 0)
    const found = `this user cannot read ${join(restored, 'config.json')}, which belongs to user 0`
    const next = `chown -R ${OWNER}:${OWNER} ${restored} && chmod -R u+rwX ${restored}`
    for (const argv of [['serve', '--listen', '127.0.0.1:0'], ['stats']])
      expect(run(argv, OWNER, restored)).toMatchObject({
        status: 78,
        stderr: `svc-hub: ${found}; as root: ${next}\n`,
      })
    const asked = run(['doctor'], OWNER, restored).stdout
    expect(asked).toContain(`WRONG configuration: ${found}\n        fix: as root: ${next}\n`)
    expect(spawnSync('sh', ['-c', next])).toMatchObject({ status: 0 })
    expect(run(['stats'], OWNER, restored)).toMatchObject({ status: 0, stderr: '' })
  })

  test('the doctor names who can make a directory private where the one who asks cannot', () => {
    for (const path of paths()) chmodSync(path, statSync(path).isDirectory() ? 0o777 : 0o666)
    const asked = (uid?: number): string => run(['doctor'], uid).stdout
    expect(asked(OTHER)).toContain(`fix: as root or as user ${OWNER}: chmod -R go= ${directory}\n`)
    for (const uid of [OWNER, undefined]) expect(asked(uid)).toContain(`fix: chmod -R go= ${directory}\n`)
  })
})
