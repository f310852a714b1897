// project: programs

/** The launchers on old and new runtimes, with signals, exit codes and streams; and the built programs' first commands. */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { MODULES } from '../scripts/build-modules.ts'

const root = new URL('..', import.meta.url).pathname
const env = { PATH: process.env['PATH'] ?? '', SVC_HINTS: '0' }
let place: string

/** A checkout with a program of its own and, for the old runtime, a stand-in version. */
beforeAll(() => {
  place = mkdtempSync(join(tmpdir(), 'svc-launch-'))
  mkdirSync(join(place, 'bin'))
  mkdirSync(join(place, 'dist'))
  cpSync(join(root, 'bin'), join(place, 'bin'), { recursive: true })
  writeFileSync(join(place, 'package.json'), '{"type":"module"}')
  writeFileSync(
    join(place, 'dist', 'svc.js'),
    `process.on('SIGTERM', () => { console.log('got SIGTERM'); process.exit(7) })
     if (process.argv[2] === 'wait') { console.log('ready'); setInterval(() => {}, 1000) }
     else if (process.argv[2] === 'die') process.kill(process.pid, 'SIGKILL')
     else process.stdin.on('data', text => process.stdout.write('in ' + text)).on('end', () => { console.error('args ' + process.argv.slice(2)); process.exitCode = 3 })`,
  )
})
afterAll(() => rmSync(place, { recursive: true, force: true }))

/** Makes the launcher believe that it runs on an old Node. */
const old = [
  '--import',
  'data:text/javascript,Object.defineProperty(process.versions,"node",{value:"20.20.2"})',
]
const launch = (flags: string[], ...args: string[]) => [...flags, join(place, 'bin', 'svc.js'), ...args]

function withRuntime(): void {
  mkdirSync(join(place, 'node_modules', 'node', 'bin'), { recursive: true })
  writeFileSync(join(place, 'node_modules', 'node', 'package.json'), '{"name":"node","version":"0.0.0"}')
  writeFileSync(
    join(place, 'node_modules', 'node', 'bin', 'node'),
    `#!/bin/sh\nexec "${process.execPath}" "$@"\n`,
    { mode: 0o755 },
  )
}

describe('a launcher', () => {
  test('says in one sentence what to do when the runtime is old and no other is there', () => {
    const ran = spawnSync(process.execPath, launch(old), { env, encoding: 'utf8' })
    expect(ran.status).toBe(1)
    expect(ran.stderr).toBe(
      'svc: Node 20.20.2 is too old and no newer runtime is installed beside it; in a checkout run npm ci without --ignore-scripts and --omit, elsewhere install Node 24.15 or newer.\n',
    )
  })

  describe.each([
    ['on a runtime that is new enough', []],
    ['on an old runtime, by the pinned one', old],
  ])('%s', (_, flags) => {
    beforeAll(withRuntime)

    test('hands on arguments, streams and exit code', () => {
      const ran = spawnSync(process.execPath, launch(flags, 'a', '--b'), {
        env,
        input: 'text',
        encoding: 'utf8',
      })
      expect([ran.stdout, ran.stderr, ran.status]).toEqual(['in text', 'args a,--b\n', 3])
    })

    test('hands on a signal and the exit code that follows', async () => {
      const child = spawn(process.execPath, launch(flags, 'wait'), {
        env,
        stdio: ['ignore', 'pipe', 'ignore'],
      })
      let text = ''
      await new Promise<void>(resolve =>
        child.stdout.on('data', chunk => {
          text += String(chunk)
          if (text.includes('ready')) resolve()
        }),
      )
      const ended = new Promise(resolve => child.once('exit', code => resolve(code)))
      child.kill('SIGTERM')
      expect(await ended).toBe(7)
      expect(text).toContain('got SIGTERM')
    })

    test('ends by the signal that ended the program', () => {
      expect(spawnSync(process.execPath, launch(flags, 'die'), { env }).signal).toBe('SIGKILL')
    })
  })

  test('names the missing build', () => {
    const bare = mkdtempSync(join(tmpdir(), 'svc-bare-'))
    cpSync(join(root, 'bin'), join(bare, 'bin'), { recursive: true })
    writeFileSync(join(bare, 'package.json'), '{"type":"module"}')
    const ran = spawnSync(process.execPath, [join(bare, 'bin', 'svc.js')], { env, encoding: 'utf8' })
    rmSync(bare, { recursive: true })
    expect(ran.status).toBe(1)
    expect(ran.stderr).toContain('run npm run build in the checkout')
  })
})

describe('the built programs', () => {
  const svc = (...args: string[]) =>
    spawnSync(process.execPath, [join(root, 'dist', 'svc.js'), ...args], { env, encoding: 'utf8' })

  test('both say version 0.3.0', () => {
    expect(JSON.parse(svc('version').stdout)).toMatchObject({
      version: '0.3.0',
      modules: MODULES.join(', '),
    })
    const hub = execFileSync(process.execPath, [join(root, 'hub', 'dist', 'svc-hub.js'), 'version'], {
      env,
      encoding: 'utf8',
    })
    expect(JSON.parse(hub)).toMatchObject({ version: '0.3.0' })
  })

  test.runIf(process.platform === 'linux').each([
    ['its own', {}, '1'],
    ["the operator's", { MALLOC_ARENA_MAX: '3' }, '3'],
  ])('a hub serves in the process that was started, with %s settings of memory', async (_, set, arenas) => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-lean-'))
    const args = ['serve', '--listen', '127.0.0.1:0', '--data-dir', join(folder, 'hub')]
    const child = spawn(process.execPath, [join(root, 'hub', 'dist', 'svc-hub.js'), ...args], {
      env: { ...env, ...set },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const exited = once(child, 'exit')
    for await (const line of createInterface({ input: child.stdout })) if (line.includes('serves')) break
    const environment = readFileSync(`/proc/${child.pid}/environ`, 'utf8').split('\0')
    expect(environment).toContain(`MALLOC_ARENA_MAX=${arenas}`)
    expect(environment.some(entry => entry.startsWith('MALLOC_TRIM'))).toBe(arenas === '1')
    child.kill('SIGTERM')
    expect(await exited).toEqual([0, null])
    rmSync(folder, { recursive: true })
  })

  test.each([
    ['svc', 'dist/svc.js'],
    ['svc-hub', 'hub/dist/svc-hub.js'],
  ])('%s on an older runtime, without its launcher, says which one it needs', (name, path) => {
    const ran = spawnSync(process.execPath, [...old, join(root, path), 'version'], { env, encoding: 'utf8' })
    expect([ran.status, ran.stdout]).toEqual([1, ''])
    expect(ran.stderr).toBe(
      `${name}: this is Node 20.20.2, and ${name} needs Node 24.15 or newer; start it with npx ${name}, which brings its own\n`,
    )
  })

  test('an unknown flag ends with exit code 2, the accepted list on stderr and nothing on stdout', () => {
    const ran = svc('status', '--bogus')
    expect([ran.status, ran.stdout, ran.stderr]).toEqual([
      2,
      '',
      'svc: unknown flag --bogus for "status"; accepted: --id, --human\n',
    ])
  })

  test('help and help --all name every command, and nothing that goes through a pipe has colour', () => {
    const { stdout } = svc('help', '--all')
    for (const path of [
      'svc daemon',
      'svc id next export',
      'svc delegate <aid> [task]',
      'svc autoreply set',
      'svc verify [id]',
    ]) {
      expect(stdout).toContain(path)
    }
    expect(svc('help').stdout + stdout).not.toContain('\u001b')
  })
})
