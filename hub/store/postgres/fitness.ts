/** Whether a server keeps what the hub promises: one that does not refuses the start. */
import { SetupRefused } from '../setup-refused.ts'
import type { Queries } from './connections.ts'

export type ServerSettings = {
  version: number
  release: string
  commit: string
  encoding: string
  fsync: string
  /** Whether whole pages are logged, so that one that a crash tore is mended. */
  pages: string
}

const VERSION_MIN = 15
/** How the server counts releases in its number. */
const VERSION_UNIT = 10_000

const SETTINGS =
  "SELECT current_setting('server_version_num')::integer AS version, current_setting('server_version') AS release," +
  " current_setting('synchronous_commit') AS commit, current_setting('server_encoding') AS encoding," +
  " current_setting('fsync') AS fsync, current_setting('full_page_writes') AS pages"

/** What is wrong with a server, and what to do. */
export function unfitFor({ version, release, commit, encoding, fsync }: ServerSettings): string | undefined {
  if (version < VERSION_MIN * VERSION_UNIT)
    return `the database is PostgreSQL ${release}, and the hub needs ${VERSION_MIN} or newer; upgrade the server`
  if (commit === 'off')
    return 'the database acknowledges what it may lose: synchronous_commit is off; set it to on for this database and role'
  if (fsync === 'off')
    return 'the database loses what it acknowledged when its machine goes down: fsync is off; set it to on'
  if (encoding !== 'UTF8')
    return `the database holds ${encoding}, and the hub writes UTF8; create a database with ENCODING 'UTF8'`
  return undefined
}

export const settingsOf = (db: Queries): Promise<ServerSettings | undefined> =>
  db.one<ServerSettings>(SETTINGS)

export async function refuseUnfit(db: Queries): Promise<void> {
  const settings = await settingsOf(db)
  const unfit = settings && unfitFor(settings)
  if (unfit !== undefined) throw new SetupRefused(unfit)
}
