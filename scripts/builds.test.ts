/** Builds beside each other: a program that runs keeps its parts, and nothing is done when nothing changed. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { BUILDS_KEPT, fingerprint, folderOf, install } from './builds.ts'

const fresh = () => mkdtempSync(join(tmpdir(), 'svc-builds-'))

/** A program of two parts, the second of which loads when it is asked for. */
const built = (dist: string, id: string, alone = false) =>
  install({
    alone,
    dist,
    id,
    entry: 'program.mjs',
    async parts(folder) {
      mkdirSync(folder)
      writeFileSync(join(folder, 'first.mjs'), `export const later = () => import('./second.mjs')`)
      writeFileSync(join(folder, 'second.mjs'), `export const build = '${id}'`)
    },
    async start(file, folder) {
      writeFileSync(file, `export * from './${folder}/first.mjs'`)
    },
  })

type Program = { later(): Promise<{ build: string }> }
const load = async (dist: string, as: string) =>
  (await import(/* @vite-ignore */ `${pathToFileURL(join(dist, 'program.mjs')).href}?${as}`)) as Program

test('a program that started before a build still finds the part that it loads later', async () => {
  const dist = fresh()
  await built(dist, 'one')
  const running = await load(dist, 'one')
  expect(await built(dist, 'two')).toBe(true)
  expect((await running.later()).build).toBe('one')
  expect((await (await load(dist, 'two')).later()).build).toBe('two')
})

test('nothing is written when nothing changed, and an earlier build comes back', async () => {
  const dist = fresh()
  await built(dist, 'one')
  expect(await built(dist, 'one')).toBe(false)
  await built(dist, 'two')
  expect(await built(dist, 'one')).toBe(true)
  expect(readdirSync(dist).sort()).toEqual([folderOf('one'), folderOf('two'), 'program.mjs'])
})

test(`the last ${BUILDS_KEPT} builds stay`, async () => {
  const dist = fresh()
  for (let i = 0; i <= BUILDS_KEPT; i++) await built(dist, `b${i}`)
  const kept = readdirSync(dist).filter(name => name.startsWith('build-'))
  expect(kept.length).toBe(BUILDS_KEPT)
  expect(kept).toContain(folderOf(`b${BUILDS_KEPT}`))
})

test('what a broken build or a release without folders left is removed, what is under way stays', async () => {
  const dist = fresh()
  for (const name of ['part-A.js', 'new-1.js', 'new-2.js']) writeFileSync(join(dist, name), '')
  utimesSync(join(dist, 'new-1.js'), 0, 0)
  await built(dist, 'one')
  expect(readdirSync(dist).sort()).toEqual([folderOf('one'), 'new-2.js', 'program.mjs'])
})

test('the name of a build changes with every source, and with no test', () => {
  const root = fresh()
  mkdirSync(join(root, 'src'))
  const write = (name: string, text: string) => writeFileSync(join(root, 'src', name), text)
  const name = (more = '') => fingerprint(root, ['src'], more)
  write('a.ts', '1')
  const first = name()
  write('a.test.ts', 'x')
  expect(name()).toBe(first)
  write('a.ts', '2')
  expect(name()).not.toBe(first)
  write('a.ts', '1')
  write('b.ts', '')
  expect(name()).not.toBe(first)
  rmSync(join(root, 'src', 'b.ts'))
  expect([name(), name('commit') === first]).toEqual([first, false])
})

test('a package holds the build that is made for it, and the others stay for whoever runs from them', async () => {
  const folder = fresh()
  const dist = join(folder, 'dist')
  writeFileSync(join(folder, 'package.json'), '{"name": "packed", "version": "1.0.0", "files": ["dist"]}')
  await built(dist, 'one')
  const running = await load(dist, 'one')
  await built(dist, 'two', true)
  await built(dist, 'two', true)
  const [packed] = JSON.parse(
    execFileSync('npm', ['pack', '--dry-run', '--json'], { cwd: folder, encoding: 'utf8' }),
  ) as [{ files: { path: string }[] }]
  const builds = packed.files.map(({ path }) => path).filter(path => path.startsWith('dist/'))
  expect(builds.sort()).toEqual(
    ['first.mjs', 'second.mjs'].map(name => `dist/${folderOf('two')}/${name}`).concat('dist/program.mjs'),
  )
  expect((await running.later()).build).toBe('one')
})
