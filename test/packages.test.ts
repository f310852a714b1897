// project: programs

/** Other ways to install: without scripts of packages, without what builds, and from the packages as they are published. */
import { type SpawnSyncReturns, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const root = new URL('..', import.meta.url).pathname
const MINUTES_MS = 300_000
let folder: string

/** npm sets variables for what it starts, the tests included; a user's shell has none of them. */
const env: Record<string, string | undefined> = {
  ...Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^npm_|^NODE|^INIT_CWD|^VITEST/i.test(name)),
  ),
  PATH: process.env['PATH']?.replaceAll(/[^:]*node_modules\/\.bin:/g, ''),
}

function run(cwd: string, command: string, ...args: string[]): SpawnSyncReturns<string> {
  return spawnSync(command, args, { cwd, env: { ...env, HOME: folder }, encoding: 'utf8' })
}

/** The files of this checkout, with nothing that was installed or built. */
function checkout(name: string): string {
  const to = join(folder, name)
  const files = run(root, 'git', 'ls-files', '--cached', '--others', '--exclude-standard')
    .stdout.trim()
    .split('\n')
  for (const file of files) {
    mkdirSync(dirname(join(to, file)), { recursive: true })
    cpSync(join(root, file), join(to, file))
  }
  return to
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-packages-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('a checkout', () => {
  test('that was never built says which command builds it', () => {
    const at = checkout('unbuilt')
    const ran = run(at, 'node', 'bin/svc.js', 'version')
    expect([ran.status, ran.stderr]).toEqual([
      1,
      `svc: the program is not built; run npm run build in the checkout (missing ${join(at, 'dist', 'svc.js')}).\n`,
    ])
  })

  test('is built by that command, also on an older Node whose packages ran no scripts', () => {
    const at = checkout('no-scripts')
    symlinkSync(join(root, 'node_modules'), join(at, 'node_modules'))
    const built = run(at, 'npm', 'run', 'build')
    expect(built.status, built.stderr).toBe(0)
    expect(JSON.parse(run(at, 'node', 'bin/svc.js', 'version').stdout)).toMatchObject({ version: '0.3.0' })
  })

  test('without the packages that build it says so in one sentence, and shows no stack', () => {
    const at = checkout('omit-dev')
    const ran = run(at, 'node', 'scripts/run-build.js')
    expect([ran.status, ran.stderr]).toEqual([
      1,
      'svc: what builds the programs is missing, as npm ci --omit=dev leaves it out; run npm ci\n',
    ])
  })
})

describe('packages that were installed from their files', () => {
  test(
    'say which Node they need, and run the demo beside each other',
    () => {
      const at = checkout('packing')
      symlinkSync(join(root, 'node_modules'), join(at, 'node_modules'))
      const home = join(folder, 'installed')
      mkdirSync(home)
      for (const from of [at, join(at, 'hub')]) {
        const packed = run(from, 'npm', 'pack', '--pack-destination', home)
        expect([packed.status, packed.stderr.includes('npm error')]).toEqual([0, false])
      }
      for (const manifest of ['package.json', 'hub/package.json'])
        expect(readFileSync(join(at, manifest), 'utf8')).toBe(readFileSync(join(root, manifest), 'utf8'))
      const files = readdirSync(home).filter(name => name.endsWith('.tgz'))
      expect(run(home, 'npm', 'init', '-y').status).toBe(0)
      const installed = run(
        home,
        'npm',
        'install',
        '--no-audit',
        '--no-fund',
        ...files.map(name => `./${name}`),
      )
      expect(installed.status, installed.stderr).toBe(0)
      for (const name of ['svc', 'svc-hub']) {
        const { engines } = JSON.parse(
          readFileSync(join(home, 'node_modules', name, 'package.json'), 'utf8'),
        ) as {
          engines: { node: string }
        }
        expect(engines.node).toBe('>=24.15')
      }
      const demo = run(
        home,
        process.execPath,
        join('node_modules', 'svc', 'dist', 'svc.js'),
        'demo',
        '--exit',
        '--json',
      )
      expect([demo.status, demo.stderr], demo.stdout).toEqual([0, ''])
    },
    MINUTES_MS,
  )
})
