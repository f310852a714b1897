// project: programs
/** Two builds serve one hub side by side, of which the newer one has brought the database to its schema. */
import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bundledProgram } from '../testing/bundle.ts'
import { type ClusterProcess, TestCluster } from '../testing/cluster.ts'
import { ClusterHistory } from '../testing/cluster-history.ts'
import { withoutPostgres } from '../testing/postgres-server.ts'
import { runHub } from '../testing/process.ts'

const WORK_MS = 500
/** A process looks at the schema so often. */
const SEEN_MS = 2500
const LATER = 'CREATE TABLE later (number bigint PRIMARY KEY);\n'
const ALONE = '-- alone\nALTER TABLE later RENAME COLUMN number TO serial;\n'

const made: string[] = []
/** The program with more migrations than these sources have. */
async function buildWith(...migrations: string[]): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-build-'))
  made.push(folder)
  cpSync(dirname(await bundledProgram()), folder, { recursive: true })
  const held = readdirSync(join(folder, 'schema')).length
  for (const [n, sql] of migrations.entries())
    writeFileSync(join(folder, 'schema', `${String(held + n + 1).padStart(4, '0')}-later.sql`), sql)
  return join(folder, 'svc-hub.js')
}

describe.skipIf(withoutPostgres !== undefined)(
  withoutPostgres ?? 'two builds of a hub',
  { timeout: 60_000 },
  () => {
    let cluster: TestCluster
    let history: ClusterHistory
    let newer: string
    beforeAll(async () => {
      cluster = await TestCluster.start(2, { env: {} })
      history = await ClusterHistory.on(cluster)
      newer = await buildWith(LATER)
    }, 120_000)
    afterAll(async () => {
      await cluster.close()
      for (const folder of made) rmSync(folder, { recursive: true })
    })
    const serve = (directory: string, program?: string) =>
      runHub(['serve', '--listen', '127.0.0.1:0', '--data-dir', directory, ...cluster.args], { program })

    test('the older ones go on beside a newer one, and say that they are older', async () => {
      const older = [...cluster.processes]
      await history.during(async () => {
        await pause(WORK_MS)
        await cluster.add(undefined, { program: newer })
        await pause(SEEN_MS)
      })
      expect(await history.compare()).toEqual([])
      for (const one of older) {
        const lines = one
          .said()
          .split('\n')
          .filter(said => said.includes('a newer release'))
        expect(lines.map(line => JSON.parse(line))).toEqual([
          expect.objectContaining({
            level: 'warn',
            mend: expect.stringContaining('start this process again'),
          }),
        ])
      }
    })

    test('an older one does not start any more, and the doctor says what to install', async () => {
      const [one] = cluster.processes as [ClusterProcess]
      await cluster.end(one)
      const started = await serve(one.directory)
      expect([started.code, started.stderr]).toEqual([
        78,
        expect.stringMatching(/was written by a newer svc-hub: it has schema \d+.*install svc-hub/),
      ])
      const { stdout } = await runHub(['doctor', '--data-dir', one.directory, ...cluster.args])
      expect(stdout).toMatch(/schema: schema \d+ is newer than svc-hub/)
    })

    test('each is started again with the newer build while mail and payments go on', async () => {
      await history.during(async () => {
        for (const one of [...cluster.processes]) {
          await cluster.end(one, 'SIGTERM')
          await cluster.add(one.directory, { program: newer })
          await pause(WORK_MS)
        }
      })
      expect(await history.compare()).toEqual([])
    })

    test('a migration that the build before does not bear waits until none of its processes serves', async () => {
      const newest = await buildWith(LATER, ALONE)
      const [one, ...others] = [...cluster.processes] as [ClusterProcess, ...ClusterProcess[]]
      await cluster.end(one)
      const refused = await serve(one.directory, newest)
      expect([refused.code, refused.stderr]).toEqual([
        1,
        expect.stringMatching(
          /works with no process of the release before.*stop all of them, then start this one/,
        ),
      ])
      for (const other of others) await cluster.end(other)
      for (const { directory } of [one, ...others]) await cluster.add(directory, { program: newest })
      expect(await history.compare()).toEqual([])
    })
  },
)
