// project: programs
/** A start that is refused leaves nothing behind, and none makes a folder for long mail where that lies elsewhere. */
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { EXIT_CONFIG, EXIT_FAILED } from '../terminal.ts'
import { TestCluster } from '../testing/cluster.ts'
import { withoutPostgres } from '../testing/postgres-server.ts'
import { runHub, startHubChild } from '../testing/process.ts'

const COPIED = ['identity.kel', 'identity.next', 'secret']

describe.skipIf(withoutPostgres !== undefined)(
  withoutPostgres ?? 'a refused start over a database',
  { timeout: 60_000 },
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-hub-refused-'))
    let cluster: TestCluster
    beforeAll(async () => {
      cluster = await TestCluster.start(1)
    }, 120_000)
    afterAll(async () => {
      await cluster.close()
      rmSync(folder, { recursive: true, force: true })
    })
    const serve = (directory: string, files: string, store = cluster.server.url) =>
      runHub([
        ...['serve', '--listen', '127.0.0.1:0', '--data-dir', directory],
        ...['--store', store, '--files', files],
      ])
    const withCopies = (name: string): string => {
      const directory = join(folder, name)
      mkdirSync(directory, { mode: 0o700 })
      for (const copied of COPIED)
        copyFileSync(join(cluster.processes[0]?.directory ?? '', copied), join(directory, copied))
      return directory
    }

    test('makes no data directory', async () => {
      const fresh = join(folder, 'deep', 'down')
      for (const store of [
        cluster.server.url.replace('postgres@', 'nobody@'),
        cluster.server.url,
        'postgres://x@127.0.0.1/y?sslmode=prefer',
      ]) {
        expect((await serve(fresh, join(folder, 'files'), store)).code).toBe(EXIT_CONFIG)
        expect(readdirSync(folder)).toEqual([])
      }
    })

    test('in a folder of its operator leaves what was there', async () => {
      const directory = withCopies('copies')
      expect((await serve(directory, join(folder, 'files'), `${cluster.server.url}&x=y`)).code).toBe(78)
      expect(readdirSync(directory).sort()).toEqual([...COPIED].sort())
    })

    test('where the shared folder is not mounted makes none, and may be tried again', async () => {
      const directory = withCopies('unmounted')
      const absent = join(folder, 'absent')
      const gone = await serve(directory, absent)
      expect([gone.code, gone.stderr]).toEqual([
        EXIT_FAILED,
        `svc-hub: the folder with the long mail of this hub is away: there is no ${absent}; mount what belongs there, or give each process the same --files\n`,
      ])
      expect(existsSync(absent)).toBe(false)
      const bare = join(folder, 'bare')
      mkdirSync(bare)
      const empty = await serve(directory, bare)
      expect([empty.code, empty.stderr]).toEqual([
        EXIT_FAILED,
        expect.stringContaining(
          `${bare} is not the folder with the long mail of this hub, as where its disk`,
        ),
      ])
      expect(readdirSync(bare)).toEqual([])
      expect(readdirSync(directory).sort()).toEqual([...COPIED].sort())
    })

    test('with the folder of another hub is final', async () => {
      const directory = withCopies('elsewhere')
      const other = join(folder, 'other')
      mkdirSync(other)
      writeFileSync(join(other, 'folder-id'), `${'ab'.repeat(16)}\n`)
      const taken = await serve(directory, other)
      expect([taken.code, taken.stderr]).toEqual([EXIT_CONFIG, expect.stringContaining('in another place')])
      expect(readdirSync(other)).toEqual(['folder-id'])
    })
  },
)

describe.skipIf(withoutPostgres !== undefined)(
  withoutPostgres ?? 'a hub that moves with its long mail',
  { timeout: 60_000 },
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-hub-moves-'))
    afterAll(() => rmSync(folder, { recursive: true, force: true }))

    test('is served with the folder of the move alone, and moves back with it alone', async () => {
      const cluster = await TestCluster.start(0)
      const at = ['--data-dir', join(folder, 'data')]
      const over = (files: string) => [...at, '--files', join(folder, files)]
      const hub = await startHubChild(join(folder, 'data'))
      hub.kill('SIGTERM')
      await hub.exited
      const { url } = cluster.server
      expect((await runHub(['migrate', '--to', url, ...over('files')])).code).toBe(0)
      const wrong = await runHub(['serve', '--listen', '127.0.0.1:0', '--store', url, ...over('absent')])
      expect([wrong.code, wrong.stderr]).toEqual([EXIT_FAILED, expect.stringContaining('there is no')])
      const back = await runHub(['migrate', '--to', 'file', '--store', url, ...over('absent')])
      expect([back.code, back.stderr]).toEqual([EXIT_FAILED, expect.stringContaining('there is no')])
      expect(existsSync(join(folder, 'absent'))).toBe(false)
      const right = await runHub(['migrate', '--to', 'file', '--store', url, ...over('files')])
      expect([right.stderr, right.code]).toEqual(['', 0])
      await cluster.close()
    })
  },
)

test('a start over a file that is refused makes no data directory', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-hub-refused-file-'))
  const moved = join(folder, 'moved')
  mkdirSync(moved)
  for (const name of ['identity.kel', 'secret']) writeFileSync(join(moved, name), 'x')
  const { code } = await runHub(['serve', '--listen', '127.0.0.1:0', '--data-dir', moved])
  expect([code, readdirSync(moved).sort()]).toEqual([EXIT_CONFIG, ['identity.kel', 'secret']])
  rmSync(folder, { recursive: true })
})
