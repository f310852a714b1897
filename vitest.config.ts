import { globSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'

const root = import.meta.dirname
const tests = globSync(
  '{autoreply,cli,console,daemon,hub,mcp,protocol,scripts,test,tui,view,x402}/**/*.test.ts',
  {
    cwd: root,
    exclude: ['**/node_modules/**', '**/dist/**', '**/.tsbuild/**'],
  },
)
const textOf = (path: string): string => readFileSync(join(root, path), 'utf8')

const slow = ['**/*.slow.test.ts']
/** Of the slow tests those that know how to run in part. */
const slice = tests.filter(path => path.endsWith('.slow.test.ts') && /\bsliced\(/.test(textOf(path)))
/** Long stories, most over the built programs, of many processes, a browser or another program: apart, so that the rest is quick. */
const MARK = '// project: programs\n'
const programs = [
  'test/{canary,conformance,console,second-client,tui,two-nodes,x402}/*.test.ts',
  ...tests.filter(path => textOf(path).startsWith(MARK)),
]
const callers = (name: string) =>
  tests.filter(path => !path.endsWith('.slow.test.ts') && new RegExp(`^${name}\\(`, 'm').test(textOf(path)))
/** Every cell of the matrix: hundreds of short worlds in memory. */
const matrix = callers('testMatrix')
/** Cells that are close to these, in the same files; with them the cells of other worlds, in files of their own. */
const variants = [...matrix, ...callers('testCells')]
/** `npm run mutate` runs a test many times, with a change each. */
const isMutating = process.env['SVC_MUTATE'] !== undefined
const mutating = isMutating ? { runner: './scripts/mutate/runner.ts' } : {}
const never = ['**/node_modules/**', '**/dist/**', '**/.tsbuild/**']

/** Of a file of tests that runs once; one that takes longer is ended, and the others go on. */
const limitedTo = (minutes: number, env: Record<string, string> = {}) => ({
  setupFiles: ['./test/file-limit.ts'],
  env: { ...env, SVC_FILE_MINUTES: String(isMutating ? 0 : minutes) },
})

/** The runtime's own modules: a tenth of the time went to what stands in their place. */
const onRuntime = { experimental: { viteModuleRunner: false, nodeLoader: false } }

/** Of tests in worlds of their own, which wait for no other process: a worker for each core. */
const inWorlds = (cells: 'kinds' | 'variants') => ({
  exclude: never,
  ...mutating,
  ...limitedTo(10, {
    SVC_CELLS: cells,
    NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/svc-matrix'),
  }),
  ...onRuntime,
  setupFiles: ['./test/file-limit.ts', './test/matrix/remember.ts'],
  maxWorkers: availableParallelism(),
  sequence: { groupOrder: 1 },
  testTimeout: 60_000,
  hookTimeout: 60_000,
  expect,
})

/** A condition that a test waits for may take its time on a busy machine. */
const expect = { poll: { timeout: 10_000 } }

export default defineConfig({
  test: {
    // many tests wait for processes and sockets of their own, so more workers than cores keep both cores busy
    maxWorkers: 4,
    // files share their worker's modules: nothing of ours keeps state in a module
    isolate: false,
    // its ES modules import folders, which bundlers resolve and the runtime does not
    server: { deps: { inline: ['clipanion'] } },
    globalSetup: './test/temporary-folder.ts',
    projects: [
      {
        test: {
          name: 'quick',
          include: ['**/*.test.ts'],
          exclude: [...never, ...slow, ...programs, ...variants],
          ...mutating,
          ...limitedTo(10),
          ...onRuntime,
          testTimeout: 60_000,
          hookTimeout: 60_000,
          expect,
        },
      },
      { test: { name: 'matrix', include: matrix, ...inWorlds('kinds') } },
      { test: { name: 'variants', include: variants, ...inWorlds('variants') } },
      {
        test: {
          name: 'programs',
          include: programs,
          exclude: [...never, ...slow],
          ...limitedTo(15),
          // stories of many processes may take six times as long on a busy machine
          testTimeout: 300_000,
          hookTimeout: 300_000,
          expect: { poll: { timeout: 60_000 } },
        },
      },
      {
        test: {
          name: 'slice',
          include: slice,
          exclude: never,
          ...limitedTo(30, { SVC_SLICE: '1' }),
          // a message that met a fault at the end waits for its next try, which may be ten minutes away
          testTimeout: 1_800_000,
          hookTimeout: 300_000,
          expect,
        },
      },
      {
        test: {
          name: 'slow',
          include: slow,
          exclude: never,
          testTimeout: 3_600_000,
          hookTimeout: 120_000,
          expect,
        },
      },
    ],
  },
})
