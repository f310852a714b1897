/** Whole identities in one encrypted file: backup and restore, export and import. */

import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { ARRIVED_FILE } from '../../daemon/archive/arriving.ts'
import type { ArchiveKind } from '../../daemon/archive/sealed.ts'
import { DEFAULT_IDENTITY, identityDirectory, identityNames, selectIdentity } from '../../daemon/home/home.ts'
import { DirectoryBusy, holderOf } from '../../daemon/home/lock.ts'
import { MOVED_FILE } from '../../daemon/home/moved.ts'
import { requireOnlyNode } from '../../daemon/home/only-node.ts'
import { peekIdentity } from '../../daemon/identity/identity.ts'
import { systemRandom } from '../../daemon/platform/random.ts'
import type { Run } from '../command.ts'
import { CommandFailed, hint, type Io, notice, printReply, UsageRefused } from '../io.ts'
import { sayWhileWaiting } from '../waiting.ts'
import { readPassphrase } from './passphrase.ts'

export const backup: Run = async (io, input) => {
  const { dir } = selectIdentity(io.env, input.id)
  const path = resolve(io.cwd, input.positionals[0] as string)
  const { backup: save, requireSavable } = await import('../../daemon/archive/save.ts')
  requireSavable(dir, path)
  const passphrase = await readPassphrase(io, input, true)
  const done = sayWhileWaiting(io, 'the backup, which Ctrl-C leaves undone')
  const { aid, bytes, files, madeAtMs } = await save({
    dir,
    path,
    passphrase,
    now: io.now,
    random: systemRandom,
  }).finally(done)
  printReply(io, { aid, archive: path, bytes, attachments: files, made_at: madeAtMs })
  return 0
}

export const exportIdentity: Run = async (io, input) => {
  const { dir } = selectIdentity(io.env, input.id)
  const { exportNode, requireSavable, undoExport } = await import('../../daemon/archive/save.ts')
  const given = input.positionals[0]
  if (input.flags.has('--undo')) {
    if (given !== undefined) throw new UsageRefused('--undo takes no file', 'svc id export --undo')
    const aid = peekIdentity(dir)?.aid
    if (aid !== undefined) requireOnlyNode(io.env, aid, dir)
    undoExport(dir)
    printReply(io, { data_dir: dir, exported: false })
    return 0
  }
  if (given === undefined) throw new UsageRefused('missing argument: <file>', 'svc help id export')
  const path = resolve(io.cwd, given)
  requireSavable(dir, path)
  const holder = holderOf(dir)
  if (holder !== undefined) refuseRunning(holder)
  const passphrase = await readPassphrase(io, input, true)
  const { aid, bytes, files, madeAtMs } = await exportNode({
    dir,
    path,
    passphrase,
    now: io.now,
    random: systemRandom,
  }).catch(refuseRunning)
  printReply(io, { aid, archive: path, bytes, attachments: files, made_at: madeAtMs, exported: true })
  hint(io, `take ${path} to the other machine, and there:\nsvc id import <file>`)
  return 0
}

function refuseRunning(error: unknown): never {
  if (error instanceof DirectoryBusy && error.isNode)
    throw new CommandFailed('the node is running; an identity that moves has to be stopped first', 'svc stop')
  throw error
}

const loading =
  (kind: ArchiveKind): Run =>
  async (io, input) => {
    const { dir } = selectIdentity(io.env, input.id)
    const path = resolve(io.cwd, input.positionals[0] as string)
    const { readHead } = await import('../../daemon/archive/sealed.ts')
    const { loadArchive } = await import('../../daemon/archive/load.ts')
    requireElsewhere(io, readHeadOf(readHead, path).aid, kind)
    const passphrase = await readPassphrase(io, input, false)
    const done = sayWhileWaiting(io, 'the archive to be opened')
    const withSettings = input.flags.has('--with-settings')
    const { aid, madeAtMs, records, starts } = await loadArchive({
      path,
      dir,
      passphrase,
      kind,
      withSettings,
    }).finally(done)
    const settings = starts.length === 0 ? undefined : { [withSettings ? 'starts' : 'kept_off']: starts }
    printReply(io, { aid, data_dir: dir, made_at: madeAtMs, records, ...settings })
    if (settings !== undefined && !withSettings)
      notice(
        io,
        `the archive brought settings that start programs or open doors; they are off, and stand in ${join(dir, ARRIVED_FILE)} – turn on again what you want, or do it anew with --with-settings`,
      )
    hint(io, 'it asks its hub what came after the archive before it signs anything:\nsvc up')
    return 0
  }

export const restore = loading('backup')
export const importIdentity = loading('export')

function readHeadOf(read: (path: string) => { aid: string }, path: string): { aid: string } {
  if (!existsSync(path)) throw new CommandFailed(`there is no file ${path}`, 'check the path')
  return read(path)
}

/** An identity that lies in this home already would be there twice, and one that was exported from it lives elsewhere. */
function requireElsewhere(io: Io, aid: string, kind: ArchiveKind): void {
  const holder = [DEFAULT_IDENTITY, ...identityNames(io.env)].find(name => {
    const dir = identityDirectory(io.env, name)
    const isMoved = existsSync(join(dir, MOVED_FILE))
    return peekIdentity(dir)?.aid === aid && !(isMoved && kind === 'export')
  })
  if (holder !== undefined)
    throw new CommandFailed(
      `${aid} is here already, as "${holder}"; a second copy would contradict it`,
      `svc --id ${holder} status`,
    )
}
