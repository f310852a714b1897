/** A backup of the running node, written by a thread of its own into a folder of this machine. */
import { existsSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { backupApart } from '../archive/apart.ts'
import { requireSavable } from '../archive/save.ts'
import { ArchiveRefused } from '../archive/sealed.ts'
import type { Settings } from '../home/settings.ts'
import type { Identity } from '../identity/identity.ts'
import type { Events } from '../platform/events.ts'
import { ensureSecretDirectory } from '../platform/files.ts'
import { refuse } from '../refusal.ts'
import type { Handlers } from './handlers.ts'

type BackupParts = {
  dir: string
  identity: Identity
  settings: Settings
  events: Events
  now: () => number
}

/** In the data directory, where no other folder is named. */
const BACKUPS_FOLDER = 'backups'
const AID_CHARACTERS = 8

export function backupOperations({
  dir,
  identity,
  settings,
  events,
  now,
}: BackupParts): Pick<Handlers, 'backup'> {
  let isWriting = false
  return {
    async backup({ passphrase, folder }) {
      if (isWriting) refuse('wrong_state', 'a backup is being written already', 'wait until it is done')
      if (folder !== undefined && !isAbsolute(folder))
        refuse('bad_request', 'folder: expected a path from the root on, of the machine of the node')
      isWriting = true
      try {
        const path = freePath(folder ?? ownFolder(dir), settings.current.name, identity.aid, now())
        requireSavable(dir, path)
        const saved = await backupApart({ dir, path, passphrase, nowMs: now() })
        events.emit('settings')
        const { bytes, files: attachments, madeAtMs: made_at } = saved
        return { archive: saved.path, bytes, attachments, made_at }
      } catch (error) {
        if (error instanceof ArchiveRefused) refuse('bad_request', error.message, 'name another folder')
        throw error
      } finally {
        isWriting = false
      }
    },
  }
}

function ownFolder(dir: string): string {
  const folder = join(dir, BACKUPS_FOLDER)
  ensureSecretDirectory(folder)
  return folder
}

/** Whose it is and of when, in the name of a file that is not there yet. */
function freePath(folder: string, nodeName: string, aid: string, now: number): string {
  const name = nodeName.replace(/[^\p{L}\p{N}._-]+/gu, '-').replace(/^[-.]+/, '')
  const time = new Date(now).toISOString().slice(0, 19).replaceAll(':', '').replace('T', '-')
  const stem = join(folder, `${name || aid.slice(0, AID_CHARACTERS)}-${time}`)
  for (let n = 1; ; n += 1) {
    const path = n === 1 ? `${stem}.svc` : `${stem}-${n}.svc`
    if (!existsSync(path)) return path
  }
}
