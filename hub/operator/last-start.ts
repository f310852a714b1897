/** What a hub was started with, kept in its store, so that the doctor knows it once the hub has stopped. */
import { readFileSync } from 'node:fs'
import * as z from 'zod'
import { Malformed } from '../../protocol/encoding/bytes.ts'
import { parseJson } from '../../protocol/encoding/json.ts'
import { shellWord } from '../../protocol/shell.ts'
import { besideStore, type DatabasePlace } from '../places-config.ts'
import type { Store } from '../store/port.ts'

const SETTING = 'last start'

const shape = z.object({
  /** The unit of systemd that started it. */
  unit: z.string().optional(),
  /** The address that others use. */
  base_url: z.string().optional(),
  /** Names of settings that were given outside the data directory. */
  outside: z.array(z.string()),
})
export type LastStart = z.infer<typeof shape>

/** Keeps what this start was given, where that is new; a store without room keeps the one before. */
export async function noteStart(
  store: Pick<Store, 'setting' | 'putSetting'>,
  start: LastStart,
): Promise<void> {
  const text = JSON.stringify(start)
  if ((await store.setting(SETTING)) === text) return
  await store.putSetting(SETTING, text).catch(() => undefined)
}

/** What the last start was given; undefined where none is known. */
export function lastStartOf(settings: ReadonlyMap<string, string>): LastStart | undefined {
  try {
    return shape.parse(parseJson(settings.get(SETTING) ?? ''))
  } catch (error) {
    if (error instanceof Malformed || error instanceof z.ZodError) return undefined
    throw error
  }
}

/** The unit of systemd that this process is the service of; undefined where it is none. */
export function unitOf(
  env: Record<string, string | undefined>,
  groups: () => string = () => readFileSync('/proc/self/cgroup', 'utf8'),
): string | undefined {
  if (env['NOTIFY_SOCKET'] === undefined) return undefined
  try {
    return /\/([^/\n]+)\.service$/m.exec(groups())?.[1]
  } catch {
    return undefined
  }
}

/** The command that starts a hub as it was started last. */
export function startAgain(hub: HubPlace, last: LastStart | undefined): string {
  if (last?.unit !== undefined) return `systemctl start ${last.unit}`
  const flags = atHub(hub)
  const given = (last?.outside ?? []).filter(name => !flags.includes(` ${flagOf(name)} `))
  const as = given.length === 0 ? '' : ` – with ${given.join(', ')}, as at its last start`
  return `svc-hub serve${flags}${as}`
}

/** The flag that says what a variable of the environment does. */
const flagOf = (name: string): string =>
  name.replace(
    /^SVC_HUB_.+/,
    variable => `--${variable.slice('SVC_HUB_'.length).toLowerCase().replaceAll('_', '-')}`,
  )

type HubPlace = { dataDir: string; database?: DatabasePlace | undefined }

/** The flags by which a command is given this hub again. */
export const atHub = ({ dataDir, database }: HubPlace): string =>
  ` --data-dir ${shellWord(dataDir)}${database === undefined ? '' : ` --store <URL>${besideStore(database)}`}`
