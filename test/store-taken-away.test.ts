/** A node whose store is taken from under it, or held by another program. */
import { mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { callsOf } from '../daemon/control/invoke.ts'
import { startNode } from '../daemon/node.ts'
import { openDatabase } from '../daemon/platform/sqlite.ts'
import { storePath } from '../daemon/store/open.ts'
import { agent } from '../protocol/testing/agents.ts'

test('while another program holds the store, calls are refused with what helps, and go through after that', async () => {
  const place = mkdtempSync(join(tmpdir(), 'svc-held-'))
  const dir = join(place, 'node')
  const env = { HOME: place, SVC_HOME: dir, SVC_RUNTIME_DIR: join(place, 'run') }
  const node = await startNode({ dir, env })
  node.ctx.store.database.exec('PRAGMA busy_timeout = 10')
  const name = () => callsOf(node)('contactAdd', { aid: agent('bob').aid, petname: 'bob' })
  const other = openDatabase(storePath(dir))
  other.exec('BEGIN IMMEDIATE')
  await expect(name()).rejects.toMatchObject({
    code: 'internal',
    message: 'another program has locked the store of this node: nothing was changed',
    next: 'end what has store.db open, then repeat it',
  })
  other.exec('ROLLBACK')
  other.close()
  expect(await name()).toMatchObject({ petname: 'bob' })
  await node.stop()
  rmSync(place, { recursive: true })
})

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
