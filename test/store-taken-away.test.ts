/** A node whose store is taken from under it ends, before it says more that would be forgotten. */
import { mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startNode } from '../daemon/node.ts'
import { storePath } from '../daemon/store/open.ts'

test('a store that is renamed under a running node ends it, and the log says why', async () => {
  const place = mkdtempSync(join(tmpdir(), 'svc-taken-'))
  const dir = join(place, 'node')
  const ended = Promise.withResolvers<void>()
  const env = { HOME: place, SVC_HOME: dir, SVC_RUNTIME_DIR: join(place, 'run') }
  const node = await startNode({ dir, env, onShutdown: ended.resolve })
  renameSync(storePath(dir), join(place, 'away.db'))
  await ended.promise
  await node.stop()
  expect(readFileSync(join(dir, 'daemon.log'), 'utf8')).toContain(
    'the store was removed or replaced while the node ran: the node ends',
  )
  rmSync(place, { recursive: true })
})
