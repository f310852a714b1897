/** Hubs whose credits are not trusted, and why; a person ends it. */
import { fromUtf8, utf8 } from '../../protocol/encoding/bytes.ts'
import { forget, namesStarting, recall, remember } from './memory.ts'
import type { Store } from './open.ts'

const PREFIX = 'alarm about '
const nameOf = (hub: string): string => `${PREFIX}${hub}`

/** Why nothing is paid in the credits of a hub. */
export function alarmOf(store: Store, hub: string): string | undefined {
  const said = recall(store, nameOf(hub))
  return said && fromUtf8(said)
}

/** AIDs of the hubs of which there is one. */
export const alarmed = (store: Store): string[] =>
  namesStarting(store, PREFIX).map(name => name.slice(PREFIX.length))

export const raiseAlarm = (store: Store, hub: string, why: string): void =>
  remember(store, nameOf(hub), utf8(why))

export const endAlarm = (store: Store, hub: string): void => forget(store, nameOf(hub))
