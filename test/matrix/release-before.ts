/** The store of a stopped node as the release before left it. */
import { existsSync, readFileSync } from 'node:fs'
import { storePath } from '../../daemon/store/open.ts'
import { upgrades } from '../../daemon/store/upgrades.ts'
import { openWarm } from './warm-stores.ts'

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
  messages_text: `CREATE VIRTUAL TABLE messages_text USING fts5 (text, content = 'messages', content_rowid = 'key');
    INSERT INTO messages_text (rowid, text) SELECT key, text FROM messages`,
}

/** Takes back every step since; what only this build writes goes with its columns and tables. */
export function undoUpgrades(dir: string): void {
  const store = openWarm(dir)
  store.transaction(() => {
    for (const step of upgrades.slice(RELEASED_SCHEMA - 1).reverse())
      for (const statement of statementsOf(step).reverse()) store.database.exec(undone(statement) ?? '')
    store.database.exec(`PRAGMA user_version = ${RELEASED_SCHEMA}`)
  })
  store.close()
}

const statementsOf = (step: string): string[] =>
  step
    .replaceAll(/--.*$/gm, '')
    .split(';')
    .map(one => one.trim())
    .filter(one => one !== '')

/** Nothing for what fills a new column: it goes with the column, and the words that it was told by stand beside it. */
function undone(statement: string): string | undefined {
  if (/^(UPDATE|INSERT) /.test(statement)) return undefined
  const dropped = /^DROP TABLE (\w+)/.exec(statement)?.[1]
  if (dropped !== undefined && MADE_ANEW[dropped] !== undefined) return MADE_ANEW[dropped]
  const column = /^ALTER TABLE (\w+) ADD COLUMN (\w+)/.exec(statement)
  if (column !== null) return `ALTER TABLE ${column[1]} DROP COLUMN ${column[2]}`
  const made = /^CREATE (?:VIRTUAL )?(TABLE|INDEX) (\w+)/.exec(statement)
  if (made !== null) return `DROP ${made[1]} ${made[2]}`
  throw new Error(`nothing is known that undoes: ${statement}`)
}
