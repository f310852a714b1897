import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'

const root = import.meta.dirname
const slow = ['**/*.slow.test.ts']
/** Of the slow tests those that know how to run in part. */
const slice = globSync('{hub,protocol,test}/**/*.slow.test.ts', { cwd: root }).filter(path =>
  /\bsliced\(/.test(readFileSync(join(root, path), 'utf8')),
)
/** Long stories, most over the built programs, of many processes, a browser or another program: apart, so that the rest is quick. */
const programs = [
  'test/{backup-interrupted,builds,client-file,examples,hints,launchers,tools,command-line,commands,demo,first-conversation,tutorial,homes,npx,doctor,clock-ahead,full-disk,hung-node,stop,public-page,verify-page,mcp,mcp-rounds,hook,proxied-node,site}.test.ts',
  'test/{tool-words,tool-attachments,tool-foreign-words,project,hostile-project}.test.ts',
  'test/packages.test.ts',
  'test/matrix/processes.test.ts',
  'test/matrix/{former-hub,restored-money,restored-price}.test.ts',
  'test/{canary,conformance,console,second-client,tui,x402}/*.test.ts',
  'daemon/platform/stream-memory.test.ts',
  'test/a2a/{access,payments,surface}.test.ts',
  'test/fuzz/{programs,protocol,routes}.test.ts',
  'test/two-nodes/*.test.ts',
  'test/agents/stories.test.ts',
  'autoreply/{command,exec,sandbox}.test.ts',
  'autoreply/attack/attack.test.ts',
  'cli/commands/archive.test.ts',
  'cli/{install/install,sentences}.test.ts',
  'daemon/control/auto-reply.test.ts',
  'hub/test/{broken-files,crash,disk-faults,limits,log,moving,operator,other-users,payments-crash,privacy,rotate,service-manager,store-faults,streams-and-signals,untaken-answers,witness}.test.ts',
]
/** `npm run mutate` runs a test many times, with a change each. */
const mutating = process.env['SVC_MUTATE'] === undefined ? {} : { runner: './scripts/mutate/runner.ts' }
const never = ['**/node_modules/**', '**/dist/**', '**/.tsbuild/**']

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
          exclude: [...never, ...slow, ...programs],
          ...mutating,
          testTimeout: 60_000,
          expect,
        },
      },
      {
        test: {
          name: 'programs',
          include: programs,
          exclude: [...never, ...slow],
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
          env: { SVC_SLICE: '1' },
          testTimeout: 600_000,
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
