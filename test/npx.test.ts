// project: programs

/** `npx svc` in this checkout: it starts the built program at once, builds nothing, and needs no home to write to. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { World } from '../cli/demo/world.ts'

const root = new URL('..', import.meta.url).pathname
const program = join(root, 'dist', 'svc.js')

/** npm sets variables for what it starts, the tests included; a user's shell has none of them. */
const env: Record<string, string | undefined> = {
  ...Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^npm_|^NODE|^INIT_CWD|^VITEST/i.test(name)),
  ),
  PATH: process.env['PATH']?.replaceAll(/[^:]*node_modules\/\.bin:/g, ''),
}

function run(command: string, args: string[], home: string) {
  return spawnSync(command, args, { cwd: root, encoding: 'utf8', env: { ...env, HOME: home } })
}

let builtBefore: number
beforeAll(() => {
  builtBefore = statSync(program).mtimeMs
})

test('the first call of a new home runs the program that stands there', () => {
  const home = mkdtempSync(join(tmpdir(), 'svc-npx-'))
  const first = run('npx', ['svc', 'version'], home)
  expect(first.stderr).not.toMatch(/svc:/)
  expect(JSON.parse(first.stdout)).toMatchObject({ version: '0.3.0' })
  expect(statSync(program).mtimeMs).toBe(builtBefore)
})

test('status says when the node runs another build than the command', async () => {
  const { build } = JSON.parse(
    run(process.execPath, [program, 'version'], mkdtempSync(join(tmpdir(), 'svc-npx-'))).stdout,
  ) as { build: string }
  const other = build.replaceAll(/./g, 'f')
  await using world = new World({ svc: program, hub: '' })
  for (const [from, to] of builtFiles(build, other, world.dir('other'))) {
    mkdirSync(dirname(to), { recursive: true })
    writeFileSync(to, readFileSync(from, 'utf8').replaceAll(build, other))
  }
  await world.startNode('alice')
  const same = await world.run(program, ['status'], world.env('alice'))
  expect([JSON.parse(same.stdout), same.stderr]).toMatchObject([{ build }, ''])
  const ran = await world.run(world.dir('other', 'svc.js'), ['status'], world.env('alice'))
  const change = world.dir('bin', 'svc.js')
  expect(ran.stderr.replaceAll(change, 'svc')).toBe(
    `svc: the node runs build ${build}, this command is of build ${other}; to change over: svc stop && svc up\n`,
  )
})

const builtFiles = (build: string, other: string, to: string): [string, string][] => [
  [program, join(to, 'svc.js')],
  ...readdirSync(join(root, 'dist', `build-${build}`)).map((name): [string, string] => [
    join(root, 'dist', `build-${build}`, name),
    join(to, `build-${other}`, name),
  ]),
]

test('it works where nothing can be written to the home', () => {
  const ran = run('npx', ['svc', 'version'], '/dev/null/home')
  expect([ran.status, JSON.parse(ran.stdout)]).toMatchObject([0, { version: '0.3.0' }])
})

test('the package of the checkout has no command of its own, which npm would install and build first', () => {
  const manifest = (path: string) => JSON.parse(readFileSync(join(root, path), 'utf8')) as { bin?: object }
  expect(manifest('package.json').bin).toBeUndefined()
  expect(manifest('bin/package.json').bin).toEqual({ svc: 'svc.js' })
})

test('its next steps are called as it was', () => {
  const home = mkdtempSync(join(tmpdir(), 'svc-npx-'))
  expect(run('npx', ['svc', 'statu'], home).stderr).toContain('\ntry: npx svc status\n')
  expect(run(process.execPath, [program, 'statu'], home).stderr).toContain('\ntry: npx svc status\n')
  const elsewhere = spawnSync(process.execPath, [program, 'statu'], { cwd: home, encoding: 'utf8', env })
  expect(elsewhere.stderr).toContain(`\ntry: ${join(root, 'bin', 'svc.js')} status\n`)
  const hub = run('npx', ['svc-hub', 'stats', '--data-dir', home], home)
  expect(hub.stderr).toContain(`create one with: npx svc-hub init --data-dir ${home}`)
})
