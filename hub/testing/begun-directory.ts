/** Data directories whose first start has come as far as an empty store, which is made once a process. */
import { linkSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RELEASE } from '../../protocol/build-info.ts'
import { CREATING_MARKER } from '../data-dir.ts'
import { openWriter } from '../store/sqlite/database.ts'
import { migrate } from '../store/sqlite/migrate.ts'
import { DATABASE_FILE, RESERVE_BYTES, RESERVE_FILE } from '../store/sqlite/open.ts'

const MODE = 0o600

/** What every empty store has; hubs take their reserve away and write nothing to it. */
type Made = { rows: Buffer; reserve: string }
let made: Made | undefined

function makeOnce(): Made {
  const directory = mkdtempSync(join(tmpdir(), 'svc-hub-begun-'))
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
  const path = join(directory, DATABASE_FILE)
  const database = openWriter(path)
  migrate(database, path, { release: RELEASE })
  database.close()
  const reserve = join(directory, RESERVE_FILE)
  writeFileSync(reserve, new Uint8Array(RESERVE_BYTES), { mode: MODE })
  return { rows: readFileSync(path), reserve }
}

/** A new directory with an empty store. */
export function storeDirectory(prefix: string): string {
  made ??= makeOnce()
  const directory = mkdtempSync(join(tmpdir(), prefix))
  linkSync(made.reserve, join(directory, RESERVE_FILE))
  writeFileSync(join(directory, DATABASE_FILE), made.rows, { mode: MODE })
  return directory
}

/** A new directory of a hub that has nothing but its empty store yet. */
export function hubDirectory(prefix: string): string {
  const directory = storeDirectory(prefix)
  writeFileSync(join(directory, CREATING_MARKER), '', { mode: MODE })
  return directory
}
