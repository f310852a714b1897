/** Hubs whose credits are not trusted, and why; a person ends it. */
import { fromUtf8, utf8 } from '../../protocol/encoding/bytes.ts'
import { forget, recall, remember } from './memory.ts'
import type { Store } from './open.ts'

const nameOf = (hub: string): string => `alarm about ${hub}`

/** Why nothing is paid in the credits of a hub. */
export function alarmOf(store: Store, hub: string): string | undefined {
  const said = recall(store, nameOf(hub))
  return said && fromUtf8(said)
}

export const raiseAlarm = (store: Store, hub: string, why: string): void =>
  remember(store, nameOf(hub), utf8(why))

export const endAlarm = (store: Store, hub: string): void => forget(store, nameOf(hub))
