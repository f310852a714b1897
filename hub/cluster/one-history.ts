/**
 * The key history of a hub is a file of each machine. The database notes how far it goes, so that no machine adds an event
 * to an older one: whoever has seen both would take neither for the hub any more.
 */
import { StoreRefused } from '../store/port.ts'
import { replaceSetting, writeSetting } from '../store/postgres/accounts.ts'
import type { Connections, Queries } from '../store/postgres/connections.ts'
import { settingIn } from '../store/postgres/restored.ts'

export const HISTORY_SETTING = 'key_history'
const LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('svc-hub key history', 0))"

/** The digest of each event, in hex. */
export type History = readonly string[]
/** `behind`: it ends before what was noted · `other`: it is another one. */
export type Standing = 'held' | 'behind' | 'other'

const noteOf = (own: History): string => `${own.length} ${own.at(-1) ?? ''}`

export function standingOf(own: History, noted: string | undefined): Standing {
  if (noted === undefined) return 'held'
  const [count, head] = noted.split(' ')
  if (Number(count) > own.length) return 'behind'
  return own[Number(count) - 1] === head ? 'held' : 'other'
}

/** Notes what a machine has beyond what was noted; the files of a rotation that was cut short may be ahead. */
export async function noteHistory(db: Queries, own: History, noted: string | undefined): Promise<void> {
  if (own.length === 0 || noted === noteOf(own) || standingOf(own, noted) !== 'held') return
  await replaceSetting(db, HISTORY_SETTING, { value: noteOf(own), read: noted })
}

const WHY: Readonly<Record<Exclude<Standing, 'held'>, string>> = {
  behind: 'the key of this hub was rotated at another machine',
  other: 'the key history on this machine contradicts that of the hub',
}

export const mendHistory = (standing: Exclude<Standing, 'held'>, files: string): string =>
  `${WHY[standing]}; copy ${files} from there, and start this process again`

type Rotating<T> = { own: () => History; files: string; rotate: () => T }

/** One machine at a time rotates, and only on top of the whole history. */
export async function rotateAsOne<T>(db: Connections, { own, files, rotate }: Rotating<T>): Promise<T> {
  return await db.transaction(async of => {
    await of.run(LOCK)
    const standing = standingOf(own(), await settingIn(of, HISTORY_SETTING))
    if (standing !== 'held') throw new StoreRefused(`nothing was rotated: ${mendHistory(standing, files)}`)
    const rotated = rotate()
    await writeSetting(of, HISTORY_SETTING, noteOf(own()))
    return rotated
  })
}
