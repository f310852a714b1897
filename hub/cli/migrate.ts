/** What `svc-hub migrate` does: the rows of a stopped hub go to another place. */
import { present } from '../../protocol/encoding/present.ts'
import { shellWord } from '../../protocol/shell.ts'
import { systemNow, systemTimers } from '../../protocol/timers.ts'
import { type ConfigFlags, readConfig } from '../config.ts'
import { systemRandom } from '../core/random.ts'
import { partsOf, refuseUnusable } from '../data-dir.ts'
import { whenFree } from '../directory-lock.ts'
import { moveToDatabase, moveToFile } from '../moving.ts'
import { besideStore, parseDatabase } from '../places-config.ts'
import { keepPrivate, print } from '../terminal.ts'
import { type Flags, noHub, UsageError } from './commands.ts'

const TO = '--to expects the URL of a PostgreSQL database, or the word file'

export async function migrate(to: Flags[string], settings: ConfigFlags): Promise<number> {
  if (typeof to !== 'string') throw new UsageError(TO)
  keepPrivate()
  const isBack = to === 'file'
  const store = isBack ? settings.store : parseDatabase({ text: to, from: '--to' })
  const config = readConfig({ ...settings, store }, process.env)
  const { dataDir: directory, database } = config
  if (database === undefined)
    throw new UsageError('--to file moves the rows out of a database: name it with --store')
  if (!isBack) {
    const parts = partsOf(directory)
    refuseUnusable(parts)
    if (parts.state === 'none') throw noHub(directory)
  }
  const at = `--data-dir ${shellWord(directory)}`
  const places = besideStore(database)
  const command = `svc-hub migrate --to ${isBack ? `file ${at} --store <URL>` : `<URL> ${at}`}${places}`
  const moved = await whenFree(() =>
    (isBack ? moveToFile : moveToDatabase)({
      directory,
      database,
      command,
      timers: systemTimers,
      now: systemNow,
      random: systemRandom,
    }),
  )
  const { ms, notes, ...figures } = moved
  return print({
    ...figures,
    seconds: Math.round(ms / 100) / 10,
    ...present({ notes: notes.length === 0 ? undefined : notes }),
    next: isBack ? `svc-hub serve ${at}` : `svc-hub serve ${at} --store <URL>${places}`,
  })
}
