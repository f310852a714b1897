/**
 * Making a data directory from an archive. It appears under its name when all of it is on the disk and was looked at. What
 * the identity has signed since is not in the archive, so the store is marked: nothing is signed before the hub was asked.
 */
import * as fs from 'node:fs'
import { dirname, join } from 'node:path'
import { wordsOf } from '../../protocol/encoding/errors.ts'
import { shellWord } from '../../protocol/shell.ts'
import { readConfig } from '../home/config.ts'
import { lockDirectory } from '../home/lock.ts'
import { peekLog } from '../identity/identity.ts'
import { requireReadableKeys } from '../identity/mailbox-keys.ts'
import { ensureSecretDirectory, SECRET_FILE_MODE, syncDirectory } from '../platform/files.ts'
import { isOutOfRoom } from '../platform/room.ts'
import { countA2aPushes, removeA2aPushes } from '../store/a2a.ts'
import { chainLength, markInFile } from '../store/chain.ts'
import { doubtNumbers } from '../store/interactions.ts'
import { keepLasting } from '../store/lasting.ts'
import { openStore } from '../store/open.ts'
import { markRestored } from '../store/restores.ts'
import { quiet, startsOf } from './arriving.ts'
import { ATTACHMENTS_FOLDER } from './save.ts'
import {
  type ArchiveHead,
  type ArchiveKind,
  ArchiveRefused,
  type Entry,
  readArchive,
  readHead,
} from './sealed.ts'
import { SMALL_FILES, STORE_FILE } from './snapshot.ts'

/** What comes out of the archive lies here until all of it was looked at. */
const DRAFT = '.restoring'
const CONTENT_ID = /^b[a-z2-7]+$/
/** What a directory may hold that no node has used. */
const UNUSED = new Set([
  'lock',
  'daemon.lock',
  'daemon.log',
  'config.json',
  'config.arrived.json',
  'control_token.txt',
  'a2a_token.txt',
  'ids',
  'current',
  'projects',
])

export type LoadOptions = {
  path: string
  dir: string
  passphrase: string
  kind: ArchiveKind
  /** Whether its programs, modules and doors are on from the start. */
  withSettings?: boolean
}
/** `starts`: what its settings would start, call and listen on; off unless they were asked for. */
export type Loaded = { aid: string; dataDir: string; madeAtMs: number; records: number; starts: string[] }

/** Fills a directory that holds no identity. */
export async function loadArchive({
  path,
  dir,
  passphrase,
  kind,
  withSettings = false,
}: LoadOptions): Promise<Loaded> {
  const head = readHead(path)
  if (head.kind !== kind) throw new ArchiveRefused(wrongKind(path, head.kind))
  if (!fs.existsSync(join(dir, DRAFT))) requireUnused(dir)
  ensureSecretDirectory(dir)
  using _lock = lockDirectory(dir, 'command')
  removeHalf(dir)
  requireUnused(dir)
  const draft = join(dir, DRAFT)
  fs.rmSync(draft, { recursive: true, force: true })
  ensureSecretDirectory(draft)
  try {
    for await (const entry of readArchive(path, passphrase)) await place(draft, entry)
    const { records, pushes } = settle(draft, head, withSettings)
    const starts = withSettings ? startsOf(readConfig(draft), pushes) : quiet(draft, pushes)
    adopt(draft, dir)
    return { aid: head.aid, dataDir: dir, madeAtMs: head.madeAtMs, records, starts }
  } catch (error) {
    if (isOutOfRoom(error))
      throw new ArchiveRefused(`there is not enough room in ${dir}; free some, then try again`)
    throw error
  } finally {
    fs.rmSync(draft, { recursive: true, force: true })
  }
}

const wrongKind = (path: string, kind: ArchiveKind) =>
  kind === 'backup'
    ? `${path} is a backup, of a node that may still run; put it back with: svc restore ${shellWord(path)}`
    : `${path} is an export, which moves an identity; bring it in with: svc id import ${shellWord(path)}`

/**
 * What a load left that was killed: its draft, and what it had moved out of it. The key comes last, so a directory with
 * one is whole, and no node has used one without.
 */
function removeHalf(dir: string): void {
  if (!fs.existsSync(join(dir, DRAFT)) || fs.existsSync(join(dir, 'identity.kel'))) return
  const moved = [...SMALL_FILES, ATTACHMENTS_FOLDER, STORE_FILE].map(path => path.split('/')[0] as string)
  for (const name of [...moved, DRAFT])
    if (!UNUSED.has(name)) fs.rmSync(join(dir, name), { recursive: true, force: true })
}

function requireUnused(dir: string): void {
  const held = fs.existsSync(dir) ? fs.readdirSync(dir).filter(name => !UNUSED.has(name)) : []
  if (held.length > 0)
    throw new ArchiveRefused(`${dir} holds ${held.join(', ')}; name an identity that is not there yet`)
}

async function place(draft: string, { path, bytes }: Entry): Promise<void> {
  const folder = dirname(path)
  const isKnown =
    SMALL_FILES.includes(path) ||
    path === STORE_FILE ||
    (folder === ATTACHMENTS_FOLDER && CONTENT_ID.test(path.slice(folder.length + 1)))
  if (!isKnown)
    throw new ArchiveRefused(
      `the archive holds ${JSON.stringify(path)}, which no data directory has; take another archive`,
    )
  const target = join(draft, path)
  ensureSecretDirectory(dirname(target))
  const file = fs.openSync(target, 'wx', SECRET_FILE_MODE)
  try {
    for await (const piece of bytes) fs.writeFileSync(file, piece)
    fs.fsyncSync(file)
  } finally {
    fs.closeSync(file)
  }
}

/** Looks at what came and marks it; the length of its evidence chain, and how many clients of A2A its pushes call. */
function settle(
  draft: string,
  { aid, madeAtMs, kind }: ArchiveHead,
  withSettings: boolean,
): { records: number; pushes: number } {
  if (!fs.existsSync(join(draft, STORE_FILE)) || peekLog(draft)?.aid !== aid)
    throw new ArchiveRefused('the archive does not hold the identity that it names; take another archive')
  requireReadableKeys(draft)
  const store = openStore(draft)
  try {
    return store.transaction(() => {
      markRestored(store, madeAtMs)
      // an exported directory has signed nothing since
      if (kind === 'backup') doubtNumbers(store)
      // the file of the chain is written anew from the store
      keepLasting(store, { chainCheckpoint: null })
      markInFile(store, 0)
      const records = chainLength(store)
      return { records, pushes: withSettings ? countA2aPushes(store) : removeA2aPushes(store) }
    }, 'node.restore')
  } finally {
    store.close()
  }
}

/** The key comes last: without it no node starts on the rest. */
function adopt(draft: string, dir: string): void {
  const names = fs
    .readdirSync(draft)
    .sort((a, b) => Number(a === 'identity.kel') - Number(b === 'identity.kel'))
  try {
    for (const name of names) fs.renameSync(join(draft, name), join(dir, name))
  } catch (error) {
    throw new ArchiveRefused(`${dir} could not be filled: ${wordsOf(error)}; empty it, then try again`, {
      cause: error,
    })
  }
  syncDirectory(dir)
}
