/** The store of a stopped node as the release before left it. */
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Database, openDatabase } from '../../daemon/platform/sqlite.ts'
import { openStoreAlone, storePath } from '../../daemon/store/open.ts'
import { upgrades } from '../../daemon/store/upgrades.ts'
import { replaceStore } from '../../daemon/testing/warm-stores.ts'
import { addPreviousFunctions, fillMemory } from './memory-before.ts'

/** The schema that each release left. */
const SCHEMAS: Readonly<Record<string, number>> = { '0.3.0': 12 }
const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string
}

/** The steps after it have not been released. */
const RELEASED_SCHEMA = SCHEMAS[version] ?? 0
if (RELEASED_SCHEMA === 0) throw new Error(`say which schema ${version} was released with`)

/** Whether a store was brought here from that schema. */
export const isUpgraded = (dir: string): boolean => existsSync(`${storePath(dir)}.schema-${RELEASED_SCHEMA}`)

/** What was made anew since, as that release had it. */
const MADE_ANEW: Readonly<Record<string, string>> = {
  interactions_by_side: 'CREATE INDEX interactions_by_side ON interactions (side, updated_at)',
  interactions_by_state: 'CREATE INDEX interactions_by_state ON interactions (side, state, updated_at)',
  memory: 'CREATE TABLE memory (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID',
  messages_text: `CREATE VIRTUAL TABLE messages_text USING fts5 (text, content = 'messages', content_rowid = 'key')`,
}
/** What is not kept any more, as that release had it, and what it was. */
const DROPPED: Readonly<Record<string, { declared: string; was: string }>> = {
  'payments.problem': { declared: 'TEXT', was: 'NULL' },
  'interactions.wire': {
    declared: 'INTEGER NOT NULL DEFAULT 3',
    was: "CASE way WHEN 'local' THEN 0 WHEN 'open' THEN 1 ELSE 3 END",
  },
}
const FILLED_ANEW = 'INSERT INTO messages_text (rowid, text) SELECT key, text FROM messages'

type Former = { bytes: Buffer; copying: string }
let former: Former | undefined

/** Takes back every step since; what only this build writes goes with its columns and tables. */
export function undoUpgrades(dir: string): void {
  former ??= formerStore()
  const path = storePath(dir)
  const copy = `${path}.former`
  writeFileSync(copy, former.bytes)
  const database = openDatabase(copy, { isAlone: true })
  addPreviousFunctions(database)
  database.exec(`ATTACH '${path}' AS now; BEGIN; PRAGMA defer_foreign_keys = ON; ${former.copying}; COMMIT`)
  database.close()
  replaceStore(path, copy)
}

/** An empty store of that release, and what fills it from one of this release. */
function formerStore(): Former {
  const dir = mkdtempSync(join(tmpdir(), 'svc-matrix-former-'))
  const { database } = openStoreAlone(dir)
  for (const step of upgrades.slice(RELEASED_SCHEMA - 1).reverse())
    for (const statement of statementsOf(step).reverse()) database.exec(undone(statement) ?? '')
  database.exec(`PRAGMA user_version = ${RELEASED_SCHEMA}`)
  const copies = tablesOf(database)
    .filter(table => table !== 'memory')
    .map(table => {
      const columns = database.prepare('SELECT name FROM pragma_table_info(?)').all(table)
      const names = columns.map(({ name }) => String(name))
      const values = names.map(name => DROPPED[`${table}.${name}`]?.was ?? name)
      return `INSERT INTO main.${table} (${names.join(', ')}) SELECT ${values.join(', ')} FROM now.${table}`
    })
  database.close()
  return { bytes: readFileSync(storePath(dir)), copying: [...copies, FILLED_ANEW, ...fillMemory].join('; ') }
}

const tablesOf = (database: Database): string[] =>
  database
    .prepare("SELECT name FROM pragma_table_list WHERE type = 'table' AND schema = 'main'")
    .all()
    .map(({ name }) => String(name))
    .filter(name => !name.startsWith('sqlite_'))

const statementsOf = (step: string): string[] =>
  step
    .replaceAll(/--.*$/gm, '')
    .split(';')
    .map(one => one.trim())
    .filter(one => one !== '')

/** Nothing for what fills a new column, or takes what it is filled with from where it was: it goes with the column, and the words that it was told by stand beside it. */
function undone(statement: string): string | undefined {
  if (/^(UPDATE|INSERT|DELETE) /.test(statement)) return undefined
  const dropped = /^DROP (?:TABLE|INDEX) (\w+)/.exec(statement)?.[1]
  if (dropped !== undefined && MADE_ANEW[dropped] !== undefined) return MADE_ANEW[dropped]
  const column = /^ALTER TABLE (\w+) ADD COLUMN (\w+)/.exec(statement)
  if (column !== null) return `ALTER TABLE ${column[1]} DROP COLUMN ${column[2]}`
  const gone = /^ALTER TABLE (\w+) DROP COLUMN (\w+)/.exec(statement)
  const kept = gone === null ? undefined : DROPPED[`${gone[1]}.${gone[2]}`]
  if (gone !== null && kept !== undefined)
    return `ALTER TABLE ${gone[1]} ADD COLUMN ${gone[2]} ${kept.declared}`
  const renamed = /^ALTER TABLE (\w+) RENAME COLUMN (\w+) TO (\w+)/.exec(statement)
  if (renamed !== null) return `ALTER TABLE ${renamed[1]} RENAME COLUMN ${renamed[3]} TO ${renamed[2]}`
  const made = /^CREATE (?:VIRTUAL )?(TABLE|INDEX) (\w+)/.exec(statement)
  if (made !== null) return `DROP ${made[1]} ${made[2]}`
  throw new Error(`nothing is known that undoes: ${statement}`)
}
